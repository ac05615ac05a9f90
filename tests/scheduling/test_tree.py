"""Tests of the hierarchy by names: holds of two kinds, rules for nodes to come, forgetting."""

from __future__ import annotations

import pytest

from hats.tree.errors import SchedulerError
from scheduling.tree import MAX_RULES, Tree


def sending(tree: Tree) -> list[str]:
    """Names of the leaves that get quanta, until nothing wants any more."""
    names = []
    while (grant := tree.multiplexer.next_quantum(0.0)) is not None:
        names.append(grant.leaf.name)
    return names


def filled(tree: Tree, component: int, *, document: int = 1, order: int = 0) -> None:
    leaf = tree.leaf(document, component, kind="image", order=order)
    tree.hierarchy.enqueue(leaf, 100)


def test_a_component_goes_on_once_neither_command_nor_plan_holds_it() -> None:
    tree = Tree(quantum=1000)
    filled(tree, 2)
    tree.hold(2, on=True, why="plan")
    tree.hold(2, on=True)
    tree.hold(2, on=False)
    assert sending(tree) == []
    tree.hold(2, on=False, why="plan")
    assert sending(tree) == ["2"]


def test_a_component_is_held_that_was_told_to_before_it_entered() -> None:
    tree = Tree(quantum=1000)
    tree.hold(2, on=True, why="plan")
    filled(tree, 2)
    filled(tree, 4)
    assert sending(tree) == ["4"]


def test_what_was_sent_is_forgotten() -> None:
    tree = Tree(quantum=1000)
    for component in (2, 4):
        filled(tree, component)
        tree.hold(component, on=False)
    leaf = tree.find_leaf(2)
    assert leaf is not None
    tree.hierarchy.finish(leaf)
    sending(tree)
    tree.sweep(live={4})
    assert tree.find_leaf(2) is None
    assert tree.find_leaf(4) is not None
    assert tree.known == {4}


def test_rules_hold_for_documents_that_come_later_and_have_a_bound() -> None:
    tree = Tree(quantum=1000)
    tree.set_weight(("browser", "*"), 3.0)
    tree.set_weight(("browser", "5"), 7.0)
    assert tree.document(1).weight == 3.0
    assert tree.document(5).weight == 7.0
    with pytest.raises(SchedulerError, match="more than"):
        for number in range(MAX_RULES + 1):
            tree.set_weight(("browser", f"x{number}"), 1.0)


def test_a_closed_document_takes_its_rules_with_it() -> None:
    tree = Tree(quantum=1000)
    tree.set_weight(("browser", "5"), 7.0)
    filled(tree, 2, document=5)
    tree.close_document(5)
    assert sending(tree) == []
    assert tree.document(5).weight == 1.0


def test_tunnels_go_before_pictures_while_two_ends_talk_in_them() -> None:
    tree = Tree(quantum=100)
    tree.set_scheduler((), "text_first", {})
    filled(tree, 2)
    tree.hierarchy.enqueue(tree.tunnel(1), 300)
    assert sending(tree) == ["1", "1", "1", "2"]


def test_a_transfer_in_a_tunnel_shares_with_pages_and_lets_talk_by() -> None:
    tree = Tree(quantum=100)
    for component in (1, 3):
        tree.tunnel(component)
    tree.set_talk(1, False)
    picture = tree.leaf(1, 2, kind="image", order=0)
    for leaf, amount in ((tree.find_leaf(1), 1000), (picture, 1000)):
        assert leaf is not None
        tree.hierarchy.enqueue(leaf, amount)
    served = [tree.multiplexer.next_quantum(0.0) for _ in range(10)]
    assert [grant.leaf.name for grant in served if grant].count("2") == 5
    talk = tree.find_leaf(3)
    assert talk is not None
    tree.hierarchy.enqueue(talk, 50)
    assert "3" in [
        grant.leaf.name for _ in range(3) if (grant := tree.multiplexer.next_quantum(0.0))
    ]
