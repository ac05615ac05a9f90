"""Keeps what components and nodes of one device's tree were promised: a time, or a rate.

Both are kept by names, for a component may be promised something before it enters the tree. Pure:
whether a promise can be kept is for deadlines.py and guarantees.py.
"""

from __future__ import annotations

from collections.abc import Collection, Container

from hats.appointments import Appointments
from hats.reservations import Reservations
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node


class PromisedLeaves:
    """The promises of one hierarchy, which its multiplexer keeps."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.appointments = Appointments()
        """Components that are to be there by a time."""
        self.reservations = Reservations(hierarchy)
        """Nodes that are to have a rate."""
        self._hierarchy = hierarchy
        self._deadlines: dict[int, tuple[float, int]] = {}
        """Of components: seconds on the loop's clock, and how urgent each is."""

    def __contains__(self, component: int) -> bool:
        """Whether it has a deadline."""
        return component in self._deadlines

    @property
    def known(self) -> Collection[int]:
        """Components with a deadline."""
        return self._deadlines.keys()

    def set_deadline(
        self, component: int, leaf: Node | None, deadline: float | None, *, priority: int
    ) -> None:
        """By when it is to be there; None: no time. `leaf`: None while it is not in the tree."""
        if deadline is not None:
            self._deadlines[component] = deadline, priority
            self.entered(component, leaf)
        elif self._deadlines.pop(component, None) is not None and leaf is not None:
            self.appointments.clear(leaf)
            self._hierarchy.set_deadline(leaf, None)
            self._hurry(leaf)

    def entered(self, component: int, leaf: Node | None) -> None:
        """It is in the tree now, if it is."""
        known = self._deadlines.get(component)
        if leaf is not None and known is not None:
            deadline, priority = known
            self.appointments.set(leaf, priority=priority, deadline=deadline)
            self._hierarchy.set_deadline(leaf, deadline)
            self._hurry(leaf)

    def sweep(self, live: Container[int]) -> None:
        """Forget what was promised of those that are gone."""
        self._deadlines = {id_: at for id_, at in self._deadlines.items() if id_ in live}
        self.reservations.sweep()

    def _hurry(self, leaf: Node) -> None:
        """The nodes above have the earliest of the deadlines below them."""
        node = leaf.parent
        while node is not None and node.parent is not None:
            known = (child.deadline for child in node.children.values())
            earliest = min((one for one in known if one is not None), default=None)
            if earliest == node.deadline:
                return
            self._hierarchy.set_deadline(node, earliest)
            node = node.parent
