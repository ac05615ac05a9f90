"""One direction of an emulated link: a queue, a serialiser at a byte rate, a propagation delay.

Pure: `now` is an argument, what is carried is opaque. The relay (real sockets) and the in-memory
link (virtual time) drive the same line, so that both emulate the same thing.

Deadlines are absolute: a driver that wakes late delivers late, yet the average rate is exact.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

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


class Line(Generic[Item]):
    """First in, first out; `queue` bytes may wait."""

    def __init__(self, *, rate: float, delay: float, queue: float) -> None:
        """`rate` bytes/second (0: stalled), `delay` seconds one way, `queue` bytes."""
        if rate < 0 or delay < 0 or queue <= 0:
            raise ValueError(f"no such line: {rate=} {delay=} {queue=}")
        self.rate = rate
        self.delay = delay
        self.queue = queue
        self._waiting: deque[tuple[float, int, Item]] = deque()
        self._flying: deque[tuple[float, Item]] = deque()
        self._left = 0.0
        """Bytes of the first waiting packet that are not serialised yet at `_free`."""
        self._free = 0.0
        """When the serialiser began, or will begin, those bytes."""
        self._backlog = 0
        self._peak = 0
        self._carried = 0
        self._dropped = 0
        self._latest_due = 0.0

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
            return False
        self.push(now, item, size)
        return True

    def push(self, now: float, item: Item, size: int) -> None:
        """Queue the packet whatever the room; the caller has looked at it."""
        if not self._waiting:
            self._free, self._left = max(self._free, now), float(size)
        self._waiting.append((now, size, item))
        self._backlog += size
        self._peak = max(self._peak, self._backlog)

    def set_rate(self, now: float, rate: float) -> None:
        """Change the rate; what is being serialised goes on at the new one."""
        if rate < 0:
            raise ValueError(f"no such {rate=}")
        self.advance(now)
        if self._waiting and now > self._free:
            self._left = max(0.0, self._left - (now - self._free) * self.rate)
            self._free = now
        self.rate = rate

    def advance(self, now: float, *, extra_delay: float = 0.0) -> None:
        """Move what is serialised by `now` on to its flight; order holds whatever the delay."""
        while self._waiting and (end := self._end()) <= now:
            _, size, item = self._waiting.popleft()
            self._backlog -= size
            self._carried += size
            self._free = end
            self._latest_due = max(self._latest_due, end + self.delay + extra_delay)
            self._flying.append((self._latest_due, item))
            if self._waiting:
                arrived, size, _ = self._waiting[0]
                self._free, self._left = max(end, arrived), float(size)

    def take(self, now: float) -> list[tuple[float, Item]]:
        """What arrives by `now`, each with the time at which it was due."""
        self.advance(now)
        arrived = []
        while self._flying and self._flying[0][0] <= now:
            arrived.append(self._flying.popleft())
        return arrived

    def next_time(self) -> float | None:
        """When to come back; None while there is nothing to wait for."""
        times = [self._flying[0][0]] if self._flying else []
        if self._waiting and self.rate:
            times.append(self._end())
        return min(times, default=None)

    def statistics(self) -> LineStatistics:
        return LineStatistics(self._carried, self._dropped, self._backlog, self._peak)

    def __repr__(self) -> str:
        return f"<Line rate={self.rate:.0f} backlog={self._backlog} flying={len(self._flying)}>"

    def _end(self) -> float:
        return self._free + self._left / self.rate if self.rate else float("inf")
