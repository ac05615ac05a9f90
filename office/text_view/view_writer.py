"""Pages written as their text view has them: what can be read, in its place. Pure.

Source: ODF 1.3 part 3, 5 (text), 6 (runs), 9 (tables), 10 (shapes).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.sax.saxutils import escape

from office.text_view.styles import PartStyles, Properties, Style, attributes, kept, merged
from office.text_view.vocabulary import (
    BOX,
    ELEMENTS,
    FRAME,
    STYLED,
    TEXT,
    UNREAD,
    Attributes,
    How,
)

_NAMED_STYLES: Final = ("draw:style-name", "table:style-name", "text:style-name")
_RUN: Final = "style:text-properties"
Run = tuple[str, Properties]
"""The named style of a run of text, and its own properties."""
_PLAIN: Final[Run] = ("", ())


@dataclass(slots=True)
class Used:
    """The styles that something written names, in the order in which it does."""

    automatic: dict[Style, None] = field(default_factory=dict)
    named: dict[tuple[str, str], None] = field(default_factory=dict)
    masters: dict[str, None] = field(default_factory=dict)

    def add(self, others: Used) -> None:
        self.automatic |= others.automatic
        self.named |= others.named
        self.masters |= others.masters


@dataclass(slots=True)
class _Open:
    """An element that is being read."""

    how: How
    tag: str
    head: str = ""
    """Its tag with attributes, as it is written."""
    parts: list[str] = field(default_factory=list)
    visible: bool = False
    style: Style | None = None
    """A paragraph's or a run's."""
    name: str = ""
    """... that is a named one."""
    run: Run = _PLAIN
    """What holds for the text in it."""
    paragraph: _Open | None = None
    """The one that text in it belongs to."""
    runs: list[tuple[Run, list[str]]] = field(default_factory=list)
    """A paragraph's."""


class ViewWriter:
    """Writes the view of one part. `take` after each piece that is to be had."""

    def __init__(self, styles: PartStyles) -> None:
        self._styles = styles
        self._stack: list[_Open] = [_Open(How.OPENED, "")]
        self._left_out = 0
        """Depth inside an element of which nothing is kept."""
        self.used = Used()

    @property
    def depth(self) -> int:
        """Elements that are open."""
        return len(self._stack) - 1 + self._left_out

    def take(self) -> tuple[str, Used]:
        """What has been written since the last time, and its styles."""
        root = self._stack[0]
        found, used = "".join(root.parts), self.used
        root.parts, self.used = [], Used()
        return found, used

    def start(self, tag: str, said: Mapping[str, str]) -> None:
        if self._left_out or _is_left_out(tag, said):
            self._left_out += 1
            return
        how, wanted = ELEMENTS.get(tag, (How.OPENED, {}))
        above = self._stack[-1]
        opened = _Open(how, tag, run=above.run)
        if how is How.PARAGRAPH:
            opened.style, opened.name = self._style("paragraph", said.get("text:style-name", ""))
            opened.head = tag + attributes(kept(said, wanted))
            opened.run, opened.paragraph = _PLAIN, opened
        elif how is How.RUN:
            opened.run = self._run(above.run, said.get("text:style-name", ""))
            opened.paragraph = above.paragraph
        elif how is How.OPENED:
            opened.paragraph = above.paragraph
        else:
            self._begin(opened, tag, said, wanted)
        self._stack.append(opened)

    def data(self, text: str) -> None:
        paragraph = self._stack[-1].paragraph
        if paragraph is not None and not self._left_out:
            self._add(paragraph, escape(text), visible=True)

    def end(self) -> None:
        if self._left_out:
            self._left_out -= 1
            return
        done = self._stack.pop()
        above = self._stack[-1]
        if done.how in (How.OPENED, How.RUN):
            above.parts += done.parts
            above.visible = above.visible or done.visible
            return
        if done.tag == "draw:image":
            done.parts.clear()
        if done.how is How.PARAGRAPH:
            self._finish(done)
        elif done.how is How.SHAPE and not done.visible:
            return
        inner = "".join(done.parts)
        tag = done.tag
        if done.how is How.SHAPE:
            tag = FRAME if inner else BOX
            inner = f"<{TEXT}>{inner}</{TEXT}>" if inner else ""
            done.head = tag + done.head
        written = f"<{done.head}>{inner}</{tag}>" if inner else f"<{done.head}/>"
        paragraph = above.paragraph
        if paragraph is not None:
            self._add(paragraph, written, visible=done.visible)
        else:
            above.parts.append(written)
            above.visible = above.visible or done.visible

    # -- shapes and tables -------------------------------------------------------------------------

    def _begin(self, opened: _Open, tag: str, said: Mapping[str, str], wanted: Attributes) -> None:
        place = kept(said, wanted)
        if said.get("text:c") == "1":
            place = ()
        self.used.masters.update(
            (value, None) for name, value in place if name == "draw:master-page-name"
        )
        opened.head = ("" if opened.how is How.SHAPE else tag) + attributes(place)
        family = STYLED.get(tag)
        if family is not None:
            opened.head += self._styled(opened, family, said)
        opened.visible = opened.visible or tag in ("draw:image", "table:table")
        if tag in ("text:s", "text:tab", "text:line-break"):
            opened.visible = False

    def _styled(self, opened: _Open, family: str, said: Mapping[str, str]) -> str:
        """The attribute that names its style; notes whether that makes it visible."""
        attribute = "presentation:style-name"
        if attribute in said:
            family = "presentation"
        else:
            attribute = next((name for name in _NAMED_STYLES if name in said), "")
        style, name = self._style(family, said.get(attribute, ""))
        if style is not None and opened.how is How.SHAPE:
            fill = style.properties("style:graphic-properties").get("draw:fill")
            opened.visible = fill == "solid" and _is_area(said)
        if opened.how is How.SHAPE and family == "graphic" and style is None and not name:
            style = Style("graphic", "", (("style:graphic-properties", _NOTHING),))
        return self._named(attribute or "draw:style-name", style, name)

    # -- text --------------------------------------------------------------------------------------

    def _add(self, paragraph: _Open, written: str, *, visible: bool) -> None:
        run = self._stack[-1].run
        if paragraph.runs and paragraph.runs[-1][0] == run:
            paragraph.runs[-1][1].append(written)
        else:
            paragraph.runs.append((run, [written]))
        paragraph.visible = paragraph.visible or visible

    def _run(self, outer: Run, name: str) -> Run:
        style, named = self._style("text", name)
        if style is None:
            return (named, outer[1]) if named else outer
        own = dict(outer[1]) | style.properties(_RUN)
        return style.parent or outer[0], tuple(sorted(own.items()))

    def _finish(self, paragraph: _Open) -> None:
        """Write its runs: how most of its text looks is said once, by the paragraph's style."""
        weights: dict[Properties, int] = {}
        runs = [(run, "".join(texts)) for run, texts in paragraph.runs]
        for (parent, own), text in runs:
            if not parent:
                weights[own] = weights.get(own, 0) + len(text)
        most = max(weights, key=lambda own: weights[own], default=())
        style, name = paragraph.style, paragraph.name
        before = dict(style.properties(_RUN)) if style is not None else {}
        if most:
            style = merged(style or Style("paragraph", name), most)
        paragraph.head += self._named("text:style-name", style, name)
        paragraph.parts = []
        for (parent, own), text in runs:
            said = {key: before[key] for key, _ in most if key in before} | dict(own)
            if not parent and (own == most or said == dict(most)):
                paragraph.parts.append(text)
                continue
            look = Style("text", parent, ((_RUN, tuple(sorted(said.items()))),) if said else ())
            named = self._named("text:style-name", None if look.plain else look, "")
            paragraph.parts.append(f"<text:span{named}>{text}</text:span>" if named else text)

    # -- names -------------------------------------------------------------------------------------

    def _style(self, family: str, name: str) -> tuple[Style | None, str]:
        """An automatic style, or the name of another; neither: it says nothing."""
        style = self._styles.automatic(family, name) if name else None
        if style is not None:
            return (None if style.plain else style), ""
        return None, name

    def _named(self, attribute: str, style: Style | None, name: str) -> str:
        """The attribute for one of these; notes that it is used."""
        if style is not None and not style.plain:
            self.used.automatic[style] = None
            if style.parent:
                self.used.named[style.family, style.parent] = None
            name = self._styles.name(style)
        elif name:
            self.used.named[_FAMILIES.get(attribute, "paragraph"), name] = None
        return attributes(((attribute, name),)) if name else ""


_NOTHING: Final[Properties] = (("draw:fill", "none"), ("draw:stroke", "none"))
_FAMILIES: Final = {"presentation:style-name": "presentation", "draw:style-name": "graphic"}


def _is_left_out(tag: str, said: Mapping[str, str]) -> bool:
    """Nothing in it can be read, or is to be."""
    if said.get("presentation:placeholder") == "true" or tag in UNREAD:
        return True
    if tag in ELEMENTS:
        return False
    return not tag.startswith("text:")


def _is_area(said: Mapping[str, str]) -> bool:
    """It has an extent, and is no line."""
    return "svg:width" in said and "svg:height" in said
