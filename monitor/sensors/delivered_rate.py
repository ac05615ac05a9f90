"""Filters reports for the rate: bytes delivered over the receiver's own clock.

The receiver stamps its progress, so what the way back does to a report (holding, bunching) does
not matter here. Pure. Knows neither delays nor caps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import Final, NamedTuple

_RAMP: Final = 0.05
"""Seconds. Bytes of a report arrived at most this long before it, even if the line was silent for
longer: without it, the first bytes after a pause would count as spread over the pause."""
_LONGEST: Final = 0.2
"""Seconds that a chunk takes at most, where the rate that says so may be far too low."""
_RELEASED: Final = 2.0
"""Times faster than usual, and times later: bytes that waited behind one that had been lost. They
came while the line seemed silent."""
_PAUSE: Final = 0.5
"""Of the window: by so much longer nothing was sent than nothing came, where a queue bridged it."""
_KEPT: Final = 4096
"""Reports; bounds memory on paths with an absurd delay."""


class _Point(NamedTuple):
    """What one report said."""

    clock: float
    """The receiver's, seconds."""
    received: int
    """Bytes by then."""
    sent_at: float
    """When the last of them was sent, less the pauses that a queue has bridged."""
    begin: float
    """Since when those have come that the point before does not have: by the clock of that point
    or later, but for bytes that had waited for a repair."""


class RateFilter:
    """The delivery curve of one direction, and its steepest recent part."""

    def __init__(self) -> None:
        self._points: list[_Point] = []
        self._clocks: list[float] = []
        """Of the points: they are searched at every report."""
        self._repaired: deque[tuple[float, float, int]] = deque()
        """Clock, begin and bytes of the points that may begin before others end."""
        self._falling: deque[tuple[float, float]] = deque()
        """Candidates for the most delivered within a window: clock, bytes; bytes fall."""
        self._bridged = 0.0
        """Seconds in which nothing was sent while what had been queued went on arriving."""
        self._floor = float("-inf")
        """Receiver's clock before which nothing counts any more."""

    @property
    def clock(self) -> float:
        """The receiver's clock at the newest report, seconds."""
        return self._clocks[-1] if self._clocks else 0.0

    def add(
        self,
        clock: float,
        received: int,
        *,
        window: float,
        sent_at: float,
        waited: float = 0.0,
        took: float = 0.0,
        rate: float = 0.0,
    ) -> bool:
        """Progress: `received` bytes in all by the receiver's `clock`, seconds.

        `sent_at`: by the sender's clock, when the last of them was sent. A receiver without that
        knowledge passes `clock`. `waited`: seconds that the first of those bytes which are new took
        beyond the least delay. `took`: seconds that what was sent in one go takes on the link.
        `rate`: bytes/second that are expected; 0: nothing is known.

        Whether they had waited for the repair of a loss.
        """
        clock = max(clock, self.clock)
        before, known = self._points[-1][:2] if self._points else (clock, received)
        begin = max(before, clock - max(_RAMP, waited + min(took, _LONGEST)))
        gap, usual = clock - before, self.most_delivered() / window * _RELEASED
        repaired = waited > max(window, _RELEASED * gap) and received - known > usual * gap > 0
        if repaired:
            begin = clock - waited
            self._repaired.append((clock, begin, received - known))
        if self._points:
            paused = sent_at - self._bridged - self._points[-1].sent_at - gap
            if paused > _PAUSE * window and received - known <= _RELEASED * rate * gap:
                self._bridged += paused
        self._points.append(_Point(clock, received, sent_at - self._bridged, begin))
        self._clocks.append(clock)
        self._let_go(clock - 2 * window - _RAMP)
        value = self.delivered(window)
        falling = self._falling
        while falling and falling[-1][1] <= value:
            falling.pop()
        falling.append((clock, value))
        while falling[0][0] < max(clock - 2 * window, self._floor) and len(falling) > 1:
            falling.popleft()
        return repaired

    def most_delivered(self) -> float:
        """Bytes: the most delivered within one window, over the last two windows."""
        return self._falling[0][1] if self._falling else 0.0

    def delivered(self, window: float) -> float:
        """Bytes delivered within the last `window` seconds; scaled up when less is known.

        Never more than were sent in such a time: behind a loss TCP releases a round trip's bytes
        at once, which says nothing about the link (BBR's rate samples are bounded the same way).
        """
        if len(self._points) < 2:
            return 0.0
        clock, _, sent_at, _ = self._points[-1]
        start = max(clock - window, self._floor, self._clocks[0])
        if clock <= start:
            return 0.0
        amount, before_sent_at = self._since(start)
        span = max(clock - start, sent_at - before_sent_at)
        if start == self._floor:
            return amount * window / span
        return amount * min(1.0, window / span)

    def forget_before(self, clock: float) -> None:
        """The link has become slower: older progress says nothing about it."""
        self._floor = max(self._floor, clock)
        self._falling.clear()

    def _since(self, start: float) -> tuple[float, float]:
        """Bytes that came after `start`, and when what came until then had been sent.

        `start`: by the clock of the first point or later, before that of the last one.
        """
        at = bisect_right(self._clocks, start)
        before, after = self._points[at - 1], self._points[at]
        share = _share(after.clock, after.begin, start)
        amount = self._points[-1].received - after.received
        lost = sum(
            gained * (1.0 - _share(clock, begin, start))
            for clock, begin, gained in self._repaired
            if clock > after.clock
        )
        amount_at = (after.received - before.received) * share
        return amount + amount_at - lost, after.sent_at - (after.sent_at - before.sent_at) * share

    def _let_go(self, clock: float) -> None:
        """Lets go of what came before that: one point of it is enough."""
        points, clocks = self._points, self._clocks
        drop = min(max(0, bisect_right(clocks, clock) - 1), max(0, len(points) - 2))
        drop = max(drop, len(points) - _KEPT)
        if drop:
            del points[:drop], clocks[:drop]
        while self._repaired and self._repaired[0][0] <= clocks[0]:
            self._repaired.popleft()


def _share(clock: float, begin: float, start: float) -> float:
    """The part of what came from `begin` to `clock` that came after `start`."""
    return 1.0 if begin >= start else (clock - start) / (clock - begin)
