"""The script tag's place in HTML: whole, cut, mutated; and what is left alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html

from local_proxy.export_drivers.markup.injection import (
    LIMIT,
    TOKENS,
    Injector,
    injectable,
    script_tag,
)

TAG = script_tag("/x.js")
MARK = b"@@"

PLACES = [
    b"<!doctype html><html><head>@@<title>x</title>",
    b"<!DOCTYPE HTML><HTML LANG=de><HEAD>@@<script>1</script>",
    b"\xef\xbb\xbf<!doctype html>\n<html>\n<head>@@",
    b"<html><head profile='a>b' x=\"</head>\">@@<p>",
    b'<html x"y><head z=a"b>@@c">',
    b"<html a = '>'><head/>@@",
    b"<head>@@<meta charset=utf-8>",
    b"<header>".join([b"<!doctype html>@@", b""]),
    b"<!-- <head> --><html><!--><head>@@",
    b"<!---><html><head>@@-->",
    b"<!-- a --!><head>@@",
    b"<!-- - -- > <head> --><head>@@",
    b"<?xml version='1.0'?><html xmlns='x'><head>@@",
    b"<!doctype html>@@<p>no head",
    b"<!doctype html>@@text",
    b"<html>@@<body>x",
    b"<html>@@<script>first</script><head>",
    b"<html>@@<frameset cols=1><frame></frameset>",
    b"<html><head>@@</head><frameset>",
    b"<html>@@</head>",
    b"@@<p>bare",
    b"@@</p>",
    b"</3><!doctype html><html><head>@@",
    b"<html> @@< head>",
    b"<HTML\n\t><HeAd\n>@@",
]

LEFT_ALONE = [
    b"",
    b" \n",
    b"just text",
    b'{"json": "<head>"}',
    b"\xff\xfe<\0h\0t\0m\0l\0>\0",
    b"\xfe\xff\0<\0h\0t\0m\0l\0>",
    b"<\0h\0t\0m\0l\0>\0<\0h\0e\0a\0d\0>\0",
    b"\0<\0h",
    b"\x89PNG\r\n\x1a\n<head>",
    b"< head>",
    b"<!doctype html",
    b"<html><head",
    b"<!-- never closed <head>",
    b"<html><head a='>",
    b"\xef\xbb",
    b"<",
]


def inject(data: bytes, *, cuts: list[int]) -> bytes:
    injector = Injector(TAG)
    bounds = [0, *sorted(cuts), len(data)]
    out = b"".join(injector.feed(data[a:b]) for a, b in pairwise(bounds))
    return out + injector.end()


@pytest.mark.parametrize("marked", PLACES)
def test_places(marked: bytes) -> None:
    data = marked.replace(MARK, b"")
    expected = marked.replace(MARK, TAG)
    assert inject(data, cuts=[]) == expected
    assert inject(data, cuts=list(range(len(data)))) == expected
    for cut in range(len(data)):
        assert inject(data, cuts=[cut]) == expected


@pytest.mark.parametrize("data", LEFT_ALONE)
def test_left_alone(data: bytes) -> None:
    assert inject(data, cuts=[]) == data
    assert inject(data, cuts=list(range(len(data)))) == data


pieces = st.sampled_from(
    [
        *(b"<html>", b"<head>", b"<HEAD x='>'>", b"<!-- ", b"-->", b"<!doctype html>", b"<body>"),
        *(b"<script>", b"</", b"<", b">", b'"', b"'", b"=", b" ", b"a", b"\0", b"\xef\xbb\xbf"),
    ]
)


@given(st.lists(pieces, max_size=12).map(b"".join), st.data())
def test_any_bytes_however_cut(data: bytes, draw: st.DataObject) -> None:
    cuts = draw.draw(st.lists(st.integers(0, len(data)), max_size=6))
    whole = inject(data, cuts=[])
    assert inject(data, cuts=cuts) == whole
    assert whole == data or whole.replace(TAG, b"", 1) == data


@given(st.lists(pieces, max_size=8).map(b"".join))
def test_the_tag_is_the_first_script_that_a_parser_sees(body: bytes) -> None:
    data = b"<!doctype html><html>" + body + b"<script src=other></script>"
    out = inject(data, cuts=[])
    if TAG in out and b"\0" not in data:
        scripts = lxml_html.document_fromstring(out).xpath("//script")
        assert scripts[0].get("src") == "/x.js"


def test_nothing_is_held_once_decided() -> None:
    injector = Injector(TAG)
    assert injector.feed(b"<!doctype html><ht") == b"<!doctype html>"
    assert injector.feed(b"ml><head><ti") == b"<html><head>" + TAG + b"<ti"
    assert injector.feed(b"tle") == b"tle"


def test_endless_comment_is_let_go() -> None:
    injector = Injector(TAG)
    size = sum(len(injector.feed(b"<!--" if i == 0 else b"x" * 1000)) for i in range(80))
    assert size == 4 + 79 * 1000
    assert not injector.injected
    assert size > LIMIT


def test_nonce_and_quotes_are_escaped() -> None:
    assert script_tag('/a"b', nonce='c"d') == (
        b'<script src="/a&quot;b" nonce="c&quot;d"></script>'
    )


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/html", True),
        ("Text/HTML; charset=UTF-8", True),
        ('text/html; charset="utf-16le"', False),
        ("text/html;charset=UTF-16", False),
        ("application/xhtml+xml", False),
        ("text/plain", False),
        ("", False),
    ],
)
def test_media_types(content_type: str, expected: bool) -> None:
    assert injectable(content_type) is expected


@pytest.mark.parametrize("step", [1000, 1 << 20])
@pytest.mark.parametrize(
    ("before", "there"),
    [
        (b"<!--" + b"x" * (LIMIT - 6) + b"-->", True),
        (b"<!--" + b"x" * (LIMIT - 5) + b"-->", False),
        (b"<html " + b"a " * (LIMIT // 2), False),
        (b"<!>\n" * (TOKENS - 2), True),
        (b"<!>\n" * TOKENS, False),
    ],
)
def test_what_is_too_long_is_so_however_it_is_cut(before: bytes, there: bool, step: int) -> None:
    data = before + b"<head><title>"
    out = inject(data, cuts=list(range(step, len(data), step)))
    assert out == (before + b"<head>" + TAG + b"<title>" if there else data)
