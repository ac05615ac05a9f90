"""What the reports say about the rate: bytes delivered over the receiver's own clock.

The receiver stamps its progress, so what the way back does to a report (holding, bunching) does
not matter here. Pure. Knows neither delays nor caps.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import Final

_RAMP: Final = 0.05
"""Seconds. Bytes of a report arrived at most this long before it, even if the line was silent for
longer: without it, the first bytes after a pause would count as spread over the pause."""
_LONGEST: Final = 0.2
"""Seconds that a chunk takes at most, where the rate that says so may be far too low."""
_RELEASED: Final = 2.0
"""Times faster than usual, and times later: bytes that waited behind one that had been lost. They
came while the line seemed silent."""
_KEPT: Final = 4096
"""Reports; bounds memory on paths with an absurd delay."""


class RateFilter:
    """The delivery curve of one direction, and its steepest recent part."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, int, float, float]] = deque(maxlen=_KEPT)
        """Receiver's clock, seconds; bytes received by then; when the last of them was sent; since
        when those have come that the point before does not have."""
        self._falling: deque[tuple[float, float]] = deque()
        """Candidates for the most delivered within a window: clock, bytes; bytes fall."""
        self._floor = float("-inf")
        """Receiver's clock before which nothing counts any more."""

    @property
    def clock(self) -> float:
        """The receiver's clock at the newest report, seconds."""
        return self._points[-1][0] if self._points else 0.0

    def add(
        self,
        clock: float,
        received: int,
        *,
        window: float,
        sent_at: float,
        waited: float = 0.0,
        took: float = 0.0,
    ) -> bool:
        """Progress: `received` bytes in all by the receiver's `clock`, seconds.

        `sent_at`: by the sender's clock, when the last of them was sent. A receiver without that
        knowledge passes `clock`. `waited`: seconds that the first of those bytes which are new took
        beyond the least delay. `took`: seconds that what was sent in one go takes on the link.

        Whether they had waited for the repair of a loss.
        """
        before, known = self._points[-1][:2] if self._points else (clock, received)
        begin = max(before, clock - max(_RAMP, waited + min(took, _LONGEST)))
        gap, usual = clock - before, self.most_delivered() / window * _RELEASED
        repaired = waited > max(window, _RELEASED * gap) and received - known > usual * gap > 0
        if repaired:
            begin = clock - waited
        self._points.append((clock, received, sent_at, begin))
        while len(self._points) > 2 and self._points[1][0] <= clock - 2 * window - _RAMP:
            self._points.popleft()
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
        start = max(clock - window, self._floor, self._points[0][0])
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
        """Bytes that came after `start`, and when what came until then had been sent."""
        amount = 0.0
        for after, before in pairwise(reversed(self._points)):
            clock, received, sent, begin = after
            share = 1.0 if begin >= start else (clock - start) / (clock - begin)
            amount += (received - before[1]) * share
            if before[0] <= start:
                break
        return amount, sent - (sent - before[2]) * share
