"""Pads a path's beginning, before anybody asks, so that it is known what it carries. Pure.

A session opens, or a path joins, long before the first request, and nothing is known of the path
then: a first page would have been dealt out among paths as if all were alike, text to a satellite
as well, and each would have begun with ten cells. So empty cells go that have their length, in
answer to what stands, as transport/stream/probe.py has it for a connection of one path: a few, from
which a slow path is known (transport/r2cp/train_rate.py), and only if they told nothing twice as
many. The receiver's window for the path grows meanwhile, for it is used up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple


class CellBurst(NamedTuple):
    """Cells that go together."""

    cells: int
    share: float
    """Of a cell's bytes, that each of them takes."""


BURSTS: Final = (CellBurst(4, 0.5), CellBurst(8, 0.5), CellBurst(10, 1.0), CellBurst(20, 1.0))
"""With headers 2.6 KB, from which 384 kbit/s are known, then 5, 12 and 25: of a path of more than
5 Mbit/s it is known that it is one. The third uses up the window with which a path begins."""
RESUMED: Final = BURSTS[:2]
"""The same where bytes have crossed before: where networks break often padding would be most of
what they carry."""
_TELLS: Final = 0.05
"""Seconds after a burst has come until the word of what it told is here."""


class PathProbe:
    """The padding of one path."""

    def __init__(self, bursts: Sequence[CellBurst] = BURSTS) -> None:
        self._later = list(reversed(bursts))
        self._out = 0
        """Cells of the newest burst of which it is not known that they came."""
        self._at = float("-inf")
        """When the next burst may go."""

    @property
    def over(self) -> bool:
        """Nothing more goes."""
        return not self._later

    @property
    def due(self) -> float | None:
        """When a burst may go; None: not before more is asked for, or never."""
        return None if self._out or not self._later else self._at

    def asked(self, cells: int, now: float) -> None:
        """The receiver has asked for so many more: as many have come."""
        if self._out:
            self._out = max(0, self._out - cells)
            self._at = now + _TELLS

    def known(self) -> None:
        """It is known what the path carries."""
        self._later.clear()

    def burst(self, now: float, kept: int, *, size: int) -> tuple[int, int]:
        """How many cells go now, of so many that were asked for with nothing else to fill them, and
        how many of their `size` bytes each of them takes."""
        if self.due is None or self._at > now or kept < self._later[-1].cells:
            return 0, 0
        burst = self._later.pop()
        self._out = burst.cells
        return burst.cells, int(size * burst.share)
