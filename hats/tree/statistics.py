"""An immutable picture of the tree, for policies and the status page; nobody else reads nodes."""

from __future__ import annotations

from dataclasses import dataclass

from hats.tree.node import Node, NodeState


@dataclass(frozen=True, slots=True)
class NodeStatistics:
    """One node with its subtree. Bytes of an interior node sum its subtree's."""

    name: str
    path: tuple[str, ...]
    """Names from below the root down to this node; empty for the root."""
    kind: str
    """Empty for interior nodes."""
    state: NodeState
    backlog: int
    sent: int
    weight: float
    priority: int
    level_reached: int
    """How many fidelity marks have been passed."""
    levels: int
    """How many there are."""
    finished: bool
    scheduler: str
    """Name of the scheduler; empty for leaves."""
    served_at: float | None
    """When it got its last quantum, on the clock of the multiplexer's caller; leaves only."""
    children: tuple[NodeStatistics, ...]


def picture(node: Node, path: tuple[str, ...] = ()) -> NodeStatistics:
    """The node and all below it. Its depth is bounded by the hierarchy's."""
    return NodeStatistics(
        name=node.name,
        path=path,
        kind=node.kind,
        state=node.state,
        backlog=node.backlog,
        sent=node.sent,
        weight=node.weight,
        priority=node.priority,
        level_reached=node.level_reached,
        levels=len(node.marks),
        finished=node.finished,
        scheduler="" if node.scheduler is None else node.scheduler.name,
        served_at=node.served_at,
        children=tuple(picture(child, (*path, child.name)) for child in node.children.values()),
    )
