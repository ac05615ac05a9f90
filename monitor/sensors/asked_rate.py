"""Measures what a link carries whose receiver asks for each byte: what arrives while there is more.

No gate limits such a link, so what arrives within a time is what the paths carry, as long as the
sender had something for every request. A time begins with the first arrival of what left after the
sender had nothing. Short ones can only raise what longer ones have told: the paths' windows may
still be growing. Pure.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from monitor.estimate import BandwidthEstimate

WINDOW: Final = 1.0
"""Seconds over which arrivals make a rate, at most."""
_LEAST: Final = 0.2
"""Seconds; a burst's length is what the ends' timers make it."""
_SURE: Final = 0.5
"""Seconds after which it replaces what is known."""
_FORGOTTEN: Final = 30.0
"""Seconds in which what was measured becomes a guess."""


class AskedRate:
    """One direction, at its sender."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, int]] = deque()
        """When so much had arrived, of the present time."""
        self._dry_at = self._sent_at = float("-inf")
        self._rate, self._at, self._sure = 0.0, 0.0, 0.0

    def dry(self, now: float) -> None:
        """The receiver asks for more than there is."""
        self._dry_at = now

    def arrived(self, total: int, *, sent_at: float, now: float) -> None:
        """So many bytes are over there, the newest of which left then."""
        points = self._points
        if self._sent_at <= self._dry_at:
            points.clear()
        self._sent_at = max(self._sent_at, sent_at)
        if sent_at <= self._dry_at:
            return
        points.append((now, total))
        while len(points) > 2 and points[1][0] <= now - WINDOW:
            points.popleft()
        span = now - points[0][0]
        if span < _LEAST:
            return
        rate = (total - points[0][1]) / span
        if span >= _SURE or rate > self._rate:
            self._rate, self._at = rate, now
            self._sure = min(1.0, span / _SURE)

    def estimate(self, now: float) -> BandwidthEstimate | None:
        """What the link carries; None: it was never busy for long enough."""
        if not self._rate:
            return None
        sure = max(0.1, self._sure * (1.0 - (now - self._at) / _FORGOTTEN))
        return BandwidthEstimate(self._rate, self._at, sure, "requests")
