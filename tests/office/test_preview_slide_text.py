"""Tests of the text of a slide's shape: what its paragraphs inherit, and how lists count."""

from __future__ import annotations

import pytest

from office.preview.parts import Relation
from office.preview.slide_text import DEFAULT, Heritage, paragraphs
from office.preview.theme import Theme
from office.preview.xml import Element, parsed

THEME = Theme(None, None)


def body(inner: str) -> Element:
    return parsed(f"<txBody>{inner}</txBody>".encode(), "body")


def shown(inner: str, *others: Element, light: bool = True, styles: Element | None = None) -> str:
    own = body(inner)
    heritage = Heritage([own, *others], styles, theme=THEME, light=light)
    links = {
        "web": Relation("hyperlink", "https://a.test/", True),
        "own": Relation("slide", "ppt/slides/slide2.xml", False),
    }
    return paragraphs(own, heritage, links, unit="pt", scale=1.0)


def p(text: str, *, properties: str = "", run: str = "") -> str:
    return f"<p>{properties}<r>{run}<t>{text}</t></r></p>"


def test_a_size_is_the_nearest_that_is_said() -> None:
    layout = body('<lstStyle><lvl1pPr><defRPr sz="3000" b="1"/></lvl1pPr></lstStyle>')
    master = parsed(b'<s><lvl1pPr algn="ctr"><defRPr sz="2000" i="1"/></lvl1pPr></s>', "titleStyle")
    assert f"font-size:{DEFAULT:g}pt" in shown(p("plain"))
    html = shown(p("text"), layout, styles=master)
    assert html == '<p style="font-size:30pt;text-align:center"><i><b>text</b></i></p>'
    assert "font-size:40pt" in shown(p("text", run='<rPr sz="4000"/>'), layout)


def test_text_that_was_made_to_fit_is_as_small_as_it_became() -> None:
    assert "font-size:9pt" in shown('<bodyPr><normAutofit fontScale="50000"/></bodyPr>' + p("x"))


@pytest.mark.parametrize(
    ("said", "anchor"), [("ctr", "middle"), ("b", "bottom"), ("t", "top"), ("", "top")]
)
def test_a_text_stands_where_the_nearest_says(said: str, anchor: str) -> None:
    own, above = body("<bodyPr/>"), body(f'<bodyPr anchor="{said}"/>')
    assert Heritage([own, above], None, theme=THEME, light=True).anchor == anchor
    assert Heritage([], None, theme=THEME, light=True).anchor == "top"


def test_numbers_go_on_at_their_level_and_begin_anew_below() -> None:
    def item(level: int) -> str:
        return p("x", properties=f'<pPr lvl="{level}"><buAutoNum/></pPr>')

    html = shown(item(0) + item(1) + item(1) + item(0) + item(1))
    bullets = [part.partition("<")[0] for part in html.split('class="bullet">')[1:]]
    assert bullets == ["1.", "1.", "2.", "2.", "1."]


@pytest.mark.parametrize(
    ("bullet", "expected"),
    [
        ('<buChar char="–"/>', "–"),
        ('<buChar char="&#xf0b7;"/>', "•"),
        ('<buChar char="o"/>', "•"),
        ("<buBlip/>", "•"),
    ],
)
def test_a_bullet_that_only_one_font_has_is_a_plain_one(bullet: str, expected: str) -> None:
    html = shown(p("x", properties=f"<pPr>{bullet}</pPr>"))
    assert f'<span class="bullet">{expected}</span>' in html
    assert 'class="bullet"' not in shown(p("x", properties=f"<pPr><buNone/>{bullet}</pPr>"))


def test_empty_paragraphs_are_gaps_between_texts_and_nowhere_else() -> None:
    assert shown("<p/><p><br/></p>") == ""
    html = shown("<p/>" + p("a") + "<p/>" + p("b") + "<p/>")
    assert html.count('<p class="gap"></p>') == 1
    assert html.index("a") < html.index("gap") < html.index("b")


def test_links_lead_to_the_web_alone() -> None:
    web = shown(p("there", run='<rPr><hlinkClick id="web"/></rPr>'))
    assert '<a href="https://a.test/"' in web
    assert "<a " not in shown(p("there", run='<rPr><hlinkClick id="own"/></rPr>'))


def test_light_text_is_dark_where_it_could_not_be_read() -> None:
    white = '<rPr><solidFill><srgbClr val="FFFFFF"/></solidFill></rPr>'
    assert "color:#ffffff" in shown(p("x", run=white))
    assert "color" not in shown(p("x", run=white), light=False)


def test_levels_without_sense_are_the_nearest_that_have_some() -> None:
    assert 'class="l8"' in shown(p("x", properties='<pPr lvl="99"/>'))
    assert "class" not in shown(p("x", properties='<pPr lvl="-3"/>'))
    assert "class" not in shown(p("x", properties='<pPr lvl="one"/>'))
