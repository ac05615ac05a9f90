"""BandwidthShares: children get the bandwidth they need, as far as the link carries it.

The paper's example of a dynamic scheduler: "changing the weight of a packet fair queuer after a
drop in available bandwidth" (HATS, section 3.2.2). A child may need so many bytes/second, by its
name or its kind. It shares by weight, and is given more where that is less than it needs; when the
link no longer carries all needs, they are met in order of importance (priority, weight, order) and
the rest shares a floor (needs.py). Weights of the nodes stay what policies said.

Only children with data count: nobody is kept waiting for one that has none. The rate is the link's,
so its place is at the root, or below a node that gets the link for itself. Work is done when a
child with a need begins or ends to have data, or the rate changes: O(children with needs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hats.disciplines.needs import FLOOR, Claim, weights
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.tree.node import Node
from hats.tree.scheduler import DynamicScheduler


class SharedByNeed(WF2QPlus):
    """Serves by weights that are set beside those of the nodes."""

    __slots__ = ("weights",)

    def __init__(self) -> None:
        super().__init__()
        self.weights: dict[Node, float] = {}
        """Of children whose weight is another here."""

    def weight(self, child: Node) -> float:
        return self.weights.get(child, child.weight)


class BandwidthShares(DynamicScheduler):
    """Shares by weight, with a guaranteed rate for who needs one."""

    __slots__ = ("_floor", "_needs", "_needy", "_others", "_rate", "_shares", "_sum")
    name: ClassVar[str] = "bandwidth_shares"

    def __init__(self, needs: Mapping[str, float] | None = None, *, floor: float = FLOOR) -> None:
        """`needs`: bytes/second by name of a child or, where no name says so, by its kind.
        `floor`: part of the link for who is not served by need, above 0."""
        self._shares = SharedByNeed()
        super().__init__(self._shares)
        self._needs = dict(needs or {})
        self._floor = floor
        self._rate: float | None = None
        """Bytes/second of the link; None: not known, and needs say nothing."""
        self._needy: dict[Node, float] = {}
        """Ready children with a need."""
        self._others: dict[Node, float] = {}
        """Weights of the ready children without."""
        self._sum = 0.0
        """Of these weights."""

    def need(self, child: Node) -> float:
        """Bytes/second that the child needs; 0: none in particular."""
        named = self._needs.get(child.name)
        return self._needs.get(child.kind, 0.0) if named is None else named

    # -- as a scheduler of its children ------------------------------------------------------

    def detach(self, child: Node) -> None:
        self.inner.detach(child)
        self._shares.weights.pop(child, None)

    def ready(self, child: Node) -> None:
        self._enter(child)
        self.inner.ready(child)

    def waiting(self, child: Node) -> None:
        self._leave(child)
        self.inner.waiting(child)

    def changed(self, child: Node) -> None:
        if child in self._needy or child in self._others:
            self._leave(child)
            self._enter(child)
        self.inner.changed(child)

    # -- as an observer ----------------------------------------------------------------------

    def bandwidth_changed(self, rate: float) -> None:
        if rate != self._rate:
            self._rate = rate
            self.tree.unsettled(self)

    def settle(self) -> None:
        """Weigh the ready children with needs anew."""
        needy = sorted(self._needy, key=_importance)
        claims = [Claim(self._needy[child], child.weight) for child in needy]
        rate = self._rate or 0.0
        others = self._sum if self._others else 0.0
        for child, weight in zip(
            needy, weights(claims, others=others, rate=rate, floor=self._floor), strict=True
        ):
            if self._shares.weight(child) != weight:
                self._shares.weights[child] = weight
                self.inner.changed(child)

    # -- inside ------------------------------------------------------------------------------

    def _enter(self, child: Node) -> None:
        need = self.need(child)
        if need:
            self._needy[child] = need
        else:
            self._shares.weights.pop(child, None)  # it may have had a need as another kind
            self._others[child] = child.weight
            self._sum += child.weight
        self._look_again()

    def _leave(self, child: Node) -> None:
        if self._needy.pop(child, None) is None:
            self._sum -= self._others.pop(child)
        self._look_again()

    def _look_again(self) -> None:
        if not self._others:
            self._sum = 0.0  # what sums of floats are off by ends here
        if self._needs:
            self.tree.unsettled(self)


def _importance(child: Node) -> tuple[float, ...]:
    """The most important first; of equals the oldest."""
    return -child.priority, -child.weight, child.order, child.serial
