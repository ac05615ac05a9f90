"""WF2Q+: bandwidth in proportion to weights, never more than a quantum ahead or behind.

Bennett and Zhang, Hierarchical Packet Fair Queueing Algorithms, SIGCOMM 1996. Each node with
this scheduler is one server of their hierarchy and keeps its own virtual time, so a tree of them
is H-WF2Q+. The letters are theirs:

    V    virtual time of the server: service that a child of weight 1 is due, bytes
    S_i  virtual start of child i's next quantum
    F_i  virtual finish of it: S_i + L / weight_i, where L is a full quantum
    eligible: S_i <= V; served is the eligible child with the smallest F_i

    after a grant of l bytes   S_i += l / weight_i;   V += l / (sum of the weights)
    nobody eligible            V = the smallest S of the ready children
    child i becomes ready      S_i = V, or S_i if it is still ahead: idle time earns nothing
    nobody ready               the busy period is over; what children are ahead ends with it

Two things differ from the paper's text, where packets queue in front of the server:

- What a child will be granted is known only after the choice. F assumes a full quantum while S is
  charged what was sent: shares are exact; a child granted less than a quantum may lag by two.
- The sum of the weights is that of the children which the fluid system would be serving now: the
  ready ones and those that ran dry while ahead of V ("lingering"), until V has caught up with them.
  With the ready ones alone V would run too fast after each that leaves, and newcomers would
  start late by up to a quantum. (The paper's sum of all weights, ready or not, runs too slowly.)

All are integers in units of 2**-24 byte (for a weight of 1), so no sum ever drifts.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from typing import ClassVar, Final

from hats.tree.node import Node
from hats.tree.scheduler import Scheduler

_WEIGHT_BITS: Final = 20
"""Fraction bits of a weight: the smallest, 0.001, is right to 0.05 %."""
_SHIFT: Final = 44
"""length << _SHIFT divided by an integer weight is virtual time, with 24 fraction bits."""
_SLACK: Final = 16
"""Stale heap entries below this are not worth a rebuild."""


class _Flow:
    """A child as its server sees it. Lingering: not ready, but with an entry."""

    __slots__ = ("F", "S", "entry", "inverse", "node", "ready", "serial", "weight")

    def __init__(self, node: Node, weight: float) -> None:
        self.node = node
        self.serial = node.serial
        self.S = 0
        self.F = 0
        self.ready = False
        self.entry: _Entry | None = None
        """The live one of its heap entries; None: the server takes no account of it."""
        self.reweigh(weight)

    def reweigh(self, weight: float) -> None:
        self.weight = round(weight * (1 << _WEIGHT_BITS))
        self.inverse = (1 << _SHIFT) // self.weight
        """Virtual time a byte takes."""


_Entry = tuple[int, int, _Flow]
"""F in the heap of the eligible, S in the two others; serial; flow."""


class WF2QPlus(Scheduler):
    """Weighted fair among the ready children, O(log n) a quantum."""

    __slots__ = (
        "_accounted",
        "_active",
        "_eligible",
        "_flows",
        "_later",
        "_lingering",
        "_virtual_time",
        "_weight_sum",
    )
    name: ClassVar[str] = "wf2q_plus"

    def __init__(self) -> None:
        super().__init__()
        self._flows: dict[Node, _Flow] = {}
        self._eligible: list[_Entry] = []
        self._later: list[_Entry] = []
        self._lingering: list[_Entry] = []
        self._virtual_time = 0
        self._active = 0
        """Ready children."""
        self._accounted = 0
        """Ready and lingering children; `_weight_sum` is theirs."""
        self._weight_sum = 0

    @property
    def entries(self) -> int:
        """Entries of its heaps, stale ones too."""
        return len(self._eligible) + len(self._later) + len(self._lingering)

    @property
    def accounted(self) -> int:
        """Children by whose weights V runs: the ready and the lingering."""
        return self._accounted

    def weight(self, child: Node) -> float:
        """The child's share among its siblings, as it is reckoned here."""
        return child.weight

    def attach(self, child: Node) -> None:
        self._flows[child] = _Flow(child, self.weight(child))

    def detach(self, child: Node) -> None:
        del self._flows[child]  # if it lingers, its flow does so without it

    def ready(self, child: Node) -> None:
        flow = self._flows[child]
        if not self._active:
            self._begin_busy_period()
        if flow.entry is None:
            flow.S = self._virtual_time
            self._weight_sum += flow.weight
            self._accounted += 1
        flow.ready = True
        self._active += 1
        self._enter(flow)

    def waiting(self, child: Node) -> None:
        flow = self._flows[child]
        flow.ready = False
        self._active -= 1
        unclaimed = self._virtual_time - flow.S
        if unclaimed < 0:
            self._enter(flow)
            return
        self._leave(flow)
        if self._active:
            self._advance(unclaimed * flow.weight)

    def select(self) -> Node:
        eligible, later = self._eligible, self._later
        V = self._virtual_time
        while True:
            while later and later[0][0] <= V:
                entry = heappop(later)
                flow = entry[2]
                if flow.entry is entry:
                    flow.entry = entry = (flow.F, flow.serial, flow)
                    heappush(eligible, entry)
            while eligible:
                entry = eligible[0]
                if entry[2].entry is entry:
                    return entry[2].node
                heappop(eligible)
            while later[0][2].entry is not later[0]:
                heappop(later)
            V = self._virtual_time = max(V, later[0][0])

    def charge(self, child: Node, length: int) -> None:
        flow = self._flows[child]
        eligible = self._eligible
        if self._lingering:
            self._advance(length << _SHIFT)
        else:
            self._virtual_time += (length << _SHIFT) // self._weight_sum
        S = flow.S = flow.S + length * flow.inverse
        F = flow.F = S + self._quantum(child) * flow.inverse
        if not eligible or eligible[0] is not flow.entry:  # it went before the one selected
            self._enter(flow)
        elif self._virtual_time >= S:
            flow.entry = entry = (F, flow.serial, flow)
            heapreplace(eligible, entry)
        else:
            heappop(eligible)
            flow.entry = entry = (S, flow.serial, flow)
            heappush(self._later, entry)

    def changed(self, child: Node) -> None:
        flow = self._flows[child]
        before = flow.weight
        flow.reweigh(self.weight(child))
        if flow.weight == before or flow.entry is None:
            return
        # What a child is ahead or behind is in bytes: at another weight it is another time.
        flow.S = self._virtual_time + (flow.S - self._virtual_time) * before // flow.weight
        self._weight_sum += flow.weight - before
        self._enter(flow)

    def _quantum(self, child: Node) -> int:
        """Bytes of a full quantum for this child: L."""
        return child.quantum or self._tree.quantum  # type: ignore[union-attr]  # bound while in use

    def _advance(self, work: int) -> None:
        """V moves on by service worth `work` (virtual time x weight), past the lingering."""
        lingering = self._lingering
        while lingering:
            entry = lingering[0]
            S, _, flow = entry
            if flow.entry is entry:
                until_then = max(0, S - self._virtual_time) * self._weight_sum
                if until_then > work:
                    break
                work -= until_then
                self._virtual_time = max(S, self._virtual_time)
                self._leave(flow)
            heappop(lingering)
        self._virtual_time += work // self._weight_sum

    def _begin_busy_period(self) -> None:
        for entry in self._lingering:
            if entry[2].entry is entry:
                self._leave(entry[2])
        self._lingering.clear()

    def _leave(self, flow: _Flow) -> None:
        """The flow is no longer accounted for."""
        flow.entry = None
        self._weight_sum -= flow.weight
        self._accounted -= 1

    def _enter(self, flow: _Flow) -> None:
        """Put the flow into the heap where it belongs; older entries of it become stale."""
        eligible, later, lingering = heaps = self._eligible, self._later, self._lingering
        if not flow.ready:
            flow.entry = (flow.S, flow.serial, flow)
            heappush(lingering, flow.entry)
        else:
            flow.F = flow.S + self._quantum(flow.node) * flow.inverse
            if self._virtual_time >= flow.S:
                flow.entry = (flow.F, flow.serial, flow)
                heappush(eligible, flow.entry)
            else:
                flow.entry = (flow.S, flow.serial, flow)
                heappush(later, flow.entry)
        if len(eligible) + len(later) + len(lingering) > 2 * self._accounted + _SLACK:
            for heap in heaps:
                heap[:] = [entry for entry in heap if entry[2].entry is entry]
                heapify(heap)
