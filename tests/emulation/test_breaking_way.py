"""Tests of a way that breaks when it is told to: bytes pass, then they are cut off or held back."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest

from emulation.relay.breaking_way import BreakingWay
from tests.watched import run, until

FAST = 1e9


@contextlib.asynccontextmanager
async def echoing() -> AsyncIterator[tuple[str, int]]:
    """The address of a server that says everything back."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()


async def broken(reader: asyncio.StreamReader) -> bool:
    """Whether it ends without a byte more."""
    try:
        return not await reader.read()
    except ConnectionResetError:
        return True


def test_bytes_pass_both_ways_and_those_of_the_target_are_counted() -> None:
    async def go() -> None:
        async with echoing() as address, BreakingWay(address, rate=FAST) as way:
            pairs = [await asyncio.open_connection(*way.address) for _ in range(2)]
            for number, (reader, writer) in enumerate(pairs):
                said = bytes([number]) * 50_000
                writer.write(said)
                assert await reader.readexactly(50_000) == said
            assert (way.connections, way.down) == (2, 100_000)
            for _, writer in pairs:
                writer.close()

    run(go())


def test_bytes_go_no_faster_than_the_rate() -> None:
    async def go() -> float:
        loop = asyncio.get_running_loop()
        async with echoing() as address, BreakingWay(address, rate=100_000.0) as way:
            reader, writer = await asyncio.open_connection(*way.address)
            began = loop.time()
            writer.write(bytes(5000))
            await reader.readexactly(5000)
            writer.close()
            return loop.time() - began

    assert run(go()) >= 0.1  # fifty milliseconds each way


def test_a_cut_breaks_what_stands_and_lets_others_come() -> None:
    async def go() -> None:
        async with echoing() as address, BreakingWay(address, rate=FAST) as way:
            reader, writer = await asyncio.open_connection(*way.address)
            writer.write(b"here")
            assert await reader.readexactly(4) == b"here"
            way.cut()
            assert await broken(reader)
            writer.close()
            reader, writer = await asyncio.open_connection(*way.address)
            writer.write(b"anew")
            assert await reader.readexactly(4) == b"anew"
            assert way.connections == 2
            writer.close()

    run(go())


def test_a_silent_way_holds_what_comes_and_passes_it_on_afterwards() -> None:
    async def go() -> None:
        async with echoing() as address, BreakingWay(address, rate=FAST) as way:
            reader, writer = await asyncio.open_connection(*way.address)
            assert way.silent == 0.0
            way.hush(True)
            writer.write(b"held")
            answer = asyncio.ensure_future(reader.readexactly(4))
            await until(lambda: way.silent > 0.02)
            assert not answer.done()
            assert way.down == 0
            way.hush(False)
            assert await answer == b"held"
            before = way.silent
            assert before > 0.02
            await asyncio.sleep(0.01)
            assert way.silent == before
            way.hush(True)
            await until(lambda: way.silent > before)
            writer.close()

    run(go())


def test_a_target_that_is_gone_breaks_the_connection_and_nothing_stays_open() -> None:
    async def go() -> None:
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            made: list[socket.socket] = []

            def new_socket() -> socket.socket:
                made.append(socket.socket())
                return made[-1]

            async with BreakingWay(nobody.getsockname(), rate=FAST, new_socket=new_socket) as way:
                reader, writer = await asyncio.open_connection(*way.address)
                assert await broken(reader)
                writer.close()
            assert len(made) == 2  # the listener and one that dialled
            assert all(one.fileno() == -1 for one in made)

    run(go())


def test_what_cannot_listen_says_so_and_keeps_no_socket() -> None:
    made: list[socket.socket] = []

    def new_socket() -> socket.socket:
        made.append(socket.socket())
        return made[-1]

    async def go() -> None:
        way = BreakingWay(("127.0.0.1", 1), rate=FAST, host="192.0.2.1", new_socket=new_socket)
        with pytest.raises(OSError, match="assign"):
            await way.__aenter__()

    run(go())
    assert [one.fileno() for one in made] == [-1]
