"""From when on does a document in front have its share? Judged by frames at the receiver.

Pure. What a share is and how strictly it counts is HATS, 4.1.2: "until the bandwidth allocation for
the documents stabilizes again".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.pairs.pair import FrameArrival

SHARE: Final = 0.8
"""Of the link, for the document in front."""
TOLERANCE: Final = 0.03
WINDOW: Final = 60
"""Quanta over which a share is taken. WF2Q+ may be a quantum ahead or behind at either end of it,
which is 3.3 %."""
_AFTER: Final = 2.0
"""Seconds after the switch over which the share is reported as well."""


@dataclass(frozen=True, slots=True)
class Switch:
    """What became of one change of focus."""

    latency: float | None
    """Seconds until the share stands; None: it did not before the next switch."""
    share: float
    """Of the document in front, over the _AFTER seconds from then on."""


def judge(arrivals: Sequence[FrameArrival], front: set[int], *, at: float, window: int) -> Switch:
    """One switch, from the frames of both documents between it and the next.

    It stands where every later window's share is right, yet not before the turning point, from
    which on the document in front has more than half of what comes.

    `front`: components of the document that came to the front `at` this time; `window`: bytes.
    """
    total, own = [0], [0]
    for arrival in arrivals:
        total.append(total[-1] + arrival.size)
        own.append(own[-1] + (arrival.size if arrival.component in front else 0))
    good_from, end = 0, 0
    for start in range(len(arrivals)):
        while end < len(arrivals) and total[end] - total[start] < window:
            end += 1
        if total[end] - total[start] < window:
            if not start:
                return Switch(None, 0.0)
            break
        share = (own[end] - own[start]) / (total[end] - total[start])
        if abs(share - SHARE) > TOLERANCE:
            good_from = start + 1
    else:
        start = len(arrivals)
    if good_from >= start:
        return Switch(None, 0.0)
    # The tolerance hides a few frames of the old order: not before the shares' turning point.
    turned = min(range(len(arrivals)), key=lambda number: own[number] - total[number] / 2)
    good_from = max(good_from, turned)
    stands = arrivals[good_from - 1].at if good_from else at
    after = [one for one in arrivals[good_from:] if one.at <= stands + _AFTER]
    return Switch(
        max(0.0, stands - at),
        sum(one.size for one in after if one.component in front) / sum(one.size for one in after),
    )
