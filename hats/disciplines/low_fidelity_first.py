"""LowFidelityFirst: every picture coarse before any is fine (HATS, sections 3.2.5 and 4.1.1).

At a document it orders the components themselves: by tier (tiers.py), in order within a tier as
the paper chose, or round-robin. Higher up, at an application or the root, it orders the leaves of
all documents below: whatever is beyond the lowest tier that has data is held back, so that every
document reaches a level before any goes on; among the documents the inner scheduler shares.

`priority` 1 goes first within a tier: what is on the screen, and still no picture is fine before
all are coarse. From 2 on it goes before all tiers: a pointer that rests on a picture raises it
above its siblings, text included. A node's own leaves go before documents below it at the same
tier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Literal

from hats.disciplines.stages import Rank, Stage
from hats.disciplines.tiers import DEFAULT, TierTable
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.tree.errors import SchedulerError
from hats.tree.heap import Key, NodeHeap
from hats.tree.node import Node
from hats.tree.scheduler import DynamicScheduler, Scheduler

if TYPE_CHECKING:
    from hats.tree.hierarchy import Hierarchy

Order = Literal["in_order", "round_robin"]
FIRST_IN_TIER: Final = 1
"""Priority from which a leaf goes before its siblings of the same tier."""
BEFORE_TIERS: Final = 2
"""Priority from which it goes before all of them."""


class LowFidelityFirst(DynamicScheduler):
    """`order` rules among own leaves of one tier, `inner` (default WF2Q+) among documents below."""

    __slots__ = ("_far", "_far_ready", "_near", "_round_robin", "_table", "_turn")
    name: ClassVar[str] = "low_fidelity_first"

    def __init__(
        self,
        inner: Scheduler | None = None,
        *,
        order: Order = "in_order",
        tiers: TierTable = DEFAULT,
    ) -> None:
        super().__init__(WF2QPlus() if inner is None else inner)
        if order not in ("in_order", "round_robin"):
            raise SchedulerError(f"{self.name}: order {order!r} is not in_order or round_robin")
        self._table = tiers
        self._round_robin = order == "round_robin"
        self._turn = 0
        self._near = NodeHeap()
        """Own leaves that are ready, by (rank, order or turn)."""
        self._far: Stage | None = None
        """Leaves of the nodes below, by rank."""
        self._far_ready = 0
        """How many children with leaves of their own are ready."""

    def bind(self, tree: Hierarchy, node: Node) -> None:
        super().bind(tree, node)
        self._far = Stage(tree, self)

    def unbind(self) -> None:
        stage, self._far = self._far, None
        if stage is not None:
            stage.close()

    # -- as a scheduler of its children ------------------------------------------------------

    def attach(self, child: Node) -> None:
        if child.scheduler is not None:
            self.inner.attach(child)

    def detach(self, child: Node) -> None:
        if child.scheduler is not None:
            self.inner.detach(child)

    def ready(self, child: Node) -> None:
        if child.scheduler is None:
            self._near.put(child, self._key(child))
        else:
            self._far_ready += 1
            self.inner.ready(child)

    def waiting(self, child: Node) -> None:
        if child.scheduler is None:
            self._near.discard(child)
        else:
            self._far_ready -= 1
            self.inner.waiting(child)

    def select(self) -> Node:
        near = self._near.first()
        if near is not None and not (self._far_ready and self._far_is_ahead(near[0])):
            return near[2]
        return self.inner.select()

    def charge(self, child: Node, length: int) -> None:
        if child.scheduler is not None:
            self.inner.charge(child, length)
        elif self._round_robin:
            self._near.put(child, self._key(child))

    def changed(self, child: Node) -> None:
        if child.scheduler is not None:
            self.inner.changed(child)
            return
        old = self._near.key(child)
        if old is None:
            return
        new = (*self._rank(child), old[2] if self._round_robin else child.order)
        if new != old:
            self._near.put(child, new)

    # -- as an observer of the leaves below --------------------------------------------------

    def leaf_changed(self, leaf: Node) -> None:
        if self._far is not None and leaf.parent is not self._node:
            self._far.update(leaf, self._rank(leaf))

    def leaf_left(self, leaf: Node) -> None:
        if self._far is not None and leaf.parent is not self._node:
            self._far.drop(leaf)

    def settle(self) -> None:
        if self._far is not None:
            self._far.settle()

    # -- ranks -------------------------------------------------------------------------------

    def _rank(self, leaf: Node) -> Rank:
        priority = leaf.priority
        tier = 2 * self._table.tier(leaf) + (priority < FIRST_IN_TIER)
        return (-priority if priority >= BEFORE_TIERS else 0, tier)

    def _key(self, leaf: Node) -> Key:
        self._turn += 1
        return (*self._rank(leaf), self._turn if self._round_robin else leaf.order)

    def _far_is_ahead(self, near: Key) -> bool:
        current = self._far.current if self._far is not None else None
        return current is not None and current < near[:2]
