"""Pages of documents as HTML: what is on them, from what is here."""

from __future__ import annotations

import random
import re
import zipfile
import zlib

import pytest

from office.extents import Extents
from tests.office.preview_of import (
    DATA,
    ODF,
    A,
    box,
    original,
    rebuilt,
    slide_with,
    words,
)


def test_slides_have_their_text_in_the_order_of_the_show() -> None:
    assert [words(page) for page in original("deck.pptx").pages()] == [
        "First of three slides",
        "Second",
        "Third",
    ]
    assert [bool(page) for page in original("deck.odp").pages()] == [True] * 3


def test_pictures_have_their_places_and_their_numbers() -> None:
    pages = original("deck.pptx").pages()
    assert re.findall(r'data-m="(\d)"', "".join(pages)) == ["0", "1", "0"]
    assert "left:16.67%;top:27.78%;width:66.67%;height:55.56%" in pages[1]
    assert len(re.findall("data-m", "".join(original("deck.odp").pages()))) == 3


@pytest.mark.parametrize("name", ["text.docx", "text.odt"])
def test_texts_flow_with_their_pictures(name: str) -> None:
    (page,) = original(name).pages()
    assert "<h1" in page or "<p" in page
    assert 'data-m="0"' in page
    assert words(page)


def test_sheets_are_tables() -> None:
    first, second = original("sheets.xlsx").pages()
    assert "<td>" in first
    assert "<td>" in second
    assert first.startswith("<h2>")


def test_a_slide_is_shown_before_its_layout_is_here() -> None:
    title = '<p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr>{}</p:sp>'
    text = "<p:spPr/><p:txBody><a:p><a:r><a:t>Hello</a:t></a:r></a:p></p:txBody>"
    place = '<a:xfrm><a:off x="914400" y="0"/><a:ext cx="9" cy="9"/></a:xfrm>'
    tree = f"<p:x {A}><p:cSld><p:spTree>{title}</p:spTree></p:cSld></p:x>"
    deck = rebuilt(
        "deck.pptx",
        {
            "ppt/slides/slide3.xml": tree.format(text),
            "ppt/slideLayouts/slideLayout1.xml": tree.format(f"<p:spPr>{place}</p:spPr>"),
        },
    )
    early = deck.page(1, without=("ppt/slideLayouts", "ppt/slideMasters", "ppt/theme"))
    assert words(early) == "Hello"
    assert "left:6%" in early  # a sensible place
    assert "left:10%" in deck.page(1)  # the layout's


def test_a_page_says_what_it_lacks() -> None:
    deck = original("deck.pptx")
    slide = deck.directory.by_name["ppt/slides/slide3.xml"]
    nothing = deck.preview.page(1, Extents())
    assert nothing.blocks == ()
    assert slide.name in nothing.missing
    some = deck.preview.page(1, Extents([(slide.start, slide.end)]))
    assert words("".join(some.blocks)) == "First of three slides"
    assert some.missing == {"ppt/slides/_rels/slide3.xml.rels"} | (some.missing - {slide.name})
    assert deck.preview.page(1, Extents([(0, len(deck.data))])).missing == frozenset()


@pytest.mark.parametrize(("name", "entry"), [("text.docx", "word/document.xml"),
                                             ("text.odt", "content.xml")])  # fmt: skip
def test_a_text_is_shown_as_far_as_it_is_here(name: str, entry: str) -> None:
    source = original(name).content(entry).decode()
    kind = "w:p" if name.endswith("docx") else "text:p"
    space = 'xmlns:w="w"' if name.endswith("docx") else 'xmlns:text="t"'
    run = "<w:r><w:t>{}</w:t></w:r>" if name.endswith("docx") else "{}"
    noise = random.Random(5)
    lines = [f"line {n} {noise.randbytes(40).hex()}" for n in range(200)]
    many = "".join(f"<{kind} {space}>{run.format(line)}</{kind}>" for line in lines)
    end = "</w:body>" if name.endswith("docx") else "</office:text>"
    opened = rebuilt(name, {entry: source.replace(end, many + end)})
    at = opened.directory.by_name[entry]
    half = opened.preview.page(1, Extents([(at.start, (at.start + at.end) // 2)]))
    assert half.growing == {entry}
    assert "line 20 " in "".join(half.blocks)
    assert "line 199 " not in "".join(half.blocks)
    assert "line 199 " in opened.page(1)


def test_text_has_its_look() -> None:
    html = slide_with(
        box(
            '<a:p><a:pPr lvl="1"><a:buChar char="•"/></a:pPr><a:r>'
            '<a:rPr sz="3600" b="1" i="1"><a:solidFill><a:srgbClr val="AA0011"/></a:solidFill>'
            "</a:rPr><a:t>big</a:t></a:r></a:p>"
        )
    )
    assert "left:10%;top:0%;width:10%;height:10%" in html
    assert "font-size:5cqw;color:#aa0011" in html
    assert "<b>" in html
    assert "<i>" in html
    assert 'class="l1 item"' in html
    assert "•" in html


def test_groups_move_and_scale_what_is_in_them() -> None:
    group = (
        '<p:grpSp><p:grpSpPr><a:xfrm><a:off x="4572000" y="3429000"/>'
        '<a:ext cx="914400" cy="685800"/><a:chOff x="0" y="0"/>'
        '<a:chExt cx="1828800" cy="1371600"/></a:xfrm></p:grpSpPr>{}</p:grpSp>'
    )
    html = slide_with(group.format(box("<a:p><a:r><a:t>in</a:t></a:r></a:p>")))
    assert "left:55%;top:50%;width:5%;height:5%" in html


def test_tables_are_tables() -> None:
    cell = "<a:tc{}><p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></a:tc>"
    row = cell.format(' gridSpan="2"', "wide") + cell.format(' hMerge="1"', "hidden")
    html = slide_with(
        '<p:graphicFrame><p:xfrm><a:off x="0" y="0"/><a:ext cx="9" cy="9"/></p:xfrm><a:graphic>'
        f"<a:graphicData><a:tbl><a:tr>{row}</a:tr></a:tbl></a:graphicData></a:graphic>"
        "</p:graphicFrame>"
    )
    assert '<td colspan="2">' in html
    assert "hidden" not in html


def test_light_text_is_dark_where_nothing_is_known_behind_it() -> None:
    white = (
        '<a:p><a:r><a:rPr><a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill></a:rPr>'
        "<a:t>white</a:t></a:r></a:p>"
    )
    assert "#ffffff" not in slide_with(box(white))
    dark = '<a:solidFill><a:srgbClr val="000000"/></a:solidFill>'
    assert "color:#ffffff" in slide_with(box(white, properties=dark))


def test_a_sheet_shows_dates_numbers_and_its_first_rows() -> None:
    cells = "".join(f'<row r="{n}"><c r="A{n}"><v>{n}</v></c></row>' for n in range(2, 400))
    sheet = (
        '<worksheet><sheetData><row r="1"><c r="A1" s="1"><v>45000.5</v></c>'
        '<c r="C1" t="b"><v>1</v></c><c r="D1"><v>0.30000000000000004</v></c>'
        f'<c r="ZZ1"><v>far</v></c></row>{cells}</sheetData></worksheet>'
    )
    with zipfile.ZipFile(DATA / "sheets.xlsx") as book:
        rels = book.read("xl/_rels/workbook.xml.rels").decode()
        types = book.read("[Content_Types].xml").decode()
    styles = '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/></cellXfs></styleSheet>'
    related = '<Relationship Id="s" Type="x/styles" Target="styles.xml"/></Relationships>'
    html = rebuilt(
        "sheets.xlsx",
        {
            "xl/worksheets/sheet1.xml": sheet,
            "xl/styles.xml": styles,
            "xl/_rels/workbook.xml.rels": rels.replace("</Relationships>", related),
            "[Content_Types].xml": types,
        },
    ).page(1)
    assert "2023-03-15 12:00" in html
    assert "<td>TRUE</td><td>0.3</td>" in html
    assert "first 200 rows" in html
    assert "far" not in html


def test_sheets_of_open_document() -> None:
    cell = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>"
    twice = cell.format(' table:number-columns-repeated="2"', "twice")
    content = (
        f"<office:document-content {ODF}><office:body><office:spreadsheet>"
        '<table:table table:name="One"><table:table-row>'
        f"{twice}{cell.format('', 'once')}"
        '<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
        '<table:table-row table:number-rows-repeated="1048575"/></table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    html = rebuilt("text.odt", {"mimetype": kind, "content.xml": content}).page(1)
    assert "<h2>One</h2>" in html
    assert "<td>twice</td><td>twice</td><td>once</td>" in html
    assert "first" not in html


def test_slides_of_open_document_have_styles_and_places() -> None:
    content = (
        f"<office:document-content {ODF}><office:automatic-styles>"
        '<style:style style:name="P1" style:family="paragraph">'
        '<style:text-properties fo:font-size="20pt" fo:font-weight="bold" fo:color="#112233"/>'
        "</style:style></office:automatic-styles><office:body><office:presentation>"
        '<draw:page><draw:frame svg:x="2.8cm" svg:y="2.1cm" svg:width="14cm" svg:height="1in">'
        '<draw:text-box><text:list><text:list-item><text:p text:style-name="P1">a'
        '<text:s text:c="2"/>b</text:p></text:list-item></text:list></draw:text-box></draw:frame>'
        "</draw:page></office:presentation></office:body></office:document-content>"
    )
    html = rebuilt("deck.odp", {"content.xml": content}).page(1)
    assert "left:10%;top:10%;width:50%" in html
    assert "color:#112233" in html
    assert "<b>a</b>" in html
    assert 'class="bullet"' in html


def test_a_slide_is_small() -> None:
    sizes = [len(zlib.compress(page.encode(), 9)) for page in original("deck.pptx").pages()]
    assert max(sizes) < 700
