"""Resources in CSS values, and which names selectors ask for."""

from __future__ import annotations

import pytest

from remote_proxy.import_drivers.css_values import (
    MAX_PARTS,
    covers_latin,
    font_source,
    import_target,
    urls,
)
from remote_proxy.import_drivers.found import BrowserTraits
from remote_proxy.import_drivers.selectors import MAX_SELECTORS, selector_names

ONE = BrowserTraits(dpr=1.0, accept="image/avif,image/webp")
TWO = BrowserTraits(dpr=2.0, accept="image/avif,image/webp")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("url(a.png)", ["a.png"]),
        ("url('a b.png') no-repeat, url( c.png )", ["a b.png", "c.png"]),
        ("linear-gradient(red, blue)", []),
        ("cross-fade(url(a.png), url(b.png), 50%)", ["a.png", "b.png"]),
        ('"a.png"', []),
        ("image-set('a.png' 1x, 'b.png' 2x)", ["a.png"]),
        ("image-set('a.jxl' type('image/jxl'), 'b.png')", ["b.png"]),
        ("url(a.png) " * MAX_PARTS, []),
    ],
)
def test_urls_of_a_value(value: str, found: list[str]) -> None:
    assert urls(value, ONE) == found


def test_a_fine_screen_gets_the_fine_picture_of_a_set() -> None:
    value = "-webkit-image-set(url(a.png) 96dpi, url(b.png) 192dpi)"
    assert (urls(value, ONE), urls(value, TWO)) == (["a.png"], ["b.png"])


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ('"a.css"', ("a.css", "")),
        ("url(a.css) screen and (min-width:9px)", ("a.css", "screen and (min-width:9px)")),
        ("url(a.css) layer(base) supports(display:grid) print", ("a.css", "print")),
        ("nothing", None),
        ("", None),
    ],
)
def test_what_import_asks_for_and_when(value: str, target: tuple[str, str] | None) -> None:
    found = import_target(value)
    if target is None:
        assert found is None
    else:
        assert found is not None
        assert (found[0], found[1].replace(" ", "")) == (target[0], target[1].replace(" ", ""))


@pytest.mark.parametrize(
    ("src", "source"),
    [
        ("url(a.woff2) format('woff2'), url(a.ttf)", "a.woff2"),
        ("url(a.eot) format('embedded-opentype'), url(a.ttf) format(truetype)", "a.ttf"),
        ("local('Arial'), url(a.ttf)", "a.ttf"),
        ("local('Arial')", None),
    ],
)
def test_the_first_font_that_a_browser_knows(src: str, source: str | None) -> None:
    assert font_source(src) == source


@pytest.mark.parametrize(
    ("ranges", "latin"),
    [("", True), ("U+0-FF", True), ("u+0400-04ff", False), ("U+00??", True), ("U+4E00", False)],
)
def test_whether_a_font_has_letters_that_nearly_every_page_uses(ranges: str, latin: bool) -> None:
    assert covers_latin(ranges) is latin


@pytest.mark.parametrize(
    ("prelude", "names"),
    [
        ("p", [{"p"}]),
        ("A.b #c, .d", [{"a", ".b", "#c"}, {".d"}]),
        ("a:hover, b", [{"b"}]),
        ("a::before", [{"a"}]),
        ("a[href='x,y']:not(.z)", [{"a"}]),
        (r".sm\:wide", [{".sm:wide"}]),
    ],
)
def test_names_that_must_all_be_there(prelude: str, names: list[set[str]]) -> None:
    assert list(selector_names(prelude)) == names


def test_a_list_without_end_counts_as_used() -> None:
    assert selector_names(",".join(["a"] * (MAX_SELECTORS + 1))) == (frozenset(),)
