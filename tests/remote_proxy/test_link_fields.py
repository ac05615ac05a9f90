"""Link fields say what <link> elements would say, in whatever form they come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_proxy.import_drivers.link_fields import MAX_LINKS, early_links


def said(*values: str) -> list[dict[str, str]]:
    return early_links([("server", "x"), *(("link", value) for value in values)])


CASES = [
    ("</a.css>; rel=preload; as=style", [("/a.css", "style")]),
    ('</a.css>;rel="preload";as="style"', [("/a.css", "style")]),
    ("</a.js>; REL=Preload; AS=script; crossorigin", [("/a.js", "script")]),
    ("</a>; rel=preload; as=style, </b>; rel=preload; as=font", [("/a", "style"), ("/b", "font")]),
    ("</a,b;c>; as=script; rel=preload;;", [("/a,b;c", "script")]),
    ('</a>; title="x, </no>; rel=preload"; rel=preload; as=image', [("/a", "image")]),
    ('</a>; title="a \\" b"; rel=preload; as=image', [("/a", "image")]),
    ("< /a >; rel=preload; as=style; as=image", [("/a", "style")]),
    ("</a> ; rel = preload ; as = style", [("/a", "style")]),
    ('</a>; rel="x preload"; as=style', [("/a", "style")]),
    ("</a>; rel=preload; as=style,", [("/a", "style")]),
    ("</a>; rel=preload; anchor='#x'; as=style", []),
    ("</a>; rel=stylesheet, </b>; rel=preconnect, </c>; rel=icon", []),
    ("</a>; as=style", []),
    ("/a; rel=preload; as=style", []),
    ("</a>; rel=preload; as=style no, </b>; rel=preload; as=style", [("/a", "style")]),
    ("", []),
]


@pytest.mark.parametrize(("value", "found"), CASES)
def test_what_one_field_says(value: str, found: list[tuple[str, str]]) -> None:
    assert [(one["href"], one.get("as", "")) for one in said(value)] == found


def test_several_fields_are_one_and_only_what_is_early_counts() -> None:
    found = said("</a>; rel=preload; as=style", '</b>; rel="stylesheet modulepreload"; nonce=x')
    assert found == [
        {"rel": "preload", "as": "style", "href": "/a"},
        {"rel": "modulepreload", "nonce": "x", "href": "/b"},
    ]


def test_a_flag_is_an_attribute_without_a_value() -> None:
    assert said("</a>; rel=preload; as=font; crossorigin")[0]["crossorigin"] == ""


def test_there_are_not_more_than_so_many() -> None:
    assert len(said(", ".join(["</a>; rel=preload; as=style"] * 500))) == MAX_LINKS


@given(st.text(alphabet='<>;,="\\ \tarelpod/', max_size=200) | st.text(max_size=200))
def test_whatever_they_say_it_is_read(value: str) -> None:
    for one in said(value, value):
        assert one["rel"] in ("preload", "modulepreload")


@pytest.mark.parametrize("piece", ["<", "<>;", ";" * 50, '<>;a="\\', " ;\t", "<>;a=", ","])
def test_no_field_takes_long(piece: str) -> None:
    said(piece * 20_000)
