"""Available bandwidth within a sub-range: where packets begin to come slower than they leave.

Source: ImTCP, III-B, step 5, figure 3. Up to what is available the rate of arrival is that of
transmission (line i); above it is less (line ii). The result is the highest rate of transmission on
line i. The paper fits two lines; four points are too few for two that are free, so line i is the
diagonal, which its slope is found to be, and line ii begins where that ends, as in a queue that
serves in order of arrival.

Pure. Knows pairs of rates alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_SAME: Final = 1e-9
"""Of the squared rates: errors that differ by less are equal, and the higher break counts."""


def available(points: Sequence[tuple[float, float]], *, low: float) -> float:
    """The highest rate of transmission on line i; `low` where not one point is on it.

    `points`: rate of transmission and of arrival, bytes/second, by rising transmission.
    """
    breaks = [low, *(rate for rate, _ in points)]
    errors = [_error(points, one) for one in breaks]
    least = min(errors) + _SAME * breaks[-1] ** 2
    return max(one for one, error in zip(breaks, errors, strict=True) if error <= least)


def _error(points: Sequence[tuple[float, float]], at: float) -> float:
    """The squared errors of the lines that meet at a rate, line ii as steep as fits best."""
    beyond = [(rate - at, arrival - at) for rate, arrival in points if rate > at]
    squares = sum(x * x for x, _ in beyond)
    slope = sum(x * y for x, y in beyond) / squares if squares else 1.0
    slope = min(1.0, max(0.0, slope))
    error = sum((arrival - rate) ** 2 for rate, arrival in points if rate <= at)
    return error + sum((y - slope * x) ** 2 for x, y in beyond)
