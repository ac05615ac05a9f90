"""Sheets, as tables of what their cells show: of each the first rows and columns.

Pure. Source: ECMA-376-1, 18.3 (worksheets), 18.4 (shared strings), 18.8.30 (number formats); ODF
1.3 part 3, 9 (tables), 19.385 (values).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from typing import Final

from office.outline import Outline
from office.preview import markup
from office.preview.markup import Pictures
from office.preview.odf_text import MAX_REPEATED, rows
from office.preview.parts import Parts
from office.preview.tree import (
    attribute,
    child,
    children,
    descendant,
    descendants,
    inside,
    number,
    qualified,
)
from office.preview.xml import Element, local

MAX_ROWS: Final = 200
MAX_COLUMNS: Final = 30
_REFERENCE: Final = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_DATES: Final = (*range(14, 23), *range(45, 48))
"""Number formats that are dates or times in all languages."""
_DATE_FORMAT: Final = re.compile(r"[ymdhs]", re.IGNORECASE)
_QUOTED: Final = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_EPOCH: Final = datetime.datetime(1899, 12, 30)
_MAX_DAYS: Final = 2_958_465

Cells = dict[tuple[int, int], str]
"""What is in them, by row and column from 0."""


def _table(title: str, cells: Cells, *, more: bool) -> list[str]:
    """HTML of a sheet."""
    heading = [markup.element("h2", markup.text(title))] if title else []
    height = max((row for row, _ in cells), default=-1) + 1
    width = max((column for _, column in cells), default=-1) + 1
    found = []
    for row in range(height):
        inner = "".join(
            f"<td>{markup.text(cells.get((row, column), ''))}</td>" for column in range(width)
        )
        found.append(markup.element("tr", inner))
    table = [markup.element("table", "".join(found))] if found else ["<p>(empty)</p>"]
    note = f"These are the first {height} rows and {width} columns; the file has more."
    return [*heading, *table, *([markup.element("p", note, classes="more")] if more else [])]


class Workbook:
    """A workbook (Office Open XML)."""

    def __init__(self, parts: Parts, outline: Outline, pictures: Pictures) -> None:
        self._parts = parts
        self._outline = outline

    def size(self) -> tuple[float, float]:
        return (1.0, 1.0)

    def forget(self) -> None:
        """There is nothing to forget."""

    def blocks(self, page: int) -> list[str]:
        main = self._parts.related("", "officeDocument") or "xl/workbook.xml"
        sheets = list(children(child(self._parts.tree(main), "sheets"), "sheet"))
        relations = self._parts.relations(main)
        targets = [
            (one, relations[id_].target)
            for one in sheets
            if (id_ := qualified(one, "relationships", "id")) in relations
            and self._parts.has(relations[id_].target)
        ]
        if page > len(targets):
            return []
        sheet, name = targets[page - 1]
        root = self._parts.growing(name)
        if root is None:
            return []
        shared = self._shared(self._parts.related(main, "sharedStrings"))
        dates = _date_styles(self._parts.tree(self._parts.related(main, "styles")))
        cells, more = _cells(child(root, "sheetData"), shared, dates)
        return _table(attribute(sheet, "name"), cells, more=more)

    def _shared(self, name: str) -> list[str]:
        root = self._parts.tree(name) if name else None
        return [_text(one) for one in children(root, "si")]


def _cells(data: Element | None, shared: list[str], dates: set[int]) -> tuple[Cells, bool]:
    found: Cells = {}
    more = False
    for at, row in enumerate(children(data, "row")):
        number_ = int(number(attribute(row, "r"), at + 1)) - 1
        if number_ >= MAX_ROWS:
            more = True
            break
        for cell_at, cell in enumerate(children(row, "c")):
            reference = _REFERENCE.fullmatch(attribute(cell, "r"))
            column = _column(reference[1]) if reference else cell_at
            if column >= MAX_COLUMNS:
                more = True
            elif value := _value(cell, shared, dates):
                found[max(number_, 0), column] = value
    return found, more


def _value(cell: Element, shared: list[str], dates: set[int]) -> str:
    kind = attribute(cell, "t")
    if kind == "inlineStr":
        return _text(child(cell, "is"))
    one = child(cell, "v")
    value = (one.text or "") if one is not None else ""
    if kind == "s":
        index = int(number(value, -1))
        return shared[index] if 0 <= index < len(shared) else ""
    if kind == "b":
        return "TRUE" if value == "1" else "FALSE"
    if kind in ("", "n") and value:
        style = int(number(attribute(cell, "s"), -1))
        return _date(number(value)) if style in dates else _number(value)
    return value


def _number(value: str) -> str:
    """Without the digits that only arithmetic has brought."""
    found = number(value)
    return f"{found:.12g}" if len(value) > 12 and abs(found) < 1e12 else value


def _date(days: float) -> str:
    if not 0 <= days <= _MAX_DAYS:
        return f"{days:g}"
    moment = _EPOCH + datetime.timedelta(seconds=round(days * 86_400))
    if days < 1:
        return f"{moment:%H:%M}"
    return f"{moment:%Y-%m-%d}" if days == int(days) else f"{moment:%Y-%m-%d %H:%M}"


def _date_styles(styles: Element | None) -> set[int]:
    """Numbers of cell styles that show dates."""
    own = {
        int(number(attribute(one, "numFmtId"), -1))
        for one in children(child(styles, "numFmts"), "numFmt")
        if _DATE_FORMAT.search(_QUOTED.sub("", attribute(one, "formatCode")[:200]))
    }
    formats = children(child(styles, "cellXfs"), "xf")
    return {
        at
        for at, one in enumerate(formats)
        if (id_ := int(number(attribute(one, "numFmtId")))) in _DATES or id_ in own
    }


def _column(letters: str) -> int:
    found = 0
    for letter in letters:
        found = found * 26 + ord(letter) - 64
    return found - 1


def _text(one: Element | None) -> str:
    return "".join(part.text or "" for part in descendants(one, "t"))


class OdfSheets:
    """A spreadsheet of OpenDocument; all its sheets are in one part."""

    def __init__(self, parts: Parts, outline: Outline, pictures: Pictures) -> None:
        self._parts = parts

    def size(self) -> tuple[float, float]:
        return (1.0, 1.0)

    def forget(self) -> None:
        """There is nothing to forget."""

    def blocks(self, page: int) -> list[str]:
        """All sheets on the one page that such a file is known to have."""
        body = descendant(self._parts.growing("content.xml"), "spreadsheet")
        if page != 1 or body is None:
            return []
        return [block for one in children(body, "table") for block in _sheet(one)]


def _sheet(table: Element) -> Iterable[str]:
    cells: Cells = {}
    at, more = 0, False
    for row in rows(table):
        if at >= MAX_ROWS:
            more = more or any(_words(cell) for cell in inside(row))
            break
        inner = list(_row(row))
        for column, value in inner:
            if column >= MAX_COLUMNS:
                more = True
            else:
                cells[at, column] = value
        at += int(number(attribute(row, "number-rows-repeated"), 1)) or 1
    return _table(attribute(table, "name"), cells, more=more)


def _row(row: Element) -> Iterator[tuple[int, str]]:
    at = 0
    for cell in inside(row):
        if local(cell.tag) not in ("table-cell", "covered-table-cell"):
            continue
        repeated = max(int(number(attribute(cell, "number-columns-repeated"), 1)), 1)
        value = _words(cell)
        if value:
            yield from ((at + more, value) for more in range(min(repeated, MAX_REPEATED)))
        at += repeated
        if at > MAX_COLUMNS * 2:
            break


def _words(cell: Element) -> str:
    return "\n".join("".join(str(one) for one in p.itertext()) for p in children(cell, "p"))
