"""The HTTP/1.1 front: bodies that break, clients that leave, are slow, silent, or too many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from local_proxy.http.front_limits import FrontLimits
from local_proxy.http.model import Request, Response
from tests.local_proxy.http1_client import GET, Dial, ask, response, served
from tests.local_proxy.small_core import SmallCore, hello


@pytest.mark.parametrize(("length", "fails"), [(None, True), (10, True), (10, False)])
def test_a_body_that_stops_short_breaks_the_connection(length: int | None, fails: bool) -> None:
    done: list[bool] = []

    async def body() -> AsyncIterator[bytes]:
        yield b"abc"
        if fails:
            raise OSError("gone")

    async def handler(request: Request) -> Response:
        return Response(200, [], body(), length, [done.append])

    async def talk(dial: Dial) -> None:
        answer = await ask(dial, GET % b"")
        assert b"abc" in answer
        assert not answer.endswith(b"0\r\n\r\n")
        assert done == [False]

    served(SmallCore(handler), talk)


def test_http10_hears_of_a_broken_body_by_reset() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"abc"
        raise OSError("gone")

    async def handler(request: Request) -> Response:
        return Response(200, [], body())

    async def talk(dial: Dial) -> None:
        with pytest.raises(ConnectionResetError):
            await ask(dial, b"GET http://a/ HTTP/1.0\r\n\r\n")

    served(SmallCore(handler), talk)


def test_a_client_that_leaves_cancels_its_handler() -> None:
    cancelled, entered = asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError("unreachable")

    async def talk(dial: Dial) -> None:
        _, writer = await dial()
        writer.write(GET % b"")
        await entered.wait()
        writer.close()
        async with asyncio.timeout(60):
            await cancelled.wait()

    served(SmallCore(handler), talk)
    assert cancelled.is_set()


def test_a_client_that_leaves_during_the_body() -> None:
    done: list[bool] = []
    closed = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def handler(request: Request) -> Response:
        return Response(200, [], body(), on_done=[done.append])

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(GET % b"")
        await reader.readuntil(b"first")
        writer.close()
        await closed.wait()

    served(SmallCore(handler), talk)
    assert done == [False]


def test_a_slow_client_holds_the_body_back() -> None:
    made = 0
    total = 64 << 20

    async def body() -> AsyncIterator[bytes]:
        nonlocal made
        for _ in range(total >> 16):
            made += 1 << 16
            yield bytes(1 << 16)

    async def handler(request: Request) -> Response:
        return Response(200, [], body(), total)

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(GET % b"")
        await reader.readuntil(b"\r\n\r\n")
        other_reader, other = await dial()
        stalled = -1
        while stalled != made:  # until nothing more is made in a whole other exchange
            stalled = made
            other.write(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
            await other_reader.readuntil(b"\r\n\r\n")
        assert made < 16 << 20
        left = total
        while left:
            left -= len(await reader.read(1 << 20))
        assert made == total

    served(SmallCore(handler), talk)


def test_heads_must_come_in_time_and_idle_connections_end() -> None:
    async def talk(dial: Dial) -> None:
        assert (await ask(dial, b"GET / HT")).startswith(b"HTTP/1.1 408 ")
        assert await ask(dial, b"") == b""

    served(SmallCore(), talk, limits=FrontLimits(head_time=0.02, idle_time=0.02))


def test_too_many_connections_that_are_being_served() -> None:
    asked, free = asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        asked.set()
        await free.wait()
        return await hello(request)

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(GET % b"1")
        await asked.wait()
        assert (await ask(dial, b"")).startswith(b"HTTP/1.1 503 ")
        free.set()
        assert (await response(reader))[1].endswith(b"1")

    served(SmallCore(handler), talk, limits=FrontLimits(connections=1))


HALF = b"GET http://half.test/ HTTP/1.1\r\nHost: ha"


def test_the_oldest_half_sent_head_goes_for_a_new_connection() -> None:
    async def talk(dial: Dial) -> None:
        idle, idle_writer = await dial()
        idle_writer.write(GET % b"0")
        await response(idle)
        halves = [await dial() for _ in range(2)]
        for number, (_, writer) in enumerate(halves):
            writer.write(HALF[: number + 1])
            await writer.drain()
        reader, writer = await dial()
        writer.write(GET % b"1")
        assert (await response(reader))[1].endswith(b"1")
        assert await halves[0][0].read() == b""
        halves[1][1].write((GET % b"2")[2:])
        assert (await response(halves[1][0]))[1].endswith(b"2")
        idle_writer.write(GET % b"3")
        assert (await response(idle))[1].endswith(b"3")

    served(SmallCore(), talk, limits=FrontLimits(connections=3))


def test_who_is_idle_longest_goes_where_nobody_owes_a_head() -> None:
    async def talk(dial: Dial) -> None:
        idle = [await dial() for _ in range(2)]
        for reader, writer in idle:
            writer.write(GET % b"0")
            await response(reader)
        reader, writer = await dial()
        writer.write(GET % b"1")
        assert (await response(reader))[1].endswith(b"1")
        assert await idle[0][0].read() == b""
        idle[1][1].write(GET % b"2")
        assert (await response(idle[1][0]))[1].endswith(b"2")

    served(SmallCore(), talk, limits=FrontLimits(connections=2))


def test_a_half_sent_second_head_goes_like_a_first() -> None:
    async def talk(dial: Dial) -> None:
        half, half_writer = await dial()
        half_writer.write(GET % b"0" + HALF)
        await response(half)
        reader, writer = await dial()
        writer.write(GET % b"1")
        assert (await response(reader))[1].endswith(b"1")
        assert await half.read() == b""

    served(SmallCore(), talk, limits=FrontLimits(connections=1))
