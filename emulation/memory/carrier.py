"""A carrier of segments between two ends in one process, for virtual time: NAI over an emulated
line.

    near, far = memory_carriers(CarrierModel(rate=200_000, delay=0.02, queue=75_000))

As the paper's set-up is seen from ATP: a network device with a bounded queue whose length can be
read, behind it a wireless link that loses nothing. Who finds the queue full waits; nothing is
dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from emulation.lines.line import ETHERNET_PAYLOAD, Line
from emulation.lines.schedule import Schedule, Steady
from transport.nai.carriers.interface import CarrierReader

DEVICE_QUEUE: Final = 50 * ETHERNET_PAYLOAD
"""Bytes: "the maximum length allowed is 50 in FreeBSD" (ATP, section 4.2), in packets."""


@dataclass(frozen=True, slots=True)
class CarrierModel:
    """What lies between the ends. Bytes/second, bytes, seconds; from near to far."""

    rate: float = 200_000.0
    schedule: Schedule | None = None
    """Goes before the rate."""
    rate_back: float = 200_000.0
    delay: float = 0.0
    """One way."""
    queue: int = DEVICE_QUEUE
    segment: int = ETHERNET_PAYLOAD
    header: int = 0
    """Bytes that each packet has besides."""
    reorder: int = 0
    """Every so many-th packet arrives one delay later; 0: none. As from a carrier without order."""


class _Way:
    """One direction of the link."""

    def __init__(self, model: CarrierModel, schedule: Schedule) -> None:
        self._loop = asyncio.get_running_loop()
        self._model = model
        self.line: Line[bytes] = Line(
            schedule=schedule, delay=model.delay, queue=float(model.queue)
        )
        self._timer: asyncio.TimerHandle | None = None
        self._due = float("inf")
        self._count = 0
        self._wants_room = False
        self.deliver: Callable[[bytes], None] | None = None
        self.paused = False
        self.early: deque[bytes] = deque()
        """Arrived before anybody read."""
        self.room_made: Callable[[], None] = lambda: None

    def backlog(self, now: float) -> int:
        self.line.advance(now)
        return int(self.line.queue - self.line.room)

    def room(self, now: float) -> int:
        room = int(self._model.queue - self.backlog(now)) - self._model.header
        if room < self._model.segment:
            self._wants_room = True
            self._set_timer()
        return max(0, room)

    def send(self, payload: bytes, now: float) -> None:
        self.line.push(now, payload, len(payload) + self._model.header)
        self._set_timer()

    def arrived(self, payload: bytes) -> None:
        if self.deliver is None or self.paused:
            self.early.append(payload)
        else:
            self.deliver(payload)

    def read(self) -> None:
        while self.early and self.deliver is not None and not self.paused:
            self.deliver(self.early.popleft())

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.deliver = lambda _: None
        self.early.clear()

    def _turn(self) -> None:
        now = self._loop.time()
        self._due = float("inf")
        for _, payload in self.line.take(now):
            self._count += 1
            if self._model.reorder and self._count % self._model.reorder == 0:
                self._loop.call_later(self._model.delay, self.arrived, payload)
            else:
                self.arrived(payload)
        self._set_timer()
        if self._wants_room and self.line.room >= self._model.segment + self._model.header:
            self._wants_room = False
            self.room_made()

    def _set_timer(self) -> None:
        due = self.line.next_time()
        if due is None or due >= self._due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_at(due, self._turn)


class MemoryCarrier:
    """One end; implements transport.nai.carriers.interface.Carrier."""

    latency: Final = 0.0

    def __init__(self, model: CarrierModel, outgoing: _Way, incoming: _Way) -> None:
        self.segment = model.segment
        self.capacity = model.queue
        self._header = model.header
        self._outgoing, self._incoming = outgoing, incoming
        self._loop = asyncio.get_running_loop()
        self._reader: CarrierReader | None = None
        self.peer: MemoryCarrier | None = None
        self.closed = False

    @property
    def line(self) -> Line[bytes]:
        """The outgoing one, for scenarios: `set_rate`, `statistics`."""
        return self._outgoing.line

    def set_rate(self, rate: float) -> None:
        """Bytes/second from now on; 0: stalled."""
        self._outgoing.line.set_rate(self._loop.time(), rate)
        self._outgoing._due = float("inf")
        self._outgoing._set_timer()

    def start(self, reader: CarrierReader) -> None:
        self._reader = reader
        self._incoming.deliver = self._arrived
        self._outgoing.room_made = reader.room_made
        self._incoming.read()

    def room(self, now: float) -> int:
        return 0 if self.closed else self._outgoing.room(now)

    def takes(self, length: int) -> int:
        return length + self._header

    def send(self, payload: bytes, now: float) -> None:
        self._outgoing.send(payload, now)

    def backlog(self, now: float) -> int:
        return self._outgoing.backlog(now)

    def reading(self, wanted: bool) -> None:
        self._incoming.paused = not wanted
        if wanted:
            self._incoming.read()

    def close(self) -> None:
        if not self.closed:
            self._end()
            if self.peer is not None:
                self._loop.call_soon(self.peer._end)

    def inject(self, payload: bytes) -> None:
        """Put a payload of the caller's own on the way: for tests of hostile peers."""
        self._outgoing.send(payload, self._loop.time())

    def _arrived(self, payload: bytes) -> None:
        if self._reader is not None and not self.closed:
            self._reader.segment_received(payload, now=self._loop.time())

    def _end(self) -> None:
        if self.closed:
            return
        self.closed = True
        self._incoming.stop()
        if self._reader is not None:
            self._reader.carrier_closed(None)


def memory_carriers(model: CarrierModel) -> tuple[MemoryCarrier, MemoryCarrier]:
    """The near and the far end. Call it from within the loop they shall run in."""
    there = _Way(model, model.schedule or Steady(model.rate))
    back = _Way(model, Steady(model.rate_back))
    near, far = MemoryCarrier(model, there, back), MemoryCarrier(model, back, there)
    near.peer, far.peer = far, near
    return near, far
