"""Chooses the sub-range in which available bandwidth is, by the trends of all streams.

Source: ImTCP, III-B, step 4. The paper leaves T(0) and T(k+1) undefined, so it can't tell "below
all" (a = k + 1) from the last sub-range (a = k), whose sums are the same. Here both are left out of
the sums, and what they would decide is decided by the streams at the edges: where all that are
determined rise, the last one included, there is less than the range; where none does, the first one
included, there is more. Of equal sums one whose own stream is undetermined counts, for its rates
cross what is available; of several, or where none is, the one in the middle.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from monitor.inline.trend import Trend


def choose(trends: Sequence[Trend]) -> int:
    """a: 0 where there is more than the range, 1 to k the sub-range, k + 1 where there is less."""
    count = len(trends)
    sums = [sum(trends[:a]) - sum(trends[a:]) for a in range(count + 1)]
    best = max(sums)
    among = [a for a, value in enumerate(sums) if value == best]
    if among == [count] and trends[-1] is Trend.INCREASING:
        return count + 1
    crossing = [a for a in among if a and trends[a - 1] is Trend.UNDETERMINED]
    among = crossing or among
    return among[len(among) // 2]
