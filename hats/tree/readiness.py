"""Tells the nodes above a change what it means for them: backlogs, readiness (HATS, 3.2.1).

Invariant between calls: an interior node is ready exactly if it isn't disabled and a child of it
is ready, and its scheduler has been told of just these children.

It must not know who asked for the change: commands, data and departures all end here.
"""

from __future__ import annotations

from bisect import bisect_right

from hats.tree import watchers
from hats.tree.node import NO_MARK, Node


class Readiness:
    """Which nodes of one hierarchy are ready, and in which order they became it."""

    __slots__ = ("_arrivals",)

    def __init__(self) -> None:
        self._arrivals = 0

    def arrive(self, leaf: Node) -> None:
        """The leaf has something to send and had nothing before."""
        if not leaf.ready:
            self._arrivals += 1
            leaf.arrived = self._arrivals
        watchers.changed(leaf)
        self.refresh(leaf)

    def refresh(self, node: Node) -> None:
        """Readiness may have changed: tell the parent's scheduler, and so on upwards."""
        while True:
            ready = (
                node.attached
                and not node.holds
                and (node.pending if node.scheduler is None else node.ready_children > 0)
            )
            parent = node.parent
            if ready == node.ready:
                return
            node.ready = ready
            if parent is None:
                return
            scheduler = parent.scheduler
            assert scheduler is not None
            if ready:
                if node.scheduler is not None:
                    self._arrivals += 1
                    node.arrived = self._arrivals
                parent.ready_children += 1
                scheduler.ready(node)
            else:
                parent.ready_children -= 1
                scheduler.waiting(node)
            node = parent


def add_backlog(leaf: Node, nbytes: int) -> None:
    """So many bytes more, or fewer, are queued at the leaf and thus at all nodes above it."""
    node: Node | None = leaf
    while node is not None:
        node.backlog += nbytes
        node = node.parent


def changed(node: Node) -> None:
    """Something that a scheduler may order by has changed."""
    if node.parent is not None:
        assert node.parent.scheduler is not None
        node.parent.scheduler.changed(node)
    if node.scheduler is None:
        watchers.changed(node)


def pass_marks(leaf: Node) -> None:
    """Note which of the leaf's fidelity levels are sent, and at which byte the next one ends."""
    reached = bisect_right(leaf.marks, leaf.sent)
    leaf.level_reached = reached
    leaf.next_mark = leaf.marks[reached] if reached < len(leaf.marks) else NO_MARK
