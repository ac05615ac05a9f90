"""A text (Office Open XML): headings, paragraphs, lists, tables, pictures, in the order of reading.

Pure. Source: ECMA-376-1, 17.3 (paragraphs), 17.4 (tables), 17.7 (styles), 17.9 (numbering).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from office.outline import Outline
from office.preview import markup
from office.preview.markup import Look, Pictures
from office.preview.parts import Parts, Relation
from office.preview.tree import attribute, child, children, descendant, inside, number, truth
from office.preview.xml import Element, local

MAIN: Final = "word/document.xml"
EMU_PER_POINT: Final = 12_700
_HEADING: Final = re.compile(r"heading\s*([1-6])", re.IGNORECASE)
_ALIGNMENTS: Final = {"center": "center", "right": "right", "end": "right", "both": "justify"}
_INLINE: Final = ("ins", "smartTag", "sdtContent", "fldSimple", "moveTo", "dir", "bdo")
"""Around runs."""


class Word:
    """One text; it has one page, since nobody knows others before it is laid out."""

    def __init__(self, parts: Parts, outline: Outline, pictures: Pictures) -> None:
        self._parts = parts
        self._pictures = pictures
        self._relations: dict[str, Relation] = {}
        self._headings: dict[str, int] = {}
        self._formats: dict[tuple[str, int], str] = {}
        self._counts: dict[tuple[str, int], int] = {}

    def size(self) -> tuple[float, float]:
        return (1.0, 1.0)

    def forget(self) -> None:
        """There is nothing to forget."""

    def blocks(self, page: int) -> list[str]:
        if page != 1:
            return []
        main = self._parts.related("", "officeDocument") or MAIN
        self._relations = self._parts.relations(main)
        self._headings = _headings(self._tree(main, "styles"))
        self._formats = _formats(self._tree(main, "numbering"))
        self._counts = {}
        return list(self._flow(child(self._parts.growing(main), "body"), 0))

    def _tree(self, main: str, kind: str) -> Element | None:
        name = self._parts.related(main, kind)
        return self._parts.tree(name) if name else None

    def _flow(self, parent: Element | None, depth: int) -> Iterator[str]:
        if depth > markup.MAX_DEPTH:
            return
        for one in inside(parent):
            match local(one.tag):
                case "p":
                    yield self._paragraph(one, depth)
                case "tbl":
                    yield self._table(one, depth)
                case "sdt":
                    yield from self._flow(child(one, "sdtContent"), depth + 1)
                case "sdtContent" | "ins" | "customXml":
                    yield from self._flow(one, depth + 1)

    def _paragraph(self, one: Element, depth: int) -> str:
        properties = child(one, "pPr")
        style = attribute(child(properties, "pStyle"), "val")
        inner = "".join(self._runs(one, depth))
        if not inner:
            return '<p class="gap"></p>'
        alignment = attribute(child(properties, "jc"), "val")
        css = f"text-align:{_ALIGNMENTS[alignment]}" if alignment in _ALIGNMENTS else ""
        rank = self._rank(style, properties)
        if rank:
            return markup.element(f"h{rank}", inner, style=css)
        bullet, level = self._bullet(properties, style)
        classes = f"l{min(level, 8)}" if level else ""
        if bullet:
            inner = markup.element("span", markup.text(bullet), classes="bullet") + inner
            classes = f"{classes} item".strip()
        return markup.element("p", inner, style=css, classes=classes)

    def _rank(self, style: str, properties: Element | None) -> int:
        if style in self._headings:
            return self._headings[style]
        if style in ("Title", "Subtitle"):
            return 1 if style == "Title" else 2
        named = _HEADING.fullmatch(style)
        level = attribute(child(properties, "outlineLvl"), "val")
        if named:
            return int(named[1])
        return int(level) + 1 if level in tuple("012345") else 0

    def _bullet(self, properties: Element | None, style: str) -> tuple[str, int]:
        numbering = child(properties, "numPr")
        id_ = attribute(child(numbering, "numId"), "val")
        if not id_ or id_ == "0":
            return ("•", 0) if style.startswith("List") and "Bullet" in style else ("", 0)
        level = min(max(int(number(attribute(child(numbering, "ilvl"), "val"))), 0), 8)
        kind = self._formats.get((id_, level), "bullet")
        if kind in ("bullet", "none"):
            return ("•" if kind == "bullet" else ""), level
        count = self._counts[id_, level] = self._counts.get((id_, level), 0) + 1
        for deeper in range(level + 1, 9):
            self._counts.pop((id_, deeper), None)
        return f"{_counted(count, kind)}.", level

    def _runs(self, parent: Element, depth: int, href: str = "") -> Iterator[str]:
        if depth > markup.MAX_DEPTH:
            return
        for one in parent:
            name = local(one.tag)
            if name == "r":
                yield from self._run(one, href, depth)
            elif name == "hyperlink":
                relation = self._relations.get(attribute(one, "id"))
                target = relation.target if relation is not None and relation.external else ""
                yield from self._runs(one, depth + 1, target)
            elif name == "sdt":
                content = child(one, "sdtContent")
                if content is not None:
                    yield from self._runs(content, depth + 1, href)
            elif name in _INLINE:
                yield from self._runs(one, depth + 1, href)

    def _run(self, run: Element, href: str, depth: int) -> Iterator[str]:
        look = _look(child(run, "rPr"))
        for one in run:
            match local(one.tag):
                case "t":
                    yield markup.run(one.text or "", look, href=href)
                case "tab":
                    yield "\t"
                case "br" | "cr":
                    yield "<br>"
                case "noBreakHyphen":
                    yield "-"
                case "drawing" | "pict" | "object":
                    yield from self._picture(one, depth)
                case "AlternateContent":
                    for choice in ("Choice", "Fallback"):
                        found = list(self._alternative(child(one, choice), depth))
                        yield from found
                        if found:
                            break

    def _alternative(self, choice: Element | None, depth: int) -> Iterator[str]:
        for one in inside(choice):
            yield from self._picture(one, depth)

    def _picture(self, drawing: Element, depth: int) -> Iterator[str]:
        """A picture, or the text of a box."""
        blip = descendant(drawing, "blip")
        id_ = attribute(blip, "embed") if blip is not None else ""
        if not id_:
            id_ = attribute(descendant(drawing, "imagedata"), "id")
        relation = self._relations.get(id_)
        if relation is not None and not relation.external:
            width = number(attribute(descendant(drawing, "extent"), "cx")) / EMU_PER_POINT
            style = f"width:{min(max(width, 8.0), 900.0):.4g}pt" if width else ""
            alt = attribute(descendant(drawing, "docPr"), "descr")
            yield markup.picture(self._pictures.get(relation.target), alt=alt, style=style)
        box = descendant(drawing, "txbxContent")
        if box is not None and depth < 4:
            yield markup.element("span", "".join(
                inner for p in children(box, "p") for inner in (*self._runs(p, depth + 8), "<br>")
            ))  # fmt: skip

    def _table(self, table: Element, depth: int) -> str:
        rows = []
        for row in children(table, "tr"):
            cells = []
            for cell in children(row, "tc"):
                properties = child(cell, "tcPr")
                merged = child(properties, "vMerge")
                if merged is not None and attribute(merged, "val") != "restart":
                    cells.append("<td></td>")
                    continue
                span = min(max(int(number(attribute(child(properties, "gridSpan"), "val"), 1)), 1),
                           100)  # fmt: skip
                wide = f' colspan="{span}"' if span > 1 else ""
                cells.append(f"<td{wide}>{''.join(self._flow(cell, depth + 1))}</td>")
            rows.append(markup.element("tr", "".join(cells)))
        return markup.element("table", "".join(rows))


def _look(properties: Element | None) -> Look:
    def on(name: str) -> bool:
        one = child(properties, name)
        return one is not None and (not attribute(one, "val") or truth(attribute(one, "val")))

    size = attribute(child(properties, "sz"), "val")
    underline = child(properties, "u")
    return Look(
        number(size, 22) / 2 if size else None,
        on("b"),
        on("i"),
        underline is not None and attribute(underline, "val") != "none",
        markup.colour(f"#{attribute(child(properties, 'color'), 'val')}"),
    )


def _headings(styles: Element | None) -> dict[str, int]:
    """The ranks of styles that are headings, by their ids, whatever language they are named in."""
    found = {}
    for one in children(styles, "style"):
        named = _HEADING.fullmatch(attribute(child(one, "name"), "val"))
        level = attribute(child(one, "pPr", "outlineLvl"), "val")
        if named or level in tuple("012345"):
            found[attribute(one, "styleId")] = int(named[1]) if named else int(level) + 1
    return found


def _formats(numbering: Element | None) -> dict[tuple[str, int], str]:
    """How the levels of each list are numbered."""
    abstract = {attribute(one, "abstractNumId"): one for one in children(numbering, "abstractNum")}
    found = {}
    for one in children(numbering, "num"):
        kind = abstract.get(attribute(child(one, "abstractNumId"), "val"))
        for level in children(kind, "lvl"):
            key = attribute(one, "numId"), int(number(attribute(level, "ilvl")))
            found[key] = attribute(child(level, "numFmt"), "val")
    return found


def _counted(count: int, kind: str) -> str:
    if kind in ("lowerLetter", "upperLetter") and count <= 26:
        return chr((97 if kind == "lowerLetter" else 65) + count - 1)
    return str(count)
