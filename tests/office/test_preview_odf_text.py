"""Tests of OpenDocument's styles and texts: what a name stands for, what people read."""

from __future__ import annotations

import pytest

from office.preview.markup import MAX_DEPTH, Look
from office.preview.odf_styles import MAX_DERIVED, OdfStyles, points
from office.preview.odf_text import MAX_REPEATED, Context, alt, blocks, image, rows, table
from office.preview.xml import Element, parsed

OWN = """<c><automatic-styles>
<style name="P1" family="paragraph" parent-style-name="Base">
 <paragraph-properties text-align="end"/><text-properties font-size="150%"/></style>
<style name="T1" family="text"><text-properties color="#ffffff" font-weight="bold"/></style>
<style name="L" family="paragraph" parent-style-name="L"/>
<list-style name="N"><list-level-style-number level="1" num-format="1"/>
 <list-level-style-bullet level="2" bullet-char="–"/></list-style>
</automatic-styles></c>"""
NAMED = """<s><styles>
<style name="P1" family="paragraph"><text-properties font-size="99pt"/></style>
<style name="Base" family="paragraph">
 <text-properties font-size="20pt" font-style="italic"/></style>
<default-style family="paragraph"><text-properties font-size="8pt" color="#112233"/></default-style>
</styles><master-styles><master-page name="M" page-layout-name="x"/></master-styles></s>"""
STYLES = OdfStyles(parsed(OWN.encode(), "content"), parsed(NAMED.encode(), "styles"))


def element(xml: str) -> Element:
    return parsed(xml.encode(), "test")


def context(*, light: bool = True) -> Context:
    return Context(STYLES, [], 12.0, "pt", 1.0, frame=lambda frame: "[frame]", light=light)


def shown(inner: str, *, light: bool = True) -> str:
    return "".join(blocks(element(f"<body>{inner}</body>"), context(light=light)))


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        ("2.54cm", 72.0),
        ("25.4mm", 72.0),
        (" 1in ", 72.0),
        ("6pc", 72.0),
        ("96px", 72.0),
        ("-72pt", -72.0),
        ("72", 72.0),
        ("50%", 7.0),
        ("1.2.3cm", 7.0 * 72 / 2.54),
        ("", 7.0),
        ("9999999999999pt", 7.0),
    ],
)
def test_lengths_are_points(length: str, expected: float) -> None:
    assert points(length, 7.0) == pytest.approx(expected)


def test_a_style_is_the_texts_own_before_the_one_with_a_name() -> None:
    chain = [one.get("name") for one in STYLES.chain("paragraph", "P1")]
    assert chain == ["P1", "Base", None]
    assert [one.get("name") for one in STYLES.chain("text", "P1")] == []


def test_a_style_that_is_derived_from_itself_has_an_end() -> None:
    assert len(list(STYLES.chain("paragraph", "L"))) == MAX_DERIVED + 1


def test_a_property_is_the_first_that_is_said() -> None:
    said = STYLES.property("paragraph", "P1", "paragraph-properties", "text-align")
    assert said == "end"
    assert STYLES.property("paragraph", "P1", "text-properties", "font-style") == "italic"
    assert STYLES.property("paragraph", "gone", "text-properties", "color") == "#112233"
    assert STYLES.property("graphic", "P1", "text-properties", "color") == ""


def test_styles_of_no_family_are_found_by_kind() -> None:
    master = STYLES.get("master-page", "M")
    assert master is not None and master.get("page-layout-name") == "x"
    assert STYLES.get("page-layout", "M") is None


def test_a_share_of_a_size_is_of_the_one_that_it_is_derived_from() -> None:
    assert STYLES.look([("paragraph", "P1")], 12.0) == Look(30.0, False, True, False, "#112233")
    assert STYLES.look([("text", "T1"), ("paragraph", "P1")], 12.0) == Look(
        30.0, True, True, False, "#ffffff"
    )
    assert STYLES.look([("text", "gone")], 12.0) == Look(12.0, False, False, False, "")


def test_paragraphs_have_their_alignment_and_headings_their_rank() -> None:
    html = shown('<p style-name="P1">a</p><h outline-level="9">b</h><h outline-level="2">c</h><p/>')
    assert html.startswith('<p style="font-size:30pt;text-align:right">')
    assert "<h6>" in html and "<h2>" in html
    assert html.endswith('<p class="gap"></p>')


def test_a_run_says_how_it_looks_and_not_what_its_paragraph_said() -> None:
    html = shown('<p>a<span style-name="T1">b</span>c</p>')
    assert '<span style="color:#ffffff"><b>b</b></span>' in html
    assert "#ffffff" not in shown('<p>a<span style-name="T1">b</span>c</p>', light=False)


def test_spaces_breaks_links_and_frames_stand_where_they_are_said() -> None:
    html = shown(
        '<p>a<s c="3"/>b<tab/>c<line-break/>d<a href="https://a.test/">e</a><frame/>'
        "<annotation><p>unsaid</p></annotation>f</p>"
    )
    assert "   " in html and "\t" in html and "<br>" in html and "[frame]" in html
    assert '<a href="https://a.test/"' in html
    assert "unsaid" not in html
    assert shown(f'<p>a<s c="{10**9}"/>b</p>').count(" " * MAX_REPEATED + " ") == 0


def test_lists_count_and_go_deeper() -> None:
    html = shown(
        '<list style-name="N"><list-item><p>a</p><list><list-item><p>deep</p></list-item></list>'
        '</list-item><list-item start-value="7"><p>b</p><p>of b</p></list-item></list>'
    )
    assert html.count('<span class="bullet">1.</span>') == 1
    assert html.count('<span class="bullet">7.</span>') == 1
    assert html.count('class="l1 item"') == 1
    assert html.count('class="bullet"') == 3


def test_a_table_has_the_rows_of_its_groups_and_spans_that_make_sense() -> None:
    grid = element(
        '<table><table-header-rows><table-row><table-cell number-columns-spanned="2"><p>wide</p>'
        "</table-cell></table-row></table-header-rows><table-rows><table-row>"
        '<table-cell number-rows-spanned="-4"><p>x</p></table-cell></table-row></table-rows>'
        "</table>"
    )
    assert len(list(rows(grid))) == 2
    html = table(grid, context())
    assert '<td colspan="2">' in html and '<td rowspan="1">' in html
    assert html.startswith("<table><tr>")


def test_sections_are_read_through_and_what_was_deleted_is_not() -> None:
    html = shown("<section><p>in</p></section><tracked-changes><p>gone</p></tracked-changes>")
    assert "in" in html and "gone" not in html


def test_tables_without_end_are_cut() -> None:
    def nested(depth: int) -> str:
        inner = "<p>deepest</p>"
        for _ in range(depth):
            inner = f"<table><table-row><table-cell>{inner}</table-cell></table-row></table>"
        return shown(inner)

    assert "deepest" in nested(MAX_DEPTH)
    assert "deepest" not in nested(MAX_DEPTH + 2)


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ('<image href="./Pictures/a.png"/>', "Pictures/a.png"),
        ('<image href="http://a.test/a.png"/><image href="b.png"/>', "b.png"),
        ("<text-box/>", ""),
    ],
)
def test_a_frame_shows_an_entry_of_the_document(inner: str, expected: str) -> None:
    assert image(element(f"<frame>{inner}</frame>")) == expected


def test_a_picture_is_called_by_its_title_or_what_is_said_of_it() -> None:
    assert alt(element("<frame><title>A</title><desc>B</desc></frame>")) == "A"
    assert alt(element("<frame><title/><desc>B</desc></frame>")) == "B"
    assert alt(element("<frame/>")) == ""
