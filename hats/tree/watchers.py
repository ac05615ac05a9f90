"""Who hears of what: the dynamic schedulers of a hierarchy and the leaves below them.

Every interior node keeps the dynamic schedulers from the root down to itself, the highest first,
so that an event costs no search and the strategy of an ancestor prevails.
"""

from __future__ import annotations

from hats.tree.node import Node
from hats.tree.scheduler import DynamicScheduler, Scheduler


def watchers(node: Node) -> tuple[DynamicScheduler, ...]:
    """The dynamic schedulers above the node, the highest first."""
    return () if node.parent is None else node.parent.watchers


def changed(leaf: Node) -> None:
    """Tell those above what `DynamicScheduler.leaf_changed` lists."""
    for watcher in watchers(leaf):
        watcher.leaf_changed(leaf)


def left(leaf: Node) -> None:
    """Tell those above that the leaf is gone, or no longer what it was."""
    for watcher in watchers(leaf):
        watcher.leaf_left(leaf)


class DynamicSchedulers:
    """Keeps which schedulers are in office, and which have work to do before the next quantum is
    chosen."""

    __slots__ = ("_all", "unsettled")

    def __init__(self) -> None:
        self._all: dict[DynamicScheduler, None] = {}
        self.unsettled: dict[DynamicScheduler, None] = {}

    def install(self, node: Node, scheduler: Scheduler) -> None:
        """The node's scheduler, dynamic or not, takes office."""
        node.watchers = watchers(node)
        if isinstance(scheduler, DynamicScheduler):
            self._all[scheduler] = None
            node.watchers += (scheduler,)
        for child in node.children.values():
            if child.scheduler is not None:
                self.install(child, child.scheduler)

    def uninstall(self, scheduler: Scheduler) -> None:
        """It leaves office, and undoes what it did."""
        scheduler.unbind()
        if isinstance(scheduler, DynamicScheduler):
            self._all.pop(scheduler, None)
            self.unsettled.pop(scheduler, None)

    def settle(self) -> None:
        """Let each that has work do it, the highest first."""
        while self.unsettled:
            scheduler = min(self.unsettled, key=lambda one: one.node.depth)
            del self.unsettled[scheduler]
            scheduler.settle()

    def bandwidth_changed(self, rate: float) -> None:
        for scheduler in tuple(self._all):
            scheduler.bandwidth_changed(rate)
