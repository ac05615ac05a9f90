"""The styles of one part, reduced to what changes how its text reads, equal ones taken together.

A program that exports gives each run of text a style of its own; of 7,700 in a deck of 146 slides
150 are left. Automatic styles get names of our own, since nobody else knows them. Pure.

Source: ODF 1.3 part 3, 16 (styles), 19.498 (parents).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.sax.saxutils import escape

from office.errors import Unreadable
from office.text_view.vocabulary import INDENTS, LABELS, LEVELS, MAX_VALUE, PROPERTIES, Attributes

MAX_STYLES: Final = 100_000
"""Of one part."""
MAX_DERIVED: Final = 16
"""Styles that one is derived from."""
_LEVELS: Final = ("1", "2", "3", "4", "5")
"""Of lists, whose look is kept."""
_FILLED: Final = ("graphic", "presentation")
_FILLS: Final = ("style:graphic-properties", "style:drawing-page-properties")
_GREY: Final = {"draw:fill": "solid", "draw:fill-color": "#808080"}
"""What is neither one colour nor none: any text can be read on it."""
_KINDS: Final = ("style:style", "style:default-style", "text:list-style", "style:page-layout")

Properties = tuple[tuple[str, str], ...]
"""Attributes and values, in the order of their names."""


@dataclass(frozen=True, slots=True)
class Style:
    """What is kept of one; equal ones are the same."""

    family: str
    parent: str = ""
    groups: tuple[tuple[str, Properties], ...] = ()
    levels: tuple[str, ...] = ()
    """Of lists, as XML."""

    def properties(self, group: str) -> dict[str, str]:
        return dict(dict(self.groups).get(group, ()))

    @property
    def plain(self) -> bool:
        """It says nothing."""
        return not self.parent and not self.groups and not self.levels

    def xml(self, name: str) -> str:
        """It as an element; with no name, as a family's default."""
        inner = "".join(f"<{group}{attributes(of)}/>" for group, of in self.groups)
        named = attributes((("style:name", name),)) if name else ""
        if self.family == "list-style":
            return f"<text:list-style{named}>{''.join(self.levels)}</text:list-style>"
        if self.family == "page-layout":
            return f"<style:page-layout{named}>{inner}</style:page-layout>"
        said = [("style:family", self.family)]
        if self.parent:
            said.append(("style:parent-style-name", self.parent))
        tag = "style:style" if name else "style:default-style"
        return f"<{tag}{named}{attributes(said)}>{inner}</{tag}>"


@dataclass(slots=True)
class PartStyles:
    """The styles of one part, filled element by element."""

    prefix: str
    """Of the names that its automatic styles get."""
    named: dict[tuple[str, str], Style] = field(default_factory=dict)
    defaults: list[Style] = field(default_factory=list)
    _automatic: dict[tuple[str, str], Style] = field(default_factory=dict)
    _same: dict[Style, Style] = field(default_factory=dict)
    _names: dict[Style, str] = field(default_factory=dict)
    _open: _Open | None = None

    # -- as they are read --------------------------------------------------------------------------

    def start(self, tag: str, said: Mapping[str, str], *, automatic: bool) -> None:
        """An element inside `office:styles` or `office:automatic-styles`."""
        if tag in _KINDS and self._open is None:
            family = said.get("style:family", "") or tag.partition(":")[2]
            name = said.get("style:name", "")[:MAX_VALUE]
            parent = said.get("style:parent-style-name", "")[:MAX_VALUE]
            self._open = _Open(tag, family, name, parent, automatic)
        elif self._open is not None:
            self._open.start(tag, said)

    def end(self, tag: str) -> None:
        found = self._open
        if found is None:
            return
        found.end(tag)
        if tag != found.tag:
            return
        self._open = None
        style = found.style()
        style = self._same.setdefault(style, style)
        if len(self._automatic) + len(self.named) + len(self.defaults) >= MAX_STYLES:
            raise Unreadable("it has too many styles")
        if tag == "style:default-style":
            self.defaults.append(style)
        else:
            among = self._automatic if found.automatic else self.named
            among[style.family, found.name] = style

    # -- as they are used --------------------------------------------------------------------------

    def automatic(self, family: str, name: str) -> Style | None:
        """None: it is not one of this part's own."""
        return self._automatic.get((family, name))

    def ancestors(self, family: str, name: str) -> Iterator[tuple[str, Style]]:
        """The named style and those that it is derived from."""
        for _ in range(MAX_DERIVED):
            style = self.named.get((family, name))
            if style is None:
                return
            yield name, style
            name = style.parent

    def name(self, style: Style) -> str:
        """The name that an automatic style has in the view."""
        return self._names.setdefault(style, f"{self.prefix}{len(self._names):x}")


class _Open:
    """A style that is being read."""

    def __init__(self, tag: str, family: str, name: str, parent: str, automatic: bool) -> None:
        self.tag, self.family, self.name, self.automatic = tag, family, name, automatic
        self._parent = parent
        self._groups: dict[str, Properties] = {}
        self._levels: list[str] = []
        self._level = ""
        self._nested = False
        """Within a list style that a style of another family has for itself."""

    def start(self, tag: str, said: Mapping[str, str]) -> None:
        if self._nested or tag == "text:list-style":
            self._nested = True
        elif tag in LEVELS and self.tag == "text:list-style":
            self._level = tag if said.get("text:level") in _LEVELS else ""
            if self._level:
                self._levels.append(f"<{tag}{attributes(_bullet(kept(said, LEVELS[tag])))}>")
        elif self._level and len(self._levels[-1]) > MAX_VALUE:
            pass
        elif tag == "style:list-level-properties" and self._level:
            self._levels[-1] += f"<{tag}{attributes(kept(said, INDENTS))}/>"
        elif tag == "style:text-properties" and self._level:
            self._levels[-1] += f"<{tag}{attributes(kept(said, LABELS))}/>"
        elif tag in PROPERTIES and tag not in self._groups and self.tag != "text:list-style":
            found = kept(said, PROPERTIES[tag])
            found = _filled(found) if tag in _FILLS else found
            if found:
                self._groups[tag] = found

    def end(self, tag: str) -> None:
        if tag and tag == self._level:
            self._levels[-1] += f"</{tag}>"
            self._level = ""
        elif tag == "text:list-style":
            self._nested = False

    def style(self) -> Style:
        if self.family in _FILLED and not self._parent:
            none = {"draw:fill": "none", "draw:stroke": "none"}
            group = "style:graphic-properties"
            self._groups[group] = _in_order(none | dict(self._groups.get(group, ())))
        return Style(
            self.family, self._parent, tuple(sorted(self._groups.items())), tuple(self._levels)
        )


def merged(style: Style | None, text: Properties) -> Style:
    """A paragraph's style with properties for all its text."""
    style = style or Style("paragraph")
    group = "style:text-properties"
    groups = dict(style.groups)
    both = style.properties(group) | dict(text)
    if both:
        groups[group] = _in_order(both)
    return Style("paragraph", style.parent, tuple(sorted(groups.items())))


def kept(said: Mapping[str, str], wanted: Attributes) -> Properties:
    """The attributes that are kept, as they are kept."""
    return tuple(
        (name, reduce(value))
        for name, reduce in wanted.items()
        if (value := said.get(name)) is not None and len(value) <= MAX_VALUE
    )


def attributes(of: Properties | list[tuple[str, str]]) -> str:
    """As they stand in a tag."""
    return "".join(f' {name}="{escape(value, {chr(34): "&quot;"})}"' for name, value in of)


def _in_order(of: Mapping[str, str]) -> Properties:
    return tuple(sorted(of.items()))


def _filled(of: Properties) -> Properties:
    """One colour, or none."""
    said = dict(of)
    if said.get("draw:stroke", "none") != "none":
        said["draw:stroke"] = "none"
    fill = said.get("draw:fill")
    if fill in (None, "none"):
        said.pop("draw:fill-color", None)
    elif fill != "solid":
        said |= _GREY
    return _in_order(said)


def _bullet(of: Properties) -> Properties:
    """Characters that only one font has are no use without it."""
    return tuple(
        (name, "•" if name == "text:bullet-char" and value[:1] >= "\ue000" else value)
        for name, value in of
    )
