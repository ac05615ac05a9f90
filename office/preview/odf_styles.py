"""Styles of OpenDocument: what a name stands for, with all that it is derived from.

Pure. Source: ODF 1.3 part 3, 16 (styles), 20 (properties), 18.3.18 (lengths).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from office.preview.markup import Look, colour
from office.preview.tree import attribute, child, number
from office.preview.xml import Element, local

_LENGTH: Final = re.compile(r"(-?[0-9.]{1,12})(cm|mm|in|pt|pc|px)?")
_POINTS: Final = {
    "cm": 72 / 2.54,
    "mm": 7.2 / 2.54,
    "in": 72.0,
    "pt": 1.0,
    "pc": 12.0,
    "px": 0.75,
    None: 1.0,
}
MAX_DERIVED: Final = 16
"""Styles that one is derived from."""
_KINDS: Final = ("style", "list-style", "page-layout", "master-page")


def points(length: str, default: float = 0.0) -> float:
    """A length of OpenDocument in points."""
    found = _LENGTH.fullmatch(length.strip())
    return number(found[1], default) * _POINTS[found[2]] if found else default


class OdfStyles:
    """The styles of a document: those of its text, and those that have names, once they are
    here."""

    def __init__(self, *roots: Element | None) -> None:
        """The nearest first."""
        self._found: dict[tuple[str, str, str], Element] = {}
        self._defaults: dict[str, Element] = {}
        for root in roots:
            for group in ("automatic-styles", "styles", "master-styles"):
                holder = child(root, group)
                for one in holder if holder is not None else ():
                    self._add(one)

    def _add(self, one: Element) -> None:
        kind, family = local(one.tag), attribute(one, "family")
        if kind == "default-style":
            self._defaults.setdefault(family, one)
        elif kind in _KINDS:
            self._found.setdefault((kind, family, attribute(one, "name")), one)

    def get(self, kind: str, name: str) -> Element | None:
        """A style that is of no family."""
        return self._found.get((kind, "", name))

    def chain(self, family: str, name: str) -> Iterator[Element]:
        """The style, what it is derived from, and the family's default."""
        for _ in range(MAX_DERIVED):
            one = self._found.get(("style", family, name)) if name else None
            if one is None:
                break
            yield one
            name = attribute(one, "parent-style-name")
        if family in self._defaults:
            yield self._defaults[family]

    def property(self, family: str, name: str, group: str, wanted: str) -> str:
        """The first that is said of it."""
        for one in self.chain(family, name):
            value = attribute(child(one, group), wanted)
            if value:
                return value
        return ""

    def look(self, names: list[tuple[str, str]], default: float) -> Look:
        """How text looks that has these styles, (family, name), the nearest first."""
        found = [
            group
            for family, name in names
            for one in self.chain(family, name)
            if (group := child(one, "text-properties")) is not None
        ]

        def first(name: str) -> str:
            return next((value for one in found if (value := attribute(one, name))), "")

        size, share = default, 1.0
        for one in found:
            value = attribute(one, "font-size")
            if value.endswith("%"):
                share *= number(value[:-1], 100.0) / 100
            elif value:
                size = points(value, default)
                break
        return Look(
            size * share,
            first("font-weight") in ("bold", "600", "700", "800", "900"),
            first("font-style") in ("italic", "oblique"),
            first("text-underline-style") not in ("", "none"),
            colour(first("color")),
        )
