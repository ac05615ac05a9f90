"""Tests of the hierarchy by names: holds of two kinds, rules for nodes to come, forgetting."""

from __future__ import annotations

import pytest

from hats.tree.errors import SchedulerError
from scheduling.standing_rules import MAX_RULES
from scheduling.tree import Tree
from wire.applications import NODES, Application


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


def test_a_script_holds_up_what_is_behind_it_until_it_is_known_to_hold_nothing_up() -> None:
    tree = Tree(quantum=1000)
    tree.set_scheduler(("browser", "1"), "low_fidelity_first", {})
    tree.defer_script(2, on=True)  # before it enters
    for component, kind in ((2, "script"), (4, "script"), (6, "image")):
        leaf = tree.leaf(1, component, kind=kind, order=component)
        tree.hierarchy.enqueue(leaf, 5000)
        tree.hierarchy.set_marks(leaf, (1000,))

    def order() -> list[str]:
        return [grant.leaf.name for _ in range(2) if (grant := tree.multiplexer.next_quantum(0.0))]

    assert order() == ["4", "4"]
    tree.defer_script(4, on=True)
    assert order() == ["6", "2"]
    tree.defer_script(4, on=False)
    tree.leaf(1, 4, kind="script", order=4)  # its head has come
    tree.leaf(1, 2, kind="script", order=2)
    assert order() == ["4", "4"]
    tree.forget(2)
    assert 2 not in tree.known


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


def test_documents_stand_under_their_applications_whose_rules_hold_for_them() -> None:
    tree = Tree(quantum=1000)
    tree.set_weight(("office", "*"), 3.0)
    tree.set_weight(("*", "9"), 5.0)
    assert tree.document(7, Application.OFFICE).weight == 3.0
    assert tree.document(7).weight == 1.0
    assert {tree.document(9, one).weight for one in Application} == {5.0}
    assert [node.name for node in tree.hierarchy.root.children.values()] == list(NODES)


def test_a_document_closes_whichever_application_has_it() -> None:
    tree = Tree(quantum=1000)
    tree.set_weight(("office", "5"), 7.0)
    leaf = tree.leaf(5, 2, kind="text", order=0, application=Application.OFFICE)
    tree.hierarchy.enqueue(leaf, 100)
    assert tree.hierarchy.path(leaf) == ("office", "5", "2")
    tree.close_document(5)
    assert sending(tree) == []
    assert tree.document(5, Application.OFFICE).weight == 1.0


def test_a_document_grows_whichever_application_has_it() -> None:
    tree = Tree(quantum=1000)
    tree.grow(5)
    assert not tree.grows(5)  # not there
    leaf = tree.leaf(5, 2, kind="image", order=0, application=Application.OFFICE)
    tree.set_marks(5, 2, (10, 20), (15,), ends={"low": 10, "original": 20})
    tree.grow(5)
    assert tree.grows(5)
    assert tuple(leaf.marks) == (15,)


def test_applications_share_the_link_by_their_weights() -> None:
    tree = Tree(quantum=100)
    tree.set_weight(("browser",), 4.0)
    for component, application in ((2, Application.BROWSER), (4, Application.OFFICE)):
        leaf = tree.leaf(1, component, kind="image", order=0, application=application)
        tree.hierarchy.enqueue(leaf, 5_000)
    assert sending(tree)[:20].count("2") == 16


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


def settings(tree: Tree, component: int) -> tuple[float, int | None]:
    leaf = tree.find_leaf(component)
    assert leaf is not None
    return leaf.weight, leaf.quantum


@pytest.mark.parametrize("pattern", [("browser", "1", "2"), ("browser", "1", "*")])
def test_a_component_has_its_weight_and_quantum_now_and_if_it_enters_later(
    pattern: tuple[str, ...],
) -> None:
    for early in (True, False):
        tree = Tree(quantum=1000)
        if early:
            filled(tree, 2)
        tree.set_weight(pattern, 3.0)
        tree.set_quantum(pattern, 200)
        if not early:
            filled(tree, 2)
        filled(tree, 4, document=3)
        assert settings(tree, 2) == (3.0, 200)
        assert settings(tree, 4) == (1.0, None)
        tree.set_quantum(pattern, 0)
        assert settings(tree, 2) == (3.0, None)


def test_a_weight_of_a_component_changes_its_share() -> None:
    tree = Tree(quantum=100)
    for component in (2, 4):
        tree.hierarchy.enqueue(tree.leaf(1, component, kind="image", order=0), 10_000)
    tree.set_weight(("browser", "1", "2"), 3.0)
    served = [tree.multiplexer.next_quantum(0.0) for _ in range(40)]
    assert [grant.leaf.name for grant in served if grant].count("2") == 30


def test_a_quantum_holds_for_documents_that_come_later() -> None:
    tree = Tree(quantum=1000)
    tree.set_quantum(("browser", "*"), 300)
    assert tree.document(7).quantum == 300


def test_single_tunnels_keep_what_the_session_gives_them() -> None:
    tree = Tree(quantum=1000)
    leaf = tree.tunnel(1)
    before = leaf.weight
    tree.set_weight(("*", "*"), 3.0)
    assert leaf.weight == before


@pytest.mark.parametrize("how", ["forgotten", "sent in full", "closed", "never came"])
def test_what_was_said_of_a_component_leaves_with_it(how: str) -> None:
    tree = Tree(quantum=1000)
    for number in range(2, 2 * MAX_RULES + 2, 2):  # one more would be too many
        if how != "never came":
            filled(tree, number)
        tree.set_weight(("browser", "1", str(number)), 3.0)
        if how == "sent in full":
            tree.hierarchy.finish(tree.leaf(1, number, kind="image", order=0))
        if how == "forgotten":
            tree.forget(number)
    if how == "closed":
        tree.close_document(1)
    sending(tree)
    tree.sweep(live={1000})
    filled(tree, 2)
    assert settings(tree, 2) == (1.0, None)
    for number in range(MAX_RULES):
        tree.set_weight((f"later {number}",), 3.0)
    with pytest.raises(SchedulerError, match="more than 256 weights"):
        tree.set_weight(("one more",), 3.0)


def test_what_was_said_of_a_component_on_its_way_is_kept() -> None:
    tree = Tree(quantum=1000)
    tree.set_weight(("browser", "1", "2"), 3.0)
    tree.sweep(live={2})
    filled(tree, 2)
    assert settings(tree, 2) == (3.0, None)
