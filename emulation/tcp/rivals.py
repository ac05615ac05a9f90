"""Moves windows as ImTCP's rivals do, which differ from the model's sender in nothing else. Pure.

Westwood+ (Grieco and Mascolo 2004), HighSpeed TCP (RFC 3649), LEDBAT (RFC 6817). Bandwidths are in
segments/second here, for the model counts segments.
"""

from __future__ import annotations

from collections import deque
from math import inf, log
from typing import Final

from emulation.tcp.sack_sender import SackAck, SackSender

_LEAST_SAMPLE: Final = 0.05
"""Seconds over which Westwood+ counts at least."""
_FILTER: Final = 0.9

_LOW_WINDOW: Final = 38.0
_HIGH_WINDOW: Final = 83_000.0
_HIGH_DECREASE: Final = 0.1
"""RFC 3649, 5."""

TARGET: Final = 0.1
"""Seconds of queueing that LEDBAT adds (RFC 6817, 2.5: at most)."""
_FILTERED: Final = 4
"""CURRENT_FILTER: delays of which the least counts."""
_MINUTES: Final = 10
"""BASE_HISTORY."""


class WestwoodSender(SackSender):
    """After a loss its window is what its acknowledgements' rate fills a round trip with."""

    def __init__(self) -> None:
        super().__init__()
        self.bandwidth = 0.0
        """BWE, segments/second."""
        self._least = inf
        self._since = self._counted = 0.0

    def acknowledged(self, ack: SackAck, now: float) -> None:
        before = self.first
        super().acknowledged(ack, now)
        if self.first > before:
            self._least = min(self._least, now - ack.echo)
        self._counted += self.first - before
        span = now - self._since
        if span >= max(self.round_trip[0], _LEAST_SAMPLE):
            sample = self._counted / span
            gain = 1 - _FILTER if self.bandwidth else 1.0
            self.bandwidth += gain * (sample - self.bandwidth)
            self._since, self._counted = now, 0.0

    def reduced(self) -> float:
        if not self.bandwidth or self._least == inf:
            return super().reduced()
        return min(self.window, self.bandwidth * self._least)


class HighSpeedSender(SackSender):
    """Grows faster and gives way less the larger its window is."""

    def increase(self) -> float:
        window = self.window
        if window <= _LOW_WINDOW:
            return 1.0
        share, chance = self._share(), 0.078 / window**1.2
        return float(max(1.0, window**2 * chance * 2 * share / (2 - share)))

    def reduced(self) -> float:
        return self.window * (1 - self._share())

    def _share(self) -> float:
        """b(w): by which part the window shrinks."""
        if self.window <= _LOW_WINDOW:
            return 0.5
        along = log(self.window / _LOW_WINDOW) / log(_HIGH_WINDOW / _LOW_WINDOW)
        return 0.5 + (_HIGH_DECREASE - 0.5) * min(along, 1.0)


class LedbatSender(SackSender):
    """Gives way to all: its window shrinks as the queue grows beyond a target."""

    def __init__(self) -> None:
        super().__init__()
        self.window = self.threshold = 2.0  # it has no slow start (2.4.2)
        self._recent: deque[float] = deque(maxlen=_FILTERED)
        self._bases: deque[float] = deque([inf], maxlen=_MINUTES)
        self._minute = 0

    def acknowledged(self, ack: SackAck, now: float) -> None:
        delay = ack.at - ack.echo
        if int(now / 60) != self._minute:
            self._minute = int(now / 60)
            self._bases.append(delay)
        self._bases[-1] = min(self._bases[-1], delay)
        self._recent.append(delay)
        super().acknowledged(ack, now)

    def increase(self) -> float:
        if not self._recent:
            return 0.0
        queueing = min(self._recent) - min(self._bases)
        grown = (TARGET - queueing) / TARGET
        return max(grown, 2.0 - self.window)
