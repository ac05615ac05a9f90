"""Tests of HTTP/2 field sections: as requests, as responses, as WebSockets; and of settings."""

from __future__ import annotations

import base64
import hashlib

import pytest
from h2.connection import H2Connection
from h2.settings import SettingCodes

from local_proxy.front.http1.upgrade import Switched
from local_proxy.front.http2.head import (
    EncodedFields,
    Malformed,
    check_trailers,
    connect_target,
    content_length,
    head_fields,
    response_fields,
    to_request,
    trailer_fields,
    unwritable,
)
from local_proxy.front.http2.settings import CONNECTION_WINDOW, MAX_STREAMS, server_side
from local_proxy.front.http2.websocket import (
    agreed,
    asks,
    leaves_fields_out,
    no_socket,
    to_websocket,
)
from local_proxy.http.model import Response
from local_proxy.http.request_rules import MAX_HEAD, RefusedRequest
from tests.local_proxy.small_core import Echo
from wire.abilities import Takes
from wire.messages import MAX_URL

GET: EncodedFields = [
    (b":method", b"GET"),
    (b":scheme", b"https"),
    (b":authority", b"A.test:443"),
    (b":path", b"/p?q"),
]


def replaced(name: bytes, value: bytes) -> EncodedFields:
    return [(one, value if one == name else old) for one, old in GET]


def without(name: bytes) -> EncodedFields:
    return [field for field in GET if field[0] != name]


def test_a_section_is_the_request_that_http1_would_make() -> None:
    fields = [
        *(*GET, (b"cookie", b"a=1"), (b"accept", b"*/*"), (b"cookie", b"b=2")),
        *((b"te", b"trailers"), (b"priority", b"u=1"), (b"expect", b"100-continue")),
    ]
    request = to_request(fields)
    assert (request.method, request.url) == ("GET", "https://a.test/p?q")
    assert request.headers == [("host", "a.test"), ("accept", "*/*"), ("cookie", "a=1; b=2")]
    assert request.multiplexed
    assert request.urgency.now == 1
    assert request.takes == Takes.HINTS | Takes.TRAILERS


@pytest.mark.parametrize(
    "fields",
    [
        without(b":method"),
        without(b":path"),
        without(b":scheme"),
        without(b":authority"),
        replaced(b":path", b""),
        replaced(b":path", b"/a b"),
        replaced(b":method", b"G T"),
        replaced(b":authority", b"me@a.test"),
        [*GET, (b":path", b"/again")],
        [*GET, (b":other", b"x")],
        [(b"a", b"b"), *GET],
        [*GET, (b"host", b"b.test")],
        [*GET, (b"A", b"b")],
        [*GET, (b"a", b"b\r\nc: d")],
        [*GET, (b"a", b" b")],
        [*GET, (b"connection", b"close")],
        [*GET, (b"transfer-encoding", b"chunked")],
        [*GET, (b"transfer_encoding", b"chunked")],
        [*GET, (b"te", b"gzip")],
    ],
)
def test_what_can_be_read_in_two_ways_is_malformed(fields: EncodedFields) -> None:
    with pytest.raises(Malformed):
        to_request(fields)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (replaced(b":path", b"*"), 400),
        (replaced(b":scheme", b"ftp"), 400),
        (replaced(b":authority", b"a.test:0"), 400),
        (replaced(b":path", b"/" * (MAX_URL + 1)), 414),
        ([*GET, (b"a", b"b" * MAX_HEAD)], 431),
    ],
)
def test_what_is_well_formed_and_not_for_us_is_refused(fields: EncodedFields, status: int) -> None:
    with pytest.raises(RefusedRequest) as caught:
        to_request(fields)
    assert caught.value.status == status


def test_a_connection_for_one_origin_serves_no_other() -> None:
    assert to_request(GET, origin="https://a.test").url == "https://a.test/p?q"
    for origin in ("https://b.test", "http://a.test", "https://a.test:444"):
        with pytest.raises(RefusedRequest) as caught:
            to_request(GET, origin=origin)
        assert caught.value.status == 421


def test_a_connect_names_its_authority_and_nothing_else() -> None:
    connect = [(b":method", b"CONNECT"), (b":authority", b"A.test:22")]
    assert connect_target(connect) == ("a.test", 22)
    assert connect_target(GET) is None
    with pytest.raises(Malformed):
        connect_target([*connect, (b":path", b"/")])
    with pytest.raises(RefusedRequest):
        connect_target([connect[0], (b":authority", b"a.test")])


def test_lengths_and_trailers_are_checked() -> None:
    assert content_length(GET) is None
    assert content_length([*GET, (b"content-length", b"7"), (b"content-length", b"7")]) == 7
    for values in ([b"07"], [b"-1"], [b"7", b"8"], [b""]):
        with pytest.raises(Malformed):
            content_length([*GET, *((b"content-length", value) for value in values)])
    check_trailers([(b"a", b"b")])
    with pytest.raises(Malformed):
        check_trailers([(b":path", b"/")])


def test_a_response_says_its_length_and_nothing_of_one_hop() -> None:
    fields = [("Content-Type", "text/plain"), ("connection", "x-a"), ("x-a", "b"), ("x-b", " c\t")]
    answer = Response(200, [*fields, ("content-length", "999")], b"body")
    expected = [
        *((b":status", b"200"), (b"content-type", b"text/plain"), (b"x-b", b"c")),
        (b"content-length", b"4"),
    ]
    assert response_fields(answer, "GET") == expected
    assert (b"content-length", b"999") in response_fields(answer, "HEAD")
    assert head_fields(103, [("link", "</a>"), ("keep-alive", "1")]) == [
        (b":status", b"103"),
        (b"link", b"</a>"),
    ]


@pytest.mark.parametrize("field", [("a b", "c"), ("a", "b\nc"), ("", "x")])
def test_fields_that_can_not_be_written_are_not(field: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="field"):
        response_fields(Response(200, [field]), "GET")
    with pytest.raises(ValueError, match="field"):
        trailer_fields([field])
    assert unwritable().status == 502


# -- WebSockets ------------------------------------------------------------------------------------

KEY = bytes(range(16))
EXTENDED: EncodedFields = [
    *(replaced(b":method", b"CONNECT")),
    (b":protocol", b"websocket"),
    (b"sec-websocket-key", b"theirs"),
    (b"origin", b"https://a.test"),
]


def accepted(key: bytes) -> str:
    """RFC 6455, 1.3."""
    said = base64.b64encode(key) + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    return base64.b64encode(hashlib.sha1(said, usedforsecurity=False).digest()).decode()


def test_an_extended_connect_is_the_switch_that_http1_asks_for() -> None:
    assert asks(EXTENDED)
    assert not asks(GET)
    assert not asks([(b":method", b"CONNECT"), (b":authority", b"a.test:22")])
    request = to_websocket(EXTENDED, origin=None, key=KEY)
    assert (request.method, request.url) == ("GET", "https://a.test/p?q")
    keys = [value for name, value in request.headers if name == "sec-websocket-key"]
    assert keys == [base64.b64encode(KEY).decode()]
    assert ("origin", "https://a.test") in request.headers


def test_other_protocols_and_doubtful_ones_are_not_spoken() -> None:
    other = [(n, b"connect-udp" if n == b":protocol" else v) for n, v in EXTENDED]
    with pytest.raises(RefusedRequest) as caught:
        to_websocket(other, origin=None, key=KEY)
    assert caught.value.status == 501
    for fields in (
        [*EXTENDED[:4], (b":protocol", b"websocket"), *EXTENDED[4:]],
        [field for field in EXTENDED if field[0] != b":authority"],
    ):
        with pytest.raises(Malformed):
            to_websocket(fields, origin=None, key=KEY)


def test_a_server_has_agreed_once_it_answers_our_key() -> None:
    fields = [("sec-websocket-accept", accepted(KEY)), ("sec-websocket-protocol", "chat")]
    right = Switched([*fields, ("content-length", "0")], Echo())
    assert agreed(right, key=KEY) == [("sec-websocket-protocol", "chat")]
    assert agreed(right, key=KEY[::-1]) is None
    assert agreed(Switched([], Echo()), key=KEY) is None


def test_an_answer_that_is_no_switch_is_never_taken_for_one() -> None:
    assert no_socket(Response(200, [], b"page")).status == 502
    refused = Response(403, [], b"no")
    assert no_socket(refused) is refused


@pytest.mark.parametrize(
    ("agent", "without"),
    [
        ("Mozilla/5.0 (X11; rv:153.0) Gecko/20100101 Firefox/153.0", True),
        ("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0", False),
        ("", False),
    ],
)
def test_who_leaves_fields_out_is_known_by_its_name(agent: str, without: bool) -> None:
    assert leaves_fields_out(agent) is without


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize("websockets", [True, False])
def test_a_client_is_told_our_limits_with_the_first_frame(websockets: bool) -> None:
    server, client = server_side(websockets=websockets), H2Connection()
    client.initiate_connection()
    server.initiate_connection()
    server.receive_data(client.data_to_send())
    client.receive_data(server.data_to_send())
    told = client.remote_settings
    assert told.max_concurrent_streams == MAX_STREAMS
    assert told.max_header_list_size == 2 * MAX_HEAD
    assert told.enable_connect_protocol == int(websockets)
    assert told[0x9] == 1  # RFC 9218, 2.1
    assert MAX_STREAMS * told[SettingCodes.INITIAL_WINDOW_SIZE] <= CONNECTION_WINDOW


def test_fields_of_one_stream_never_end_the_connection() -> None:
    server, client = server_side(), H2Connection()
    client.initiate_connection()
    server.initiate_connection()
    client.config.validate_outbound_headers = False
    client.config.normalize_outbound_headers = False
    client.send_headers(1, [(":method", "GET"), ("Bad Name", "x")], end_stream=True)
    events = server.receive_data(client.data_to_send())
    fields = next(event.headers for event in events if hasattr(event, "headers"))
    assert (b"Bad Name", b"x") in [(bytes(name), bytes(value)) for name, value in fields]
