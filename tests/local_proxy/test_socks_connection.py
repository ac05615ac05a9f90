"""SOCKS 5 on the proxy's port: tunnels, plain HTTP, refusals, silence."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest

from local_proxy.front.http1.front import FrontStatistics
from local_proxy.front.listener import Front
from local_proxy.front.socks.connection import METHODS
from local_proxy.front.socks.words import VERSION, SocksReply, reply
from local_proxy.front.tls.connects import SILENCE
from local_proxy.http.front_limits import FrontLimits
from local_proxy.http.model import Response
from tests.local_proxy.http1_client import response
from tests.local_proxy.small_core import Echo, SmallCore

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
HELLO = b"\x05\x01\x00"
GREETED = b"\x05\x00"
DONE = reply(SocksReply.DONE)


def target(host: bytes, port: int) -> bytes:
    return b"\x05\x01\x00\x03" + bytes([len(host)]) + host + port.to_bytes(2, "big")


def served(
    core: SmallCore,
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    *,
    limits: FrontLimits | None = None,
) -> FrontStatistics:
    """One client's talk with a front, which must leave nothing behind."""

    async def main() -> FrontStatistics:
        front = Front(core, limits=limits)
        address = await front.listen("127.0.0.1", 0)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(front.close)
            reader, writer = await asyncio.open_connection(*address)
            stack.callback(writer.close)
            async with asyncio.timeout(60):
                await talk(reader, writer)
        assert len(asyncio.all_tasks()) == 1
        return front.statistics()

    return asyncio.run(main())


async def answered(reader: asyncio.StreamReader) -> SocksReply:
    data = await reader.readexactly(10)
    assert data[0] == VERSION
    return SocksReply(data[1])


def test_a_tunnel_to_a_name_with_half_close() -> None:
    core = SmallCore(far=Echo(goodbye=b"bye"))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for byte in HELLO:  # as slowly as can be
            writer.write(bytes([byte]))
            await writer.drain()
        assert await reader.readexactly(2) == GREETED
        writer.write(target(b"Host.Test", 22) + b"early")
        assert await reader.readexactly(10) == DONE
        assert await reader.readexactly(5) == b"early"
        writer.write_eof()
        assert await reader.read() == b"bye"

    assert served(core, talk).tunnels == 1
    assert core.asked == [("host.test", 22)]


def test_http_at_its_port_is_a_request_by_the_name_that_it_says() -> None:
    core = SmallCore()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HELLO + b"\x05\x01\x00\x01\x0a\x00\x00\x01\x00\x50")
        assert await reader.readexactly(12) == GREETED + DONE
        for piece in (b"G", b"ET", b" /one HTTP/1.1\r\nhost: a.test\r\n\r\n"):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(2 * SILENCE if piece == b"G" else 0.01)
        assert (await response(reader))[1] == b"http://a.test/one"
        writer.write(b"GET /two HTTP/1.1\r\nhost: a.test\r\n\r\n")
        assert (await response(reader))[1] == b"http://a.test/two"

    assert served(core, talk).requests == 2
    assert core.asked == []


@pytest.mark.parametrize("first", [b"", b"GETTING", b"SSH-2.0-x\r\n"])
def test_what_is_no_http_at_its_port_is_a_tunnel(first: bytes) -> None:
    core = SmallCore(far=Echo(goodbye=b"bye"))
    assert not first.startswith(METHODS)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HELLO + target(b"a", 80) + first)
        assert await reader.readexactly(12) == GREETED + DONE
        await asyncio.sleep(0.5)
        writer.write_eof()
        assert await reader.read() == first + b"bye"

    served(core, talk)
    assert core.asked == [("a", 80)]


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (403, SocksReply.NOT_ALLOWED),
        (502, SocksReply.UNREACHABLE),
        (504, SocksReply.UNREACHABLE),
        (503, SocksReply.FAILED),
    ],
)
def test_a_tunnel_that_can_not_be_had_says_why(status: int, says: SocksReply) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HELLO + target(b"a", 22))
        assert await reader.readexactly(2) == GREETED
        assert await answered(reader) == says
        assert await reader.read() == b""

    served(SmallCore(far=Response(status, [], b"no")), talk)


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"\x05\x01\x02", b"\x05\xff"),
        (HELLO + b"\x04\x01", GREETED),
        (HELLO + b"\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x16", GREETED + reply(SocksReply(7))),
        (HELLO + b"\x05\x01\x00\x09\x00", GREETED + reply(SocksReply(8))),
        (HELLO + target(b"a b", 22), GREETED + reply(SocksReply.FAILED)),
        (HELLO + target(b"a", 0), GREETED + reply(SocksReply.FAILED)),
        (HELLO + target(b"a", 22)[:-1], GREETED),
        (HELLO[:2], b""),
    ],
)
def test_nonsense_is_told_so_and_the_connection_ends(data: bytes, answer: bytes) -> None:
    core = SmallCore()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        writer.write_eof()
        assert await reader.read() == answer

    served(core, talk)
    assert core.asked == []


def test_who_says_no_more_is_not_waited_for() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HELLO)
        assert await reader.read() == GREETED

    served(SmallCore(), talk, limits=FrontLimits(head_time=0.2))
