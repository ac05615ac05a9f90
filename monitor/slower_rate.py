"""Reads at a receiver that its link has become slower, by what was sent at the pace of before.

The sender finds a fade first, but word of it waits behind all that it had sent by then: on a path
of 600 ms seconds of the slower link. A receiver that is told which quanta were sent no slower than
the link is said to carry knows that the link is slower where they come so. Where they come faster,
the sender has said too little, and will hear of it itself.

Pure.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import Final

WINDOW: Final = 1.0
"""Seconds over which arrivals make a rate, at most, but for _POINTS of them."""
LEAST: Final = 0.3
"""Seconds; what is shorter may be a lost packet that comes again."""
SLOWER: Final = 0.5
"""Of the rate that is known, at most: late timers of the sender alone may make .6 of it."""
EVENLY: Final = 0.6
"""Of the time, that two arrivals may be apart: one long gap may be the way's, or an outage."""
_POINTS: Final = 3


class SlowerRate:
    """One direction, at its receiver."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, int]] = deque()
        """When so many bytes were here; all but the first were sent at the pace of before."""
        self._total = 0

    def arrived(self, nbytes: int, *, paced: bool, now: float) -> None:
        """So many bytes came; `paced`: none of them was sent slower than the link is said to
        carry."""
        points = self._points
        if not paced:
            points.clear()
        self._total += nbytes
        points.append((now, self._total))
        while len(points) > _POINTS and points[1][0] <= now - WINDOW:
            points.popleft()

    def rate(self, than: float) -> float | None:
        """Bytes/second that come now, where that is much less; None: it is not, or nobody knows."""
        points = self._points
        if len(points) < _POINTS:
            return None
        (began, first), (ended, last) = points[0], points[-1]
        span = ended - began
        if span < LEAST:
            return None
        rate = (last - first) / span
        if rate > SLOWER * than:
            return None
        times = [at for at, _ in points]
        longest = max(b - a for a, b in pairwise(times))
        return rate if longest <= EVENLY * span else None
