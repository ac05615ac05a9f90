"""Tells whether a link has become slower only because the gate lets less go over it.

When a queue grows, a gate takes the link for slower, and lets less be under way. Where the queue is
its own, as much arrives afterwards, for the link is as busy as before. In a queue that others fill
too, less arrives, and the gate would take that for an even slower link, and so on. Bytes under way
are in their place in the queue when they leave, so what arrives of them is compared by that.

Pure. Told of each report while there is a queue; it decides nothing.
"""

from __future__ import annotations

from typing import Final

from transport.contention.evidence import Arrived

_LESS: Final = 0.85
"""Of what was under way, from which on it is judged what arrives of it,"""
_ELASTIC: Final = 0.5
"""and how far that must have followed."""
_STEADY: Final = 0.15
"""Of a delay: one that moves by less is a path that has become longer, whose bytes/second are as
many as are under way, for it is not full."""


class Yielding:
    """Tells whether a link is slower because fewer bytes are under way.

    Where a queue is ours alone, as much arrives of what was sent after the gate has let go less; in
    a queue that others fill, less.
    """

    def __init__(self) -> None:
        self.most = 0.0
        """Bytes that were under way before; 0: nothing is watched."""
        self._upto = 0.0
        """What is counted was sent until then,"""
        self._gained, self._since = 0, 0.0
        """so many bytes, arriving since then by the receiver's clock;"""
        self._window = 0.0
        """and as many were under way when that began."""
        self._rate = 0.0
        """Bytes/second of what had been sent before; 0: it is being counted."""
        self._shortest, self._longest = float("inf"), 0.0
        """Seconds of excess since then."""

    def begin(self, now: float, clock: float, *, under_way: float) -> None:
        """The gate is to let go less from now on; `clock` is the receiver's."""
        self.most = self._window = under_way
        self._upto, self._rate = now, 0.0
        self._shortest, self._longest = float("inf"), 0.0
        self._gained, self._since = 0, clock

    def end(self) -> None:
        """The queue is gone."""
        self.most = 0.0

    def heard(
        self,
        now: float,
        news: Arrived,
        *,
        under_way: float,
        excess: float,
        jitter: float,
    ) -> bool:
        """A report came of what was `excess` seconds in the queue. Whether others fill it."""
        self._shortest, self._longest = min(self._shortest, excess), max(self._longest, excess)
        self._gained += news.gained
        if news.sent_at < self._upto:
            return False
        rate = self._gained / max(news.arrived_at - self._since, 1e-6)
        window = self._window
        self._upto, self._window = now, under_way
        self._gained, self._since = 0, news.arrived_at
        if not self._rate:
            self._rate = rate
            return False
        if self._longest - self._shortest <= _STEADY * self._longest + jitter:
            return False  # a path that has become longer, which is not full
        less = window / self.most
        return less <= _LESS and rate <= (1.0 - _ELASTIC * (1.0 - less)) * self._rate
