"""Dynamic schedulers together, on two levels, and one of a plugin's own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hats.disciplines.fifo import Fifo
from hats.disciplines.low_fidelity_first import LowFidelityFirst
from hats.disciplines.priority import Priority
from hats.disciplines.text_first import TextFirst
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.tree.invariants import check
from hats.tree.node import Node
from hats.tree.scheduler import DynamicScheduler
from tests.hats.trees import Q, Tree, picture


def default_tree() -> Tree:
    return Tree(TextFirst(), WF2QPlus, LowFidelityFirst)


def test_the_default_composition() -> None:
    """Text of all documents; then each document its pictures by level, sharing by weight."""
    tree = default_tree()
    for app in "ab":
        picture(tree, f"{app}/1/{app}1", order=1)
        picture(tree, f"{app}/1/{app}2", order=2)
        tree.leaf(f"{app}/1/{app}t", 2 * Q, kind="text")
    assert tree.serve() == ("at,bt,at,bt,a1,b1,a2,b2,a1,b1,a2,b2,a1,b1,a2,b2,a1,b1,a2,b2")


def test_focus_shifts_bandwidth_to_the_document_in_front() -> None:
    tree = default_tree()
    for app in "ab":
        tree.leaf(f"{app}/1/i", 100 * Q)
    a, b = (tree.hierarchy.find([app]) for app in "ab")
    assert a is not None
    assert b is not None
    tree.hierarchy.set_weight(a, 0.8)
    tree.hierarchy.set_weight(b, 0.2)
    for _ in range(50):
        tree.mux.next_quantum(0.0)
    assert abs(a.sent - 40 * Q) <= Q
    tree.hierarchy.set_weight(a, 0.2)
    tree.hierarchy.set_weight(b, 0.8)
    before = b.sent
    for _ in range(50):
        tree.mux.next_quantum(0.0)
    assert abs(b.sent - before - 40 * Q) <= Q


def test_strategies_of_two_levels_may_disagree() -> None:
    """Pictures first at the root, text first at the application: the link never idles."""
    pictures_first = TextFirst(text=("image",), held_back=("text",))
    tree = Tree(pictures_first, TextFirst, Fifo)
    text = tree.leaf("a/1/t", 2 * Q, kind="text", finish=False)
    tree.leaf("a/1/i", 3 * Q)
    other = tree.leaf("b/1/j", Q, finish=False)
    served = tree.serve(3)
    tree.hierarchy.enqueue(text, 2 * Q)
    tree.hierarchy.enqueue(other, Q)
    served += "," + tree.serve()
    assert sorted(served.split(",")) == ["i", "i", "i", "j", "j", "t", "t", "t", "t"]


class HalveOnDrop(DynamicScheduler):
    """The paper's example of a dynamic scheduler: other weights after a drop in bandwidth."""

    name = "halve_on_drop"

    def __init__(self) -> None:
        super().__init__(WF2QPlus())
        self.heard: list[str] = []

    def leaf_changed(self, leaf: Node) -> None:
        self.heard.append(f"{leaf.name}:{leaf.level_reached}")

    def leaf_left(self, leaf: Node) -> None:
        self.heard.append(f"{leaf.name} left")

    def bandwidth_changed(self, rate: float) -> None:
        background = self.tree.find(["b"])
        if background is not None:
            self.tree.set_weight(background, 0.1 if rate < 10_000 else 1.0)


def test_a_plugins_own_dynamic_scheduler() -> None:
    scheduler = HalveOnDrop()
    tree = Tree(scheduler, Fifo, Fifo)
    tree.leaf("b/x", 99 * Q)
    a = tree.leaf("a/y", 2 * Q, marks=(Q,), finish=False)
    scheduler.heard.clear()
    tree.hierarchy.bandwidth_changed(7_000.0)
    assert tree.hierarchy.statistics().children[0].weight == 0.1
    while a.backlog:
        tree.mux.next_quantum(0.0)
    tree.hierarchy.remove(a)
    assert scheduler.heard == ["y:1", "y:1", "y left"]
    tree.hierarchy.set_scheduler(tree.hierarchy.root, Priority())
    tree.hierarchy.bandwidth_changed(70_000.0)
    assert tree.hierarchy.statistics().children[0].weight == 0.1


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("a/1", "a/2", "b/1")),
            st.sampled_from(("text", "image", "font", "other")),
            st.integers(0, 9 * Q),
            st.lists(st.integers(1, 9 * Q), max_size=3, unique=True).map(sorted),
            st.integers(0, 6),
        ),
        max_size=14,
    )
)
def test_no_picture_moves_while_text_has_data(
    script: list[tuple[str, str, int, list[int], int]],
) -> None:
    tree = default_tree()
    text: list[Node] = []
    for i, (document, kind, nbytes, marks, picks) in enumerate(script):
        leaf = tree.leaf(f"{document}/{i}", nbytes, kind=kind, marks=tuple(marks))
        if kind == "text":
            text.append(leaf)
        for _ in range(picks):
            text_has_data = any(leaf.attached for leaf in text)
            grant = tree.mux.next_quantum(0.0)
            assert grant is None or (grant.leaf.kind == "text") == text_has_data
        check(tree.hierarchy)
    tree.serve()
    assert tree.hierarchy.root.backlog == 0
