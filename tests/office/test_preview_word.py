"""Tests of a text of Office Open XML: headings, lists, tables, pictures, as people read them."""

from __future__ import annotations

import pytest

from office.preview.word import Word
from tests.office.preview_of import Opened, words
from tests.office.small_documents import relations, word

STYLES = (
    '<styles><style styleId="Uberschrift2"><name val="heading 2"/></style>'
    '<style styleId="Own"><name val="Mine"/><pPr><outlineLvl val="3"/></pPr></style></styles>'
)
NUMBERING = (
    '<n><abstractNum abstractNumId="7"><lvl ilvl="0"><numFmt val="decimal"/></lvl>'
    '<lvl ilvl="1"><numFmt val="lowerLetter"/></lvl><lvl ilvl="2"><numFmt val="none"/></lvl>'
    '</abstractNum><num numId="1"><abstractNumId val="7"/></num></n>'
)


def blocks(document: Opened) -> list[str]:
    return Word(document.parts(), document.outline, document.pictures).blocks(1)


def shown(body: str) -> list[str]:
    return blocks(word(body, styles=STYLES, numbering=NUMBERING))


def p(text: str, properties: str = "", run: str = "") -> str:
    return f"<p><pPr>{properties}</pPr><r><rPr>{run}</rPr><t>{text}</t></r></p>"


@pytest.mark.parametrize(
    ("properties", "tag"),
    [
        ('<pStyle val="Uberschrift2"/>', "h2"),
        ('<pStyle val="Own"/>', "h4"),
        ('<pStyle val="Heading 3"/>', "h3"),
        ('<pStyle val="Title"/>', "h1"),
        ('<outlineLvl val="4"/>', "h5"),
        ('<outlineLvl val="9"/>', "p"),
        ('<pStyle val="Quote"/>', "p"),
    ],
)
def test_a_heading_is_one_in_any_language(properties: str, tag: str) -> None:
    assert shown(p("a river", properties)) == [f"<{tag}>a river</{tag}>"]


def test_lists_count_by_levels() -> None:
    def item(level: int) -> str:
        return p("x", f'<numPr><ilvl val="{level}"/><numId val="1"/></numPr>')

    html = shown(item(0) + item(1) + item(1) + item(0) + item(1) + item(2))
    bullets = [block.partition('class="bullet">')[2].partition("<")[0] for block in html]
    assert bullets == ["1.", "a.", "b.", "2.", "a.", ""]
    assert html[1].startswith('<p class="l1 item">')
    unknown = shown(p("x", '<numPr><numId val="9"/></numPr>'))
    assert '<span class="bullet">•</span>' in unknown[0]
    assert "bullet" not in shown(p("x", '<numPr><numId val="0"/></numPr>'))[0]


def test_runs_look_as_they_say() -> None:
    run = '<b/><i val="0"/><u val="single"/><sz val="48"/><color val="AA0011"/>'
    (html,) = shown(p("x", '<jc val="both"/>', run))
    assert 'style="text-align:justify"' in html
    assert "font-size:24pt;color:#aa0011" in html
    assert "<b>x</b>" in html and "<u>" in html and "<i>" not in html
    assert "<u>" not in shown(p("x", run='<u val="none"/>'))[0]


def test_what_is_around_runs_is_read_through_and_what_was_deleted_is_not() -> None:
    run = "<r><t>{}</t></r>"
    body = "".join(
        f"<{around}>{run.format(around)}</{around}>" for around in ("ins", "smartTag", "del")
    )
    (html,) = shown(f"<p>{body}<sdt><sdtContent>{run.format('field')}</sdtContent></sdt></p>")
    assert words(html) == "inssmartTagfield"
    assert [words(one) for one in shown(f"<sdt><sdtContent>{p('boxed')}</sdtContent></sdt>")] == [
        "boxed"
    ]


def test_links_lead_outside_alone_and_pictures_inside() -> None:
    rels = relations(("p", "image", "media/a.png"), external=(("w", "https://a.test/"),))
    link = '<p><hyperlink id="{}"><r><t>there</t></r></hyperlink></p>'
    picture = (
        '<p><r><drawing><extent cx="1270000"/><docPr descr="A river"/><blip embed="{}"/>'
        "</drawing></r></p>"
    )
    body = link.format("w") + link.format("p") + picture.format("p") + picture.format("w")
    web, own, here, outside = blocks(word(body, rels=rels))
    assert '<a href="https://a.test/"' in web
    assert "<a " not in own
    assert '<img class="pic" data-m="0" alt="A river" style="width:100pt">' in here
    assert outside == '<p class="gap"></p>'


def test_a_table_has_its_spans_and_what_was_merged_is_empty() -> None:
    wide = f'<tc><tcPr><gridSpan val="2"/></tcPr>{p("wide")}</tc>'
    first = f'<tc><tcPr><vMerge val="restart"/></tcPr>{p("first")}</tc>'
    merged = f"<tc><tcPr><vMerge/></tcPr>{p('hidden')}</tc>"
    (html,) = shown(f"<tbl><tr>{wide}{first}</tr><tr>{merged}</tr></tbl>")
    assert html == (
        '<table><tr><td colspan="2"><p>wide</p></td><td><p>first</p></td></tr>'
        "<tr><td></td></tr></table>"
    )


def test_tables_without_end_are_cut() -> None:
    body = p("deep")
    for _ in range(40):
        body = f"<tbl><tr><tc>{body}</tc></tr></tbl>"
    (html,) = shown(body)
    assert "deep" not in html


def test_the_text_of_boxes_is_read_and_of_boxes_in_boxes_as_far_as_makes_sense() -> None:
    def boxed(depth: int) -> str:
        inner = "<r><t>in it</t></r>"
        for _ in range(depth):
            inner = f"<r><pict><txbxContent><p>{inner}</p></txbxContent></pict></r>"
        return "".join(shown(f"<p>{inner}</p>"))

    assert words(boxed(1)) == "in it"
    assert "in it" not in boxed(9)


def test_there_is_one_page() -> None:
    document = word(p("x"))
    one = Word(document.parts(), document.outline, document.pictures)
    assert one.size() == (1.0, 1.0)
    assert one.blocks(2) == []
    assert len(one.blocks(1)) == len(one.blocks(1)) == 1


def test_a_count_begins_anew_each_time_that_the_page_is_made() -> None:
    item = p("x", '<numPr><ilvl val="0"/><numId val="1"/></numPr>')
    document = word(item, styles=STYLES, numbering=NUMBERING)
    one = Word(document.parts(), document.outline, document.pictures)
    assert one.blocks(1) == one.blocks(1)
