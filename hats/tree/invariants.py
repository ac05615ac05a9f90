"""Checks what always holds of a hierarchy between calls, for tests and the bench: O(nodes)."""

from __future__ import annotations

from hats.tree.hierarchy import Hierarchy
from hats.tree.holds import height
from hats.tree.node import Node
from hats.tree.scheduler import DynamicScheduler, Scheduler


class BrokenInvariant(AssertionError):
    """A bug in this package."""


def check(tree: Hierarchy) -> None:
    """Raises BrokenInvariant. Settles the tree first: holds lag behind events until then."""
    tree.settle()
    _check_node(tree.root, ())
    if not tree.root.ready:
        for leaf in tree.leaves():
            _require(not may_send(leaf), leaf, "has data and may send, but the link would idle")


def may_send(leaf: Node) -> bool:
    """Has something to send, and no command disables it: strategies alone never idle a link."""
    node: Node | None = leaf
    while node is not None:
        if any(not isinstance(holder, Scheduler) for holder in node.holds):
            return False
        node = node.parent
    return leaf.pending


def _check_node(node: Node, watchers: tuple[DynamicScheduler, ...]) -> None:
    scheduler = node.scheduler
    _require(node.attached, node, "is in the tree but not attached")
    _check_holds(node)
    if scheduler is None:
        _require(node.ready == (node.pending and not node.holds), node, "is wrongly ready or not")
        _require(node.sent < node.next_mark, node, "is past a mark that it has not reached")
        return
    if isinstance(scheduler, DynamicScheduler):
        watchers = (*watchers, scheduler)
    children = node.children.values()
    _require(scheduler.node is node, node, "has a scheduler that serves another node")
    _require(node.watchers == watchers, node, "has lost a dynamic scheduler")
    _require(node.ready_children == sum(c.ready for c in children), node, "miscounts the ready")
    _require(
        node.ready == (node.ready_children > 0 and not node.holds), node, "is wrongly ready or not"
    )
    _require(node.backlog == sum(c.backlog for c in children), node, "miscounts its backlog")
    for name, child in node.children.items():
        _require(child.parent is node and child.name == name, child, "is not where it says")
        _check_node(child, watchers)
    if node.ready:
        chosen = scheduler.select()
        _require(chosen.ready and chosen.parent is node, chosen, "was selected and is not ready")


def _check_holds(node: Node) -> None:
    """Requires that a scheduler's hold counts exactly if it is above all who enable the node."""
    highest = min((height(one) for one in node.enablers), default=node.depth)
    for one in node.holds:
        counts = isinstance(one, Node) or height(one) < highest
        _require(counts, node, "is held by one that was overruled")
    for one in node.overruled:
        _require(height(one) >= highest, node, "overrules one that is higher than who enables it")
        _require(one not in node.holds, node, "is held and not held by the same")


def _require(holds: bool, node: Node, complaint: str) -> None:
    if not holds:
        raise BrokenInvariant(f"{node!r} {complaint}")
