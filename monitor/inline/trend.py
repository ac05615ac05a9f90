"""Whether packets of a stream are later and later: then it is faster than what is available.

ImTCP (III-B, step 3) takes the tests of Jain and Dovrolis, "End-to-end available bandwidth"
(SIGCOMM 2002): how many delays rise (pairwise comparison), and how much of all that they move is
upwards (pairwise difference). As there, one of them is enough. "Unable to determine" is ImTCP's
own, and it does not say when: here where some of the movement stays, and too little for a trend.

Pure. Knows delays alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Final

COMPARISON: Final = 0.55
"""Share of rising pairs above which there is a trend; without one it is a half."""
DIFFERENCE: Final = 0.4
"""Net rise over all movement above which there is a trend; without one it is nothing."""
LITTLE: Final = 0.2
"""Net rise over all movement up to which there is none."""

SEVERAL: Final = 2
"""Rises that make a trend: one packet that is late does not."""
NOTHING: Final = 1e-9
"""Seconds: movements below are those of rounding."""


class Trend(IntEnum):
    """T of one stream, as the paper counts it."""

    NONE = -1
    UNDETERMINED = 0
    INCREASING = 1


def trend(delays: Sequence[float], *, resolution: float = 0.0) -> Trend:
    """The trend of a stream's delays; movements of at most `resolution` seconds are none."""
    moves = [later - before for before, later in pairwise(delays)]
    moves = [move if abs(move) > max(resolution, NOTHING) else 0.0 for move in moves]
    if not moves:
        return Trend.UNDETERMINED
    moved = sum(map(abs, moves))
    rising = sum(move > 0.0 for move in moves)
    net = sum(moves) / moved if moved else 0.0
    if rising >= SEVERAL and (rising > COMPARISON * len(moves) or net > DIFFERENCE):
        return Trend.INCREASING
    return Trend.NONE if net <= LITTLE else Trend.UNDETERMINED
