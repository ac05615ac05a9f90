"""The receiver's account of datagrams: which came, when, and when to say so (RFC 9000, 13.2).

An acknowledgement goes out with every second datagram that asks for one, but no sooner than a
millisecond after the one before; at once when one is missing or late; else within 25 ms. It names
the newest ranges and the arrival of what has come since the acknowledgement before the last, so
each arrival is reported twice. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from math import inf
from typing import Final

from transport.spp.core.packets import MOST_RANGES, MOST_STAMPS, Ack

DELAY: Final = 0.025
"""Seconds that an acknowledgement may wait for company (RFC 9000, 18.2: max_ack_delay)."""
EVERY: Final = 2
"""Datagrams that ask for one."""
GRAIN: Final = 0.001
"""Seconds between two acknowledgements of what comes in order (13.2.2 allows it): of more than 24
Mbit/s every second datagram woke up the sender, for two more."""
MOST_AT_ONCE: Final = MOST_STAMPS // 2
"""Datagrams for which one does not wait: each arrival is to be told twice."""


class Arrivals:
    """The arrivals of one connection, from which its acknowledgements are made."""

    def __init__(self, *, now: float, spacing: float = inf) -> None:
        """`now`, seconds, is the zero of the arrivals that are reported. `spacing`: so many seconds
        after an acknowledgement the next one does not wait for a second datagram."""
        self._spacing = spacing
        self._said_at = now
        self._epoch = now
        self._ranges: list[list[int]] = []
        """First and last numbers, rising."""
        self._stamps: deque[tuple[int, int]] = deque(maxlen=MOST_STAMPS)
        """Number and microseconds, in the order of arrival."""
        self._reported = self._new = 0
        """Stamps that one acknowledgement has reported, and those that none has."""
        self._largest_at = now
        self._asked = 0
        """Datagrams that wait for an acknowledgement."""
        self._at_once = False
        self._deadline: float | None = None

    @property
    def pending(self) -> bool:
        """Something asked for an acknowledgement and got none yet."""
        return self._asked > 0

    def due(self, now: float) -> bool:
        """Must one go now?"""
        return self._at_once or (self._deadline is not None and now >= self._deadline)

    def deadline(self) -> float | None:
        """When one must."""
        return self._largest_at if self._at_once else self._deadline

    def note(self, number: int, *, arrived: float, asks: bool, now: float) -> None:
        """A new datagram. `arrived`: when the kernel had it; `asks` for an acknowledgement."""
        expected = self._ranges[-1][1] + 1 if self._ranges else 0
        self._insert(number)
        if number >= expected:
            self._largest_at = arrived
        self._stamps.append((number, max(0, round((arrived - self._epoch) * 1e6))))
        self._new = min(self._new + 1, MOST_STAMPS)
        if not asks:
            return
        self._asked += 1
        since = now - self._said_at
        enough = since >= (GRAIN if self._asked >= EVERY else self._spacing)
        if number != expected or self._asked >= MOST_AT_ONCE or enough:
            self._at_once = True
        elif self._asked >= EVERY:
            self._deadline = self._said_at + GRAIN
        elif self._deadline is None:
            self._deadline = now + DELAY

    def frame(self, now: float) -> Ack | None:
        """What is here; None: nothing has come yet. It counts as said."""
        if not self._ranges:
            return None
        ranges = tuple((low, high) for low, high in reversed(self._ranges))
        count = min(len(self._stamps), self._new + self._reported)
        stamps = sorted((self._stamps[-1 - back] for back in range(count)), reverse=True)
        self._reported, self._new = self._new, 0
        self._asked, self._at_once, self._deadline = 0, False, None
        self._said_at = now
        # A number far below the largest range is past its floor, and its arrival is no news.
        stamps = [one for one in stamps if one[0] <= ranges[0][1]]
        return Ack(max(0, round((now - self._largest_at) * 1e6)), ranges, tuple(stamps))

    def forget_below(self, number: int) -> None:
        """The sender needs to hear no more of those (but of the newest, which is always told)."""
        while len(self._ranges) > 1 and self._ranges[0][1] < number:
            del self._ranges[0]

    def _insert(self, number: int) -> None:
        ranges = self._ranges
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
            return
        place = bisect_right(ranges, number, key=lambda one: one[0])
        if place and ranges[place - 1][1] >= number:
            return
        joins_before = place > 0 and ranges[place - 1][1] + 1 == number
        joins_behind = place < len(ranges) and ranges[place][0] - 1 == number
        if joins_before and joins_behind:
            ranges[place - 1][1] = ranges[place][1]
            del ranges[place]
        elif joins_before:
            ranges[place - 1][1] = number
        elif joins_behind:
            ranges[place][0] = number
        else:
            ranges.insert(place, [number, number])
            if len(ranges) > MOST_RANGES:
                del ranges[0]
