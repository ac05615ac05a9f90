"""Chooses what goes over a longer path: nothing that a quicker one would bring sooner.

What waits is put in the order in which a page is worth it (hats/disciplines/tiers.py), level by
level. So many bytes of that are left to the quicker paths; what stands behind may go the long way.
Of a component the next bytes do, and where there are none such, the last ones of one that is all
here: a level in the middle would be taken for more than it shows before the one that it refines.

To order all that waits for each cell would cost more than the cell where a page has many pictures,
so the order is kept for a while that is the longer the more there is; lengths are read anew each
time. Of what stands so far behind that many parts lie before it, lengths are those of the time of
ordering. Pure.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final, NamedTuple

from hats.appointments import commanded
from hats.disciplines.low_fidelity_first import BEFORE_TIERS
from hats.disciplines.tiers import DEFAULT, TierTable
from hats.multiplexer import FarChoice
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node

_FIRST: tuple[float, ...] = (0,)
"""Rank of what was promised a time."""
_KEPT: Final = 0.0001
"""Seconds for each part that waits, for which their order is kept: to order takes 2 to 6 us for
each, so this takes 2 to 6 % of a processor however many wait."""
_LOOKS: Final = 64
"""Parts whose lengths are read anew, from the first one and from where the choice is looked for."""
_MOST_AHEAD: Final = 2 << 20
"""Bytes that may have gone before those before them, whose places the receiver keeps
(transport/stream/reassembly.py)."""
_OPEN: Final = 1 << 62
"""Where a leaf's last part ends: wherever the leaf does."""


class _Part(NamedTuple):
    """Some bytes of a leaf that are worth the same."""

    rank: tuple[float, ...]
    serial: int
    leaf: Node
    begin: int
    end: int

    @property
    def length(self) -> int:
        """Bytes of it that wait now."""
        leaf = self.leaf
        if not leaf.attached or not leaf.pending:
            return 0
        end = min(self.end, leaf.limit, leaf.sent + leaf.backlog)
        return max(0, end - max(self.begin, leaf.sent))

    @property
    def next(self) -> bool:
        """They are the leaf's next ones."""
        return self.begin <= self.leaf.sent < self.end

    @property
    def last(self) -> bool:
        """They are the leaf's last ones, others are before them, and no more will come."""
        leaf = self.leaf
        return self.end == _OPEN and self.begin > leaf.sent and leaf.finished

    @property
    def gone(self) -> bool:
        return not self.leaf.attached or self.leaf.sent >= self.end


def _fits(part: _Part, length: int, behind: int) -> FarChoice | None:
    """What of a part of that length may go, with so many bytes left to others."""
    leaf, skip = part.leaf, max(0, behind)
    if (skip >= length and skip) or not part.next:
        return None
    if not leaf.attached or not leaf.pending or commanded(leaf):
        return None
    length = min(length, leaf.next_mark - leaf.sent)
    return FarChoice(leaf, skip, length - skip) if skip < length or not skip else None


def _ends(part: _Part, behind: int) -> FarChoice | None:
    """What of a part at a leaf's end may go, with so many bytes left to others."""
    if not part.last:
        return None
    leaf, end = part.leaf, part.leaf.sent + part.leaf.backlog
    if not leaf.attached or leaf.limit < end or commanded(leaf):
        return None
    length = end - part.begin - max(0, behind)
    return FarChoice(leaf, leaf.backlog - length, length, last=True) if length > 0 else None


class LongWay:
    """What waits in one device's tree."""

    def __init__(self, hierarchy: Hierarchy, *, tiers: TierTable = DEFAULT) -> None:
        self._tree, self._tiers = hierarchy, tiers
        self._parts: list[_Part] = []
        """In the order in which they are worth it, since they were ordered."""
        self._before: list[int] = [0]
        """Bytes before each of them, as it was then."""
        self._next_ones: list[int] = []
        """Places of those that were their leaf's next one, rising,"""
        self._last_ones: list[int] = []
        """and of those that were its last and not its next."""
        self._ahead = 0
        """Bytes that had gone before those before them, by then."""
        self._first = 0
        """Those before have gone."""
        self._ordered_until = float("-inf")
        self.looks = 0
        """Parts that were looked at so far: work."""

    def choose(self, behind: int, now: float, *, ends: bool = False) -> FarChoice | None:
        """What may go with so many bytes left to others (`FarChooser`)."""
        self._tree.settle()
        if now >= self._ordered_until:
            self._order(now)
        self._skip_gone()
        before, place, end = 0, self._first, None
        for part in self._parts[place : place + _LOOKS]:
            self.looks += 1
            length = part.length
            if (choice := _fits(part, length, behind - before)) is not None:
                return choice
            if ends:
                end = end or _ends(part, behind - before)
            before, place = before + length, place + 1
        grown = before - self._before[place]
        if (choice := self._choose_behind(place, behind, grown=grown)) is not None:
            return choice
        if not ends or self._ahead >= _MOST_AHEAD:
            return None
        return end or self._choose_end(place, behind, grown=grown)

    def _choose_behind(self, place: int, behind: int, *, grown: int) -> FarChoice | None:
        """The same from that part on. `grown`: bytes by which there are more before a part than
        there were."""
        place = max(place, bisect_right(self._before, behind - grown) - 1)
        ones, at = self._next_ones, bisect_left(self._next_ones, place)
        for _ in range(_LOOKS):
            while at < len(ones) and self._parts[ones[at]].gone:
                del ones[at]
            if at == len(ones):
                return None
            self.looks += 1
            part = self._parts[ones[at]]
            left = behind - self._before[ones[at]] - grown
            if (choice := _fits(part, part.length, left)) is not None:
                return choice
            at += 1
        return None

    def _choose_end(self, place: int, behind: int, *, grown: int) -> FarChoice | None:
        """The same of what is at some leaf's end."""
        place = max(place, bisect_right(self._before, behind - grown) - 1)
        ones = self._last_ones
        at = bisect_left(ones, place)
        for one in ones[at : at + _LOOKS]:
            self.looks += 1
            choice = _ends(self._parts[one], behind - self._before[one] - grown)
            if choice is not None:
                return choice
        return None

    def _skip_gone(self) -> None:
        """What has gone is looked at no more; the order is kept for so short that little is."""
        while self._first < len(self._parts) and self._parts[self._first].gone:
            self.looks += 1
            self._first += 1

    def _order(self, now: float) -> None:
        leaves = list(self._tree.leaves())
        self._parts = sorted(part for leaf in leaves for part in self._parts_of(leaf))
        self._before = [0, *accumulate(part.length for part in self._parts)]
        self._next_ones = [at for at, one in enumerate(self._parts) if one.next]
        self._last_ones = [at for at, one in enumerate(self._parts) if one.last]
        self._ahead = sum(leaf.ahead for leaf in leaves)
        self._first = 0
        looks = max(len(leaves), len(self._parts))
        self._ordered_until = now + _KEPT * looks
        self.looks += looks

    def _parts_of(self, leaf: Node) -> Iterator[_Part]:
        if leaf.scheduler is not None or not leaf.pending or commanded(leaf):
            return
        at, end = leaf.sent, min(leaf.sent + leaf.backlog, leaf.limit)
        tier, reached = self._tiers.tier(leaf), leaf.level_reached
        refined = leaf.marks and leaf.kind not in self._tiers.unrefined
        marks = [mark for mark in leaf.marks if at < mark < end] if refined else []
        for place, upto in enumerate((*marks, _OPEN)):
            if place:
                tier = self._tiers.behind(leaf, reached + place)
            yield _Part(self._rank(leaf, tier), leaf.serial, leaf, at, upto)
            at = upto

    def _rank(self, leaf: Node, tier: int) -> tuple[float, ...]:
        if leaf.deadline is not None:
            return _FIRST
        raised = leaf.priority if leaf.priority >= BEFORE_TIERS else 0
        return (1, -raised, tier, -leaf.priority, leaf.order)
