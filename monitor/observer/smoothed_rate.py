"""Makes a rate of a growing count of bytes: smoothed, and sure only after a while. Pure.

The bytes between two reports are no smooth stream. A sender's socket takes a buffer's worth at
once and then nothing, and a receiver reads what a wake-up finds. So each interval counts by how
long it was: with weight 1 - exp(-seconds / MEMORY), which makes the mean the same whether one
stretch of time came as two reports or as twenty. After MEMORY seconds a new rate counts for 63 %.
"""

from __future__ import annotations

from math import exp
from typing import Final

MEMORY: Final = 1.0
"""Seconds that an interval counts: several buffers' worth, and soon enough for an adaptation."""
LEAST_APART: Final = 0.0005
"""Seconds: two reports that are closer measure the scheduler; their bytes count at the next."""


class SmoothedRate:
    """Smooths the bytes that pass between reports."""

    def __init__(self) -> None:
        self.rate = 0.0
        """Bytes/second."""
        self.measured = 0.0
        """Seconds that the rate rests on; 0: there is none yet."""
        self._at = 0.0
        self._total: int | None = None

    def add(self, total: int, at: float, *, at_least: bool = False) -> bool:
        """`total` bytes had passed at `at`, seconds on the sensor's clock; whether that is news.

        `at_least`: the path may carry more, so this interval can raise the rate and not lower it.
        A report that comes late or twice is no news; a count that has fallen begins anew.
        """
        before, self_at = self._total, self._at
        if before is None or total < before:
            self._total, self._at = total, at
            return False
        took = at - self_at
        if took < LEAST_APART:
            return False
        self._total, self._at = total, at
        rate = (total - before) / took
        if at_least and self.measured and rate <= self.rate:
            return True
        weight = 1.0 - exp(-took / MEMORY) if self.measured else 1.0
        self.rate += (rate - self.rate) * weight
        self.measured += took
        return True
