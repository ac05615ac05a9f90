"""Remembers how long work on a byte takes on this machine, as it is now, for each kind of work.

Whoever decides whether work is worth it asks here. Knows neither what the work is nor who waits
for it. Pure: sizes in bytes, or in whatever else its kind of work grows with; times in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NEWEST: Final = 1 / 8
"""Share that the newest piece of work has in what is expected: a machine becomes busy in a second,
and no two pictures take alike long."""
MOST: Final = 10.0
"""Times what was expected that one piece counts for at most: a machine may have stood still."""


class WorkTimes:
    """Seconds a byte, by kind of work."""

    def __init__(self, first: Mapping[str, float]) -> None:
        """`first`: seconds a byte, until some of that kind was done. A kind that is not there
        costs nothing until then."""
        self._times = dict(first)

    def took(self, kind: str, size: int, seconds: float) -> None:
        """Work on `size` bytes is done."""
        if size <= 0 or seconds < 0:
            raise ValueError("work on no bytes, or of less than no time")
        known, this = self._times.get(kind, 0.0), seconds / size
        if known:
            this = known + NEWEST * (min(this, known * MOST) - known)
        self._times[kind] = this

    def expected(self, kind: str, size: int) -> float:
        """Seconds that it will take for `size` bytes."""
        return self._times.get(kind, 0.0) * size
