"""Every scan over bytes that somebody else has written takes steps in proportion to them.

Each row of SCANS is a reader and the bytes that are worst for it, whole or in the small pieces in
which a peer may send them. Eight times the bytes may take eight times the lines of Python, which
are counted, and about eight times the processor in C (regular expressions, libxml2, copies), of
which only the ratio is looked at: what is quadratic takes 64 times as much.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import pytest

from local_proxy.export_drivers.markup.csp import MetaPolicies, adjust_headers
from local_proxy.export_drivers.markup.injection import Injector
from local_proxy.front.http1.chunks import ChunkCheck
from local_proxy.front.http1.head import check_head, head_end
from local_proxy.front.http2.priority import parse_priority
from local_proxy.front.tls.client_hello import parse_client_hello
from local_proxy.http.model import max_age
from local_proxy.http.request_rules import RefusedRequest
from redaction import without_queries
from remote_proxy.import_drivers.candidates import parse_srcset
from remote_proxy.import_drivers.css import CssImport
from remote_proxy.import_drivers.found import BrowserTraits
from remote_proxy.import_drivers.html import HtmlImport
from remote_proxy.import_drivers.media import matches, source_size
from remote_proxy.import_drivers.urls import resolve
from remote_proxy.origin.cookies import cookie_after
from remote_proxy.origin.trailers import TrailerReader

Scan = Callable[[bytes], object]
URL: Final = "https://a.test/"
DRIP: Final = 64
"""Bytes at a time, where a peer sends slowly."""
MORE: Final = 8
"""Times the bytes."""
LINES: Final = 1.5 * MORE
"""Times the lines of Python that so many more bytes may take."""
PROCESSOR: Final = 3.0 * MORE
"""Times the processor: quadratic is 64."""


def dripped(make: Callable[[], Any]) -> Scan:
    """A reader with `feed`, in small pieces."""

    def scan(data: bytes) -> None:
        reader = make()
        for at in range(0, len(data), DRIP):
            reader.feed(data[at : at + DRIP])

    return scan


def whole(make: Callable[[], Any]) -> Scan:
    return lambda data: make().feed(data)


def text(read: Callable[[str], object]) -> Scan:
    return lambda data: read(data.decode("latin-1"))


def head(data: bytes) -> None:
    """A request's head as the front reads it, in small pieces."""
    buffer, searched = bytearray(), 0
    try:
        for at in range(0, len(data), DRIP):
            buffer += data[at : at + DRIP]
            head_end(buffer, searched=searched)
            searched = len(buffer)
        check_head(b"GET / HTTP/1.1\r\n" + data + b"\r\n\r\n")
    except RefusedRequest:
        pass


def trailers() -> TrailerReader:
    reader = TrailerReader()
    reader.feed(b"0\r\n")
    return reader


def chunks() -> ChunkCheck:
    return ChunkCheck(limit=1 << 32)


def html() -> HtmlImport:
    return HtmlImport(URL, content_type="text/html; charset=utf-8")


def html_of_a_long_address() -> HtmlImport:
    return HtmlImport(URL + "a%2F/" * 1500, content_type="text/html; charset=utf-8")


def sheet() -> CssImport:
    return CssImport(URL, "utf-8", content_type="text/css; charset=utf-8")


def injector() -> Injector:
    return Injector(b"<script src=x></script>")


def policies() -> MetaPolicies:
    return MetaPolicies(origin="https://a.test")


def cookies(data: bytes) -> object:
    sent = [("cookie", data.decode("latin-1"))]
    return cookie_after(URL, sent, [("set-cookie", "a=b; path=/")], URL + "x")


SCANS: Final[dict[str, tuple[Scan, bytes, bytes, bytes]]] = {
    # reader, what comes first, what is repeated, what comes last
    "meta policies, one that never ends": (
        whole(policies), b"<meta ", b" content-security-policy", b""),
    "meta policies, many that never end": (dripped(policies), b"", b"<meta ", b""),
    "meta policies, one that drips": (dripped(policies), b"<meta ", b"content = ", b""),
    "a policy's content": (
        whole(policies), b"<meta content-security-policy", b" content    content=", b">"),
    "a policy of many directives": (
        whole(policies), b'<meta content-security-policy content="', b"a;", b'">'),
    "policies in a header": (
        text(lambda v: adjust_headers([("content-security-policy", v)], origin="https://a.test")),
        b"default-src", b" a", b""),
    "the head's place, attributes": (dripped(injector), b"<html ", b"a ", b""),
    "the head's place, equals signs": (dripped(injector), b"<html ", b"= ", b""),
    "the head's place, quotes": (dripped(injector), b"<html a='", b'" ', b""),
    "the head's place, spaces behind a name": (dripped(injector), b"<html a", b" ", b""),
    "the head's place, a comment": (dripped(injector), b"<!--", b"--!", b""),
    "the head's place, declarations": (whole(injector), b"", b"<!>", b""),
    "the head's place, a name": (dripped(injector), b"<", b"a", b""),
    "the head's place, a bogus comment": (dripped(injector), b"</3", b"x", b""),
    "a page, end tags that close nothing": (whole(html), b"<div>" * 4000, b"</x>", b""),
    "a page, depth": (whole(html), b"", b"<div></x>", b""),
    "a page, one attribute": (dripped(html), b"<a b='", b"x>", b""),
    "a page, attributes": (dripped(html), b"<a ", b"b ", b""),
    "a page, a comment": (dripped(html), b"<!--", b"->", b""),
    "a page, raw text": (dripped(html), b"<script>", b"</scrip", b""),
    "a page, a width": (whole(html), b"<img src=a width='1", b" ", b"x'>"),
    "a page, references": (whole(html_of_a_long_address), b"", b"<img src=a>", b""),
    "a page, a srcset": (text(parse_srcset), b"", b"a (", b""),
    "a page, sizes": (
        text(lambda value: source_size(value, BrowserTraits())), b"", b"(a) and (", b""),
    "a page, a media query": (
        text(lambda value: matches(value, BrowserTraits())), b"", b"not (", b""),
    "an address with dots": (text(lambda value: resolve(URL, value)), b"", b"a/../", b""),
    "a style sheet, a string": (dripped(sheet), b'a{b:"', b"{", b""),
    "a style sheet, escapes": (dripped(sheet), b'a{b:"', b'\\";', b""),
    "a style sheet, a comment": (dripped(sheet), b"/*", b"};*", b""),
    "a style sheet, an address": (dripped(sheet), b"a{b:url(", b";\\)", b""),
    "a style sheet, spaces in an address": (dripped(sheet), b"a{b:url(", b" ", b""),
    "a style sheet, no delimiter": (dripped(sheet), b"", b"url(", b""),
    "a style sheet, brackets": (whole(sheet), b"", b"[(", b"{b:url(a)}"),
    "a style sheet, one value": (whole(sheet), b"a{b:", b"url(a),", b"}"),
    "a request's head, fields": (head, b"", b"A: b\r\n", b"A: b"),
    "a request's head, one field": (head, b"A:", b" ", b"x"),
    "a body's chunks": (dripped(chunks), b"", b"1\r\na\r\n", b""),
    "a client's hello": (
        lambda data: parse_client_hello(data + bytes(4)), b"\x16\x03\x01\x40\x00\x01\x00\x3f\x00",
        b"\x00", b""),
    "trailers, spaces within": (whole(trailers), b"a: x", b" ", b"x\r\n"),
    "trailers, spaces in front": (whole(trailers), b"a:", b" ", b"\x01\r\n"),
    "trailers, chunks": (dripped(TrailerReader), b"", b"1\r\na\r\n", b""),
    "max-age": (
        text(lambda value: max_age([("cache-control", value)])), b"max-age,", b" max-age ", b""),
    "a priority": (text(parse_priority), b"", b"u;=", b""),
    "cookies": (cookies, b"", b"a=b;", b"c"),
    "a line of the log": (text(without_queries), b"", b"a", b""),
    "addresses in a line of the log": (text(without_queries), b"", b"a://", b"@"),
}  # fmt: skip


@pytest.mark.parametrize("name", SCANS)
def test_eight_times_the_bytes_take_about_eight_times_the_steps(name: str) -> None:
    scan, first, repeated, last = SCANS[name]

    def made(size: int) -> bytes:
        return first + repeated * (size // len(repeated)) + last

    scan(made(64))  # what is made at the first use is nobody's step
    few, many = lines_of(scan, made(512)), lines_of(scan, made(512 * MORE))
    assert many <= LINES * few + 200
    few, many = made(1024), made(1024 * MORE)
    assert processor_of(scan, many) <= PROCESSOR * max(processor_of(scan, few), 20e-6)


def lines_of(scan: Scan, data: bytes) -> int:
    """Lines of Python that run."""
    count = 0

    def trace(_: FrameType, event: str, __: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        scan(data)
    finally:
        sys.settrace(before)
    return count


def processor_of(scan: Scan, data: bytes) -> float:
    """Seconds of this process, at the quickest of five."""
    quickest = float("inf")
    for _ in range(5):
        began = time.process_time()
        scan(data)
        quickest = min(quickest, time.process_time() - began)
    return quickest
