"""The range in which available bandwidth is looked for, and the next one by what was found.

Source: Cao, Hasegawa, Murata, "ImTCP", III-B, steps 1, 2 and 6. Two things differ from the text as
printed. S is the standard deviation, not the variance: 1.96 S / sqrt(q) has the unit of a
bandwidth, and is called a 95 % confidence interval there. And a range never reaches below `FLOOR`
of its upper bound, where a stream would take for ever.

Pure. Knows bandwidths, not packets.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

LEAST_WIDTH: Final = 0.1
"""Bm: of the latest result, the least width of a range (III-C)."""
SUB_RANGES: Final = ((0.15, 2), (0.2, 3), (math.inf, 4))
"""How many sub-ranges a range has that is less wide than so much of the latest result (III-C)."""
CONFIDENT: Final = 1.96
"""Standard errors on either side of a mean in which it is with 95 %."""
KEPT: Final = 64
"""Results that are remembered: a path that is steady for an hour is not measured by its first."""
FLOOR: Final = 0.02
"""Of its upper bound, below which no range begins."""


@dataclass(frozen=True, slots=True)
class SearchRange:
    """From `low` to `high`, bytes/second: Bl and Bu."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0.0 < self.low < self.high < math.inf:
            raise ValueError(f"{self.low} to {self.high} bytes/s is no range")

    @property
    def width(self) -> float:
        """How wide it is, in bytes/second."""
        return self.high - self.low

    def sub_ranges(self, count: int) -> list[SearchRange]:
        """I1 to Ik, of one width, the highest first."""
        edges = [self.high - self.width / count * i for i in range(count + 1)]
        edges[-1] = self.low
        return [SearchRange(low, high) for high, low in pairwise(edges)]

    def above(self) -> SearchRange:
        """Where to look next if there is more than `high`."""
        return SearchRange(self.low, self.high + self.width / 2)

    def below(self) -> SearchRange:
        """Where to look next if there is less than `low`."""
        return around(self.low - self.width / 2, self.high)


def around(low: float, high: float) -> SearchRange:
    """The range between both, as far as a stream can have such rates."""
    return SearchRange(max(low, FLOOR * high), high)


class RangeHistory:
    """The results in a row that were found inside their ranges."""

    def __init__(self) -> None:
        self._found: deque[float] = deque(maxlen=KEPT)

    @property
    def results(self) -> Sequence[float]:
        """Bytes/second, the oldest first."""
        return tuple(self._found)

    def forget(self) -> None:
        """The network has changed: they say nothing any more."""
        self._found.clear()

    def add(self, result: float) -> SearchRange:
        """One more; the range for the next measurement: its 95 % interval, Bm wide at least."""
        self._found.append(result)
        count = len(self._found)
        deviation = statistics.stdev(self._found) if count > 1 else 0.0
        half = max(CONFIDENT * deviation / math.sqrt(count), LEAST_WIDTH * result / 2)
        half = min(half, result)  # there is nothing below nothing, and the result is the middle
        return around(result - half, result + half)


def how_many(searched: SearchRange, latest: float) -> int:
    """k: the sub-ranges of a range, `latest` bytes/second being the latest result."""
    return next(count for width, count in SUB_RANGES if searched.width / latest < width)
