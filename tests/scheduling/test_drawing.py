"""A device's tree is drawn with states, backlogs and who holds, and no more than was agreed."""

from __future__ import annotations

from hats.tree.node import Node
from scheduling.drawing import MAX_CHILDREN, draw
from scheduling.tree import Tree
from wire.tree_row import MAX_ROWS, STATES, TreeRow


def lines(tree: Tree) -> list[str]:
    return [line(row) for row in draw(tree)]


def line(row: TreeRow) -> str:
    who = f" by {row.who}" if row.who else ""
    return (
        f"{'  ' * row.depth}{row.name or 'link'} {row.what} {STATES[row.state]} {row.backlog}{who}"
    )


def part(tree: Tree, document: int, component: int, kind: str, nbytes: int) -> Node:
    leaf = tree.leaf(document, component, kind=kind, order=0)
    tree.hierarchy.enqueue(leaf, nbytes)
    return leaf


def test_states_backlogs_and_who_holds() -> None:
    tree = Tree(quantum=100)
    tree.set_scheduler((), "text_first", {})
    part(tree, 1, 2, "text", 300)
    part(tree, 1, 4, "image", 500)
    part(tree, 1, 6, "image", 0)
    tree.hold(8, on=True, why="plan")
    tree.hold(8, on=True, why="command")
    part(tree, 1, 8, "font", 50)
    tree.hierarchy.enqueue(tree.tunnel(9), 70)
    assert lines(tree) == [
        "link text_first ready 920",
        "  browser wf2q_plus ready 850",
        "    1 wf2q_plus ready 850",
        "      2 text ready 300",
        "      4 image disabled 500 by text_first of the link",
        "      6 image waiting 0",
        "      8 font disabled 50 by a policy, the plan",
        "  office wf2q_plus waiting 0",
        "  background wf2q_plus waiting 0",
        "  other wf2q_plus waiting 0",
        "  tunnels wf2q_plus ready 70",
        "    9 tunnel ready 70",
    ]


def test_a_large_tree_is_drawn_in_part() -> None:
    tree = Tree(quantum=100)
    for component in range(1, 200):
        part(tree, component // 50, 1000 + component, "image", 10)
    rows = draw(tree)
    assert len(rows) <= MAX_ROWS
    assert max(sum(row.depth == 3 for row in rows) for _ in rows) <= 4 * MAX_CHILDREN
    assert rows[2].more == 49 - MAX_CHILDREN
