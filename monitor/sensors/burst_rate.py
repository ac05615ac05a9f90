"""Reads the rate of a link in use from what it draws out: bytes sent faster than it carries.

monitor/sensors/dispersion.py does so of the one burst that a session begins with. Here bursts come
as they come: whatever was sent within much less time than it took to arrive has left the slowest
link back to back. What came as fast as it was sent tells the least that the link carries. A rate
over a whole round trip shows a faster link only to who sends as fast all the time; a burst of 10 ms
shows it at once, and so do two quanta of a short answer.

Pure.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from monitor.progress import ReportedProgress

SPAN: Final = 0.010
"""Seconds a burst must take: shorter ones measure the receiver's scheduler, or the sender's."""
_REPORTS: Final = 3
_OF_TWO: Final = 0.050
"""Seconds that one of two reports must take: what delays a single one is little beside it."""
_DRAWN_OUT: Final = 1.5
"""Times longer at the receiver than at the sender: the link, not the sender, set the pace."""
_EMPTY: Final = 0.005
"""Seconds of queue before its first byte at most: behind others' bytes it tells of their share."""
_KEPT: Final = 64
"""Reports."""


class BurstSample(NamedTuple):
    """What a burst told."""

    rate: float
    """Bytes/second that the link carried, at least."""
    sent_at: float
    """Before its first byte left, seconds."""
    drawn_out: bool
    """It carried no more: what came had been sent in much less time."""


class _Point(NamedTuple):
    clock: float
    received: int
    sent_at: float
    excess: float


class BurstRate:
    """Watches the newest bytes of one direction."""

    def __init__(self) -> None:
        self._points: deque[_Point] = deque(maxlen=_KEPT)
        """The first is the newest that is long enough ago for a burst to have begun there."""

    def forget(self) -> None:
        """What came until now says nothing: it had waited for the repair of a loss."""
        self._points.clear()

    def add(self, progress: ReportedProgress, *, excess: float) -> BurstSample | None:
        """A report came, of bytes that had waited for `excess` seconds in a queue; None: of no
        burst."""
        points, clock = self._points, progress.arrived_at
        points.append(_Point(clock, progress.received, progress.sent_at, excess))
        while len(points) > 1 and points[1].clock <= clock - SPAN:
            points.popleft()
        first = points[0]
        there, here = clock - first.clock, progress.sent_at - first.sent_at
        span = max(there, here)
        least = SPAN if len(points) >= _REPORTS else _OF_TWO
        if len(points) < 2 or span < least or first.excess > _EMPTY:
            return None
        rate = (progress.received - first.received) / span
        return BurstSample(rate, first.sent_at, there >= _DRAWN_OUT * here)
