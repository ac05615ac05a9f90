"""Opaque tunnels through both proxies: half-closed, long, impossible."""

from __future__ import annotations

import asyncio

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
