"""Tests of sheets: what their cells show, and how much of them."""

from __future__ import annotations

import pytest

from office.preview.sheets import MAX_COLUMNS, MAX_ROWS, OdfSheets, Workbook
from tests.office.small_documents import open_document, workbook

STYLES = (
    '<numFmts><numFmt numFmtId="164" formatCode="yyyy-mm-dd"/><numFmt numFmtId="165" '
    'formatCode="0.00 &quot;days&quot; [Red]"/></numFmts><cellXfs><xf numFmtId="0"/>'
    '<xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="20"/></cellXfs>'
)
SHARED = "<si><t>Rhine</t></si><si><r><t>El</t></r><r><t>be</t></r></si>"


def shown(rows: str) -> list[str]:
    document = workbook(rows, styles=STYLES, shared=SHARED)
    return Workbook(document.parts(), document.outline, document.pictures).blocks(1)


def cell(inner: str) -> str:
    html = shown(f'<row r="1">{inner}</row>')[1]
    return html.removeprefix("<table><tr><td>").removesuffix("</td></tr></table>")


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ('<c t="s"><v>1</v></c>', "Elbe"),
        ('<c t="b"><v>0</v></c>', "FALSE"),
        ('<c t="inlineStr"><is><t>a &lt; b</t></is></c>', "a &lt; b"),
        ('<c t="str"><v>made</v></c>', "made"),
        ('<c t="e"><v>#REF!</v></c>', "#REF!"),
        ("<c><v>0.30000000000000004</v></c>", "0.3"),
        ("<c><v>1234567</v></c>", "1234567"),
        ('<c s="1"><v>45000</v></c>', "2023-03-15"),
        ('<c s="1"><v>45000.75</v></c>', "2023-03-15 18:00"),
        ('<c s="3"><v>0.25</v></c>', "06:00"),
        ('<c s="2"><v>3</v></c>', "3"),
        ('<c s="1"><v>-5</v></c>', "-5"),
        ('<c s="1"><v>1e11</v></c>', "1e+11"),
    ],
)
def test_a_cell_shows_what_it_stands_for(inner: str, expected: str) -> None:
    assert cell(inner) == expected


def test_a_string_that_is_not_there_is_empty() -> None:
    assert shown('<row r="1"><c t="s"><v>99</v></c><c t="s"><v>-1</v></c></row>') == [
        *("<h2>Rivers</h2>", "<p>(empty)</p>"),
    ]


def test_cells_stand_where_their_references_say() -> None:
    html = shown('<row r="2"><c r="B2"><v>1</v></c><c r="D2"><v>2</v></c></row>')[1]
    rows = html.split("<tr>")[1:]
    assert rows[0].count("<td></td>") == 4
    assert rows[1].startswith("<td></td><td>1</td><td></td><td>2</td>")


def test_of_a_large_sheet_the_beginning_is_shown_and_said_to_be_no_more() -> None:
    rows = "".join(f'<row r="{n}"><c><v>{n}</v></c></row>' for n in range(1, MAX_ROWS + 2))
    *_, table, note = shown(rows)
    assert f"<td>{MAX_ROWS}</td>" in table and f"<td>{MAX_ROWS + 1}</td>" not in table
    assert f"first {MAX_ROWS} rows and 1 columns" in note
    wide = "".join(f"<c><v>{n}</v></c>" for n in range(MAX_COLUMNS + 1))
    *_, table, note = shown(f'<row r="1">{wide}</row>')
    assert table.count("<td>") == MAX_COLUMNS
    assert "the file has more" in note


def test_there_is_no_second_sheet_and_none_while_it_is_not_here() -> None:
    document = workbook('<row r="1"><c><v>1</v></c></row>')
    one = Workbook(document.parts(), document.outline, document.pictures)
    assert one.blocks(1)[0] == "<h2>Rivers</h2>"
    assert one.blocks(2) == []
    parts = document.parts(without=("xl/worksheets",))
    assert Workbook(parts, document.outline, document.pictures).blocks(1) == []
    assert "xl/worksheets/sheet1.xml" in parts.missing


def spread(rows: str) -> list[str]:
    document = open_document(
        "spreadsheet", f'<table:table table:name="One">{rows}</table:table><table:table/>'
    )
    return OdfSheets(document.parts(), document.outline, document.pictures).blocks(1)


def test_cells_of_open_document_are_repeated_within_reason() -> None:
    html = spread(
        '<table:table-row table:number-rows-repeated="2"><table:table-cell '
        'table:number-columns-repeated="3"><text:p>a</text:p><text:p>b</text:p></table:table-cell>'
        "</table:table-row><table:table-row><table:covered-table-cell/><table:table-cell>"
        "<text:p>c</text:p></table:table-cell></table:table-row>"
    )
    assert html[0] == "<h2>One</h2>"
    assert html[1].startswith("<table><tr><td>a\nb</td><td>a\nb</td><td>a\nb</td></tr>")
    assert html[1].endswith("<tr><td></td><td>c</td><td></td></tr></table>")
    assert html[2] == "<p>(empty)</p>"
    huge = '<table:table-row><table:table-cell table:number-columns-repeated="999999999">'
    cells = spread(f"{huge}<text:p>x</text:p></table:table-cell></table:table-row>")
    assert cells[1].count("<td>") == MAX_COLUMNS


def test_empty_rows_behind_the_last_are_no_more() -> None:
    row = "<table:table-row><table:table-cell>{}</table:table-cell></table:table-row>"
    rows = row.format("<text:p>x</text:p>") * MAX_ROWS
    assert not any("file has more" in block for block in spread(rows + row.format("") * 5))
    more = spread(rows + row.format("<text:p>x</text:p>"))
    assert sum("file has more" in block for block in more) == 1
