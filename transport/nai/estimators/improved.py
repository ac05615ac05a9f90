"""A quicker estimator than figure 3: what the link carries is what leaves while something waits.

Figure 3 counts a second's bytes, so it knows the link only as far as it was used, and probes it by
sending more each second. Here the time that counts is the time in which the link was busy: a burst
of two segments measures it whole, however little is sent. And since the carrier says how much it
holds, nothing has to be paced: a segment goes when little waits, so a faster link is used at once.

    rate    bytes that left / time in which something waited, over the last quarter of a second of
    it cap     rate * latency + 20 ms of the rate, and two segments at least

The cap bounds how long a segment of high priority waits behind what was sent before it, which is
the priority inversion that the paper warns of (4.2). Where the backlog lasts until an
acknowledgement (`latency`), only time in which the cap held the sender back counts, and the cap
doubles at the start until the rate no longer grows, as in transport/gate/controller.py.

An estimate that makes messages be refused, and that nothing sent could correct, is checked by a
packet pair, once a second at most. Else nothing is polled: two segments may always wait, and
the first that leaves ends a bandwidth of zero.

Pure: `now` is an argument.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from transport.nai.estimators.estimator import NaiEstimate

INITIAL: Final = 64_000.0
"""Bytes/second before anything was sent, for admission; the first two segments replace it."""
_WINDOW: Final = 0.25
"""Seconds of busy time."""
_SEGMENTS: Final = 8
"""At least as many of them too, within _LONGEST seconds."""
_LONGEST: Final = 3.0
_TARGET: Final = 0.020
"""Seconds of the rate that may wait: twice the time between two looks."""
_SOONEST: Final = 0.002
_LATEST: Final = 0.025
"""Seconds between two looks while something waits."""
_IDLE: Final = 1.0
"""The same while nothing does."""
_POLL_EVERY: Final = 1.0
"""Seconds."""
_POLL_SECONDS: Final = 0.05
"""What a packet of a pair may take at the present rate: messages wait behind it."""
_NEWS: Final = 0.02
"""Relative change of the rate that is worth telling."""
_TELL_EVERY: Final = 0.1
"""Seconds."""
_GROWTH: Final = 1.25
"""A rate that grows less in a round has found the link's, after three such rounds."""
_START: Final = 10
"""Segments under way before any was acknowledged (RFC 6928)."""


class ImprovedEstimator:
    """Busy time and a cap on what waits. Implements Estimator."""

    follows_use: Final = False

    def __init__(self, *, now: float, segment: int, initial: float = INITIAL) -> None:
        """`segment`: bytes of one in the carrier's queue; `initial` estimate, bytes/second."""
        self._segment = segment
        self._rate = 0.0
        """Bytes/second as measured; 0: not yet, or nothing passes."""
        self._known = False
        self._estimate = NaiEstimate(initial, initial, now)
        self._at, self._departed, self._backlog = now, 0, 0
        """The last look; the backlog has grown since by what was sent."""
        self._latency = 0.0
        self._held_back = False
        self._busy: deque[tuple[float, int]] = deque()
        """Seconds of busy time and bytes that left in them, one look each."""
        self._seconds, self._bytes = 0.0, 0
        """Sums of these."""
        self._starting = True
        self._round_end = now
        self._round_best = 0.0
        self._flat_rounds = 0
        self._doubted = False
        """A message was refused, and nothing has been measured since."""
        self._poll_at = now
        """Not before."""
        self._just_polled = False
        """The look that ends now began within the pair, which has been measured."""

    @property
    def estimate(self) -> NaiEstimate:
        return self._estimate

    def observe(self, now: float, *, departed: int, backlog: int, latency: float) -> bool:
        seconds, left = now - self._at, departed - self._departed
        self._latency = latency
        if seconds > 0:
            if not self._just_polled:
                self._measure(seconds, left, backlog)
            self._just_polled = False
            if latency and self._starting and now >= self._round_end:
                self._end_round(now)
            self._at = now
            self._held_back = False
        self._departed, self._backlog = departed, backlog
        return self._tell(now)

    def sent(self, now: float, size: int) -> None:
        self._backlog += size

    def ready_at(self, now: float) -> float:
        if not self._backlog or self._backlog + self._segment <= self._cap:
            return now
        self._held_back = True
        return float("inf")

    def next_time(self, now: float) -> float:
        if not self._backlog:
            return self._at + _IDLE
        wanted = self._segment / self._rate / 2 if self._rate else _LATEST
        return self._at + max(_SOONEST, min(_LATEST, _TARGET / 2, wanted))

    def refused(self, now: float) -> None:
        self._doubted = True

    def wants_poll(self, now: float) -> bool:
        return self._doubted and not self._backlog and now >= self._poll_at

    @property
    def poll_size(self) -> int:
        return int(self._rate * _POLL_SECONDS)

    def poll_sent(self, now: float, size: int) -> None:
        self._doubted = False
        self._poll_at = now + _POLL_EVERY

    def polled(self, now: float, rate: float) -> None:
        if now < self._poll_at:  # the answer to the newest
            self._busy.clear()
            self._seconds, self._bytes = 0.0, 0
            self._just_polled = True
            self._rate, self._known = rate, True
            self._estimate = NaiEstimate(rate, rate, now)

    @property
    def _cap(self) -> float:
        """Bytes that may wait or be on their way."""
        gain = 2 if self._starting else 1
        under_way = gain * self._rate * self._latency
        if self._latency and self._starting:
            under_way = max(under_way, _START * self._segment)
        return under_way + max(2 * self._segment, _TARGET * self._rate + self._segment)

    def _measure(self, seconds: float, left: int, backlog: int) -> None:
        """One look: count it if the link was busy between it and the one before."""
        if self._latency:
            if not (self._held_back and backlog):
                return
        elif not self._backlog:
            return
        elif not backlog:
            seconds /= 2  # it fell idle somewhere in between
        self._busy.append((seconds, left))
        self._seconds += seconds
        self._bytes += left
        while len(self._busy) > 1 and self._enough(*self._busy[0]):
            first = self._busy.popleft()
            self._seconds -= first[0]
            self._bytes -= first[1]
        if self._bytes or self._seconds >= _WINDOW:
            self._rate = self._average()
            self._known = True

    def _average(self) -> float:
        """Bytes/second. The oldest look begins anywhere in a packet and ends with one: beside
        others it is only where they begin."""
        seconds, left = self._busy[0]
        if self._bytes - left >= _SEGMENTS / 2 * self._segment:
            return (self._bytes - left) / (self._seconds - seconds)
        return self._bytes / self._seconds

    def _enough(self, seconds: float, left: int) -> bool:
        """The window is one without the oldest look, too."""
        remaining = self._seconds - seconds
        if remaining >= max(_LONGEST, 2 * self._latency):
            return True
        enough = self._bytes - left >= _SEGMENTS * self._segment
        return enough and remaining >= max(_WINDOW, 2 * self._latency)

    def _end_round(self, now: float) -> None:
        self._round_end = now + self._latency
        if self._rate >= _GROWTH * self._round_best:
            self._round_best, self._flat_rounds = self._rate, 0
        elif self._bytes:
            self._flat_rounds += 1
            self._starting = self._flat_rounds < 3

    def _tell(self, now: float) -> bool:
        known = self._estimate
        if not self._known or now - known.at < _TELL_EVERY:
            return False
        if abs(self._rate - known.available) <= _NEWS * known.available and self._rate:
            return False
        if self._rate == known.available:
            return False
        self._estimate = NaiEstimate(self._rate, self._rate, now)
        return True
