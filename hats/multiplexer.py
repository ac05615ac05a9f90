"""The multiplexer: asks the tree, at the last moment, for one quantum (HATS, section 3.2.3).

A quantum is the most data of a single node that goes at a time. The grant says whose data and how
much; whoever keeps the bytes cuts them off and sends them.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from hats.appointments import Appointments
from hats.reservations import Reservations
from hats.tree.hierarchy import DEFAULT_QUANTUM, Hierarchy
from hats.tree.node import NO_MARK, Node
from hats.tree.rules import check_quantum


class Grant(NamedTuple):
    """Leave to send: the next `length` bytes of `leaf`, which start at `leaf.sent - length`."""

    leaf: Node
    length: int
    """Bytes; 0 only with `last`."""
    last: bool
    """Nothing follows: the leaf has left the tree."""


class FarChoice(NamedTuple):
    """What may go a longer way, because others have more urgent bytes to bring meanwhile."""

    leaf: Node
    skip: int
    """Bytes of its backlog that are left to others."""
    length: int
    """Bytes behind these that may go,"""
    last: bool = False
    """which are its last: of these the last go first."""


class FarChooser(Protocol):
    """Who chooses that."""

    def __call__(self, behind: int, now: float, *, ends: bool) -> FarChoice | None:
        """What may go with so many bytes of what waits left to others; None: nothing.

        `ends`: the last bytes of a component may go before those before them.
        """


class Multiplexer:
    """Chooses what a link sends next. One per hierarchy."""

    def __init__(
        self,
        hierarchy: Hierarchy,
        *,
        quantum: int = DEFAULT_QUANTUM,
        appointments: Appointments | None = None,
        reservations: Reservations | None = None,
    ) -> None:
        """Before the tree's choice go leaves that are to be through by a time, `appointments`, and
        before these the ones of nodes that have less than was promised them, `reservations`."""
        self._tree = hierarchy
        self._appointments = Appointments() if appointments is None else appointments
        self._reservations = Reservations(hierarchy) if reservations is None else reservations
        self._unsettled = hierarchy.dynamic.unsettled
        self.quantum = quantum

    @property
    def quantum(self) -> int:
        """Bytes of a full quantum, where no node says otherwise."""
        return self._tree.quantum

    @quantum.setter
    def quantum(self, size: int) -> None:
        self._tree.quantum = check_quantum(size)

    @property
    def has_data(self) -> bool:
        """Whether `next_quantum` would grant something."""
        self._tree.settle()
        before = self._appointments.first() is not None or self._reservations.pending
        return self._tree.root.ready or before

    def next_quantum(self, now: float, most: int = NO_MARK) -> Grant | None:
        """Whose data goes next: at most a quantum, at most its backlog, up to a fidelity mark, and
        at most so many bytes.

        None if no leaf has data that it may send. `now` is seconds on any clock of the caller's.
        """
        if self._unsettled:
            self._tree.settle()
        if self._reservations:
            grant = self._next(now, most)
            if grant is not None:
                self._reservations.sent(grant.leaf, grant.length, now)
            return grant
        return self._next(now, most)

    def grant(self, leaf: Node, length: int, now: float) -> Grant:
        """So many bytes of a leaf go now, which somebody else has chosen."""
        grant = Grant(leaf, length, self._tree.sent(leaf, length, now=now))
        if self._reservations:
            self._reservations.sent(leaf, length, now)
        return grant

    def grant_ahead(self, leaf: Node, length: int, now: float) -> Grant:
        """So many of a leaf's last bytes go now, before those before them."""
        self._tree.sent_ahead(leaf, length, now=now)
        if self._reservations:
            self._reservations.sent(leaf, length, now)
        return Grant(leaf, length, False)

    def _next(self, now: float, most: int) -> Grant | None:
        tree = self._tree
        appointed = self._appointments.first() if self._appointments else None
        node = tree.root
        if not node.ready:
            before = self._reservations.due(now, None) if self._reservations else None
            first = before if before is not None else appointed
            return None if first is None else self._keep(first, now, most)
        quantum = tree.quantum
        while (scheduler := node.scheduler) is not None:
            if node.quantum is not None:
                quantum = node.quantum
            node = scheduler.select()
        if self._reservations:
            reserved = self._reservations.due(now, node)
            if reserved is not None:
                return self._keep(reserved, now, most)
        if appointed is not None and node.kind not in self._appointments.behind:
            return self._keep(appointed, now, most)
        if node.quantum is not None:
            quantum = node.quantum
        length = min(quantum, most, node.backlog, min(node.next_mark, node.limit) - node.sent)
        return Grant(node, length, tree.sent(node, length, now=now))

    def _keep(self, leaf: Node, now: float, most: int) -> Grant:
        """The next quantum is of a leaf that was promised a time or a rate."""
        tree, length = self._tree, 0
        if leaf.backlog:
            end = min(leaf.next_mark, leaf.limit)
            quantum = min(quantum_of(leaf) or tree.quantum, most)
            length = min(quantum, leaf.backlog, end - leaf.sent)
        return Grant(leaf, length, tree.sent(leaf, length, now=now))


def quantum_of(node: Node) -> int | None:
    """Bytes of a quantum that the node or the nearest one above it says; None: none does."""
    above: Node | None = node
    while above is not None:
        if above.quantum is not None:
            return above.quantum
        above = above.parent
    return None
