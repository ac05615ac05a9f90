"""The rules of the tree: states, leaving, disabling, parameters, bad input."""

from __future__ import annotations

from math import inf, nan

import msgspec
import pytest

from hats.disciplines.fifo import Fifo
from hats.disciplines.low_fidelity_first import LowFidelityFirst
from hats.disciplines.text_first import TextFirst
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.multiplexer import Grant, Multiplexer
from hats.tree.errors import HierarchyError
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node, NodeState
from hats.tree.rules import MAX_DEPTH, MAX_MARKS, MAX_QUANTUM


class Tree:
    """root > browser > 7 > 21, 22"""

    def __init__(self, *, keep: bool = False) -> None:
        self.hierarchy = Hierarchy(root=WF2QPlus())
        self.root = self.hierarchy.root
        self.app = self.hierarchy.attach(
            self.root, "browser", scheduler=WF2QPlus(), weight=1.0, keep=keep
        )
        self.doc = self.hierarchy.attach(
            self.app, "7", scheduler=LowFidelityFirst(), weight=0.8, keep=keep
        )
        self.text = self.hierarchy.attach(self.doc, "21", kind="text", order=1)
        self.image = self.hierarchy.attach(self.doc, "22", kind="image", order=2)
        self.mux = Multiplexer(self.hierarchy, quantum=100)

    def serve(self) -> Grant:
        grant = self.mux.next_quantum(1.0)
        assert grant is not None
        return grant


def test_states() -> None:
    tree = Tree()
    assert tree.image.state is NodeState.WAITING
    assert tree.doc.state is NodeState.WAITING
    tree.hierarchy.enqueue(tree.image, 10)
    assert [node.state for node in (tree.image, tree.doc, tree.app, tree.root)] == ["ready"] * 4
    tree.hierarchy.disable(tree.image, by=tree.doc)
    assert tree.image.state is NodeState.DISABLED
    assert tree.root.state is NodeState.WAITING
    assert tree.mux.next_quantum(0.0) is None
    tree.hierarchy.enable(tree.image, by=tree.doc)
    assert tree.serve() == (tree.image, 10, False)
    assert tree.root.state is NodeState.WAITING


def test_a_leaf_leaves_when_finished_and_sent_and_its_parents_with_it() -> None:
    tree = Tree()
    tree.hierarchy.enqueue(tree.image, 150)
    tree.hierarchy.remove(tree.text)
    tree.hierarchy.finish(tree.image)
    assert tree.serve() == (tree.image, 100, False)
    assert tree.serve() == (tree.image, 50, True)
    assert not tree.image.attached
    assert not tree.doc.attached
    assert tree.root.children == {}
    assert tree.hierarchy.path(tree.image) == ("browser", "7", "22")
    assert tree.mux.next_quantum(0.0) is None


def test_the_end_of_a_drained_leaf_is_granted_as_an_empty_quantum() -> None:
    tree = Tree(keep=True)
    tree.hierarchy.enqueue(tree.image, 100)
    assert tree.serve() == (tree.image, 100, False)
    tree.hierarchy.finish(tree.image)
    tree.hierarchy.finish(tree.image)  # once is enough
    assert tree.image.state is NodeState.READY
    assert tree.serve() == (tree.image, 0, True)
    assert not tree.image.attached
    assert tree.doc.attached


def test_interior_nodes_stay_on_request_until_finished() -> None:
    tree = Tree(keep=True)
    tree.hierarchy.remove(tree.text)
    tree.hierarchy.finish(tree.doc)
    assert tree.doc.attached  # a child is left
    tree.hierarchy.finish(tree.image)
    assert tree.serve().last
    assert not tree.doc.attached
    assert tree.app.attached
    tree.hierarchy.finish(tree.app)
    assert not tree.app.attached


def test_a_new_interior_node_stays_until_it_had_a_child() -> None:
    tree = Tree()
    other = tree.hierarchy.attach(tree.app, "8", scheduler=Fifo())
    tree.hierarchy.remove(tree.doc)
    assert tree.app.attached
    leaf = tree.hierarchy.attach(other, "1")
    tree.hierarchy.remove(leaf)
    assert not other.attached
    assert not tree.app.attached


def test_remove_takes_the_subtree_and_its_backlog() -> None:
    tree = Tree(keep=True)
    tree.hierarchy.enqueue(tree.image, 70)
    tree.hierarchy.enqueue(tree.text, 30)
    assert tree.root.backlog == 100
    tree.hierarchy.remove(tree.doc)
    assert (tree.root.backlog, tree.app.backlog) == (0, 0)
    assert not tree.image.attached
    assert tree.root.state is NodeState.WAITING
    tree.hierarchy.remove(tree.doc)  # has left already
    with pytest.raises(HierarchyError, match="has left"):
        tree.hierarchy.enqueue(tree.image, 1)
    with pytest.raises(HierarchyError, match="has left"):
        tree.hierarchy.attach(tree.doc, "23")
    with pytest.raises(HierarchyError, match="has left"):
        tree.hierarchy.finish(tree.image)


def test_find_and_path() -> None:
    tree = Tree()
    assert tree.hierarchy.find([]) is tree.root
    assert tree.hierarchy.find(["browser", "7", "22"]) is tree.image
    assert tree.hierarchy.find(["browser", "9", "22"]) is None
    assert tree.hierarchy.find(["browser", "7", "22", "x"]) is None
    assert tree.hierarchy.path(tree.root) == ()
    assert [leaf.name for leaf in tree.hierarchy.leaves()] == ["21", "22"]


def test_counts_go_up_the_path() -> None:
    tree = Tree(keep=True)
    tree.hierarchy.enqueue(tree.image, 150)
    tree.hierarchy.enqueue(tree.image, 0)
    tree.serve()
    for node in (tree.image, tree.doc, tree.app, tree.root):
        assert (node.sent, node.backlog) == (100, 50)
    tree.hierarchy.unqueue(tree.image, 50)
    assert tree.root.backlog == 0
    assert tree.mux.next_quantum(0.0) is None
    assert tree.image.served_at == 1.0
    with pytest.raises(HierarchyError, match="no 1 bytes"):
        tree.hierarchy.unqueue(tree.image, 1)


def test_bytes_at_the_end_may_go_before_those_before_them() -> None:
    """As over a longer path. What is reached of the leaf is told by those that went in turn."""
    tree = Tree()
    tree.hierarchy.set_marks(tree.image, (300, 1_000))
    tree.hierarchy.enqueue(tree.image, 1_000)
    tree.hierarchy.finish(tree.image)
    tree.hierarchy.sent_ahead(tree.image, 400, now=2.0)
    tree.hierarchy.sent_ahead(tree.image, 350, now=2.0)
    assert (tree.image.sent, tree.image.ahead, tree.image.total) == (0, 750, 1_000)
    assert tree.image.level_reached == 0
    assert tree.image.served_at == 2.0
    for node in (tree.doc, tree.app, tree.root):
        assert (node.sent, node.backlog) == (750, 250)
    assert [tree.serve().length for _ in range(3)] == [100, 100, 50]
    assert not tree.image.attached
    assert tree.root.sent == 1_000


def test_nothing_goes_ahead_of_what_is_not_there() -> None:
    tree = Tree()
    tree.hierarchy.enqueue(tree.image, 1_000)
    with pytest.raises(HierarchyError, match="no 10 bytes"):
        tree.hierarchy.sent_ahead(tree.image, 10, now=0.0)  # more may come behind them
    tree.hierarchy.finish(tree.image)
    for length in (0, 1_000):
        with pytest.raises(HierarchyError, match=f"no {length} bytes"):
            tree.hierarchy.sent_ahead(tree.image, length, now=0.0)
    assert tree.image.backlog == tree.root.backlog == 1_000


def test_taking_back_all_of_a_finished_leaf_leaves_its_end_to_send() -> None:
    tree = Tree()
    tree.hierarchy.enqueue(tree.image, 50)
    tree.hierarchy.finish(tree.image)
    tree.hierarchy.unqueue(tree.image, 50)
    assert tree.serve() == (tree.image, 0, True)


# -- who may enable --------------------------------------------------------------------------


def test_only_one_as_high_as_the_disabler_enables() -> None:
    tree = Tree()
    tree.hierarchy.disable(tree.image, by=tree.app)
    with pytest.raises(HierarchyError, match="disabled at 'browser', above '7'"):
        tree.hierarchy.enable(tree.image, by=tree.doc)
    assert tree.image.state is NodeState.DISABLED
    tree.hierarchy.enable(tree.image, by=tree.app)
    assert tree.image.state is NodeState.WAITING
    tree.hierarchy.disable(tree.image, by=tree.app)
    tree.hierarchy.enable(tree.image, by=tree.root)  # higher will do
    assert tree.image.state is NodeState.WAITING


def test_the_highest_disabler_counts() -> None:
    tree = Tree()
    tree.hierarchy.disable(tree.image, by=tree.doc)
    tree.hierarchy.disable(tree.image, by=tree.root)
    tree.hierarchy.disable(tree.image, by=tree.root)
    with pytest.raises(HierarchyError, match="at the root, above 'browser'"):
        tree.hierarchy.enable(tree.image, by=tree.app)
    tree.hierarchy.enable(tree.image, by=tree.root)
    assert tree.image.state is NodeState.WAITING  # the root's word ends the document's too
    tree.hierarchy.enable(tree.image, by=tree.doc)  # nothing left to undo


def test_only_ancestors_disable() -> None:
    tree = Tree()
    for by in (tree.text, tree.image):
        with pytest.raises(HierarchyError, match="no ancestor"):
            tree.hierarchy.disable(tree.image, by=by)
    with pytest.raises(HierarchyError, match="no ancestor"):
        tree.hierarchy.enable(tree.root, by=tree.root)


def test_only_one_as_high_as_the_scheduler_that_holds_enables() -> None:
    tree = Tree()
    tree.hierarchy.set_scheduler(tree.root, TextFirst())
    tree.hierarchy.enqueue(tree.text, 10)
    tree.hierarchy.enqueue(tree.image, 10)
    assert tree.mux.has_data
    assert tree.image.state is NodeState.DISABLED
    with pytest.raises(HierarchyError, match="at the root"):
        tree.hierarchy.enable(tree.image, by=tree.app)
    tree.hierarchy.withdraw(tree.image, by=tree.root)  # takes back nothing: the strategy goes on
    assert tree.image.state is NodeState.DISABLED
    tree.hierarchy.enable(tree.image, by=tree.root)  # as high as the disabler
    assert tree.image.state is NodeState.READY


def test_a_disabled_subtree() -> None:
    tree = Tree()
    tree.hierarchy.enqueue(tree.image, 10)
    tree.hierarchy.disable(tree.app, by=tree.root)
    assert tree.image.state is NodeState.READY
    assert tree.app.state is NodeState.DISABLED
    assert tree.mux.next_quantum(0.0) is None
    tree.hierarchy.enqueue(tree.text, 10)
    tree.hierarchy.enable(tree.app, by=tree.root)
    assert tree.serve().leaf is tree.text


# -- the multiplexer -------------------------------------------------------------------------


def test_no_grant_spans_a_fidelity_mark() -> None:
    tree = Tree()
    tree.hierarchy.set_marks(tree.image, (30, 130, 1000))
    tree.hierarchy.enqueue(tree.image, 250)
    levels = []
    while tree.image.backlog:
        levels.append((tree.serve().length, tree.image.level_reached))
    assert levels == [(30, 1), (100, 2), (100, 2), (20, 2)]


def test_marks_set_late_count_from_what_was_sent() -> None:
    tree = Tree()
    tree.hierarchy.enqueue(tree.image, 150)
    tree.serve()
    tree.hierarchy.set_marks(tree.image, (50, 100, 120))
    assert tree.image.level_reached == 2
    assert tree.serve().length == 20
    assert tree.image.level_reached == 3
    tree.hierarchy.set_marks(tree.image, ())
    assert (tree.image.level_reached, tree.serve().length) == (0, 30)


@pytest.mark.parametrize("marks", [(0, 1), (5, 5), (5, 4), (-1,), tuple(range(1, MAX_MARKS + 2))])
def test_bad_marks(marks: tuple[int, ...]) -> None:
    tree = Tree()
    with pytest.raises(HierarchyError, match="marks"):
        tree.hierarchy.set_marks(tree.image, marks)
    assert tree.image.marks == ()


def test_quantum_at_run_time_and_per_node() -> None:
    tree = Tree()
    tree.hierarchy.enqueue(tree.image, 10_000)
    assert tree.serve().length == 100
    tree.mux.quantum = 512
    assert (tree.mux.quantum, tree.serve().length) == (512, 512)
    tree.hierarchy.set_quantum(tree.app, 64)
    assert tree.serve().length == 64
    tree.hierarchy.set_quantum(tree.image, 32)
    assert tree.serve().length == 32
    tree.hierarchy.set_quantum(tree.image, None)
    tree.hierarchy.set_quantum(tree.app, None)
    assert tree.serve().length == 512


@pytest.mark.parametrize("quantum", [0, -1, MAX_QUANTUM + 1, 1.5])
def test_bad_quantum(quantum: int) -> None:
    tree = Tree()
    with pytest.raises(HierarchyError, match="quantum"):
        tree.mux.quantum = quantum
    with pytest.raises(HierarchyError, match="quantum"):
        tree.hierarchy.attach(tree.doc, "x", quantum=quantum)
    assert tree.mux.quantum == 100
    assert "x" not in tree.doc.children


def test_an_empty_hierarchy_has_nothing() -> None:
    mux = Multiplexer(Hierarchy(root=TextFirst()))
    assert mux.next_quantum(0.0) is None
    assert not mux.has_data


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.0, -1.0, inf, nan, 1e9])
def test_bad_weight(weight: float) -> None:
    tree = Tree()
    with pytest.raises(HierarchyError, match="weight"):
        tree.hierarchy.set_weight(tree.app, weight)
    with pytest.raises(HierarchyError, match="weight"):
        tree.hierarchy.attach(tree.root, "x", weight=weight)
    assert tree.app.weight == 1.0


def test_wrong_use_raises_and_changes_nothing() -> None:
    tree = Tree()
    hierarchy = tree.hierarchy
    with pytest.raises(HierarchyError, match="is a leaf"):
        hierarchy.attach(tree.image, "x")
    with pytest.raises(HierarchyError, match="already"):
        hierarchy.attach(tree.doc, "22")
    with pytest.raises(HierarchyError, match="not a leaf"):
        hierarchy.enqueue(tree.doc, 1)
    with pytest.raises(HierarchyError, match="number of bytes"):
        hierarchy.enqueue(tree.image, -1)
    with pytest.raises(HierarchyError, match="number of bytes"):
        hierarchy.set_size(tree.image, -1)
    with pytest.raises(HierarchyError, match="not a number"):
        hierarchy.set_deadline(tree.image, nan)
    with pytest.raises(HierarchyError, match="is a leaf"):
        hierarchy.set_scheduler(tree.image, Fifo())
    with pytest.raises(HierarchyError, match="root can't be removed"):
        hierarchy.remove(tree.root)
    with pytest.raises(HierarchyError, match="root can't be finished"):
        hierarchy.finish(tree.root)
    with pytest.raises(HierarchyError, match="rate"):
        hierarchy.bandwidth_changed(nan)
    hierarchy.finish(tree.image)
    with pytest.raises(HierarchyError, match="finished"):
        hierarchy.enqueue(tree.image, 1)
    assert tree.root.backlog == 0
    assert set(tree.doc.children) == {"21", "22"}


def test_depth_is_bounded() -> None:
    hierarchy = Hierarchy(root=Fifo())
    node = hierarchy.root
    for depth in range(MAX_DEPTH):
        node = hierarchy.attach(node, str(depth), scheduler=Fifo())
    with pytest.raises(HierarchyError, match="deeper"):
        hierarchy.attach(node, "x")


# -- statistics ------------------------------------------------------------------------------


def test_statistics_are_a_snapshot_that_can_be_sent() -> None:
    tree = Tree()
    tree.hierarchy.set_marks(tree.image, (10, 20))
    tree.hierarchy.enqueue(tree.image, 15)
    tree.serve()
    before = tree.hierarchy.statistics()
    tree.serve()
    document = before.children[0].children[0]
    image = document.children[1]
    assert (document.name, document.scheduler, document.weight) == ("7", "low_fidelity_first", 0.8)
    assert image.path == ("browser", "7", "22")
    assert (image.kind, image.state, image.sent, image.backlog) == ("image", "ready", 10, 5)
    assert (image.level_reached, image.levels, image.served_at) == (1, 2, 1.0)
    assert tree.image.sent == 15
    decoded = msgspec.json.decode(msgspec.json.encode(before))
    assert decoded["children"][0]["children"][0]["children"][1]["state"] == "ready"


def test_reprs_say_what_a_test_wants_to_know() -> None:
    tree = Tree()
    tree.hierarchy.enqueue(tree.image, 5)
    assert repr(tree.image) == "<Node '22' image ready backlog=5 sent=0>"
    assert repr(tree.doc) == "<Node '7' low_fidelity_first ready backlog=5 sent=0>"
    assert repr(tree.hierarchy) == "<Hierarchy backlog=5 sent=0>"
    assert repr(Node("x", None, serial=1)) == "<Node 'x' leaf waiting backlog=0 sent=0>"
