"""Who is served in which order when children need bandwidth: strings, as the link changes."""

from __future__ import annotations

from hats.disciplines.bandwidth_shares import BandwidthShares
from hats.disciplines.fifo import Fifo
from hats.tree.node import Node
from tests.hats.trees import Q, Tree

LINK = 1000.0
"""Bytes/second: ten quanta."""


def shared(
    needs: dict[str, float], *, floor: float = 0.1, rate: float | None = LINK
) -> tuple[Tree, BandwidthShares]:
    scheduler = BandwidthShares(needs, floor=floor)
    tree = Tree(scheduler, Fifo, Fifo)
    if rate is not None:
        tree.hierarchy.bandwidth_changed(rate)
    return tree, scheduler


def counts(tree: Tree, quanta: int) -> str:
    served = tree.serve(quanta).split(",")
    return " ".join(f"{name}{served.count(name)}" for name in sorted(set(served)))


def named(tree: Tree, name: str) -> Node:
    node = tree.hierarchy.find([name])
    assert node is not None
    return node


def test_without_needs_it_shares_by_weight() -> None:
    tree, _ = shared({})
    tree.leaf("a", 9 * Q)
    b = tree.leaf("b", 9 * Q)
    tree.hierarchy.set_weight(b, 2.0)
    assert tree.serve(6) == "b,a,b,b,a,b"


def test_a_need_is_met_while_the_link_carries_it() -> None:
    tree, _ = shared({"m": 700})
    for name in "abm":
        tree.leaf(name, 99 * Q)
    assert tree.serve(10) == "m,a,m,m,b,m,m,a,m,m"
    tree.hierarchy.bandwidth_changed(2400)  # a third by weight is more than it needs
    assert counts(tree, 30) == "a10 b10 m10"


def test_before_the_link_is_known_needs_say_nothing() -> None:
    tree, _ = shared({"m": 700}, rate=None)
    tree.leaf("a", 9 * Q)
    tree.leaf("m", 9 * Q)
    assert tree.serve(4) == "a,m,a,m"


def test_when_the_link_fades_the_more_important_need_is_met_first() -> None:
    tree, _ = shared({"m": 500, "n": 400})
    for name in "amn":
        tree.leaf(name, 999 * Q)
    assert counts(tree, 100) == "a10 m50 n40"
    tree.hierarchy.bandwidth_changed(600)
    assert counts(tree, 120) == "a6 m100 n14"
    tree.hierarchy.set_priority(named(tree, "n"), 1)
    assert counts(tree, 120) == "a6 m34 n80"
    tree.hierarchy.bandwidth_changed(1000)
    assert counts(tree, 100) == "a10 m50 n40"


def test_a_need_without_data_keeps_nothing_from_others() -> None:
    tree, _ = shared({"m": 900, "n": 400})
    tree.leaf("a", 99 * Q)
    tree.leaf("n", 99 * Q, order=1)
    m = tree.leaf("m", Q, finish=False)
    assert tree.serve(1) == "m"
    assert counts(tree, 20) == "a10 n10"
    tree.hierarchy.enqueue(m, 40 * Q)
    assert counts(tree, 20) == "a1 m18 n1"


def test_a_name_goes_before_a_kind_and_a_kind_may_turn_out_later() -> None:
    tree, scheduler = shared({"media": 800, "x": 100})
    leaf = tree.leaf("m", 99 * Q, kind="other")
    x = tree.leaf("x", 99 * Q, kind="media")
    tree.leaf("a", 99 * Q, kind="image")
    assert scheduler.need(x) == 100
    assert counts(tree, 30) == "a10 m10 x10"
    tree.hierarchy.set_kind(leaf, "media")
    assert counts(tree, 50) == "a5 m40 x5"
    tree.hierarchy.set_kind(leaf, "other")
    assert counts(tree, 30) == "a10 m10 x10"


def test_the_weights_that_policies_set_stay_theirs() -> None:
    tree, _ = shared({"m": 800})
    m = tree.leaf("m", 99 * Q)
    a = tree.leaf("a", 99 * Q)
    tree.leaf("b", 99 * Q)
    assert counts(tree, 10) == "a1 b1 m8"
    assert m.weight == a.weight == 1.0
    tree.hierarchy.set_weight(a, 3.0)
    assert counts(tree, 40) == "a6 b2 m32"
    tree.hierarchy.remove(m)
    assert counts(tree, 20) == "a15 b5"
