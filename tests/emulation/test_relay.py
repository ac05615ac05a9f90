"""Tests of the relay between real sockets: bytes unchanged, at the rate, and clean ends."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from emulation.relay.relay import Relay

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def target(handler: Handler) -> AsyncIterator[tuple[str, int]]:
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    with contextlib.suppress(OSError):  # whoever reset it is not there to be told of the end
        writer.write_eof()
    writer.close()


async def fetch(process: bool) -> tuple[bytes, bytes, int]:
    payload = bytes(range(256)) * 800
    async with (
        target(echo) as address,
        Relay(target=address, rate_up=4e6, rate_down=4e6, delay=0.001, process=process) as relay,
    ):
        reader, writer = await asyncio.open_connection(*relay.address)
        writer.write(payload)
        writer.write_eof()
        got = await reader.read()
        writer.close()
        return payload, got, relay.statistics().bytes_down


@pytest.mark.parametrize("process", [False, True])
def test_bytes_pass_unchanged_both_ways_with_half_close(process: bool) -> None:
    payload, got, carried = asyncio.run(fetch(process))
    assert got == payload
    assert carried == len(payload)


def test_connecting_costs_a_round_trip_and_the_rate_is_kept() -> None:
    async def run() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        async with (
            target(echo) as address,
            Relay(target=address, rate_up=1e6, rate_down=100_000, delay=0.03) as relay,
        ):
            started = loop.time()
            reader, writer = await asyncio.open_connection(*relay.address)
            writer.write(bytes(40_000))
            await reader.readexactly(1)
            first = loop.time()
            await reader.readexactly(39_999)
            last = loop.time()
            writer.close()
        return first - started, last - started

    first, last = asyncio.run(run())  # either may be seen late, so neither counts from the other
    assert first >= 0.12  # the handshake's round trip, then the data's
    assert last >= 0.505  # and 39 000 bytes at 100 000 bytes/s


def test_connections_share_the_line() -> None:
    async def run() -> float:
        loop = asyncio.get_running_loop()
        async with (
            target(echo) as address,
            Relay(target=address, rate_up=1e6, rate_down=200_000) as relay,
        ):

            async def one() -> None:
                reader, writer = await asyncio.open_connection(*relay.address)
                writer.write(bytes(20_000))
                await reader.readexactly(20_000)
                writer.close()

            started = loop.time()
            await asyncio.gather(*(one() for _ in range(4)))
            return loop.time() - started

    assert asyncio.run(run()) >= 0.39


def test_the_hidden_buffer_holds_what_was_asked_for_and_no_more() -> None:
    async def swallowed(queue: int) -> int:
        loop = asyncio.get_running_loop()
        async with (
            target(echo) as address,
            Relay(target=address, rate_up=100, rate_down=100, queue=queue) as relay,
        ):
            client = socket.socket()
            client.setblocking(False)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            await loop.sock_connect(client, relay.address)
            acknowledged, still = -1, 0
            while still < 10:  # looks, until the peer's kernel takes no more
                try:
                    client.send(bytes(1000))
                except BlockingIOError:
                    info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
                    (now_acknowledged,) = struct.unpack_from("=Q", info, 120)
                    still = still + 1 if now_acknowledged == acknowledged else 0
                    acknowledged = now_acknowledged
                    await asyncio.sleep(0.1)
            client.close()
        return acknowledged

    small, large = asyncio.run(swallowed(65_536)), asyncio.run(swallowed(262_144))
    # The kernel's part of it varies by 10 KB with how segments happen to coalesce.
    assert small == pytest.approx(65_536, rel=0.2)
    assert large == pytest.approx(262_144, rel=0.05)


def test_a_changed_rate_takes_hold() -> None:
    async def run() -> float:
        loop = asyncio.get_running_loop()
        async with (
            target(echo) as address,
            Relay(target=address, rate_up=1e6, rate_down=100) as relay,
        ):
            reader, writer = await asyncio.open_connection(*relay.address)
            writer.write(bytes(10_000))
            await reader.readexactly(1)
            relay.set_rate(down=1e6)
            started = loop.time()
            await reader.readexactly(9_999)
            writer.close()
            return loop.time() - started

    assert asyncio.run(run()) < 5.0  # 100 s at the old rate


def test_a_refused_target_resets_the_client() -> None:
    async def run() -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            async with Relay(target=unused.getsockname(), rate_up=1e5, rate_down=1e5) as relay:
                reader, writer = await asyncio.open_connection(*relay.address)
                try:
                    await reader.read()
                finally:
                    writer.close()

    with pytest.raises(ConnectionResetError):
        asyncio.run(run())


def test_a_reset_passes_through_and_nothing_stays_open() -> None:
    async def run() -> tuple[bool, int]:
        arrived, reset = asyncio.Event(), asyncio.Event()

        async def wait_for_reset(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
            try:
                await reader.readexactly(1)
                arrived.set()
                await reader.read()
            except ConnectionResetError:
                reset.set()

        async with (
            target(wait_for_reset) as address,
            Relay(target=address, rate_up=1e6, rate_down=1e6) as relay,
        ):
            client = socket.create_connection(relay.address)
            client.sendall(b"x")
            await arrived.wait()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            await asyncio.wait_for(reset.wait(), 5)
            return reset.is_set(), relay.statistics().open

    assert asyncio.run(run()) == (True, 0)


def test_a_taken_port_says_so() -> None:
    async def run() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = taken.getsockname()
            async with Relay(target=address, rate_up=1.0, rate_down=1.0, listen=address):
                raise AssertionError("listened on a taken port")

    with pytest.raises(OSError, match="in use"):
        asyncio.run(run())
