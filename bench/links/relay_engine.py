"""The relay inside one event loop: connections, the two shared lines, and who may read next.

What it emulates and why: bench/links/relay.py. This module knows sockets and the loop's clock; it
does not know whether it runs in a thread or in a process, nor who asked for it.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import socket
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass
from itertools import count
from typing import Final

from bench.links.impairments import GOOD, Impairments, Lateness, Outages
from bench.links.line import Line, packet_size

Address = tuple[str, int]

_EOF: Final = b""
_RECEIVE_BUFFER: Final = 8192
"""SO_RCVBUF asked for on both sockets of a connection: enough for the loopback at 50 MB/s."""
_SMALL_RECEIVE_BUFFER: Final = 4096
_KERNEL_HOLDS: Final = 1.75
"""Bytes the kernel takes in per byte of SO_RCVBUF asked for (measured, Linux 6.18)."""
_SEGMENT: Final = 1448
"""TCP_MAXSEG: a loopback segment of 64 KB would stall on so small a receive buffer."""
_RESET_ON_CLOSE: Final = b"\1\0\0\0\0\0\0\0"
"""SO_LINGER on, for 0 seconds."""
_LATENESS_KEPT: Final = 20_000


@dataclass(frozen=True, slots=True)
class RelaySettings:
    """What a relay emulates. Rates in bytes/second, delay in seconds one way, queue in bytes."""

    target: Address
    rate_up: float
    rate_down: float
    delay: float
    queue: int
    listen: Address
    impairments: Impairments = GOOD


@dataclass(frozen=True, slots=True)
class RelayStatistics:
    """An immutable snapshot."""

    bytes_up: int
    bytes_down: int
    queued_up: int
    queued_down: int
    peak_queued_up: int
    peak_queued_down: int
    connections: int
    """Accepted so far."""
    open: int
    lateness: tuple[float, float, float]
    """Seconds by which deliveries were late, median, 99th percentile, most, of the last 20 000."""
    outages: int = 0
    """That have ended."""
    resets: int = 0
    """Of these, those that reset what was open."""


class _Half:
    """One direction of one connection: read from `source`, through the line, into `sink`."""

    def __init__(self, way: _Way, connection: _Connection) -> None:
        self.way = way
        self.connection = connection
        self.late = way.lateness_of()
        self.source: socket.socket | None = None
        self.sink: socket.socket | None = None
        self.egress: deque[bytes] = deque()
        """Arrived, and the sink's kernel does not take it: a receiver that does not read."""
        self.undelivered = 0
        """Bytes on the line or in `egress`: what a receive window would bound."""
        self.reading = False
        self.writing = False
        self.finished = False
        """The source's EOF has been read."""


class _Connection:
    """Two sockets and the two halves between them."""

    def __init__(self, relay: Engine, near: socket.socket) -> None:
        self.relay = relay
        self.near = near
        self.far: socket.socket | None = None
        self.up = _Half(relay.up, self)
        self.down = _Half(relay.down, self)
        self.dead = False
        self.halves_ended = 0

    async def run(self) -> None:
        """Connect as a handshake would: a round trip before the first byte moves."""
        relay, loop = self.relay, asyncio.get_running_loop()
        far = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.far = far
        _prepare(far, relay.settings.queue)
        await relay.moving()
        await asyncio.sleep(2 * relay.settings.delay)
        if self.dead:
            return
        self.up.source, self.down.sink = self.near, self.near
        relay.up.want(self.up)
        await asyncio.sleep(relay.settings.delay)
        if self.dead:
            return
        try:
            await loop.sock_connect(far, relay.settings.target)
        except OSError:
            self.abort()
            return
        if self.dead:
            return
        self.up.sink, self.down.source = far, far
        relay.up.flush(self.up)
        relay.down.want(self.down)

    def half_ended(self) -> None:
        """One direction's EOF was passed on; after both, the connection is over."""
        self.halves_ended += 1
        if self.halves_ended == 2:
            self._close()

    def abort_later(self) -> None:
        """One end was reset; the other hears of it a propagation delay later."""
        if not self.dead:
            asyncio.get_running_loop().call_later(self.relay.settings.delay, self.abort)

    def abort(self) -> None:
        """Reset both ends."""
        if self.dead:
            return
        for end in (self.near, self.far):
            if end is not None and end.fileno() >= 0:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self._close()

    def _close(self) -> None:
        self.dead = True
        for half in (self.up, self.down):
            half.way.forget(half)
        self.near.close()
        if self.far is not None:
            self.far.close()
        self.relay.connections.discard(self)


class _Way:
    """One direction: the line that all connections share, and who may read into it next."""

    def __init__(self, settings: RelaySettings, rate: float, chance: random.Random) -> None:
        queue, delay = settings.queue, settings.delay
        self._impairments, self._chance = settings.impairments, chance
        self._late: list[tuple[float, int, _Half, bytes]] = []
        """Off the line, and not there yet, a heap: each connection keeps its own order."""
        self._number = count()
        self._halted = False
        self.line: Line[tuple[_Half, bytes]] = Line(
            rate=rate, delay=delay, queue=max(1.0, queue - _kernel_share(queue))
        )
        self.lateness: deque[float] = deque(maxlen=_LATENESS_KEPT)
        self._waiting: deque[_Half] = deque()
        """Halves whose source has more, while the line has no room: served in rotation."""
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._rate = rate

    def set_rate(self, rate: float) -> None:
        self._rate = rate
        if not self._halted:
            self.line.set_rate(self._loop.time(), rate)
            self.turn()

    def halt(self, halted: bool) -> None:
        """Nothing moves, until it is told to go on."""
        self.turn()
        self._halted = halted
        self.line.set_rate(self._loop.time(), 0.0 if halted else self._rate)
        self.turn()

    def lateness_of(self) -> Lateness | None:
        """Of one more connection; None: it is never late."""
        if not self._impairments.late:
            return None
        return Lateness(self._impairments, round_trip=2 * self.line.delay, chance=self._chance)

    def want(self, half: _Half) -> None:
        """Read this half's source as soon as it has bytes."""
        if half.source is not None and not half.reading and not half.connection.dead:
            half.reading = True
            self._loop.add_reader(half.source, self._readable, half)

    def forget(self, half: _Half) -> None:
        """The connection is over. What it has on the line goes on occupying the line."""
        self._ignore(half)
        if half.writing and half.sink is not None:
            self._loop.remove_writer(half.sink)
        half.egress.clear()
        if half in self._waiting:
            self._waiting.remove(half)

    def turn(self) -> None:
        """Deliver what is due, let sources fill the room, set the timer for the next event."""
        if self._halted:
            self._set_timer()
            return
        now = self._loop.time()
        for due, (half, data) in self.line.take(now):
            if half.late is None:
                self._deliver(half, data, now - due)
            else:
                late = half.late.due(due, len(data))
                heapq.heappush(self._late, (late, next(self._number), half, data))
        while self._late and self._late[0][0] <= now:
            due, _, half, data = heapq.heappop(self._late)
            self._deliver(half, data, now - due)
        while self._waiting and self.line.room > 0:
            self._read(self._waiting.popleft())
        self._set_timer()

    def _deliver(self, half: _Half, data: bytes, late: float) -> None:
        self.lateness.append(late)
        if not half.connection.dead:
            half.egress.append(data)
            if not half.writing:
                self.flush(half)

    def flush(self, half: _Half) -> None:
        """Hand on what has arrived."""
        sink = half.sink
        if sink is None or half.connection.dead:
            return
        while half.egress:
            data = half.egress[0]
            try:
                if data == _EOF:
                    half.egress.popleft()
                    sink.shutdown(socket.SHUT_WR)
                    half.connection.half_ended()
                    return
                sent = sink.send(data)
            except BlockingIOError:
                self._await_writable(half, sink)
                return
            except OSError:
                half.connection.abort_later()
                half.egress.clear()
                return
            half.undelivered -= sent
            half.egress.popleft()
            if sent < len(data):
                half.egress.appendleft(data[sent:])
        if half.writing:
            half.writing = False
            self._loop.remove_writer(sink)
        if not half.finished and half not in self._waiting:
            self.want(half)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _await_writable(self, half: _Half, sink: socket.socket) -> None:
        if not half.writing:
            half.writing = True
            self._loop.add_writer(sink, self.flush, half)

    def _ignore(self, half: _Half) -> None:
        if half.reading and half.source is not None:
            self._loop.remove_reader(half.source)
        half.reading = False

    def _readable(self, half: _Half) -> None:
        if self.line.room <= 0 or self._waiting:
            self._ignore(half)
            self._waiting.append(half)
        else:
            self._read(half)
        self.turn()

    def _read(self, half: _Half) -> None:
        """At most one packet, so that sources share a line with little room fairly."""
        if half.connection.dead or half.source is None:
            return
        if half.undelivered >= self._window():
            self._ignore(half)
            return
        line = self.line
        try:
            data = half.source.recv(packet_size(line.rate))
        except BlockingIOError:
            self.want(half)
            return
        except OSError:
            self._ignore(half)
            half.finished = True
            half.connection.abort_later()
            return
        half.undelivered += len(data)
        line.push(self._loop.time(), (half, data), len(data))
        if data == _EOF:
            self._ignore(half)
            half.finished = True
        else:
            self.want(half)

    def _window(self) -> float:
        """Bytes a receiver that does not read may hold: never what limits one that does."""
        return 1_000_000 + 2 * (self.line.queue + self.line.rate * 2 * self.line.delay)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._halted:
            return
        times = [self._late[0][0]] if self._late else []
        if (next_time := self.line.next_time()) is not None:
            times.append(next_time)
        if times:
            due = min(times)
            self._timer = self._loop.call_at(due, self.turn)


class Engine:
    """The relay itself, inside one event loop."""

    def __init__(self, settings: RelaySettings) -> None:
        self.settings = settings
        chance = random.Random(settings.impairments.seed)
        self.up = _Way(settings, settings.rate_up, random.Random(chance.random()))
        self.down = _Way(settings, settings.rate_down, random.Random(chance.random()))
        self.connections: set[_Connection] = set()
        self._accepted = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._moving = asyncio.Event()
        """No outage."""
        self._moving.set()
        self._outages, self._resets = 0, 0
        if settings.impairments.outage_every:
            self._spawn(self._have_outages(random.Random(chance.random())))
        self._listener = _listen(settings)
        self.address: Address = self._listener.getsockname()
        asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        try:
            near, _ = self._listener.accept()
        except OSError:  # gone again before it was accepted, or out of descriptors
            return
        _prepare(near, self.settings.queue)
        self._accepted += 1
        connection = _Connection(self, near)
        self.connections.add(connection)
        self._spawn(connection.run())

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _have_outages(self, chance: random.Random) -> None:
        loop = asyncio.get_running_loop()
        outages = Outages(self.settings.impairments, now=loop.time(), chance=chance)
        while outages.start is not None and outages.end is not None:
            await asyncio.sleep(outages.start - loop.time())
            self._halt(True)
            await asyncio.sleep(outages.end - loop.time())
            self._outages += 1
            if outages.over():
                self._resets += 1
                for connection in list(self.connections):
                    connection.abort()
            self._halt(False)

    def _halt(self, halted: bool) -> None:
        if halted:
            self._moving.clear()
        else:
            self._moving.set()
        self.up.halt(halted)
        self.down.halt(halted)

    async def moving(self) -> None:
        """Until there is no outage."""
        await self._moving.wait()

    def set_rate(self, up: float | None, down: float | None) -> None:
        if up is not None:
            self.up.set_rate(up)
        if down is not None:
            self.down.set_rate(down)

    def statistics(self) -> RelayStatistics:
        up, down = self.up.line.statistics(), self.down.line.statistics()
        late = sorted([*self.up.lateness, *self.down.lateness]) or [0.0]
        return RelayStatistics(
            bytes_up=up.carried,
            bytes_down=down.carried,
            queued_up=up.backlog,
            queued_down=down.backlog,
            peak_queued_up=up.peak_backlog,
            peak_queued_down=down.peak_backlog,
            connections=self._accepted,
            open=len(self.connections),
            lateness=(late[len(late) // 2], late[int(len(late) * 0.99)], late[-1]),
            outages=self._outages,
            resets=self._resets,
        )

    async def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in list(self.connections):
            connection.abort()
        self.up.close()
        self.down.close()


def _listen(settings: RelaySettings) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _prepare(listener, settings.queue)
        listener.bind(settings.listen)
        listener.listen(256)
    except OSError:
        listener.close()
        raise
    return listener


def _kernel_share(queue: int) -> float:
    """Bytes of the queue that the kernel's receive buffer holds before ours fills."""
    return _KERNEL_HOLDS * _receive_buffer(queue)


def _receive_buffer(queue: int) -> int:
    return _RECEIVE_BUFFER if queue >= 4 * _RECEIVE_BUFFER else _SMALL_RECEIVE_BUFFER


def _prepare(end: socket.socket, queue: int) -> None:
    """Socket options, before it connects or listens: no buffer that `queue` does not count."""
    end.setblocking(False)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _receive_buffer(queue))
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SEGMENT)
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
