"""Tests of styles in a text view: what is kept of them, and that equal ones are one."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from office.errors import Unreadable
from office.text_view.styles import (
    MAX_DERIVED,
    PartStyles,
    Style,
    attributes,
    kept,
    merged,
)
from office.text_view.vocabulary import MAX_VALUE, length, same

TEXT = "style:text-properties"
GRAPHIC = "style:graphic-properties"


def read(
    part: PartStyles,
    name: str,
    *inside: tuple[str, Mapping[str, str]],
    family: str = "text",
    parent: str = "",
    tag: str = "style:style",
    automatic: bool = True,
) -> None:
    """A style as it passes by: each element inside ends before the next begins."""
    said = {"style:name": name, "style:family": family, "style:parent-style-name": parent}
    part.start(tag, {key: value for key, value in said.items() if value}, automatic=automatic)
    for child, of in inside:
        part.start(child, of, automatic=automatic)
        part.end(child)
    part.end(tag)


def found(part: PartStyles, name: str, family: str = "text") -> Style:
    style = part.automatic(family, name)
    assert style is not None
    return style


def test_styles_that_say_the_same_are_one_under_one_name_of_ours() -> None:
    part = PartStyles("_")
    read(part, "T1", (TEXT, {"fo:font-weight": "bold", "style:font-family-asian": "x"}))
    read(part, "T2", (TEXT, {"style:font-family-asian": "y", "fo:font-weight": "bold"}))
    read(part, "T3", (TEXT, {"fo:font-weight": "normal"}))
    one, two, other = (found(part, name) for name in ("T1", "T2", "T3"))
    assert one is two
    assert (part.name(one), part.name(other), part.name(two)) == ("_0", "_1", "_0")
    assert one.xml("_0") == (
        '<style:style style:name="_0" style:family="text">'
        '<style:text-properties fo:font-weight="bold"/></style:style>'
    )


def test_automatic_and_named_styles_are_apart() -> None:
    part = PartStyles("_")
    read(part, "A", parent="B")
    read(part, "B", parent="C", automatic=False)
    read(part, "C", automatic=False)
    read(part, "", tag="style:default-style", family="paragraph", automatic=False)
    assert part.automatic("text", "B") is None
    assert [name for name, _ in part.ancestors("text", "B")] == ["B", "C"]
    assert list(part.ancestors("text", "A")) == []
    assert [one.xml("") for one in part.defaults] == [
        '<style:default-style style:family="paragraph"></style:default-style>'
    ]


def test_a_style_that_is_derived_from_itself_has_an_end() -> None:
    part = PartStyles("_")
    read(part, "A", parent="A", automatic=False)
    assert len(list(part.ancestors("text", "A"))) == MAX_DERIVED


def test_a_style_of_which_nothing_is_kept_is_plain() -> None:
    part = PartStyles("_")
    read(part, "T1", (TEXT, {"style:font-family-asian": "x"}), ("loext:unknown", {"a": "b"}))
    assert found(part, "T1").plain
    read(part, "T2", parent="Standard")
    assert not found(part, "T2").plain


@pytest.mark.parametrize(
    ("said", "fill", "colour"),
    [
        ({"draw:fill": "solid", "draw:fill-color": "#112233"}, "solid", "#112233"),
        ({"draw:fill": "gradient", "draw:fill-color": "#112233"}, "solid", "#808080"),
        ({"draw:fill": "bitmap"}, "solid", "#808080"),
        ({"draw:fill": "none", "draw:fill-color": "#112233"}, "none", None),
        ({"draw:fill-color": "#112233"}, "none", None),
        ({}, "none", None),
    ],
)
def test_a_shape_is_of_one_colour_or_of_none_and_has_no_outline(
    said: Mapping[str, str], fill: str, colour: str | None
) -> None:
    part = PartStyles("_")
    read(part, "G", (GRAPHIC, {**said, "draw:stroke": "solid"}), family="graphic")
    of = found(part, "G", "graphic").properties(GRAPHIC)
    assert (of["draw:fill"], of.get("draw:fill-color")) == (fill, colour)
    assert of["draw:stroke"] == "none"


def test_a_shape_that_is_derived_has_what_its_parent_says() -> None:
    part = PartStyles("_")
    read(part, "G", family="graphic", parent="standard")
    assert found(part, "G", "graphic").groups == ()


def test_of_lists_five_levels_are_kept_with_bullets_that_all_fonts_have() -> None:
    part = PartStyles("_")
    part.start("text:list-style", {"style:name": "L"}, automatic=True)
    for level in range(1, 8):
        bullet = {"text:level": str(level), "text:bullet-char": "\ue00c" if level == 1 else "–"}
        part.start("text:list-level-style-bullet", bullet, automatic=True)
        part.start(
            "style:list-level-properties", {"fo:margin-left": "1cm", "x": "y"}, automatic=True
        )
        part.end("style:list-level-properties")
        part.end("text:list-level-style-bullet")
    part.end("text:list-style")
    xml = found(part, "L", "list-style").xml("_0")
    assert xml.startswith('<text:list-style style:name="_0"><text:list-level-style-bullet ')
    assert xml.count('<style:list-level-properties fo:margin-left="10mm"/>') == 5
    assert xml.count('text:bullet-char="•"') == 1
    assert xml.count('text:bullet-char="–"') == 4
    assert xml.count("</text:list-level-style-bullet>") == 5


def test_a_list_inside_another_style_is_not_its_own() -> None:
    part = PartStyles("_")
    part.start("style:style", {"style:name": "G", "style:family": "text"}, automatic=True)
    for tag in ("text:list-style", TEXT):
        part.start(tag, {"fo:font-weight": "bold"}, automatic=True)
    for tag in (TEXT, "text:list-style", "style:style"):
        part.end(tag)
    assert found(part, "G").plain


def test_a_part_has_only_so_many_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("office.text_view.styles.MAX_STYLES", 2)
    part = PartStyles("_")
    read(part, "A")
    read(part, "B", automatic=False)
    with pytest.raises(Unreadable, match="too many styles"):
        read(part, "C")


def test_values_are_reduced_and_those_that_are_too_long_are_left_out() -> None:
    said = {"svg:x": "1in", "draw:name": "n" * (MAX_VALUE + 1), "other": "1"}
    assert kept(said, {"svg:x": length, "draw:name": same, "svg:y": length}) == (("svg:x", "25mm"),)


def test_attributes_are_escaped() -> None:
    assert attributes([("a", '<"&>')]) == ' a="&lt;&quot;&amp;&gt;"'


def test_a_paragraph_with_properties_for_all_its_text_says_the_nearer_ones() -> None:
    bold = (("fo:font-weight", "bold"),)
    style = Style("paragraph", "P", ((TEXT, (("fo:color", "#112233"), *bold)),))
    normal = merged(style, (("fo:font-weight", "normal"),))
    assert normal.parent == "P"
    assert normal.properties(TEXT) == {"fo:color": "#112233", "fo:font-weight": "normal"}
    assert merged(None, bold) == Style("paragraph", "", ((TEXT, bold),))
    assert merged(None, ()) == Style("paragraph")
