"""When the sender of a link tells the other end what it carries. Pure.

Both ends want to know, and only the sender's gate does: a receiver sees what was sent to it, which
is what somebody had to say. So the sender says it when it has changed, and seldom enough to cost
nothing to speak of. Sources: ATP, 4.2 (a receiver is told, it does not guess).
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Final

from monitor.estimate import BandwidthEstimate
from monitor.slower_rate import SlowerRate

CHANGE: Final = 0.1
"""Of the rate, from which on it is news."""
SURER: Final = 0.25
"""Of confidence, from which on it is news."""
EVERY: Final = 0.25
"""Seconds between two announcements at least."""
SHARE: Final = 0.002
"""Of the link, that announcements may take in the long run."""
BURST: Final = 8
"""Announcements that may follow each other after a rest. On a line of 700 bytes/second the share is
one in 17 s, and of a fade the first that is told is seldom the last."""
LUMP: Final = 1 / 3
"""Of the rate: a rise by less may be no more than a lump of what arrives,"""
STANDS: Final = 0.5
"""so it is told once it has stood for so many seconds, and no more of it than has stood."""
FADES: Final = 120.0
"""Seconds of rest after which what was measured is a guess."""
SEEN_FOR: Final = 2.0
"""Seconds for which what is seen of a link stands against what is said of it."""
SEEN_SURE: Final = 0.75
"""Confidence in that: the sender knows better, and later."""
LEAST_SURE: Final = 0.1
"""Of the confidence that it had."""
SIZE: Final = 24
"""Bytes of one, its frame and its share of a record included."""


class Announcements:
    """Decides for one link what its sender says, and when."""

    def __init__(self, *, again: float = float("inf")) -> None:
        """`again`: seconds after which what was measured anew is told though it is the same."""
        self._again = again
        self._told: BandwidthEstimate | None = None
        self._told_at = float("-inf")
        self._looked_at: float | None = None
        self._recent = deque[tuple[float, float]]()
        """When an estimate was looked at, and its rate: those of the last STANDS seconds, and the
        one before."""
        self._allowance = float(BURST * SIZE)
        """Bytes that may be said now."""

    def due(self, estimate: BandwidthEstimate | None, now: float) -> BandwidthEstimate | None:
        """The estimate, if it is to be told now; None: it is no news, or too soon."""
        if estimate is None:
            return None
        self._save_up(estimate.rate, now)
        estimate = self._stood(estimate, now)
        if now < self._told_at + EVERY or self._allowance < SIZE or not self._is_news(estimate):
            return None
        self._told, self._told_at = estimate, now
        self._allowance -= SIZE
        return estimate

    def untold(self, estimate: BandwidthEstimate | None) -> bool:
        """Whether there is something to tell, now or when it may be told."""
        return estimate is not None and self._is_news(estimate)

    def _stood(self, estimate: BandwidthEstimate, now: float) -> BandwidthEstimate:
        """What of it is no lump."""
        told, recent = self._told, self._recent
        recent.append((now, estimate.rate))
        while len(recent) > 1 and recent[1][0] <= now - STANDS:
            recent.popleft()
        if told is None or not told.rate < estimate.rate < (1 + LUMP) * told.rate:
            return estimate
        return replace(estimate, rate=max(told.rate, min(rate for _, rate in recent)))

    def _save_up(self, rate: float, now: float) -> None:
        """Since the last look the link could have carried so much more."""
        if self._looked_at is not None:
            saved = SHARE * rate * max(0.0, now - self._looked_at)
            self._allowance = min(float(BURST * SIZE), self._allowance + saved)
        self._looked_at = now

    def _is_news(self, estimate: BandwidthEstimate) -> bool:
        told = self._told
        return (
            told is None
            or abs(estimate.rate - told.rate) >= CHANGE * told.rate
            or estimate.confidence >= told.confidence + SURER
            or estimate.at >= told.at + self._again
        )


class ToldBandwidth:
    """What the other end of a link has said of it, as it is to be believed later on, and what is
    seen of it meanwhile."""

    def __init__(self, source: str = "gate") -> None:
        self._source = source
        self._told: BandwidthEstimate | None = None
        self._seen: BandwidthEstimate | None = None
        self._slower = SlowerRate()

    def hear(self, rate: float, confidence: float, now: float) -> None:
        """It was said now: bytes/second, and how sure, 0 to 1."""
        self._told, self._seen = BandwidthEstimate(rate, now, confidence, self._source), None

    def arrived(self, nbytes: int, *, paced: bool, now: float) -> None:
        """So many bytes came, `paced` ones sent no slower than the link is said to carry: they tell
        of a fade sooner than what is said of it, which is queued behind them."""
        self._slower.arrived(nbytes, paced=paced, now=now)
        slower = None if self._told is None else self._slower.rate(self._told.rate)
        if slower is not None:
            self._seen = BandwidthEstimate(slower, now, SEEN_SURE, "arrivals")

    def at(self, now: float) -> BandwidthEstimate | None:
        """The same as far as it can be believed now: the rate stands, what is sure fades."""
        told, seen = self._told, self._seen
        if seen is not None and now - seen.at < SEEN_FOR:
            return seen
        if told is None:
            return None
        sure = told.confidence * max(LEAST_SURE, 1.0 - (now - told.at) / FADES)
        return BandwidthEstimate(told.rate, told.at, sure, told.source)

    def lately(self, now: float) -> BandwidthEstimate | None:
        """The same; None, too, once it would be a guess."""
        told = self.at(now)
        return None if told is None or now - told.at >= FADES else told
