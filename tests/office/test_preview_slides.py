"""Tests of slides: which part is which page, and where its shapes come from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from office.outline import OutlinePage
from office.preview.deck import Deck
from office.preview.slide import DEFAULT_SIZE, Slide, size_of
from office.preview.xml import parsed
from tests.office.preview_of import A, Opened, box, original, rebuilt, words

SLIDE = "ppt/slides/slide3.xml"
LAYOUT = "ppt/slideLayouts/slideLayout1.xml"
HELLO = "<a:p><a:r><a:t>Hello</a:t></a:r></a:p>"
WHITE = (
    '<a:p><a:r><a:rPr><a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill></a:rPr>'
    "<a:t>white</a:t></a:r></a:p>"
)
CHART = (
    '<p:graphicFrame><p:xfrm><a:off x="0" y="0"/><a:ext cx="9" cy="9"/></p:xfrm><a:graphic>'
    '<a:graphicData uri="http://x/{}"><a:part r:id="c"/></a:graphicData></a:graphic>'
    "</p:graphicFrame>"
)


def tree(shapes: str, *, background: str = "", more: str = "") -> str:
    inner = f"{background}<p:spTree>{shapes}</p:spTree>"
    return f"<p:x {A} {more}><p:cSld>{inner}</p:cSld></p:x>"


def drawn(document: Opened) -> str:
    slide = Slide(document.parts(), SLIDE, size=DEFAULT_SIZE, pictures=document.pictures)
    return "".join(slide.blocks())


def shown(
    shapes: str, *, background: str = "", more: str = "", layout: str | None = None, rels: str = ""
) -> str:
    change = {SLIDE: tree(shapes, background=background, more=more)}
    if layout is not None:
        change[LAYOUT] = layout
    if rels:
        change["ppt/slides/_rels/slide3.xml.rels"] = f"<Relationships>{rels}</Relationships>"
        change["ppt/charts/chart1.xml"] = "<c><p><t>Rhine</t></p><p><t> </t></p></c>"
    return drawn(rebuilt("deck.pptx", change))


def deck(document: Opened) -> Deck:
    return Deck(document.parts(), document.outline, document.pictures)


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ('<sldSz cx="12192000" cy="6858000"/>', (12_192_000.0, 6_858_000.0)),
        ('<sldSz cx="0" cy="6858000"/>', DEFAULT_SIZE),
        ('<sldSz cx="100" cy="6858000"/>', DEFAULT_SIZE),
        ('<sldSz cx="nan" cy="1"/>', DEFAULT_SIZE),
        ("", DEFAULT_SIZE),
    ],
)
def test_a_deck_has_the_size_that_it_says_if_that_makes_sense(
    said: str, size: tuple[float, float]
) -> None:
    assert size_of(parsed(f"<p>{said}</p>".encode(), "p")) == size
    assert size_of(None) == DEFAULT_SIZE


def test_a_deck_knows_its_size_and_its_pages() -> None:
    one = deck(original("deck.pptx"))
    assert one.size() == (9_144_000.0, 6_858_000.0)
    assert [words("".join(one.blocks(page))) for page in (1, 2, 3)] == [
        *("First of three slides", "Second", "Third"),
    ]


def test_where_parts_leave_a_choice_the_list_of_slides_says_which_is_which() -> None:
    document = original("deck.pptx")
    document.outline = replace(document.outline, pages=(OutlinePage(()),) * 4)
    one = deck(document)
    texts = [words("".join(one.blocks(page))) for page in (1, 2, 3, 4)]
    assert texts == ["First of three slides", "Second", "Third", ""]


def test_a_page_that_brings_its_slide_needs_no_list_of_slides() -> None:
    document = original("deck.pptx")
    parts = document.parts(without=("ppt/presentation.xml",))
    one = Deck(parts, document.outline, document.pictures)
    assert words("".join(one.blocks(2))) == "Second"


def test_a_slide_that_is_not_here_is_empty_and_asked_for() -> None:
    document = original("deck.pptx")
    parts = document.parts(without=(SLIDE,))
    assert Deck(parts, document.outline, document.pictures).blocks(1) == []
    assert SLIDE in parts.missing


def test_a_background_lets_light_text_be_read() -> None:
    fill = '<p:bg><p:bgPr><a:solidFill><a:srgbClr val="102030"/></a:solidFill></p:bgPr></p:bg>'
    html = shown(box(WHITE), background=fill)
    assert html.startswith('<div class="box"')
    assert "background:#102030" in html.partition(">")[0]
    assert "color:#ffffff" in html
    assert "color:#ffffff" not in shown(box(WHITE))


def test_a_picture_behind_all_has_grey_under_it() -> None:
    blip = '<p:bg><p:bgPr><a:blipFill><a:blip r:embed="gone"/></a:blipFill></p:bgPr></p:bg>'
    html = shown(box(WHITE), background=blip)
    assert html.index("background:#808080") < html.index('class="box pic none"')
    assert "color:#ffffff" in html


def test_shapes_turn_and_are_round() -> None:
    turned = box(HELLO).replace("<a:xfrm>", '<a:xfrm rot="5400000">')
    assert "transform:rotate(90deg)" in shown(turned)
    fill = '<a:prstGeom prst="ellipse"/><a:solidFill><a:srgbClr val="00FF00"/></a:solidFill>'
    assert "background:#00ff00;border-radius:50%" in shown(box(HELLO, properties=fill))


def test_a_shape_has_the_colour_of_its_style_unless_it_says_that_it_has_none() -> None:
    style = '<p:style><a:fillRef idx="1"><a:srgbClr val="204060"/></a:fillRef></p:style>'
    styled = box(HELLO).replace("</p:sp>", f"{style}</p:sp>")
    assert "background:#204060" in shown(styled)
    assert "background" not in shown(styled.replace("</p:spPr>", "<a:noFill/></p:spPr>"))


def test_a_shape_without_a_place_text_or_colour_is_not_shown() -> None:
    assert shown(f"<p:sp><p:nvSpPr/><p:spPr/><p:txBody>{HELLO}</p:txBody></p:sp>") == ""
    assert shown(box("<a:p/>")) == ""


def test_what_a_layout_draws_is_below_unless_the_slide_hides_it() -> None:
    layout = tree(box("<a:p><a:r><a:t>logo</a:t></a:r></a:p>"))
    assert words(shown(box(HELLO), layout=layout)) == "logo Hello"
    assert words(shown(box(HELLO), layout=layout, more='showMasterSp="0"')) == "Hello"


def test_a_placeholder_of_a_layout_lends_its_place_and_not_its_text() -> None:
    named = "<p:nvSpPr><p:nvPr><p:ph idx='7'/></p:nvPr></p:nvSpPr>"
    lent = box("<a:p><a:r><a:t>Click to add</a:t></a:r></a:p>").replace("<p:nvSpPr/>", named)
    own = f"<p:sp>{named}<p:spPr/><p:txBody>{HELLO}</p:txBody></p:sp>"
    html = shown(own, layout=tree(lent))
    assert words(html) == "Hello"
    assert "left:10%;top:0%;width:10%;height:10%" in html


@pytest.mark.parametrize(
    ("kind", "size"), [("title", 60), ("ctrTitle", 60), ("body", 30), ("ftr", 10)]
)
def test_a_placeholder_has_the_text_style_of_its_sort(kind: str, size: int) -> None:
    styles = "".join(
        f'<p:{name}><a:lvl1pPr><a:defRPr sz="{points}00"/></a:lvl1pPr></p:{name}>'
        for name, points in (("titleStyle", 60), ("bodyStyle", 30), ("otherStyle", 10))
    )
    placeholder = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
    shape = box(HELLO).replace("<p:nvSpPr/>", placeholder)
    master = f"<p:x {A}><p:txStyles>{styles}</p:txStyles></p:x>"
    change = {SLIDE: tree(shape), "ppt/slideMasters/slideMaster1.xml": master}
    points = size * 100 * 12_700 / DEFAULT_SIZE[0]
    assert f"font-size:{points:.4g}cqw" in drawn(rebuilt("deck.pptx", change))


def test_of_alternatives_the_first_that_can_be_drawn_is() -> None:
    choice = "<p:Choice><p:ink/></p:Choice>"
    fallback = f"<p:Fallback>{box(HELLO)}</p:Fallback>"
    html = shown(f"<p:AlternateContent>{choice}{fallback}</p:AlternateContent>")
    assert words(html) == "Hello"


def test_the_words_of_a_chart_are_shown_and_those_of_other_objects_are_not() -> None:
    rels = '<Relationship Id="c" Type="http://x/chart" Target="../charts/chart1.xml"/>'
    html = shown(CHART.format("chart"), rels=rels)
    assert words(html) == "Rhine"
    assert html.count("<p>") == 1
    assert shown(CHART.format("ole"), rels=rels) == ""


def test_groups_without_end_are_cut() -> None:
    html = box(HELLO)
    for _ in range(60):
        html = f"<p:grpSp>{html}</p:grpSp>"
    assert shown(html) == ""
