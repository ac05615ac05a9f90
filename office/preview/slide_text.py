"""Text of a slide's shape: paragraphs with what they inherit from layout, master and styles.

Pure. Source: ECMA-376-1, 21.1.2 (text), 19.3.1.51 (text styles of masters).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from office.preview import markup
from office.preview.markup import Look
from office.preview.parts import Relation
from office.preview.theme import Theme, is_light
from office.preview.tree import attribute, child, children, number
from office.preview.xml import Element, local

_ANCHORS: Final = {"ctr": "middle", "b": "bottom"}
_ALIGNMENTS: Final = {"ctr": "center", "r": "right", "just": "justify"}
DEFAULT: Final = 18.0
"""Points."""
_LEVELS: Final = 9


class Heritage:
    """What the text of a shape gets where it says nothing itself."""

    def __init__(
        self,
        bodies: Sequence[Element | None],
        styles: Element | None,
        *,
        theme: Theme,
        light: bool,
    ) -> None:
        """`bodies`: the shape's, its layout's, its master's; `light`: light text can be read."""
        lists = [child(body, "lstStyle") for body in bodies]
        self._lists = [one for one in (*lists, styles) if one is not None]
        self._theme = theme
        self._light = light
        anchors = (attribute(child(body, "bodyPr"), "anchor") for body in bodies)
        self.anchor = _ANCHORS.get(next((one for one in anchors if one), ""), "top")
        fit = child(bodies[0], "bodyPr", "normAutofit") if bodies else None
        self.scale = number(attribute(fit, "fontScale"), 100_000) / 100_000
        self._levels: dict[int, list[Element]] = {}

    def level(self, level: int) -> list[Element]:
        """Properties of paragraphs at this level, the nearest first."""
        if level not in self._levels:
            name = f"lvl{level + 1}pPr"
            found = (child(one, name) for one in self._lists)
            self._levels[level] = [one for one in found if one is not None]
        return self._levels[level]

    def look(self, run: Element | None, levels: Sequence[Element]) -> Look:
        """How a run looks."""
        sources = [run, *(child(one, "defRPr") for one in levels)]
        there = [one for one in sources if one is not None]

        def first(name: str) -> str:
            return next((value for one in there if (value := attribute(one, name))), "")

        colour = next((value for one in there if (value := self._theme.fill(one))), "")
        if colour and not self._light and is_light(colour):
            colour = ""
        points = number(first("sz"), DEFAULT * 100) / 100 * self.scale
        return Look(
            points,
            first("b") in ("1", "true"),
            first("i") in ("1", "true"),
            first("u") not in ("", "none"),
            colour,
        )


def paragraphs(
    body: Element | None,
    heritage: Heritage,
    relations: dict[str, Relation],
    *,
    unit: str,
    scale: float,
) -> str:
    """HTML; empty where there is no text. `unit`, `scale`: what a point is on this page."""
    found, counts = [], [0] * _LEVELS
    for paragraph in children(body, "p"):
        own = child(paragraph, "pPr")
        level = min(max(int(number(attribute(own, "lvl"))), 0), _LEVELS - 1)
        levels = [one for one in (own, *heritage.level(level)) if one is not None]
        inherited = levels[1 if own is not None else 0 :]
        base = heritage.look(None, inherited)
        inner = _runs(paragraph, heritage, inherited, relations, base=base, unit=unit, scale=scale)
        if inner:
            style = markup.size(base.size or DEFAULT, unit=unit, scale=scale)
            found.append(_paragraph(inner, levels, level, counts, style=style))
        elif found:
            found.append('<p class="gap"></p>')
    while found and found[-1] == '<p class="gap"></p>':
        found.pop()
    return "".join(found)


def _paragraph(
    inner: str, levels: Sequence[Element], level: int, counts: list[int], *, style: str
) -> str:
    bullet = _bullet(levels, level, counts)
    alignment = next((value for one in levels if (value := attribute(one, "algn"))), "")
    if alignment in _ALIGNMENTS:
        style += f";text-align:{_ALIGNMENTS[alignment]}"
    classes = f"l{level}" if level else ""
    if bullet:
        inner = markup.element("span", markup.text(bullet), classes="bullet") + inner
        classes = f"{classes} item".strip()
    return markup.element("p", inner, style=style, classes=classes)


def _bullet(levels: Sequence[Element], level: int, counts: list[int]) -> str:
    for one in levels:
        for entry in one:
            match local(entry.tag):
                case "buNone":
                    return ""
                case "buAutoNum":
                    counts[level] += 1
                    counts[level + 1 :] = [0] * (_LEVELS - level - 1)
                    return f"{counts[level]}."
                case "buChar":
                    char = attribute(entry, "char")[:2]
                    return char if char and ord(char[0]) < 0xE000 and char > "\x7f" else "•"
                case "buBlip":
                    return "•"
    return ""


def _runs(
    paragraph: Element,
    heritage: Heritage,
    levels: Sequence[Element],
    relations: dict[str, Relation],
    *,
    base: Look,
    unit: str,
    scale: float,
) -> str:
    found = []
    for one in paragraph:
        kind = local(one.tag)
        if kind == "br":
            found.append("<br>")
        elif kind in ("r", "fld"):
            properties = child(one, "rPr")
            relation = relations.get(attribute(child(properties, "hlinkClick"), "id"))
            href = relation.target if relation is not None and relation.external else ""
            words = child(one, "t")
            value = (words.text or "") if words is not None else ""
            look = heritage.look(properties, levels)
            look = replace(look, size=None) if look.size == base.size else look
            found.append(markup.run(value, look, unit=unit, scale=scale, href=href))
    return "".join(found) if any(one != "<br>" for one in found) else ""
