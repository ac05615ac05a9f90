"""A leaf stops at its limit with the rest queued, and goes on when the limit is moved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hats.disciplines.fifo import Fifo
from hats.disciplines.low_fidelity_first import LowFidelityFirst
from hats.disciplines.text_first import TextFirst
from hats.multiplexer import Multiplexer
from hats.tree.errors import HierarchyError
from hats.tree.hierarchy import Hierarchy
from hats.tree.invariants import check
from hats.tree.node import Node, NodeState
from hats.tree.scheduler import Scheduler


class World:
    """Two pictures of 10 bytes under one node, served 4 bytes at a time."""

    def __init__(self, scheduler: Scheduler | None = None) -> None:
        self.tree = Hierarchy(root=scheduler or Fifo())
        self.mux = Multiplexer(self.tree, quantum=4)
        self.a, self.b = self.picture("a"), self.picture("b")

    def picture(self, name: str) -> Node:
        leaf = self.tree.attach(self.tree.root, name, kind="image")
        self.tree.enqueue(leaf, 10)
        return leaf

    def order(self) -> str:
        """Whose quanta go, until nothing may."""
        served = []
        while (grant := self.mux.next_quantum(0.0)) is not None:
            check(self.tree)
            served.append(f"{grant.leaf.name}{grant.length}")
        return ",".join(served)


def test_it_stops_there_and_others_go_on() -> None:
    world = World()
    world.tree.set_limit(world.a, 6)
    assert world.order() == "a4,a2,b4,b4,b2"
    assert (world.a.backlog, world.a.state) == (4, NodeState.WAITING)
    assert world.tree.root.state is NodeState.WAITING


def test_it_goes_on_without_a_byte_twice() -> None:
    world = World()
    world.tree.set_limit(world.a, 6)
    world.tree.finish(world.a)
    world.order()
    world.tree.set_limit(world.a, None)
    assert world.order() == "a4"
    assert not world.a.attached
    assert world.a.sent == 10


def test_what_comes_behind_the_limit_waits_and_an_end_does_too() -> None:
    world = World()
    world.tree.set_limit(world.a, 10)
    assert world.order() == "a4,a4,a2,b4,b4,b2"
    world.tree.enqueue(world.a, 5)
    world.tree.finish(world.a)
    assert world.order() == ""
    world.tree.set_limit(world.a, 11)
    assert world.order() == "a1"
    world.tree.set_limit(world.a, 15)
    assert world.order() == "a4"
    assert not world.a.attached


def test_one_that_has_gone_further_stops_where_it_is() -> None:
    world = World()
    world.mux.next_quantum(0.0)
    world.tree.set_limit(world.a, 2)
    assert world.order() == "b4,b4,b2"
    assert world.a.sent == 4


@pytest.mark.parametrize("scheduler", [TextFirst(), LowFidelityFirst()])
def test_a_strategy_does_not_wait_for_who_has_stopped(scheduler: Scheduler) -> None:
    world = World(scheduler)
    text = world.tree.attach(world.tree.root, "text", kind="text")
    world.tree.enqueue(text, 8)
    world.tree.set_limit(text, 4)
    assert world.order().startswith("text4,")
    assert world.b.sent == 10
    world.tree.set_limit(text, None)
    assert world.order() == "text4"


@pytest.mark.parametrize("limit", [-1, 0.5])
def test_a_limit_is_a_number_of_bytes(limit: float) -> None:
    with pytest.raises(HierarchyError):
        World().tree.set_limit(World().a, limit)


@given(st.lists(st.integers(0, 12), max_size=8), st.integers(1, 5))
def test_whatever_the_limits_nothing_goes_beyond_and_all_goes_in_the_end(
    limits: list[int], quantum: int
) -> None:
    world = World()
    world.mux.quantum = quantum
    highest = 0
    for limit in limits:
        world.tree.set_limit(world.a, limit)
        highest = max(highest, limit)
        world.order()
        assert world.a.sent <= min(10, highest)
        check(world.tree)
    world.tree.set_limit(world.a, None)
    world.order()
    assert world.a.sent == world.b.sent == 10
