"""Draws a device's tree for people: each node before its children, so many and no more.

Reads the tree as it is, held-back nodes with who holds them. Its cost is bounded by the rows, not
by the tree. It must not know who looks, or how often.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from hats.tree.node import Node
from scheduling.tree import Tree
from wire.tree_row import MAX_ROWS, STATES, TreeRow

MAX_CHILDREN: Final = 20
"""Drawn of one node: a page's parts that go first."""
_REASONS: Final = {"command": "a policy", "plan": "the plan", "timer": "its time"}


def draw(tree: Tree) -> list[TreeRow]:
    """The first MAX_ROWS nodes, from the root down."""
    tree.hierarchy.settle()  # strategies hold back when the next quantum is chosen: as it would be
    return list(islice(_rows(tree, tree.hierarchy.root, 0), MAX_ROWS))


def _rows(tree: Tree, node: Node, depth: int) -> Iterator[TreeRow]:
    children = node.children
    yield TreeRow(
        depth,
        node.name,
        STATES.index(node.state.value),
        node.kind if node.scheduler is None else node.scheduler.name,
        round(node.weight, 3),
        node.backlog,
        _who(tree, node),
        max(0, len(children) - MAX_CHILDREN),
        node.scheduler is None,
    )
    for child in islice(children.values(), MAX_CHILDREN):
        yield from _rows(tree, child, depth + 1)


def _who(tree: Tree, node: Node) -> str:
    """Everybody who holds it back."""
    found: list[str] = []
    for holder in node.holds:
        if isinstance(holder, Node):
            found += [_REASONS[why] for why in tree.reasons(node)] or ["a command"]
        else:
            place = holder.node.name or "the link"
            found.append(f"{holder.office.name} of {place}")
    return ", ".join(found)
