"""Steadies what one measurement after the other finds available: the mean of the latest ones. Pure.

What others leave differs from moment to moment, and a stream that passes between their packets
finds as much as if they were not there. One result that is far from the others counts only if the
next one is, too: then something has changed, and what was before is forgotten.
"""

from __future__ import annotations

from collections import deque
from typing import Final

LATEST: Final = 5
"""Results that count."""
FAR: Final = 1 / 3
"""Of the mean: a result that differs by more is far from the others."""


class SteadiedResults:
    """The results of one path."""

    def __init__(self) -> None:
        self._results = deque[float](maxlen=LATEST)
        self._far: float | None = None
        """The latest one, if it was far from the others."""

    def add(self, result: float) -> None:
        """It was found now: bytes/second."""
        mean = self.mean
        if mean is None or abs(result - mean) <= FAR * mean:
            self._far = None
            self._results.append(result)
        elif self._far is None or (result < mean) is not (self._far < mean):
            self._far = result
        else:
            self._results.clear()
            self._results.extend((self._far, result))
            self._far = None

    @property
    def mean(self) -> float | None:
        """Bytes/second; None: nothing was found."""
        return sum(self._results) / len(self._results) if self._results else None
