"""Tests of the picture of a tree that others may keep: all of it, and of one moment."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from hats.disciplines.wf2q_plus import WF2QPlus
from hats.tree.node import NodeState
from hats.tree.statistics import NodeStatistics, picture
from tests.hats.trees import Q, Tree


def tree() -> Tree:
    made = Tree(WF2QPlus(), WF2QPlus, WF2QPlus)
    made.leaf("a/1/t", 3 * Q, kind="text")
    made.leaf("a/1/p", 4 * Q, marks=(Q, 2 * Q, 3 * Q), finish=False)
    made.leaf("a/2/p", 0, finish=False)
    return made


def at(root: NodeStatistics, *path: str) -> NodeStatistics:
    for name in path:
        root = next(one for one in root.children if one.name == name)
    return root


def test_every_node_is_in_it_under_its_path() -> None:
    root = picture(tree().hierarchy.root)
    assert root.path == ()
    assert at(root, "a", "1", "p").path == ("a", "1", "p")
    assert [one.name for one in at(root, "a").children] == ["1", "2"]
    assert [one.name for one in at(root, "a", "1").children] == ["t", "p"]


def test_a_part_of_a_tree_has_the_path_that_it_is_told() -> None:
    node = tree().hierarchy.find(("a", "1"))
    assert node is not None
    part = picture(node, ("a", "1"))
    assert at(part, "t").path == ("a", "1", "t")


def test_bytes_of_nodes_sum_their_leaves_and_leaves_tell_how_far_they_are() -> None:
    made = tree()
    grants = [made.mux.next_quantum(float(now)) for now in range(5)]
    served = [grant.leaf.name for grant in grants if grant is not None]
    root = made.hierarchy.statistics()
    leaf = at(root, "a", "1", "p")
    assert leaf.sent == Q * served.count("p") > 0
    assert root.sent == at(root, "a").sent == 5 * Q
    assert root.backlog == 7 * Q - 5 * Q
    assert (leaf.level_reached, leaf.levels) == (served.count("p"), 3)
    assert leaf.served_at == max(now for now, name in enumerate(served) if name == "p")
    assert root.served_at is None


def test_states_kinds_and_schedulers_are_those_of_the_nodes() -> None:
    made = tree()
    waiting = made.hierarchy.find(("a", "2", "p"))
    assert waiting is not None
    held = made.hierarchy.find(("a", "1", "p"))
    assert held is not None
    made.hierarchy.disable(held, by=made.hierarchy.root)
    root = picture(made.hierarchy.root)
    assert at(root, "a", "1", "t").state is NodeState.READY
    assert at(root, "a", "1", "p").state is NodeState.DISABLED
    assert at(root, "a", "2", "p").state is NodeState.WAITING
    assert (at(root, "a", "1", "t").kind, at(root, "a").kind) == ("text", "")
    assert (root.scheduler, at(root, "a", "1", "t").scheduler) == ("wf2q_plus", "")
    assert at(root, "a", "1", "t").finished and not at(root, "a", "1", "p").finished


def test_it_does_not_change_with_the_tree() -> None:
    made = tree()
    before = picture(made.hierarchy.root)
    made.serve()
    assert before.sent == 0 and before.backlog == 7 * Q
    assert picture(made.hierarchy.root) != before
    with pytest.raises(FrozenInstanceError):
        before.sent = 1  # type: ignore[misc]
