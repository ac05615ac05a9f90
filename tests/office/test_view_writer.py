"""Tests of pages as their text view has them: what can be read, in its place."""

from __future__ import annotations

import re

import pytest
from lxml import etree

from office.preview.xml import Element
from office.text_view.styles import PartStyles, Style
from office.text_view.view_writer import ViewWriter
from office.text_view.vocabulary import SPACES, qualified

NAMES = "".join(f' xmlns:{prefix}="{space}"' for prefix, space in SPACES.items())
STYLES = """
<style:style style:name="B" style:family="text"><style:text-properties fo:font-weight="bold"/>
</style:style>
<style:style style:name="R" style:family="text"><style:text-properties fo:color="#ff0000"/>
</style:style>
<style:style style:name="N" style:family="text" style:parent-style-name="Named"/>
<style:style style:name="P" style:family="paragraph"><style:text-properties fo:color="#0000ff"/>
</style:style>
<style:style style:name="red" style:family="graphic">
<style:graphic-properties draw:fill="solid" draw:fill-color="#ff0000"/></style:style>
<style:style style:name="clear" style:family="graphic">
<style:graphic-properties draw:fill="none"/></style:style>
"""
SHAPE = '<draw:{0} svg:x="1cm" svg:width="2cm" svg:height="1cm" {1}>{2}</draw:{0}>'


def part_styles() -> PartStyles:
    part = PartStyles("_")
    for one in etree.fromstring(f"<x{NAMES}>{STYLES}</x>").iter():
        if one.tag == "x":
            continue
        tag = qualified(str(one.tag))
        part.start(tag, {qualified(str(k)): str(v) for k, v in one.items()}, automatic=True)
        if len(one) == 0:
            part.end(tag)
            if tag != "style:style":
                part.end("style:style")
    return part


def feed(writer: ViewWriter, body: str) -> None:
    """The elements inside, as they pass by."""

    def one(element: Element) -> None:
        said = {qualified(str(k)): str(v) for k, v in element.items()}
        writer.start(qualified(str(element.tag)), said)
        if element.text:
            writer.data(element.text)
        for inner in element:
            one(inner)
            if inner.tail:
                writer.data(inner.tail)
        writer.end()

    for element in etree.fromstring(f"<x{NAMES}>{body}</x>"):
        one(element)


def written(body: str) -> str:
    writer = ViewWriter(part_styles())
    feed(writer, body)
    assert writer.depth == 0
    return writer.take()[0]


def test_a_paragraph_says_once_how_most_of_its_text_looks() -> None:
    body = (
        '<text:p><text:span text:style-name="B">nearly all of it</text:span> and '
        '<text:span text:style-name="R">red</text:span></text:p>'
    )
    writer = ViewWriter(part_styles())
    feed(writer, body)
    xml, used = writer.take()
    assert xml == (
        '<text:p text:style-name="_0">nearly all of it and '
        '<text:span text:style-name="_1">red</text:span></text:p>'
    )
    assert [style.family for style in used.automatic] == ["paragraph", "text"]


def test_what_a_run_says_goes_before_what_its_paragraph_does() -> None:
    body = '<text:p text:style-name="P">blue <text:span text:style-name="R">r</text:span></text:p>'
    xml = written(body)
    assert re.fullmatch(
        r'<text:p text:style-name="(_\d)">blue <text:span text:style-name="(?!\1)_\d">r'
        r"</text:span></text:p>",
        xml,
    )


def test_runs_that_look_alike_are_one() -> None:
    span = '<text:span text:style-name="B">{}</text:span>'
    xml = written(f"<text:p>a long beginning {span.format('b')}{span.format('c')}</text:p>")
    assert xml.count("<text:span") == 1
    assert ">bc</text:span>" in xml


def test_named_styles_are_noted_with_their_families() -> None:
    writer = ViewWriter(part_styles())
    feed(
        writer,
        '<text:p text:style-name="Body"><text:span text:style-name="N">x</text:span></text:p>'
        '<draw:page draw:master-page-name="Plain"/>',
    )
    _, used = writer.take()
    assert set(used.named) == {("text", "Named"), ("paragraph", "Body")}
    assert list(used.masters) == ["Plain"]
    assert writer.take()[1].masters == {}


def test_shapes_with_text_are_frames_and_those_with_a_colour_alone_are_boxes() -> None:
    text = written(SHAPE.format("ellipse", "", "<text:p>in it</text:p>"))
    assert text.startswith('<draw:frame svg:x="10mm" svg:width="20mm" svg:height="10mm"')
    assert text.endswith("<draw:text-box><text:p>in it</text:p></draw:text-box></draw:frame>")
    box = written(SHAPE.format("custom-shape", 'draw:style-name="red"', ""))
    assert box.startswith('<draw:rect svg:x="10mm" svg:width="20mm"')
    assert written(SHAPE.format("rect", 'draw:style-name="clear"', "")) == ""
    assert written(SHAPE.format("line", "", "")) == ""


def test_a_coloured_line_is_no_box() -> None:
    assert written('<draw:line svg:x="1cm" draw:style-name="red"/>') == ""


def test_a_picture_keeps_its_place_and_loses_what_is_inside() -> None:
    body = (
        '<draw:frame svg:x="1cm"><draw:image xlink:href="Pictures/a.png"><text:p>unseen</text:p>'
        "</draw:image></draw:frame>"
    )
    assert written(body) == (
        '<draw:frame svg:x="10mm"><draw:image xlink:href="Pictures/a.png"/></draw:frame>'
    )


@pytest.mark.parametrize(
    "body",
    [
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>",
        "<presentation:notes><text:p>said aside</text:p></presentation:notes>",
        '<draw:frame presentation:placeholder="true"><text:p>Click</text:p></draw:frame>',
    ],
)
def test_what_nobody_reads_is_left_out_with_all_that_is_in_it(body: str) -> None:
    assert written(body) == ""
    assert "after" in written(body + "<text:p>after</text:p>")


def test_elements_of_texts_that_are_not_known_are_opened() -> None:
    body = "<text:section><text:p>a<text:page-number>7</text:page-number>b</text:p></text:section>"
    assert written(body) == "<text:p>a7b</text:p>"


def test_what_has_a_meaning_in_xml_is_escaped() -> None:
    assert written("<text:p>a &lt;b&gt; &amp;</text:p>") == "<text:p>a &lt;b&gt; &amp;</text:p>"


def test_spaces_are_counted_where_there_are_several() -> None:
    body = '<text:p>a<text:s text:c="3"/><text:s text:c="1"/><text:tab/></text:p>'
    assert written(body) == '<text:p>a<text:s text:c="3"/><text:s/><text:tab/></text:p>'


def test_pieces_are_taken_one_after_the_other() -> None:
    writer = ViewWriter(part_styles())
    feed(writer, '<text:p><text:span text:style-name="B">a</text:span></text:p>')
    first, used = writer.take()
    feed(writer, "<text:p>b</text:p>")
    second, others = writer.take()
    assert first.endswith(">a</text:p>")
    assert second == "<text:p>b</text:p>"
    assert list(used.automatic) == [
        Style("paragraph", "", (("style:text-properties", (("fo:font-weight", "bold"),)),))
    ]
    assert not others.automatic
    used.add(others)
    assert len(used.automatic) == 1


def test_how_deep_it_is_counts_what_is_left_out() -> None:
    writer = ViewWriter(part_styles())
    writer.start("text:p", {})
    writer.start("presentation:notes", {})
    writer.start("text:p", {})
    assert writer.depth == 3
    for _ in range(3):
        writer.end()
    assert writer.depth == 0
