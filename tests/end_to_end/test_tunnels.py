"""Opaque tunnels through both proxies: half-closed, long, impossible."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress

import pytest

from tests.end_to_end.pair import all_three, run, until
from wire.credit import INITIAL


def test_a_tunnel_carries_bytes_both_ways_and_half_closes() -> None:
    async def go() -> None:
        async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            data = await reader.read()
            writer.write(data.upper())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(shout, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, all_three() as (_, both):
            status, reader, writer = await both.client.connect(f"127.0.0.1:{port}")
            assert status == 200
            data = b"quiet " * 500_000
            writer.write(data)
            writer.write_eof()
            assert await reader.read() == data.upper()
            writer.close()
            await writer.wait_closed()
            await until(lambda: both.session.statistics().deliveries == 0)
            assert both.session.budget.used == 0

    run(go())


def test_a_long_tunnel_is_not_kept_in_memory() -> None:
    async def go() -> None:
        async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for _ in range(100):
                writer.write(b"x" * 100_000)
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(pour, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, all_three() as (_, both):
            _, reader, writer = await both.client.connect(f"127.0.0.1:{port}")
            size = most = 0
            while chunk := await reader.read(65536):
                size += len(chunk)
                most = max(most, both.held)
            assert size == 10_000_000
            assert most <= 3 * INITIAL
            writer.close()
            await writer.wait_closed()

    run(go())


def test_a_tunnel_that_can_not_be_had_says_so() -> None:
    async def go() -> None:
        async with all_three() as (_, both):
            status, _, writer = await both.client.connect("127.0.0.1:1")
            assert status == 502
            writer.close()
            await writer.wait_closed()

    run(go())


@pytest.mark.parametrize("aborts", [False, True])
def test_the_remote_hears_of_the_end_of_one_that_its_server_ended_first(aborts: bool) -> None:
    """All that its client has said, too, unless the client broke off."""
    words = b"all is well " * 50_000
    heard: list[bytes] = []

    async def go() -> None:
        async def part(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"bye")
            writer.write_eof()
            said = b""
            with suppress(ConnectionError):  # its client broke off
                said = await reader.read()
            heard.append(said)
            writer.close()

        server = await asyncio.start_server(part, "127.0.0.1", 0)
        where = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, all_three() as (_, both):
            for _ in range(10):
                _, reader, writer = await both.client.connect(where)
                assert await reader.read() == b"bye"
                if aborts:
                    end = writer.get_extra_info("socket")
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    writer.transport.abort()
                else:
                    writer.write(words)
                    writer.close()
                    await writer.wait_closed()
            await until(lambda: both.session.statistics().deliveries == 0)
            await until(lambda: len(heard) == 10)
            assert aborts or heard == [words] * 10
            session = both.local.uplink.session
            assert session is not None and not session.uploads.under_way

    run(go())


def _may_listen() -> bool:
    """Whether this user may serve at HTTPS's port."""
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.43", 443))
        except OSError:
            return False
    return True


@pytest.mark.skipif(not _may_listen(), reason="port 443 is not ours here")
def test_a_server_that_goes_meanwhile_ends_the_next_client_and_tells_the_one_after() -> None:
    async def go() -> None:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.read(100))
            writer.close()

        where = "127.0.0.43:443"
        server = await asyncio.start_server(echo, "127.0.0.43", 443)
        async with all_three() as (_, both):
            async with server:
                for _ in range(3):
                    status, reader, writer = await both.client.connect(where)
                    assert status == 200
                    writer.write(b"hello")
                    assert await reader.read() == b"hello"
                    writer.close()
            status, reader, writer = await both.client.connect(where)
            assert status == 200
            writer.write(b"hello")
            assert await reader.read() == b""
            writer.close()
            status, _, writer = await both.client.connect(where)
            assert status >= 500
            writer.close()
            await until(lambda: both.session.statistics().deliveries == 0)

    run(go())
