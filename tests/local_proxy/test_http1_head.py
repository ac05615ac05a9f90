"""The strict check of request heads: whole, cut, mutated, and the list of smuggling attempts."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.front.http1.head import check_head, head_end, to_request
from local_proxy.http.request_rules import (
    MAX_HEAD,
    RefusedRequest,
    absolute_url,
    end_to_end,
    split_authority,
)

GOOD = b"GET http://host.test/a HTTP/1.1\r\nHost: host.test\r\nAccept: image/*\r\n\r\n"

SMUGGLING = [
    (b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", 400),
    (b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", 400),
    (b"Content-Length: 3\r\nContent-Length: 3\r\n", 400),
    (b"Content-Length: 3\r\nContent-Length: 4\r\n", 400),
    (b"Content-Length: 3, 3\r\n", 400),
    (b"Content-Length: +3\r\n", 400),
    (b"Content-Length: 0x3\r\n", 400),
    (b"Content-Length: -1\r\n", 400),
    (b"Content-Length: 005\r\n", 400),
    (b"Content_Length: 5\r\n", 400),
    (b"content.length: 5\r\n", 400),
    (b"Transfer_Encoding: chunked\r\n", 400),
    (b"HTTP2_Settings: x\r\n", 400),
    (b"Content\xe4Length: 5\r\n", 400),
    (b"Content-Length:\r\n", 400),
    (b"Content-Length: 99999999999999999999\r\n", 400),
    (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
    (b"Transfer-Encoding: xchunked\r\n", 501),
    (b"Transfer-Encoding: chunked, identity\r\n", 501),
    (b"Transfer-Encoding: gzip, chunked\r\n", 501),
    (b"Transfer-Encoding : chunked\r\n", 400),
    (b"Transfer-Encoding:\x0bchunked\r\n", 400),
    (b"X: 1\r\n Transfer-Encoding: chunked\r\n", 400),
    (b"X: 1\r\n\tmore\r\n", 400),
    (b" X: 1\r\n", 400),
    (b"X: 1\nTransfer-Encoding: chunked\r\n", 400),
    (b"X: 1\rTransfer-Encoding: chunked\r\n", 400),
    (b"X: a\x00b\r\n", 400),
    (b": empty\r\n", 400),
    (b"no colon\r\n", 400),
    (b"Host: other.test\r\n", 400),
]


def status_of(head: bytes) -> int:
    """What a head is answered by the check and h11 together; 200: it passes."""
    http = h11.Connection(h11.SERVER)
    try:
        check_head(head)
        http.receive_data(head)
        event = http.next_event()
        assert isinstance(event, h11.Request)
        to_request(event)
    except RefusedRequest as refused:
        return refused.status
    except h11.RemoteProtocolError as error:
        return error.error_status_hint
    return 200


@pytest.mark.parametrize(("fields", "status"), SMUGGLING)
def test_smuggling_is_refused(fields: bytes, status: int) -> None:
    head = b"POST /x HTTP/1.1\r\nHost: host.test\r\n" + fields + b"\r\n"
    assert status_of(head) == status


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"GET / HTTP/1.1", 200),
        (b"GET / HTTP/1.0", 200),
        (b"GET / HTTP/2.0", 505),
        (b"GET / HTTP/1.2", 505),
        (b"GET / http/1.1", 400),
        (b"GET /", 400),
        (b"GET  / HTTP/1.1", 400),
        (b"GET /a b HTTP/1.1", 400),
        (b"G\xc3\x84T / HTTP/1.1", 400),
        (b"GET /\xc3\xa4 HTTP/1.1", 400),
        (b"GET * HTTP/1.1", 400),
        (b"GET ftp://host.test/ HTTP/1.1", 400),
        (b"GET http://user:word@host.test/ HTTP/1.1", 400),
        (b"GET http:///x HTTP/1.1", 400),
        (b"GET http://host.test:99999/ HTTP/1.1", 400),
        (b"GET /" + b"a" * 8192 + b" HTTP/1.1", 414),
    ],
)
def test_request_lines(line: bytes, status: int) -> None:
    assert status_of(line + b"\r\nHost: host.test\r\n\r\n") == status


@pytest.mark.parametrize(("length", "fine"), [(b"0", True), (b"00", True), (b"1", False)])
def test_connect_may_say_that_it_has_no_body(length: bytes, fine: bool) -> None:
    """Some clients do."""
    head = b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\nContent-Length: %b\r\n\r\n" % length
    if fine:
        check_head(head)
    else:
        with pytest.raises(RefusedRequest):
            check_head(head)


def test_http10_may_not_be_chunked() -> None:
    assert status_of(b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n") == 400


@pytest.mark.parametrize(
    ("target", "host", "url"),
    [
        ("/a?b=c", "Host.Test", "http://host.test/a?b=c"),
        ("/a#b", "host.test:80", "http://host.test/a"),
        ("http://A.test", "b.test", "http://a.test/"),
        ("http://a.test?q", "", "http://a.test/?q"),
        ("HTTP://a.test:8080/x", "", "http://a.test:8080/x"),
        ("https://a.test:443/x", "", "https://a.test/x"),
        ("http://[::1]:81/x", "", "http://[::1]:81/x"),
        ("//evil.test/x", "a.test", "http://a.test//evil.test/x"),
    ],
)
def test_absolute_urls(target: str, host: str, url: str) -> None:
    assert absolute_url(target, host) == url


@pytest.mark.parametrize("authority", ["", "a b", "a:x", "a:0", "a", "[::1", "u@a:1", "a:1:2"])
def test_bad_authorities(authority: str) -> None:
    with pytest.raises(RefusedRequest):
        split_authority(authority)


def test_the_target_names_the_host() -> None:
    event = h11.Request(
        method="GET", target="http://real.test/", headers=[("Host", "other.test"), ("A", "1")]
    )
    request = to_request(event)
    assert request.headers == [("host", "real.test"), ("a", "1")]


def test_hop_by_hop_fields_stay_behind() -> None:
    fields = [
        ("Connection", "close, X-Secret, Host"),
        ("Keep-Alive", "1"),
        ("Proxy-Authorization", "Basic x"),
        ("X-Secret", "1"),
        ("TE", "trailers"),
        ("Host", "a"),
        ("Cookie", "b"),
    ]
    assert end_to_end(fields) == [("host", "a"), ("cookie", "b")]


@given(st.integers(1, len(GOOD)))
def test_head_end_byte_by_byte(step: int) -> None:
    buffer, ends = bytearray(), []
    data = GOOD + b"body"
    for at in range(0, len(data), step):
        searched = len(buffer)
        buffer += data[at : at + step]
        ends.append(head_end(buffer, searched=searched))
        if ends[-1] >= 0:
            break
    assert ends[-1] == len(GOOD)
    assert all(end == -1 for end in ends[:-1])


def test_too_long() -> None:
    with pytest.raises(RefusedRequest) as line:
        head_end(bytearray(b"GET /" + b"a" * MAX_HEAD), searched=0)
    with pytest.raises(RefusedRequest) as fields:
        head_end(bytearray(b"GET / HTTP/1.1\r\nA: " + b"a" * MAX_HEAD), searched=0)
    assert (line.value.status, fields.value.status) == (414, 431)


@given(st.integers(0, len(GOOD) - 5), st.binary(max_size=3))
def test_mutations_never_crash(at: int, junk: bytes) -> None:
    head = GOOD[:at] + junk + GOOD[at + len(junk) : -4].rstrip(b"\r\n") + b"\r\n\r\n"
    end = head.find(b"\r\n\r\n") + 4
    assert status_of(head[:end]) in (200, 400, 501, 505)


@given(st.binary(max_size=200))
def test_what_passes_is_one_line_per_field(junk: bytes) -> None:
    head = b"GET / HTTP/1.1\r\nHost: a\r\n" + junk + b"\r\n\r\n"
    head = head[: head.find(b"\r\n\r\n") + 4]
    if status_of(head) == 200:
        assert head.count(b"\n") == head.count(b"\r") == head.count(b"\r\n")
        assert b"\x00" not in head
