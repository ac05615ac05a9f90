"""Leaves that are to be through by a time, in the order in which they go (ATP, section 3.3).

A promise to be in time is kept above the shares of the tree: the multiplexer serves the most urgent
appointment before what the schedulers choose, unless that is a text. Within a priority the earliest
deadline goes first, which meets all deadlines if any order does. What a scheduler of the tree holds
back by its strategy goes all the same; what a command disables does not (HATS, section 3.2.2).

Pure. It must not know who promised, or whether the promise can be kept: that is for admission.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from hats.tree.heap import Key, NodeHeap
from hats.tree.node import Node
from hats.tree.scheduler import Scheduler

BEHIND: Final = frozenset(("text", "style", "script", "tunnel"))
"""Kinds that no appointment overtakes, where it is their turn."""


class Appointments:
    """The appointments of one hierarchy."""

    def __init__(self, *, behind: Collection[str] = BEHIND) -> None:
        self._heap = NodeHeap()
        self.behind = frozenset(behind)

    def __len__(self) -> int:
        return len(self._heap)

    def set(self, leaf: Node, *, priority: int, deadline: float) -> None:
        """In the place of the leaf's former one. Seconds on the caller's clock."""
        self._heap.put(leaf, (-priority, deadline))

    def clear(self, leaf: Node) -> None:
        """It has none any more."""
        self._heap.discard(leaf)

    def key(self, leaf: Node) -> Key | None:
        """Minus its priority, and its deadline; None: it has no appointment."""
        return self._heap.key(leaf)

    def first(self) -> Node | None:
        """The most urgent leaf that has data and that no command disables; None: there is none.

        Those that have left are forgotten.
        """
        aside: list[tuple[Node, Key]] = []
        found = None
        while (entry := self._heap.first()) is not None:
            leaf = entry[2]
            if leaf.attached and leaf.pending and not commanded(leaf):
                found = leaf
                break
            if leaf.attached:
                aside.append((leaf, entry[0]))
            self._heap.discard(leaf)
        for leaf, key in aside:
            self._heap.put(leaf, key)
        return found


def commanded(leaf: Node) -> bool:
    """Whether a command disables the leaf or a node above it."""
    node: Node | None = leaf
    while node is not None:
        if any(not isinstance(holder, Scheduler) for holder in node.holds):
            return True
        node = node.parent
    return False
