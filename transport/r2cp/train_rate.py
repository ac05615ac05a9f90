"""Reads what a path carries from cells that follow each other: a train's dispersion. Pure.

Each cell says when it was sent. Where some come further apart than they left, the path's slowest
link set the pace, and carries what has come, no more; where they come as they left, it carries that
at least. A train is a few cells, so a path that fades is found out by the first of them, whether
they were asked for then or had stood since before.

A path that is sent little at the pace of a fade shows no more than that pace once it is back. Then
one large cell tells: it takes longer than a small one by no more than its own length.

Sources: Jain and Dovrolis (2003), of what a packet train tells; Jacobson's pathchar (1997), of what
packets of two sizes tell. The paper's ImTCP spaces trains of its own (monitor/inline/).
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import Final, NamedTuple

from transport.rcp.segments import MOST_SENT

SPAN: Final = 0.020
"""Seconds a train takes at least: shorter ones measure machines."""
_CELLS: Final = 4
"""Of a train at least,"""
_FEW: Final = 3
"""or so many of one that takes as long as this:"""
_LONG: Final = 0.2
"""Seconds."""
_DRAWN_OUT: Final = 1.2
"""Times longer at the receiver than at the sender: the path has set the pace."""
_SURELY: Final = 2.0
"""Times longer: a radio's own delays seldom do that. A train that is drawn out by less counts if"""
_WAITS: Final = 0.05
"""seconds at least are what its last cell has waited, as in the queue that a fade makes,"""
_LITTLE: Final = 0.5
"""or if it tells no less than this part of what is known."""
_BUSY: Final = 0.4
"""Of the time of a train, that the path must have had something to carry."""
_AS_SENT: Final = 1.1
"""Times, at most: the sender has."""
_PAUSE: Final = 0.004
"""Seconds between two cells, at least, in which the path had nothing to carry, where they came so
far apart as they left: only what else a train has tells what it carries."""
_EVENLY: Final = 0.6
"""Of the time, that two cells may be apart: one long gap may be the way's, or its sender's."""
_LATER: Final = 0.005
"""Seconds by which a large cell takes longer than a small one, at least, to tell what the path
carries: a machine's are no more."""
_LEAST_HOLDS: Final = 60.0
"""Seconds for which the least way does: two clocks are 3 ms further apart then."""
_KEPT: Final = 256
"""Cells."""


class _Cell(NamedTuple):
    came: float
    left: float
    before: int
    """Bytes that had come, this one included."""


class _Least(NamedTuple):
    """The quickest cell of late."""

    way: float
    """Seconds by both clocks, from whatever time each counts;"""
    size: int
    at: float


class TrainRate:
    """Reads what one path carries."""

    def __init__(self) -> None:
        self.rate = 0.0
        """Bytes/second that it carries, as far as is known; 0: nothing is."""
        self._asked = 0.0
        """Bytes/second: while nothing is known, what is sent more slowly tells nothing."""
        self._cells: deque[_Cell] = deque(maxlen=_KEPT)
        self._total = 0
        self._look_at = float("-inf")
        self._least = _Least(float("inf"), 0, float("-inf"))

    @property
    def waited(self) -> float:
        """Seconds that the newest cell was on its way for longer than the quickest."""
        if not self._cells:
            return 0.0
        newest = self._cells[-1]
        return max(0.0, newest.came - newest.left - self._least.way)

    def came(self, size: int, *, sent: int, now: float, asked: float = 0.0) -> None:
        """A cell of so many bytes, headers included, that was sent when the sender's clock showed
        these milliseconds. `asked`: bytes/second that the path is asked for."""
        self._asked = asked
        cells, left = self._cells, self._left(sent, now)
        if cells and left < cells[-1].left:
            return  # overtaken
        self._total += size
        cells.append(_Cell(now, left, self._total))
        while len(cells) > _CELLS and now - cells[1].came >= SPAN:
            cells.popleft()
        self._tell_more(size, now - left, now)
        if now < self._look_at:
            return
        self._look_at = now + SPAN / 4  # a fast path has a hundred cells in a train
        newest = list(cells)
        if not self._tell(newest, least=SPAN) and len(newest) > _FEW:
            self._tell(newest[-_FEW:], least=_LONG)

    def _left(self, sent: int, now: float) -> float:
        """Seconds since some time of the sender's clock, which begins anew."""
        if not self._cells:
            return sent / 1_000
        last = self._cells[-1]
        by_now = round(1_000 * (last.left + now - last.came))
        return (by_now + (sent - by_now + MOST_SENT // 2) % MOST_SENT - MOST_SENT // 2) / 1_000

    def _tell_more(self, size: int, way: float, now: float) -> None:
        """One cell tells that a path has come back, which is sent little: that it takes so much
        longer than a smaller one did is its own length, and at most that. The next train says
        whether that is so."""
        if way <= self._least.way or now > self._least.at + _LEAST_HOLDS:
            self._least = _Least(way, size, now)
        later = way - self._least.way
        if self.rate and later >= _LATER:
            self.rate = max(self.rate, (size - self._least.size) / later)

    def _tell(self, cells: list[_Cell], *, least: float) -> bool:
        """Whether these tell anything, if they have taken that long."""
        first, last = cells[0], cells[-1]
        here, there = last.came - first.came, last.left - first.left
        if len(cells) < _FEW or here < (least if len(cells) > _FEW else _LONG):
            return False
        longest = max(two.came - one.came for one, two in pairwise(cells))
        if longest > _EVENLY * here:
            return False
        size = last.before - first.before
        rate = size / here
        if here <= _AS_SENT * there:
            if self.rate or rate >= self._asked:  # else it may be what little there was to send
                self.rate = max(self.rate, rate)
        elif here >= _DRAWN_OUT * there:
            idle, spared = _idle(cells)
            if here - idle < least * _BUSY:
                return False
            rate = (size - spared) / (here - idle)
            waited = last.came - last.left - self._least.way
            if here >= _SURELY * there or waited >= _WAITS or rate >= _LITTLE * self.rate:
                self.rate = rate
        return True


def _idle(cells: list[_Cell]) -> tuple[float, int]:
    """Seconds in which the path had nothing to carry, by both clocks, and bytes of the cells that
    ended them."""
    seconds, size = 0.0, 0
    for one, two in pairwise(cells):
        here, there = two.came - one.came, two.left - one.left
        if there >= _PAUSE and here <= _DRAWN_OUT * there:
            seconds, size = seconds + min(here, there), size + two.before - one.before
    return seconds, size
