"""A stage holds later ranks back while an earlier one has data; who watches hears of it."""

from __future__ import annotations

from hats.disciplines.fifo import Fifo
from hats.disciplines.stages import Stage
from hats.disciplines.text_first import TextFirst
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.tree import watchers
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node, NodeState
from hats.tree.readiness import Readiness, add_backlog
from hats.tree.scheduler import DynamicScheduler


class Staged(DynamicScheduler):
    """Serves leaves by their order alone, all of one before any of the next."""

    name = "staged"

    def __init__(self) -> None:
        super().__init__(WF2QPlus())
        self.stage: Stage | None = None

    def bind(self, tree: Hierarchy, node: Node) -> None:
        super().bind(tree, node)
        self.stage = Stage(tree, self)

    def leaf_changed(self, leaf: Node) -> None:
        assert self.stage is not None
        self.stage.update(leaf, (leaf.order,))

    def leaf_left(self, leaf: Node) -> None:
        assert self.stage is not None
        self.stage.drop(leaf)

    def settle(self) -> None:
        assert self.stage is not None
        self.stage.settle()


def staged(*orders: int) -> tuple[Hierarchy, list[Node], Stage]:
    scheduler = Staged()
    tree = Hierarchy(root=scheduler)
    leaves = [tree.attach(tree.root, str(n), order=order) for n, order in enumerate(orders)]
    assert scheduler.stage is not None
    return tree, leaves, scheduler.stage


def states(leaves: list[Node]) -> str:
    return "".join(
        {NodeState.READY: "r", NodeState.DISABLED: "d"}.get(n.state, "-") for n in leaves
    )


def test_later_ranks_are_held_while_an_earlier_one_has_data() -> None:
    tree, leaves, stage = staged(2, 1, 1, 3)
    for leaf in leaves:
        tree.enqueue(leaf, 10)
    tree.settle()
    assert (states(leaves), stage.current) == ("drrd", (1,))
    for leaf in leaves[1:3]:
        tree.unqueue(leaf, 10)
    tree.settle()
    assert (states(leaves), stage.current) == ("r--d", (2,))


def test_one_that_waits_for_its_source_holds_nobody_back() -> None:
    tree, leaves, stage = staged(1, 2)
    tree.enqueue(leaves[1], 10)
    tree.settle()
    assert (states(leaves), stage.current) == ("-r", (2,))
    tree.enqueue(leaves[0], 10)
    tree.settle()
    assert states(leaves) == "rd"


def test_who_is_disabled_by_somebody_else_holds_nobody_back() -> None:
    tree, leaves, _ = staged(1, 2)
    for leaf in leaves:
        tree.enqueue(leaf, 10)
    tree.disable(leaves[0], by=tree.root)
    tree.settle()
    assert states(leaves) == "dr"


def test_all_go_on_when_the_stage_is_closed() -> None:
    tree, leaves, stage = staged(1, 2, 3)
    for leaf in leaves:
        tree.enqueue(leaf, 10)
    tree.settle()
    stage.close()
    assert states(leaves) == "rrr"
    assert stage.current == (1,)
    stage.settle()
    assert stage.current is None


def test_the_schedulers_above_a_leaf_are_known_from_the_highest_down() -> None:
    outer, inner = TextFirst(), TextFirst()
    tree = Hierarchy(root=outer)
    middle = tree.attach(tree.root, "a", scheduler=Fifo(), keep=True)
    below = tree.attach(middle, "b", scheduler=inner, keep=True)
    leaf = tree.attach(below, "c", kind="text")
    assert watchers.watchers(leaf) == (outer, inner)
    assert watchers.watchers(middle) == (outer,)
    tree.set_scheduler(tree.root, Fifo())
    assert watchers.watchers(leaf) == (inner,)


def test_a_node_is_ready_while_a_child_is() -> None:
    tree = Hierarchy(root=Fifo())
    node = tree.attach(tree.root, "a", scheduler=Fifo(), keep=True)
    leaf = tree.attach(node, "b")
    readiness = Readiness()
    add_backlog(leaf, 7)
    assert (leaf.backlog, node.backlog, tree.root.backlog) == (7, 7, 7)
    readiness.arrive(leaf)
    assert leaf.ready and node.ready and node.ready_children == 1
    add_backlog(leaf, -7)
    readiness.refresh(leaf)
    assert not (leaf.ready or node.ready or node.ready_children)


def test_a_picture_of_the_tree_is_of_its_moment() -> None:
    tree, leaves, _ = staged(1, 2)
    tree.enqueue(leaves[0], 10)
    before = tree.statistics()
    tree.enqueue(leaves[1], 5)
    assert (before.backlog, [child.backlog for child in before.children]) == (10, [10, 0])
    assert [child.path for child in before.children] == [("0",), ("1",)]
    assert tree.statistics().backlog == 15
