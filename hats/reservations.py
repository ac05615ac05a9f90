"""Nodes to which a rate is guaranteed, whatever the schedulers above them choose (HATS, section 1:
some applications can't adapt; audio and video are played at their rate or they stall).

Each has a clock that runs by what it was sent: a quantum of L bytes moves it by L / rate (Zhang,
"VirtualClock", SIGCOMM 1990). Whose clock is not ahead of the time is due, and goes before what the
tree chooses; texts are let by until it is late by its `delay`. So it is never further behind its
rate than that and a quantum of each other one. What it gets besides, by its share, counts too, but
for AHEAD at most: a rate is a floor, not a ceiling.

Whose sum is too much is not known here (scheduling/guarantees.py). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from hats.appointments import BEHIND, commanded
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node

LEAST_RATE: Final = 100.0
MOST_RATE: Final = 1e9
"""Bytes/second that may be reserved."""
LONGEST: Final = 60.0
"""Seconds of a delay."""
AHEAD: Final = 2.0
"""Seconds of its rate that a node may have got before its time, and be due no sooner for it."""


def problem(rate: float, delay: float) -> str:
    """Why no such rate can be reserved, for people; "" if it can."""
    if not LEAST_RATE <= rate <= MOST_RATE:
        return f"{rate:g} bytes/second: must be {LEAST_RATE:g} to {MOST_RATE:g}, or 0"
    if not 0 <= delay <= LONGEST:
        return f"a delay of {delay:g} seconds: must be 0 to {LONGEST:g}"
    return ""


@dataclass(slots=True)
class _Reservation:
    rate: float
    delay: float
    clock: float


class Reservations:
    """The reservations of one hierarchy: few, each is looked at before every quantum."""

    def __init__(self, tree: Hierarchy) -> None:
        self._tree = tree
        self._reserved: dict[Node, _Reservation] = {}

    def __len__(self) -> int:
        return len(self._reserved)

    def set(self, node: Node, *, rate: float, delay: float, now: float) -> None:
        """In the place of the node's former one. Bytes/second; seconds, `now` on the clock of
        whoever asks for quanta."""
        known = self._reserved.get(node)
        clock = now if known is None else known.clock
        self._reserved[node] = _Reservation(rate, delay, clock)

    def clear(self, node: Node) -> None:
        """It has none any more."""
        self._reserved.pop(node, None)

    def rate(self, node: Node) -> float:
        """Bytes/second that the node itself has reserved; 0: none."""
        known = self._reserved.get(node)
        return 0.0 if known is None else known.rate

    @property
    def pending(self) -> bool:
        """Whether one of them has data that no command keeps from going."""
        return any(self._leaf(node) is not None for node in self._reserved)

    def due(self, now: float, chosen: Node | None) -> Node | None:
        """The leaf that goes before the one which the tree has chosen; None: that one goes.

        Where nothing else can go it need not be due: a strategy may hold it back for others.
        """
        best: tuple[float, Node] | None = None
        text = chosen is not None and chosen.kind in BEHIND
        for node, one in self._reserved.items():
            leaf = self._leaf(node)
            if leaf is None:
                one.clock = max(one.clock, now)  # what it did not want is not owed to it
                continue
            late = now - one.clock
            if chosen is None or late >= (one.delay if text else 0.0):
                best = (one.clock, leaf) if best is None or one.clock < best[0] else best
        return None if best is None else best[1]

    def sent(self, leaf: Node, length: int, now: float) -> None:
        """Every quantum counts for the nodes above it, however it was chosen."""
        for node in self._above(leaf):
            one = self._reserved.get(node)
            if one is None:
                continue
            if node.attached:
                one.clock = min(one.clock, now + AHEAD) + length / one.rate
            else:
                del self._reserved[node]

    def sweep(self) -> None:
        """Forget those that have left."""
        for node in [one for one in self._reserved if not one.attached]:
            del self._reserved[node]

    @staticmethod
    def _above(leaf: Node) -> Iterator[Node]:
        node: Node | None = leaf
        while node is not None:
            yield node
            node = node.parent

    @staticmethod
    def _leaf(node: Node) -> Node | None:
        """Which leaf goes for the node. A leaf goes though strategies hold it; of an interior node
        its own schedulers choose, among what is ready."""
        if not node.attached:
            return None
        if node.scheduler is None:
            return node if node.pending and not commanded(node) else None
        while node.scheduler is not None:
            if not node.ready:
                return None
            node = node.scheduler.select()
        return node
