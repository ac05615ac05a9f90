"""Tests of slides and texts of OpenDocument: masters, places, what is behind texts."""

from __future__ import annotations

import random

import pytest

from office.extents import Extents
from office.preview.odf import DEFAULT_SIZE, OdfDeck, OdfText
from tests.office.preview_of import Opened, words
from tests.office.small_documents import open_document

FRAME = (
    '<draw:frame svg:x="{}" svg:y="0cm" svg:width="5cm" svg:height="1cm" {}><draw:text-box>'
    "<text:p>{}</text:p></draw:text-box></draw:frame>"
)
PAGE = (
    '<style:page-layout style:name="L"><style:page-layout-properties fo:page-width="{}" '
    'fo:page-height="10cm"/></style:page-layout>'
)
MASTER = (
    "<office:automatic-styles>{}</office:automatic-styles><office:master-styles>"
    '<style:master-page style:name="M" style:page-layout-name="L" draw:style-name="dp">{}'
    "</style:master-page></office:master-styles>"
)


def deck(document: Opened) -> OdfDeck:
    return OdfDeck(document.parts(), document.outline, document.pictures)


def presentation(
    body: str, *, width: str = "20cm", master: str = "", automatic: str = ""
) -> Opened:
    styles = MASTER.format(PAGE.format(width), master)
    return open_document("presentation", body, automatic=automatic, styles=styles)


def shown(page: str, **more: str) -> str:
    body = f'<draw:page draw:master-page-name="M">{page}</draw:page>'
    return "".join(deck(presentation(body, **more)).blocks(1))


@pytest.mark.parametrize("width", ["0cm", "-3cm", "9999cm", "1mm"])
def test_a_size_without_sense_is_the_usual_one(width: str) -> None:
    assert deck(presentation("<draw:page/>", width=width)).size() == DEFAULT_SIZE


def test_a_deck_has_the_size_of_its_master() -> None:
    width, height = deck(presentation("<draw:page/>")).size()
    assert (width, height) == pytest.approx((20 * 72 / 2.54, 10 * 72 / 2.54))


def test_each_page_is_its_own_and_there_are_no_more() -> None:
    body = "".join(f"<draw:page>{FRAME.format('0cm', '', text)}</draw:page>" for text in "AB")
    one = deck(presentation(body))
    assert [words("".join(one.blocks(page))) for page in (1, 2, 3)] == ["A", "B", ""]


def test_places_are_shares_of_the_page_wherever_they_are_said() -> None:
    assert "left:10%;top:0%;width:25%;height:10%" in shown(FRAME.format("2cm", "", "x"))
    moved = FRAME.replace('svg:x="{}" svg:y="0cm"', 'draw:transform="translate ({} 1cm)"')
    assert "left:50%;top:10%" in shown(moved.format("10cm", "", "x"))
    both = FRAME.format("2cm", 'draw:transform="translate (10cm 1cm)"', "x")
    assert "left:10%;top:0%" in shown(both)


def test_what_a_master_draws_is_below_but_for_its_placeholders() -> None:
    placeholder = 'presentation:class="title"'
    master = FRAME.format("0cm", "", "logo") + FRAME.format("0cm", placeholder, "click here")
    own = FRAME.format("0cm", placeholder, "text")
    empty = FRAME.format("0cm", 'presentation:placeholder="true"', "click there")
    assert words(shown(own + empty, master=master)) == "logo text"


def test_a_background_is_the_pages_or_its_masters() -> None:
    style = (
        '<style:style style:name="dp" style:family="drawing-page"><style:drawing-page-properties '
        'draw:fill="{}" draw:fill-color="#204060" xmlns:draw="urn:o:drawing:1.0"/></style:style>'
    )
    frame = FRAME.format("0cm", "", "x")
    plain = shown(frame, automatic=style.format("solid"))
    assert plain.startswith('<div class="box" style="left:0%;top:0%;width:100%;height:100%;')
    assert "background:#204060" in plain
    assert "background:#808080" in shown(frame, automatic=style.format("bitmap"))
    assert "background" not in shown(frame, automatic=style.format("none"))


def test_groups_are_opened_and_those_without_end_are_cut() -> None:
    frame = FRAME.format("0cm", "", "x")
    assert words(shown(f"<draw:g>{frame}</draw:g>")) == "x"
    assert shown("<draw:g>" * 40 + frame + "</draw:g>" * 40) == ""


def test_a_picture_has_its_number_and_what_is_said_of_it() -> None:
    frame = (
        '<draw:frame svg:x="0cm"><draw:image xlink:href="Pictures/{}.png"/><svg:title>A &lt;b'
        "</svg:title></draw:frame>"
    )
    assert '<img class="box pic" data-m="0" alt="A &lt;b"' in shown(frame.format("a"))
    assert 'class="box pic none"' in shown(frame.format("gone"))


def test_a_text_flows_with_its_boxes_and_pictures() -> None:
    body = (
        "<text:p>first</text:p><draw:frame svg:width='9999cm'><draw:image "
        "xlink:href='Pictures/a.png'/></draw:frame><draw:frame><draw:text-box><text:p>boxed"
        "</text:p></draw:text-box></draw:frame>"
    )
    document = open_document("text", body)
    text = OdfText(document.parts(), document.outline, document.pictures)
    html = "".join(text.blocks(1))
    assert words(html) == "first boxed"
    assert 'data-m="0" alt="" style="width:900pt"' in html
    assert text.blocks(2) == []


def test_boxes_in_boxes_without_end_are_cut() -> None:
    body = "<text:p>deep</text:p>"
    for _ in range(6):
        body = f"<draw:frame><draw:text-box>{body}</draw:text-box></draw:frame>"
    document = open_document("text", body)
    text = OdfText(document.parts(), document.outline, document.pictures)
    assert words("".join(text.blocks(1))) == ""


def test_a_page_is_settled_once_the_next_one_has_begun() -> None:
    noise = random.Random(1).randbytes(20_000).hex()
    body = "".join(
        f"<draw:page>{FRAME.format('0cm', '', text)}</draw:page>" for text in ("A", noise)
    )
    document = presentation(body)
    entry = document.directory.by_name["content.xml"]
    parts = document.parts()
    one = OdfDeck(parts, document.outline, document.pictures)
    for page, growing in ((1, set[str]()), (2, {"content.xml"})):
        parts.now(Extents([(entry.start, (entry.start + entry.end) // 2)]))
        assert one.blocks(page)
        assert parts.growing_ones == growing


def test_the_last_page_is_told_from_those_that_are_whole() -> None:
    body = "".join(f"<draw:page>{FRAME.format('0cm', '', text)}</draw:page>" for text in "AB")
    document = presentation(body)
    parts = document.parts()
    one = OdfDeck(parts, document.outline, document.pictures)
    assert one.blocks(1)
    assert parts.growing_ones == set()
    parts.now(document.there(without=("content.xml", "styles.xml")))
    parts.forget()
    one.forget()
    assert one.blocks(1) == []
    assert parts.growing_ones == {"content.xml"}
