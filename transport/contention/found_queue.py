"""Tells whether a queue was there before anything of ours: then it is others'.

Nothing of ours is under way when a pause ends, and less than the path holds when a drain does; so
what is sent then waits for what is not of our making. A link that was asleep makes it wait as well,
but not what is sent after that has arrived; and on one that has become slower all takes longer,
which is bounded.

Pure. Told of what is sent first, and of each report; it decides nothing.
"""

from __future__ import annotations

from typing import Final

from transport.contention.evidence import Arrived

RESTED: Final = 4
"""Times as long as the last bytes took a pause lasts, and what came behind them at a rate of its
own is gone."""
_PAUSE: Final = 8.0
"""Times the link may have become slower in a pause: no queue of others is seen in that;"""
_DRAIN: Final = 2.0
"""and what is known of one that was just used is right, but for whole quanta."""
_STAYS: Final = 0.5
"""Of the queue, in which those that follow wait as well, or it is gone."""
_SLOW: Final = 0.5
"""Of the queue, that the first bytes take at the rate of those behind them where it is the link
that is slow: 1, but for what the two differ in size. Behind a queue of others they take a tenth."""
_DRAWN_OUT: Final = 1.5
"""Times longer at the receiver than at the sender: the link, not the sender, set that rate."""


class FoundQueue:
    """The queue that was there at the end of a pause, or of a drain."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """For which it lasts; 0: there is none."""
        self._sent_at = float("inf")
        """When those bytes leave that have nothing of ours in a queue before them;"""
        self._takes = 0.0
        """times as long they may take as is known of the link, and it is none."""
        self._since = 0.0
        """When their report came,"""
        self._first: Arrived | None = None
        """and the report itself."""
        self._behind, self._rate = 0, 0.0
        """Bytes that came behind them, and bytes/second at which the link carries these; 0: that is
        not known."""

    def paused(self, now: float, *, enough: bool) -> None:
        """The first bytes leave: nothing of ours is under way. `enough`: and has not been for so
        long that what gathered behind ours has gone."""
        self._sent_at, self._takes = now if enough else float("inf"), _PAUSE
        self.seconds = 0.0  # the link may be asleep each time

    def drained(self, at: float) -> None:
        """Less is under way, until then, than fills a queue."""
        self._sent_at, self._takes = at, _DRAIN

    def end(self) -> None:
        """It is known what to do."""
        self.seconds = 0.0

    def heard(
        self, now: float, news: Arrived, *, excess: float, least: float, takes: float
    ) -> bool:
        """A report came of what was `excess` seconds in a queue. Whether others' is found.

        `least`: seconds that one must last to be any; `takes`: that all of this report should take
        on the link.
        """
        if self.seconds and self._first is not None:
            known = news.sent_at >= self._since
            if not known:
                self._follow(news, self._first)
            if excess < max(least, _STAYS * self.seconds) or self._is_slow(self._first):
                self.end()
            return known and self.seconds > 0.0
        if news.sent_at >= self._sent_at:
            self._sent_at = float("inf")
            if excess > least + self._takes * takes:
                self.seconds, self._since = excess, now
                self._first, self._behind, self._rate = news, 0, 0.0
        return False

    def _follow(self, news: Arrived, first: Arrived) -> None:
        """More came behind the first bytes, that had left before these were heard of."""
        self._behind += news.gained
        there, here = news.arrived_at - first.arrived_at, news.sent_at - first.sent_at
        self._rate = self._behind / there if there > _DRAWN_OUT * here else 0.0

    def _is_slow(self, first: Arrived) -> bool:
        """Whether these took so long because the link takes so long for any."""
        return first.gained >= _SLOW * self.seconds * self._rate > 0.0
