"""How late deliveries were, in buckets a tenth apart. Pure.

Counting costs the same however many there are; sorting kept values would hold up the very
deliveries that are timed.
"""

from __future__ import annotations

import math
from typing import Final

_SMALLEST: Final = 1e-6
"""Seconds. Below, nobody is late."""
_BUCKETS: Final = 200
_STEPS: Final = 1 / math.log(1.1)
"""Buckets for a factor of e; 200 of them reach to three minutes."""


class Punctuality:
    """Counts lateness in seconds."""

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self.most = 0.0

    def count(self, late: float) -> None:
        """One more delivery; early is punctual."""
        bucket = int(math.log(late / _SMALLEST) * _STEPS) + 1 if late > _SMALLEST else 0
        self._counts[min(bucket, _BUCKETS - 1)] += 1
        self.most = max(self.most, late)

    def percentile(self, share: float) -> float:
        """Seconds that `share` of the deliveries stayed below, to a tenth; 0 without any."""
        left = share * sum(self._counts)
        for bucket, count in enumerate(self._counts):
            left -= count
            if left <= 0 and count:
                return min(self.most, _SMALLEST * math.exp(bucket / _STEPS)) if bucket else 0.0
        return self.most

    def summary(self) -> tuple[float, float, float]:
        """Median, 99th percentile, most."""
        return self.percentile(0.5), self.percentile(0.99), self.most
