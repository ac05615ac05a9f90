"""One stage after the other: leaves of a later rank are held back while an earlier one has data.

The mechanism under both of the paper's dynamic schedulers (HATS, section 3.2.2): disable what is
to come later, enable it when what comes earlier is through. Two rules beyond the paper:

- Work conservation beats order. Only leaves that *have data* keep others back. One that is
  attached but waits for a slow origin does not, so the link never idles; as soon as it has data
  again, the later ranks are held back again.
- Who is disabled by somebody else counts as having no data.

Invariant after `settle`: a leaf is held exactly if it is available and some other available leaf
has a smaller rank. Events cost O(log ranks); `settle` costs O(leaves whose hold changes).
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from hats.tree.node import Node

if TYPE_CHECKING:
    from hats.tree.hierarchy import Hierarchy
    from hats.tree.scheduler import DynamicScheduler

Rank = tuple[int, ...]
"""Smaller goes first."""


class Stage:
    """Holds leaves in the name of one dynamic scheduler, among the leaves it is told of."""

    __slots__ = ("_buckets", "_current", "_owner", "_rank", "_ranks", "_tree")

    def __init__(self, tree: Hierarchy, owner: DynamicScheduler) -> None:
        self._tree = tree
        self._owner = owner
        self._rank: dict[Node, Rank] = {}
        """Of every available leaf."""
        self._buckets: dict[Rank, dict[Node, None]] = {}
        """The available leaves by rank, oldest first; none of them empty."""
        self._ranks: list[Rank] = []
        """A heap of the buckets' keys; may hold keys of buckets that are gone."""
        self._current: Rank | None = None
        """Leaves of a larger rank are held. Lags behind the buckets until `settle`."""

    @property
    def current(self) -> Rank | None:
        """The rank being served, None while no leaf has data."""
        return self._current

    def update(self, leaf: Node, rank: Rank) -> None:
        """The leaf may have become available or the opposite, or its rank may have changed."""
        if not self._available(leaf):
            self.drop(leaf)
            return
        if self._rank.get(leaf) == rank:
            return
        self._take_out(leaf)
        self._rank[leaf] = rank
        bucket = self._buckets.get(rank)
        if bucket is None:
            self._buckets[rank] = bucket = {}
            heappush(self._ranks, rank)
        bucket[leaf] = None
        current = self._current
        if current is None or rank < current:
            self._tree.unsettled(self._owner)
        if current is not None and rank > current:
            self._tree.hold(leaf, self._owner)
        else:
            self._tree.release(leaf, self._owner)

    def drop(self, leaf: Node) -> None:
        """The leaf has nothing to send, or can't: it neither holds others back nor is held."""
        self._take_out(leaf)
        self._tree.release(leaf, self._owner)

    def settle(self) -> None:
        """Make the smallest rank with data the current one."""
        lowest, current = self._lowest(), self._current
        self._current = lowest
        if lowest is None or lowest == current:
            return
        if current is None or lowest < current:
            between = [r for r in self._buckets if r > lowest and (current is None or r <= current)]
            for rank in sorted(between):
                for leaf in list(self._buckets[rank]):
                    self._tree.hold(leaf, self._owner)
        for leaf in list(self._buckets[lowest]):
            self._tree.release(leaf, self._owner)

    def close(self) -> None:
        """Releases everybody who waits."""
        for leaf in list(self._rank):
            self.drop(leaf)

    def _take_out(self, leaf: Node) -> None:
        rank = self._rank.pop(leaf, None)
        if rank is None:
            return
        bucket = self._buckets[rank]
        del bucket[leaf]
        if not bucket:
            del self._buckets[rank]
            if rank == self._current:
                self._tree.unsettled(self._owner)

    def _lowest(self) -> Rank | None:
        ranks = self._ranks
        while ranks:
            if ranks[0] in self._buckets:
                return ranks[0]
            heappop(ranks)
        return None

    def _available(self, leaf: Node) -> bool:
        """Has data, and nobody but this stage disables it or a node between it and the owner."""
        if not leaf.attached or not leaf.pending:
            return False
        top, node = self._owner.node, leaf
        while node is not top:
            if node.holds and node.holds != (self._owner,):
                return False
            assert node.parent is not None, "a leaf outside the owner's subtree"
            node = node.parent
        return True
