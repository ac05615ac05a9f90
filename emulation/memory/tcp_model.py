"""Concurrent TCP connections that share a bottleneck, in virtual time.

    path = SharedPath(CarrierModel(schedule=..., delay=0.005))
    near, far = path.connect()
    await near.write(data)        # returns once the modelled kernel has taken it all
    await far.read(4096)

The bottleneck is the line of emulation/memory/carrier.py, but a queue that is full drops. What the
far end writes arrives after the delay: acknowledgements and answers of a byte are all there is, so
the way back carries whatever comes. Each direction of a connection is a
`transport.nai.carriers.streams.Stream`."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

from emulation.lines.line import Line
from emulation.lines.schedule import Steady
from emulation.memory.carrier import CarrierModel
from emulation.tcp.reno import SEND_BUFFER, RenoReceiver, RenoSender, TcpSegment


class _Packet(NamedTuple):
    connection: _Near
    segment: TcpSegment


class _Acknowledgement(NamedTuple):
    due: float
    connection: _Near
    upto: int
    sent_at: float


class _Inbox:
    """Bytes that have come and nobody has read."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ended = False
        self._news = asyncio.Event()

    def feed(self, data: bytes) -> None:
        self._bytes += data
        self._news.set()

    def end(self) -> None:
        self._ended = True
        self._news.set()

    async def read(self, most: int) -> bytes:
        while not self._bytes and not self._ended:
            self._news.clear()
            await self._news.wait()
        data = bytes(self._bytes[:most])
        del self._bytes[:most]
        return data


class _Near:
    """The end whose bytes contend for the bottleneck."""

    def __init__(self, path: SharedPath, buffer: int) -> None:
        self._path, self._loop = path, asyncio.get_running_loop()
        self.sender, self.receiver = RenoSender(buffer=buffer), RenoReceiver()
        self._kernel = bytearray()
        """What was written and has not arrived in order."""
        self._room = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self.inbox = _Inbox()
        self.peer: _Far | None = None

    async def write(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            if not (room := self.sender.room):
                self._room.clear()
                await self._room.wait()
                continue
            self._kernel += data[at : at + room]
            self.sender.write(min(room, len(data) - at))
            at += room
            self._send()

    async def read(self, most: int) -> bytes:
        return await self.inbox.read(most)

    def close(self) -> None:
        """What the kernel holds is lost, as with a reset; benches wait for what they count."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.sender.timer = None
        self.inbox.end()
        if self.peer is not None:
            self.peer.inbox.end()

    def arrived(self, segment: TcpSegment) -> None:
        """A segment is at the far end."""
        length = self.receiver.receive(segment.offset, segment.length)
        if length and self.peer is not None:
            self.peer.inbox.feed(bytes(self._kernel[:length]))
            del self._kernel[:length]

    def acknowledged(self, upto: int, sent_at: float) -> None:
        self.sender.acknowledged(upto, sent_at, self._loop.time())
        self._send()
        if self.sender.room:
            self._room.set()

    def _send(self) -> None:
        for segment in self.sender.to_send(self._loop.time()):
            self._path.offer(self, segment)
        due = self.sender.timer
        if due is not None and self._timer is None:
            self._timer = self._loop.call_at(due, self._look)

    def _look(self) -> None:
        """The retransmission timer, unless acknowledgements have moved it meanwhile."""
        self._timer = None
        now, due = self._loop.time(), self.sender.timer
        if due is not None and due <= now:
            self.sender.time_out(now)
        self._send()


class _Far:
    """The end that answers."""

    def __init__(self, near: _Near, delay: float) -> None:
        self._near, self._delay = near, delay
        self._loop = asyncio.get_running_loop()
        self.inbox = _Inbox()

    async def write(self, data: bytes) -> None:
        self._loop.call_later(self._delay, self._near.inbox.feed, data)

    async def read(self, most: int) -> bytes:
        return await self.inbox.read(most)

    def close(self) -> None:
        self._near.close()


class SharedPath:
    """A line, and all connections over it."""

    def __init__(self, model: CarrierModel) -> None:
        """Call it from within the loop it shall run in."""
        self._loop = asyncio.get_running_loop()
        self._model = model
        self.line: Line[_Packet] = Line(
            schedule=model.schedule or Steady(model.rate),
            delay=model.delay,
            queue=float(model.queue),
        )
        self._acknowledgements: deque[_Acknowledgement] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._due = float("inf")

    def connect(self, *, buffer: int = SEND_BUFFER) -> tuple[_Near, _Far]:
        """Both ends of a connection that is up. `buffer`: bytes that the near kernel holds."""
        near = _Near(self, buffer)
        far = near.peer = _Far(near, self._model.delay)
        return near, far

    def offer(self, connection: _Near, segment: TcpSegment) -> None:
        """Puts a segment on the line, whose full queue drops it (droptail)."""
        packet = _Packet(connection, segment)
        self.line.offer(self._loop.time(), packet, segment.length + self._model.header)
        self._set_timer()

    def _turn(self) -> None:
        now = self._loop.time()
        self._due = float("inf")
        for _, (connection, segment) in self.line.take(now):
            connection.arrived(segment)
            self._acknowledgements.append(
                _Acknowledgement(
                    now + self._model.delay,
                    connection,
                    connection.receiver.upto,
                    segment.sent_at,
                )
            )
        waiting = self._acknowledgements
        while waiting and waiting[0].due <= now:
            _, connection, upto, sent_at = waiting.popleft()
            connection.acknowledged(upto, sent_at)
        self._set_timer()

    def _set_timer(self) -> None:
        due = self.line.next_time()
        if self._acknowledgements:
            first = self._acknowledgements[0].due
            due = first if due is None else min(due, first)
        if due is None or due >= self._due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_at(due, self._turn)
