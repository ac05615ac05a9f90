"""How far a mean of a few runs may be from the truth."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from math import sqrt
from typing import Final

_T95: Final = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""Student's t by degrees of freedom, two-sided, 95 %; from then on by `_quantile`."""


def e95(values: Sequence[float]) -> float:
    """Half of the 95 % confidence interval of the mean; 0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    return _quantile(len(values) - 1) * statistics.stdev(values) / sqrt(len(values))


def _quantile(degrees: int) -> float:
    """Student's t, to 1 % (Cornish-Fisher beyond the table)."""
    if degrees <= len(_T95):
        return _T95[degrees - 1]
    normal = 1.96
    return normal + normal * (normal * normal + 1) / (4 * degrees)
