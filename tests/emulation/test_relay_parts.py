"""Tests of a relay's parts: its sockets, one direction, one connection, and the engine of all."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from emulation.lines.impairments import GOOD, Impairments
from emulation.relay.relay_connection import RelayedConnection
from emulation.relay.relay_engine import Engine
from emulation.relay.relay_settings import Address, RelaySettings
from emulation.relay.relay_sockets import connecting, kernel_share, listen, reset
from emulation.relay.relay_way import Half, RelayDirection
from tests.watched import run, until

SETTINGS = RelaySettings(
    target=("127.0.0.1", 1),
    rate_up=1e7,
    rate_down=1e7,
    delay=0.0,
    queue=65_536,
    listen=("127.0.0.1", 0),
)


def direction(settings: RelaySettings = SETTINGS, *, trace: str = "") -> RelayDirection:
    return RelayDirection(settings, settings.rate_up, random.Random(1), trace=trace)


@contextlib.asynccontextmanager
async def target(*, answer: bytes = b"") -> AsyncIterator[Address]:
    """The address of a server that answers this in front of what it says back, to its end."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            writer.write(answer)
            while data := await reader.read(65_536):
                writer.write(data)
            writer.write_eof()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()


def connected() -> tuple[socket.socket, socket.socket]:
    """Two ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    return near, far


# Settings and sockets.


def test_settings_hold_what_no_running_relay_may_change() -> None:
    assert SETTINGS.impairments is GOOD
    assert (SETTINGS.trace_up, SETTINGS.trace_down) == ("", "")
    with pytest.raises(FrozenInstanceError):
        SETTINGS.rate_up = 1.0  # type: ignore[misc]
    other = replace(SETTINGS, target=("127.0.0.1", 2))
    assert other != SETTINGS
    assert replace(other, target=SETTINGS.target) == SETTINGS


def test_sockets_hold_less_of_a_small_queue_and_never_more_than_it() -> None:
    small, large = connecting(10_000), connecting(1 << 20)
    with small, large:
        held = [one.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) for one in (small, large)]
        assert held[0] < held[1]
        assert not small.getblocking()
        assert small.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert kernel_share(10_000) < 10_000
    assert kernel_share(1 << 20) == 2 * kernel_share(10_000)


def test_a_listener_takes_its_port_and_a_taken_one_is_an_error() -> None:
    with listen(("127.0.0.1", 0), queue=65_536) as listener:
        assert not listener.getblocking()
        with pytest.raises(OSError, match="in use"):
            listen(listener.getsockname(), queue=65_536)
        with socket.create_connection(listener.getsockname()):
            accepted, _ = listener.accept()
            accepted.close()


def test_closing_what_was_told_to_reset_resets_the_other_end() -> None:
    near, far = connected()
    with far:
        reset(near)
        near.close()
        with pytest.raises(ConnectionResetError):
            far.recv(1)
        reset(near)  # closed already: nothing to do


# One direction.


class Ends:
    """A connection, as one of its halves knows it."""

    def __init__(self) -> None:
        self.dead = False
        self.ended = 0
        self.aborts = 0

    def half_ended(self) -> None:
        self.ended += 1

    def abort_later(self) -> None:
        self.aborts += 1


@contextlib.contextmanager
def half(way: RelayDirection) -> Iterator[tuple[Half, Ends, socket.socket, socket.socket]]:
    """A half that is read into, who writes to its source and who reads of its sink."""
    writer, source = socket.socketpair()
    sink, reader = socket.socketpair()
    ends = Ends()
    made = Half(way, ends)
    with writer, source, sink, reader:
        for one in (source, sink, reader):
            one.setblocking(False)
        made.source, made.sink = source, sink
        way.want(made)
        try:
            yield made, ends, writer, reader
        finally:
            ends.dead = True
            way.forget(made)
            way.close()


def test_a_direction_passes_bytes_and_then_the_end() -> None:
    async def go() -> None:
        loop = asyncio.get_running_loop()
        with half(direction()) as (one, ends, writer, reader):
            writer.sendall(b"hello")
            assert await loop.sock_recv(reader, 100) == b"hello"
            assert one.undelivered == 0
            assert not one.finished
            writer.shutdown(socket.SHUT_WR)
            assert await loop.sock_recv(reader, 100) == b""
            assert one.finished
            assert (ends.ended, ends.aborts) == (1, 0)
            assert one.way.line.statistics().carried == 5
            assert len(one.way.lateness) == 2
            assert min(one.way.lateness) >= 0

    run(go())


def test_nothing_moves_in_an_outage_and_what_waited_moves_after_it() -> None:
    async def go() -> None:
        loop = asyncio.get_running_loop()
        with half(direction()) as (one, _, writer, reader):
            one.way.halt(True)
            writer.sendall(b"held")
            await until(lambda: one.undelivered == 4)
            one.way.set_rate(2e7)
            with pytest.raises(BlockingIOError):
                reader.recv(1)
            one.way.halt(False)
            assert await loop.sock_recv(reader, 100) == b"held"
            assert one.way.line.rate == 2e7

    run(go())


def test_a_reader_that_is_gone_aborts_its_connection() -> None:
    async def go() -> None:
        with half(direction()) as (one, ends, writer, reader):
            reader.close()
            writer.sendall(b"nobody wants it")
            await until(lambda: ends.aborts)
            assert not one.egress

    run(go())


def test_what_a_dead_connection_has_on_the_line_goes_nowhere() -> None:
    async def go() -> None:
        with half(direction(replace(SETTINGS, rate_up=2_000.0))) as (one, ends, writer, reader):
            writer.sendall(bytes(2000))  # a second
            await until(lambda: one.undelivered)
            ends.dead = True
            one.way.forget(one)
            await until(lambda: one.way.line.idle)
            one.way.turn()
            carried = one.way.line.statistics().carried
            assert carried > 0
            came = carried - one.undelivered  # before anybody looked
            assert len(reader.recv(4000) if came else b"") == came
            with pytest.raises(BlockingIOError):
                reader.recv(1)

    run(go())


def test_a_trace_is_followed_and_what_is_none_is_refused(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text("0 1000\n1 3000\n")
    bad.write_text("nothing")

    async def go() -> None:
        way = direction(trace=str(good))
        assert way.line.rate == pytest.approx(2000.0)
        way.set_rate(5.0)
        way.rewind()
        assert way.line.rate == pytest.approx(2000.0)
        way.close()
        with pytest.raises(ValueError, match="line 1"):
            direction(trace=str(bad))
        with pytest.raises(FileNotFoundError):
            direction(trace=str(tmp_path / "absent"))
        plain = direction()
        plain.rewind()
        assert plain.line.rate == SETTINGS.rate_up
        plain.close()

    run(go())


def test_each_connection_is_late_by_itself_on_a_bad_link_and_none_on_a_good_one() -> None:
    async def go() -> None:
        bad = direction(replace(SETTINGS, impairments=Impairments(jitter=0.1)))
        assert direction().lateness_of() is None
        first, second = bad.lateness_of(), bad.lateness_of()
        assert first is not None and second is not None
        assert first is not second
        assert first.due(1.0, 100) > 1.0

    run(go())


# One connection.


class Relayed:
    """A connection through two directions, and how often it has closed."""

    def __init__(self, near: socket.socket, address: Address, *, delay: float = 0.0) -> None:
        settings = replace(SETTINGS, target=address, delay=delay)
        self.up, self.down = direction(settings), direction(settings)
        self.closed = 0
        self.connection = RelayedConnection(
            near, up=self.up, down=self.down, settings=settings, on_close=self.count
        )
        self.moving = asyncio.Event()

    def count(self, connection: RelayedConnection) -> None:
        assert connection is self.connection
        self.closed += 1
        self.up.close()
        self.down.close()


def test_a_connection_waits_for_the_outage_then_carries_both_ways_to_both_ends() -> None:
    async def go() -> None:
        near, far = connected()
        far.setblocking(False)
        near.setblocking(False)
        loop = asyncio.get_running_loop()
        async with target(answer=b"hi ") as address:
            relayed = Relayed(far, address)
            running = asyncio.create_task(relayed.connection.run(relayed.moving))
            await loop.sock_sendall(near, b"there")
            await asyncio.sleep(0.01)
            assert not running.done()
            relayed.moving.set()
            await running
            near.shutdown(socket.SHUT_WR)
            got = b""
            while data := await loop.sock_recv(near, 100):
                got += data
            assert got == b"hi there"
            await until(lambda: relayed.closed)
            assert relayed.closed == 1
            assert relayed.connection.dead
            near.close()

    run(go())


def test_a_target_that_refuses_resets_who_connected() -> None:
    async def go() -> None:
        near, far = connected()
        with near, socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            relayed = Relayed(far, nobody.getsockname())
            relayed.moving.set()
            await relayed.connection.run(relayed.moving)
            assert relayed.connection.dead
            with pytest.raises(ConnectionResetError):
                near.recv(1)
            relayed.connection.abort()
            assert relayed.closed == 1

    run(go())


def test_one_that_is_aborted_meanwhile_never_reaches_its_target() -> None:
    async def go() -> None:
        near, far = connected()
        reached = asyncio.Event()
        async with await asyncio.start_server(lambda *_: reached.set(), "127.0.0.1", 0) as server:
            with near:
                relayed = Relayed(far, server.sockets[0].getsockname(), delay=0.005)
                running = asyncio.create_task(relayed.connection.run(relayed.moving))
                relayed.moving.set()
                await asyncio.sleep(0)
                relayed.connection.abort()
                await running
                assert relayed.closed == 1
                assert not reached.is_set()

    run(go())


# All of it.


def test_an_engine_reaches_several_targets_over_one_line() -> None:
    async def go() -> None:
        async with target(answer=b"a") as one, target(answer=b"b") as other:
            engine = Engine(replace(SETTINGS, target=one))
            for where, said in ((engine.address, b"a"), (engine.reach(other), b"b")):
                reader, writer = await asyncio.open_connection(*where)
                assert await reader.readexactly(1) == said
                writer.write(b"more")
                assert await reader.readexactly(4) == b"more"
                assert engine.statistics().open == 1
                writer.close()
                await until(lambda: engine.statistics().open == 0)
            counted = engine.statistics()
            assert (counted.bytes_up, counted.bytes_down, counted.connections) == (8, 10, 2)
            assert counted.queued_up == counted.queued_down == 0
            assert (counted.outages, counted.resets) == (0, 0)
            await engine.close()

    run(go())


def test_an_engine_s_rates_are_changed_one_by_one() -> None:
    async def go() -> None:
        async with target() as address:
            slow = replace(SETTINGS, target=address, rate_down=100.0)
            engine = Engine(slow)
            reader, writer = await asyncio.open_connection(*engine.address)
            writer.write(bytes(20_000))
            await until(lambda: engine.statistics().queued_down > 0)
            engine.set_rate(None, None)
            assert engine.statistics().bytes_down < 1000
            engine.set_rate(None, 1e7)
            assert await reader.readexactly(20_000) == bytes(20_000)
            writer.close()
            await engine.close()

    run(go())


def test_an_engine_that_closes_frees_its_port_and_resets_what_is_open() -> None:
    async def go() -> None:
        async with target(answer=b"x") as address:
            engine = Engine(replace(SETTINGS, target=address))
            reader, writer = await asyncio.open_connection(*engine.address)
            await reader.readexactly(1)
            await engine.close()
            with pytest.raises(ConnectionResetError):
                await reader.readexactly(1)
            writer.close()
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(engine.address)
            assert engine.statistics().open == 0

    run(go())
