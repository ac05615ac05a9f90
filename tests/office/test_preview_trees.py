"""Ways in a document's XML, and colours of a deck's theme."""

from __future__ import annotations

import pytest

from office.errors import Unreadable
from office.preview import tree
from office.preview.theme import Theme, is_light
from office.preview.xml import local, parsed, recovered

A = 'xmlns:a="urn:a/main" xmlns:b="urn:b"'
PAGE = parsed(
    f'<a:p {A} a:x="1" b:x="2" y="3"><a:q/><a:r><b:s n="4"/></a:r><a:q z="5"/></a:p>'.encode(), "p"
)
THEME = parsed(
    f"<a:theme {A}><a:themeElements><a:clrScheme>"
    '<a:dk1><a:sysClr lastClr="102030"/></a:dk1><a:lt1><a:srgbClr val="FFFFFF"/></a:lt1>'
    '<a:accent1><a:srgbClr val="804020"/></a:accent1>'
    "</a:clrScheme></a:themeElements></a:theme>".encode(),
    "theme",
)


def fill(inner: str) -> str:
    holder = parsed(f"<a:p {A}><a:solidFill>{inner}</a:solidFill></a:p>".encode(), "p")
    return Theme(THEME, None).fill(holder)


def test_names_count_without_their_namespaces() -> None:
    assert [one.get("z") for one in tree.children(PAGE, "q")] == [None, "5"]
    assert tree.child(PAGE, "r", "s") is tree.descendant(PAGE, "s")
    assert tree.child(PAGE, "r", "t") is None
    assert len(list(tree.descendants(PAGE, "q"))) == 2
    assert local(PAGE.tag) == "p"


def test_attributes_by_name_or_by_namespace() -> None:
    assert tree.attribute(PAGE, "y") == "3"
    assert tree.qualified(PAGE, "b", "x") == "2"
    assert tree.qualified(PAGE, "main", "x") == "1"
    assert tree.attribute(PAGE, "none") == ""


def test_what_is_not_there_has_nothing_in_it() -> None:
    assert list(tree.children(None, "q")) == list(tree.inside(None)) == []
    assert tree.child(None, "q") is None
    assert tree.attribute(None, "x") == tree.qualified(None, "b", "x") == ""


@pytest.mark.parametrize(
    ("text", "found"), [("2.5", 2.5), ("x", 7.0), ("nan", 7.0), ("1e99", 7.0), ("", 7.0)]
)
def test_numbers_are_finite(text: str, found: float) -> None:
    assert tree.number(text, 7.0) == found


def test_truth_in_three_spellings() -> None:
    assert [tree.truth(text) for text in ("1", "true", "on", "0", "")] == [True] * 3 + [False] * 2


def test_what_is_no_xml_is_said_so_and_what_breaks_off_is_read_as_far_as_it_goes() -> None:
    with pytest.raises(Unreadable, match="'p' is no XML"):
        parsed(b"<p>", "p")
    half = recovered(b"<p><q>text</q><r>mo")
    assert half is not None and tree.child(half, "q") is not None
    assert recovered(b"") is None


def test_entities_reach_nothing() -> None:
    bomb = b'<!DOCTYPE p [<!ENTITY e SYSTEM "file:///etc/hostname">]><p>&e;</p>'
    assert "".join(parsed(bomb, "p").itertext()) == "&e;"


@pytest.mark.parametrize(
    ("inner", "colour"),
    [
        ('<a:srgbClr val="A0b0C0"/>', "#a0b0c0"),
        ('<a:prstClr val="green"/>', "#008000"),
        ('<a:schemeClr val="tx1"/>', "#102030"),
        ('<a:schemeClr val="accent1"/>', "#804020"),
        ('<a:schemeClr val="accent1"><a:lumMod val="50000"/></a:schemeClr>', "#402010"),
        ('<a:srgbClr val="nonsense"/>', ""),
        ("<a:pattern/>", ""),
    ],
)
def test_colours_of_a_theme(inner: str, colour: str) -> None:
    assert fill(inner).lower() == colour


def test_a_theme_that_is_not_here_yet_has_no_colours() -> None:
    holder = parsed(f'<a:p {A}><a:schemeClr val="tx1"/></a:p>'.encode(), "p")
    assert Theme(None, None).of(holder) == ""


def test_what_can_t_be_read_on_white() -> None:
    assert is_light("#ffff00") and not is_light("#ff0000")
