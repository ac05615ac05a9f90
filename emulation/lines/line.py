"""One direction of an emulated link: a queue, a serialiser, and what befalls packets in flight.

The serialiser follows a rate or a schedule of rates (schedule.py); flight takes a propagation
delay, and may disturb packets (flight.py). Pure: `now` is an argument, what is carried is opaque.
Sockets, network devices and virtual time drive the same line, so that all emulate the same thing.

Deadlines are absolute: a driver that wakes late delivers late, yet the average rate is exact.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Final, Generic, TypeVar

from emulation.lines.flight import Flight
from emulation.lines.schedule import Schedule, Steady

Item = TypeVar("Item")

SMALLEST_PACKET: Final = 64
"""Bytes. Below this, the work per packet would outweigh what finer steps are worth."""
ETHERNET_PAYLOAD: Final = 1460
"""Bytes of TCP payload in a 1500 byte packet (RFC 879)."""


def packet_size(rate: float) -> int:
    """Bytes of a packet fitted to the rate: 5 ms of it, at most an Ethernet packet.

    A packet is the step in which an emulated link moves; 1460 bytes take 0.2 s at 56 kbit/s. Above
    a hundred Mbit/s it grows with the rate, so that packets per second stay bounded.
    """
    largest = max(ETHERNET_PAYLOAD, int(min(rate, 1e9) * 1e-4))
    return max(SMALLEST_PACKET, min(largest, int(min(rate, 1e9) * 5e-3)))


@dataclass(frozen=True, slots=True)
class LineStatistics:
    """An immutable snapshot."""

    carried: int
    """Bytes that have left the queue."""
    dropped: int
    """Bytes refused because the queue was full (only by `offer`)."""
    backlog: int
    """Bytes waiting now, the one being serialised included."""
    peak_backlog: int
    lost: int = 0
    """Packets that were lost in flight."""
    dropped_packets: int = 0
    """Those that `dropped` has the bytes of."""


class Line(Generic[Item]):
    """First in, first out; `queue` bytes may wait."""

    def __init__(
        self,
        *,
        rate: float = 0.0,
        delay: float,
        queue: float,
        schedule: Schedule | None = None,
        flight: Flight | None = None,
        on_lost: Callable[[Item], None] | None = None,
    ) -> None:
        """`rate` bytes/second (0: stalled), `delay` seconds one way, `queue` bytes.

        `schedule` goes before `rate`; without `flight` nothing disturbs packets; `on_lost` is told
        what is lost in flight.
        """
        if rate < 0 or delay < 0 or queue <= 0:
            raise ValueError(f"no such line: {rate=} {delay=} {queue=}")
        self._schedule = schedule or Steady(rate)
        self._flight = flight
        self._on_lost = on_lost
        self.rate = self._schedule.mean
        """Bytes/second, of a schedule the mean."""
        self.delay = delay
        self.queue = queue
        self._waiting: deque[tuple[float, int, Item]] = deque()
        self._flying: list[tuple[float, int, Item]] = []
        """A heap by arrival; numbers keep the order of what arrives together."""
        self._number = count()
        self._left = 0.0
        """Bytes of the first waiting packet that are not serialised yet at `_free`."""
        self._free = 0.0
        """When the serialiser began, or will begin, those bytes."""
        self._end = float("inf")
        """When the first waiting packet is serialised."""
        self._latest_due = 0.0
        self._backlog = self._peak = 0
        self._carried = self._dropped = self._dropped_packets = self._lost = 0

    @property
    def room(self) -> float:
        """Bytes that fit the queue."""
        return self.queue - self._backlog

    @property
    def idle(self) -> bool:
        """Nothing waits and nothing flies."""
        return not self._waiting and not self._flying

    def offer(self, now: float, item: Item, size: int) -> bool:
        """Droptail: queue the packet, or drop it and say False."""
        self.advance(now)
        if self._backlog + size > self.queue and self._backlog:
            self._dropped += size
            self._dropped_packets += 1
            return False
        self.push(now, item, size)
        return True

    def push(self, now: float, item: Item, size: int) -> None:
        """Queue the packet whatever the room; the caller has looked at it."""
        if not self._waiting:
            self._begin(max(self._free, now), size)
        self._waiting.append((now, size, item))
        self._backlog += size
        self._peak = max(self._peak, self._backlog)

    def set_rate(self, now: float, rate: float) -> None:
        """Change the rate; what is being serialised goes on at the new one."""
        self.set_schedule(now, Steady(rate))

    def set_schedule(self, now: float, schedule: Schedule) -> None:
        """The same with rates to come."""
        self.advance(now)
        if self._waiting and now > self._free:
            self._left = max(0.0, self._left - self._schedule.carried(self._free, now))
            self._free = now
        self._schedule, self.rate = schedule, schedule.mean
        if self._waiting:
            self._end = schedule.end(self._free, self._left)

    def advance(self, now: float, *, extra_delay: float = 0.0) -> None:
        """Let fly what is serialised by `now`; order holds whatever the extra delay."""
        while self._waiting and self._end <= now:
            end = self._end
            _, size, item = self._waiting.popleft()
            self._backlog -= size
            self._carried += size
            self._free = end
            self._fly(end, extra_delay, item)
            if self._waiting:
                arrived, size, _ = self._waiting[0]
                self._begin(max(end, arrived), size)

    def take(self, now: float) -> list[tuple[float, Item]]:
        """What arrives by `now`, each with the time at which it was due."""
        self.advance(now)
        arrived = []
        while self._flying and self._flying[0][0] <= now:
            due, _, item = heapq.heappop(self._flying)
            arrived.append((due, item))
        return arrived

    def next_time(self) -> float | None:
        """When to come back; None while there is nothing to wait for."""
        due = self._flying[0][0] if self._flying else float("inf")
        if self._waiting and self._end < due:
            due = self._end
        return due if due < float("inf") else None

    def next_arrival(self) -> float | None:
        """When something arrives next, unless more is pushed or disturbed before."""
        if self._flying:
            return self._flying[0][0]
        due = max(self._end + self.delay, self._latest_due)
        return due if self._waiting and due < float("inf") else None

    def statistics(self) -> LineStatistics:
        return LineStatistics(
            self._carried,
            self._dropped,
            self._backlog,
            self._peak,
            self._lost,
            self._dropped_packets,
        )

    def __repr__(self) -> str:
        return f"<Line rate={self.rate:.0f} backlog={self._backlog} flying={len(self._flying)}>"

    def _begin(self, start: float, size: int) -> None:
        self._free, self._left = start, float(size)
        self._end = self._schedule.end(start, size)

    def _fly(self, end: float, extra_delay: float, item: Item) -> None:
        due, held, copies = end + self.delay + extra_delay, 0.0, 1
        if self._flight is not None:
            fate = self._flight.fate(end)
            if fate is None:
                self._lost += 1
                if self._on_lost is not None:
                    self._on_lost(item)
                return
            due, held, copies = due + fate.late, fate.held, 1 + fate.twice
        self._latest_due = max(self._latest_due, due)
        for _ in range(copies):
            heapq.heappush(self._flying, (self._latest_due + held, next(self._number), item))
