"""HTTP/2 clients that are malformed, hostile, slow or idle."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable

import pytest
from h2.errors import ErrorCodes
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from local_proxy.front.http2.flood import PREFACE
from local_proxy.front.listener import Front
from local_proxy.http.front_limits import FrontLimits
from local_proxy.http.model import Request, Response
from tests.local_proxy.http2_client import Fields
from tests.local_proxy.http2_served import BASE, CONNECT, Dial, raw_frame, served
from tests.local_proxy.small_core import SmallCore


@pytest.mark.parametrize(
    "fields",
    [
        [*BASE],
        [*BASE, (":path", "")],
        [*BASE, (":path", "/a b")],
        [*BASE, (":path", "/"), (":path", "/")],
        [*BASE, (":path", "/"), (":status", "200")],
        [*BASE, ("accept", "*/*"), (":path", "/")],
        [*BASE[1:], (":path", "/")],
        [*BASE, (":path", "/"), (":protocol", "websocket")],
        [*BASE, (":path", "/"), ("Accept", "*/*")],
        [*BASE, (":path", "/"), ("x y", "1")],
        [*BASE, (":path", "/"), ("", "1")],
        [*BASE, (":path", "/"), ("x", "a\r\nb: c")],
        [*BASE, (":path", "/"), ("x", "a\0b")],
        [*BASE, (":path", "/"), ("x", " a")],
        [*BASE, (":path", "/"), ("connection", "close")],
        [*BASE, (":path", "/"), ("transfer-encoding", "chunked")],
        [*BASE, (":path", "/"), ("transfer_encoding", "chunked")],
        [*BASE, (":path", "/"), ("content_length", "5")],
        [*BASE, (":path", "/"), ("content-length", "010")],
        [*BASE, (":path", "/"), ("te", "gzip")],
        [*BASE, (":path", "/"), ("host", "other.test")],
        [*BASE[:2], (":authority", "user@host.test"), (":path", "/")],
        [*BASE[:2], (":path", "/")],
        [(":method", "G T"), *BASE[1:], (":path", "/")],
        [*CONNECT, (":path", "/")],
        [(":method", "CONNECT")],
    ],
)
def test_a_malformed_request_resets_its_stream_alone(fields: Fields) -> None:
    async def talk(dial: Dial) -> None:
        client = await dial()
        bad = await client.answer(client.ask_with(fields, end=False))
        assert bad.reset == ErrorCodes.PROTOCOL_ERROR
        assert (await client.get()).status == 200

    assert served(SmallCore(), talk).refused == 1


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ([*BASE, (":path", "/" + "a" * 9000)], 414),
        ([*BASE, (":path", "/"), *[(f"x-{n}", "v" * 1000) for n in range(80)]], 431),
        ([*BASE, (":path", "*")], 400),
        ([*BASE[:1], (":scheme", "ftp"), *BASE[2:], (":path", "/")], 400),
        ([*BASE[:2], (":authority", "a b"), (":path", "/")], 400),
        ([*BASE[:2], (":authority", "host.test:99999"), (":path", "/")], 400),
        ([(":method", "CONNECT"), (":authority", "host.test")], 400),
    ],
)
def test_a_request_that_is_refused_is_told_why(fields: Fields, status: int) -> None:
    async def talk(dial: Dial) -> None:
        client = await dial()
        answer = await client.answer(client.ask_with(fields))
        assert answer.status == status
        assert answer.fields["content-type"].startswith("text/html")
        assert (await client.get()).status == 200

    served(SmallCore(), talk)


def get(number: int) -> bytes:
    """HEADERS of a GET / by HPACK's static table."""
    head = HeadersFrame(number, b"\x82\x86\x84\x41\x01a", flags=["END_HEADERS", "END_STREAM"])
    return head.serialize()


def reset_at_once(number: int) -> bytes:
    """A request that is reset at once (CVE-2023-44487)."""
    return get(number) + RstStreamFrame(number, error_code=8).serialize()


def block(number: int) -> bytes:
    """A field block that never ends (CVE-2024-27316)."""
    if number == 1:
        return HeadersFrame(1, b"\x00" * 16384).serialize()
    return ContinuationFrame(1, b"\x00" * 16384).serialize()


def padding(number: int) -> bytes:
    """DATA that says nothing (CVE-2019-9518)."""
    if number == 1:
        head = HeadersFrame(1, b"\x83\x86\x84\x41\x01a", flags=["END_HEADERS"])
        return head.serialize()
    return DataFrame(1, b"").serialize()


@pytest.mark.parametrize(
    "frame",
    [
        reset_at_once,
        block,
        padding,
        lambda n: PingFrame(0, opaque_data=b"12345678").serialize(),
        lambda n: SettingsFrame(0).serialize(),
        lambda n: WindowUpdateFrame(0, window_increment=1).serialize(),
        lambda n: PriorityFrame(n, stream_weight=5).serialize(),
        lambda n: raw_frame(0xEE, b""),
    ],
    ids=["reset", "block", "padding", "ping", "settings", "window", "priority", "unknown"],
)
def test_floods_end_the_connection(frame: Callable[[int], bytes]) -> None:
    """They end nobody else's connection."""

    async def talk(dial: Dial) -> None:
        client, other = await dial(), await dial()
        raw = b"".join(frame(number) for number in range(1, 9001, 2))
        with contextlib.suppress(ConnectionError):
            await client.send_raw(raw)
        with contextlib.suppress(ConnectionError):
            await client.until_closed()
        if client.goodbye is not None:  # else it was reset, with bytes of ours unread
            assert client.goodbye.error_code == ErrorCodes.ENHANCE_YOUR_CALM
        assert client.closed
        assert (await other.get()).status == 200

    assert served(SmallCore(), talk).refused == 1


def test_a_hundred_pictures_may_be_cancelled_again_and_again() -> None:
    """What a browser does whose user leaves page after page is no flood."""

    async def handler(request: Request) -> Response:
        if request.url.endswith("/last"):
            return Response(200, [], b"")
        await asyncio.Event().wait()
        raise AssertionError

    async def talk(dial: Dial) -> None:
        client = await dial()
        for _ in range(8):
            numbers = [client.ask() for _ in range(100)]
            await client.flush()
            for number in numbers:
                client.http.reset_stream(number, ErrorCodes.CANCEL)
        assert (await client.get("/last")).status == 200

    served(SmallCore(handler), talk)


def test_a_header_bomb_is_not_unpacked() -> None:
    """A field of 4 KB in the dynamic table, named 300 times in 300 bytes: 1.2 MB."""

    async def talk(dial: Dial) -> None:
        client = await dial()
        bomb = b"\x82\x86\x84\x41\x01a" + b"\x40\x01x" + b"\x7f\xa1\x1e" + b"v" * 4000
        frame = HeadersFrame(1, bomb + b"\xbe" * 300, flags=["END_HEADERS", "END_STREAM"])
        await client.send_raw(frame.serialize())
        await client.until_closed()
        assert client.goodbye is not None
        assert client.goodbye.error_code == ErrorCodes.ENHANCE_YOUR_CALM

    served(SmallCore(), talk)


def test_who_does_not_read_is_not_read() -> None:
    """Answers to a client that takes none of them do not pile up here."""
    asked = 0

    async def handler(request: Request) -> Response:
        nonlocal asked
        asked += request.url == "http://a/"
        return Response(200, [(f"x-{n}", "v" * 1000) for n in range(30)], b"")

    async def talk(dial: Dial) -> None:
        client, other = await dial(buffer=4096), await dial()
        for batch in range(20):
            numbers = range(batch * 20 + 1, batch * 20 + 21, 2)
            await client.send_raw(b"".join(map(get, numbers)))
            assert (await other.get()).status == 200
        assert asked <= 100  # of 200: the kernel has taken 1 MB, the front holds a batch

    served(SmallCore(handler), talk)


QUICK = dataclasses.replace(FrontLimits(), head_time=0.1, idle_time=0.2)


@pytest.mark.parametrize("said", [b"", PREFACE[:10], PREFACE, PREFACE + b"\0\0\0\4\0\0"])
def test_a_connection_that_does_not_begin_ends(said: bytes) -> None:
    async def talk(dial: Dial) -> None:
        client = await dial(begin=False)
        await client.send_raw(said)
        await client.until_closed()
        assert client.closed

    served(SmallCore(), talk, limits=QUICK)


def test_a_field_block_that_does_not_end_ends_the_connection() -> None:
    async def talk(dial: Dial) -> None:
        client = await dial()
        await client.send_raw(HeadersFrame(1, b"\x82").serialize())
        await client.until_closed()
        assert client.goodbye is not None
        assert client.goodbye.error_code == ErrorCodes.ENHANCE_YOUR_CALM

    served(SmallCore(), talk, limits=QUICK)


def test_an_idle_connection_is_closed_and_a_waiting_one_is_not() -> None:
    async def handler(request: Request) -> Response:
        await asyncio.sleep(0.5)  # longer than the connection may be idle
        return Response(200, [], b"late")

    async def talk(dial: Dial) -> None:
        client = await dial()
        assert (await client.get()).body == b"late"
        await client.until_closed()
        assert client.goodbye is not None
        assert client.goodbye.error_code == ErrorCodes.NO_ERROR

    served(SmallCore(handler), talk, limits=QUICK)


def test_http1_is_spoken_at_the_same_port() -> None:
    async def main() -> None:
        front = Front(SmallCore())
        host, port = await front.listen("127.0.0.1", 0)
        try:
            for method in ("GET", "POST", "PUT", "PROPFIND"):
                reader, writer = await asyncio.open_connection(host, port)
                head = f"{method} http://a.test/ HTTP/1.1\r\nhost: a.test\r\n"
                writer.write(head.encode() + b"connection: close\r\n\r\n")
                assert (await reader.read()).startswith(b"HTTP/1.1 200")
                writer.close()
        finally:
            await front.close()

    asyncio.run(main())
