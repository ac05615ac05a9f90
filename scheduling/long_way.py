"""Chooses what goes over a longer path: nothing that a quicker one would bring sooner.

What waits is put in the order in which a page is worth it (hats/disciplines/tiers.py), level by
level. So many bytes of that are left to the quicker paths; what stands behind may go the long way,
as far as it can: a level that waits for the one before it can't. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hats.appointments import commanded
from hats.disciplines.low_fidelity_first import BEFORE_TIERS
from hats.disciplines.tiers import DEFAULT, TierTable
from hats.multiplexer import FarChoice
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node

_FIRST: tuple[float, ...] = (0,)
"""Rank of what was promised a time."""


class _Share(NamedTuple):
    """Some bytes of a leaf that are worth the same."""

    rank: tuple[float, ...]
    serial: int
    leaf: Node
    length: int
    next: bool
    """They are the leaf's next ones."""


class LongWay:
    """What waits in one device's tree."""

    def __init__(self, hierarchy: Hierarchy, *, tiers: TierTable = DEFAULT) -> None:
        self._tree, self._tiers = hierarchy, tiers

    def choose(self, behind: int) -> FarChoice | None:
        """What may go with so many bytes left to others; None: nothing."""
        self._tree.settle()
        shares = sorted(share for leaf in self._tree.leaves() for share in self._shares(leaf))
        before = 0
        for share in shares:
            skip = max(0, behind - before)
            before += share.length
            if share.next and (skip < share.length or not skip):
                return FarChoice(share.leaf, skip, share.length - skip)
        return None

    def _shares(self, leaf: Node) -> Iterator[_Share]:
        if leaf.scheduler is not None or not leaf.pending or commanded(leaf):
            return
        at, end = leaf.sent, min(leaf.sent + leaf.backlog, leaf.limit)
        tier, reached = self._tiers.tier(leaf), leaf.level_reached
        refined = leaf.marks and leaf.kind not in self._tiers.unrefined
        marks = [mark for mark in leaf.marks if at < mark < end] if refined else []
        for place, upto in enumerate((*marks, end)):
            if place:
                tier = self._later(reached + place)
            yield _Share(self._rank(leaf, tier), leaf.serial, leaf, upto - at, not place)
            at = upto

    def _later(self, reached: int) -> int:
        """The tier of a picture's level, by how many marks it has passed."""
        levels = self._tiers.levels
        last = len(levels) - 1
        return levels[reached] if reached <= last else levels[last] + reached - last

    def _rank(self, leaf: Node, tier: int) -> tuple[float, ...]:
        if leaf.deadline is not None:
            return _FIRST
        raised = leaf.priority if leaf.priority >= BEFORE_TIERS else 0
        return (1, -raised, tier, -leaf.priority, leaf.order)
