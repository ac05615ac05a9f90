"""WF2Q+: bandwidth in proportion to weights, never more than a quantum ahead or behind.

Bennett and Zhang, Hierarchical Packet Fair Queueing Algorithms, SIGCOMM 1996. Each node with
this scheduler is one server of their hierarchy and keeps its own virtual time, so a tree of them
is H-WF2Q+. The letters are theirs:

    V    virtual time of the server: service that a child of weight 1 is due, bytes
    S_i  virtual start of child i's next quantum
    F_i  virtual finish of it: S_i + L / weight_i, where L is a full quantum
    eligible: S_i <= V; served is the eligible child with the smallest F_i

    after a grant of l bytes   S_i += l / weight_i;   V += l / (sum of the ready children's weights)
    nobody eligible            V = the smallest S of the ready children
    child i becomes ready      S_i = max(V, S_i): time spent idle earns nothing
    nobody ready               the busy period is over; debts of children end with it

What a child will be granted is known only after the choice, so F assumes a full quantum while S
is charged what was sent: shares are exact, and the bound of one quantum holds.

All are integers in units of 2**-24 byte (for a weight of 1), so no sum ever drifts.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from typing import ClassVar, Final

from hats.node import Node
from hats.scheduler import Scheduler

_WEIGHT_BITS: Final = 20
"""Fraction bits of a weight: the smallest, 0.001, is right to 0.05 %."""
_SHIFT: Final = 44
"""length << _SHIFT divided by an integer weight is virtual time, with 24 fraction bits."""
_SLACK: Final = 16
"""Stale heap entries below this are not worth a rebuild."""


class _Flow:
    """A child as its server sees it."""

    __slots__ = ("F", "S", "busy_period", "entry", "inverse", "node", "serial", "weight")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.serial = node.serial
        self.S = 0
        self.F = 0
        self.busy_period = 0
        """The one in which S was last charged."""
        self.entry: _Entry | None = None
        """The live one of its heap entries; None while the child is not ready."""
        self.reweigh()

    def reweigh(self) -> None:
        self.weight = round(self.node.weight * (1 << _WEIGHT_BITS))
        self.inverse = (1 << _SHIFT) // self.weight
        """Virtual time a byte takes."""


_Entry = tuple[int, int, _Flow]
"""F in the heap of the eligible, S in the heap of the others; serial; flow."""


class WF2QPlus(Scheduler):
    """Weighted fair among the ready children, O(log n) a quantum."""

    __slots__ = (
        "_active",
        "_busy_period",
        "_eligible",
        "_flows",
        "_later",
        "_virtual_time",
        "_weight_sum",
    )
    name: ClassVar[str] = "wf2q_plus"

    def __init__(self) -> None:
        super().__init__()
        self._flows: dict[Node, _Flow] = {}
        self._eligible: list[_Entry] = []
        self._later: list[_Entry] = []
        self._virtual_time = 0
        self._active = 0
        self._weight_sum = 0
        self._busy_period = 0

    def attach(self, child: Node) -> None:
        self._flows[child] = _Flow(child)

    def detach(self, child: Node) -> None:
        del self._flows[child]

    def ready(self, child: Node) -> None:
        flow = self._flows[child]
        if not self._active:
            self._busy_period += 1
        if flow.busy_period != self._busy_period or self._virtual_time > flow.S:
            flow.S = self._virtual_time
            flow.busy_period = self._busy_period
        self._active += 1
        self._weight_sum += flow.weight
        self._enter(flow)

    def waiting(self, child: Node) -> None:
        flow = self._flows[child]
        flow.entry = None
        self._active -= 1
        self._weight_sum -= flow.weight

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
        V = self._virtual_time = self._virtual_time + (length << _SHIFT) // self._weight_sum
        S = flow.S = flow.S + length * flow.inverse
        F = flow.F = S + self._quantum(child) * flow.inverse
        is_first = eligible[0] is flow.entry
        if S <= V:
            flow.entry = entry = (F, flow.serial, flow)
            if is_first:
                heapreplace(eligible, entry)
            else:
                heappush(eligible, entry)
        else:
            if is_first:
                heappop(eligible)
            flow.entry = entry = (S, flow.serial, flow)
            heappush(self._later, entry)

    def changed(self, child: Node) -> None:
        flow = self._flows[child]
        before = flow.weight
        flow.reweigh()
        if flow.weight == before:
            return
        # What the child is ahead is a debt in bytes: another weight makes it another time.
        ahead = flow.S - self._virtual_time
        if ahead > 0:
            flow.S = self._virtual_time + ahead * before // flow.weight
        if flow.entry is not None:
            self._weight_sum += flow.weight - before
            self._enter(flow)

    def _quantum(self, child: Node) -> int:
        """Bytes of a full quantum for this child: L."""
        return child.quantum or self._tree.quantum  # type: ignore[union-attr]  # bound while in use

    def _enter(self, flow: _Flow) -> None:
        """Put the flow where its S and F say; older entries of it become stale."""
        flow.F = flow.S + self._quantum(flow.node) * flow.inverse
        if self._virtual_time >= flow.S:
            flow.entry = (flow.F, flow.serial, flow)
            heappush(self._eligible, flow.entry)
        else:
            flow.entry = (flow.S, flow.serial, flow)
            heappush(self._later, flow.entry)
        if len(self._eligible) + len(self._later) > 2 * self._active + _SLACK:
            for heap in (self._eligible, self._later):
                heap[:] = [entry for entry in heap if entry[2].entry is entry]
                heapify(heap)
