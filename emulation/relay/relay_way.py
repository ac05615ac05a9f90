"""One direction of a relay: the line that all connections share, and who may read into it next.

It knows of a connection only what `Ends` names: how it is accepted, made and reset is
relay_connection.py's.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import socket
from collections import deque
from itertools import count
from pathlib import Path
from typing import Final, Protocol

from emulation.lines import traces
from emulation.lines.impairments import Lateness
from emulation.lines.line import Line, packet_size
from emulation.lines.schedule import Schedule, Steady
from emulation.relay.relay_settings import RelaySettings
from emulation.relay.relay_sockets import kernel_share

_EOF: Final = b""
_LATENESS_KEPT: Final = 20_000


class RelayEnds(Protocol):
    """The connection that a half is one direction of."""

    dead: bool

    def half_ended(self) -> None:
        """This direction's EOF was passed on."""

    def abort_later(self) -> None:
        """One end was reset."""


class Half:
    """One direction of one connection: read from `source`, through the line, into `sink`."""

    def __init__(self, way: RelayDirection, connection: RelayEnds) -> None:
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


class RelayDirection:
    """One direction: the line that all connections share, and who may read into it next."""

    def __init__(
        self, settings: RelaySettings, rate: float, chance: random.Random, *, trace: str = ""
    ) -> None:
        """`rate` in bytes/second; `trace`: the path of a file that it follows instead.

        Raises OSError, ValueError for a file that is none.
        """
        queue, delay = settings.queue, settings.delay
        self._impairments, self._chance = settings.impairments, chance
        self._late: list[tuple[float, int, Half, bytes]] = []
        """Off the line, and not there yet, a heap: each connection keeps its own order."""
        self._number = count()
        self._halted = False
        self._loop = asyncio.get_running_loop()
        self._trace = traces.read(Path(trace)) if trace else None
        self._schedule: Schedule = Steady(rate)
        if self._trace is not None:
            self._schedule = self._trace.from_epoch(self._loop.time())
        self.line: Line[tuple[Half, bytes]] = Line(
            schedule=self._schedule, delay=delay, queue=max(1.0, queue - kernel_share(queue))
        )
        self.lateness: deque[float] = deque(maxlen=_LATENESS_KEPT)
        self._waiting: deque[Half] = deque()
        """Halves whose source has more, while the line has no room: served in rotation."""
        self._timer: asyncio.TimerHandle | None = None

    def set_rate(self, rate: float) -> None:
        self._follow(Steady(rate))

    def rewind(self) -> None:
        """A trace begins anew."""
        if self._trace is not None:
            self._follow(self._trace.from_epoch(self._loop.time()))

    def _follow(self, schedule: Schedule) -> None:
        self._schedule = schedule
        if not self._halted:
            self.line.set_schedule(self._loop.time(), schedule)
            self.turn()

    def halt(self, halted: bool) -> None:
        """Nothing moves, until it is told to go on."""
        self.turn()
        self._halted = halted
        self.line.set_schedule(self._loop.time(), Steady(0.0) if halted else self._schedule)
        self.turn()

    def lateness_of(self) -> Lateness | None:
        """The lateness of one more connection; None: it is never late."""
        if not self._impairments.late:
            return None
        return Lateness(self._impairments, round_trip=2 * self.line.delay, chance=self._chance)

    def want(self, half: Half) -> None:
        """Read this half's source as soon as it has bytes."""
        if half.source is not None and not half.reading and not half.connection.dead:
            half.reading = True
            self._loop.add_reader(half.source, self._readable, half)

    def forget(self, half: Half) -> None:
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

    def _deliver(self, half: Half, data: bytes, late: float) -> None:
        self.lateness.append(late)
        if not half.connection.dead:
            half.egress.append(data)
            if not half.writing:
                self.flush(half)

    def flush(self, half: Half) -> None:
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

    def _await_writable(self, half: Half, sink: socket.socket) -> None:
        if not half.writing:
            half.writing = True
            self._loop.add_writer(sink, self.flush, half)

    def _ignore(self, half: Half) -> None:
        if half.reading and half.source is not None:
            self._loop.remove_reader(half.source)
        half.reading = False

    def _readable(self, half: Half) -> None:
        if self.line.room <= 0 or self._waiting:
            self._ignore(half)
            self._waiting.append(half)
        else:
            self._read(half)
        self.turn()

    def _read(self, half: Half) -> None:
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
