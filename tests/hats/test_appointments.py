"""Leaves with appointments go before the tree's choice, and nothing else changes."""

from __future__ import annotations

import random

import pytest

from hats.appointments import Appointments
from hats.disciplines.fifo import Fifo
from hats.disciplines.low_fidelity_first import LowFidelityFirst
from hats.disciplines.round_robin import RoundRobin
from hats.disciplines.text_first import TextFirst
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.multiplexer import Multiplexer
from hats.tree.hierarchy import Hierarchy
from hats.tree.invariants import check
from hats.tree.node import Node
from hats.tree.scheduler import Scheduler


class World:
    """Documents 1 and 2 under one root, each with pictures of 4 bytes, 2 bytes a quantum."""

    def __init__(self, root: Scheduler | None = None) -> None:
        self.tree = Hierarchy(root=root or WF2QPlus())
        self.appointments = Appointments()
        self.mux = Multiplexer(self.tree, quantum=2, appointments=self.appointments)
        self.documents = [
            self.tree.attach(self.tree.root, name, scheduler=Fifo(), keep=True) for name in "12"
        ]

    def leaf(self, name: str, *, document: int = 0, kind: str = "image", nbytes: int = 4) -> Node:
        leaf = self.tree.attach(self.documents[document], name, kind=kind)
        self.tree.enqueue(leaf, nbytes)
        return leaf

    def appoint(self, leaf: Node, deadline: float, priority: int = 0) -> None:
        self.appointments.set(leaf, priority=priority, deadline=deadline)

    def order(self) -> str:
        served = []
        while (grant := self.mux.next_quantum(0.0)) is not None:
            check(self.tree)
            served.append(grant.leaf.name)
        return "".join(served)


def test_the_earliest_deadline_goes_first_within_a_priority() -> None:
    world = World()
    a, b, c = (world.leaf(name) for name in "abc")
    world.leaf("d", document=1)
    world.appoint(a, 9.0)
    world.appoint(b, 6.0)
    world.appoint(c, 99.0, priority=1)
    assert world.order() == "ccbbaadd"


def test_texts_go_before_where_it_is_their_turn() -> None:
    world = World(TextFirst())
    world.appoint(world.leaf("a"), 1.0)
    world.leaf("t", document=1, kind="text")
    assert world.order() == "ttaa"


@pytest.mark.parametrize("scheduler", [TextFirst(held_back=("image",)), LowFidelityFirst()])
def test_what_a_strategy_holds_back_keeps_its_appointment(scheduler: Scheduler) -> None:
    world = World(scheduler)
    world.appoint(world.leaf("a", nbytes=6000), 1.0)
    world.leaf("f", document=1, kind="font", nbytes=4)
    assert world.order().startswith("aaaa")


def test_what_a_command_disables_does_not() -> None:
    world = World()
    a, b = world.leaf("a"), world.leaf("b", document=1)
    world.appoint(a, 1.0)
    world.appoint(b, 2.0)
    world.tree.disable(a, by=world.tree.root)
    assert world.order() == "bb"
    world.tree.enable(a, by=world.tree.root)
    world.tree.disable(world.documents[0], by=world.tree.root)
    assert world.order() == ""
    assert not world.mux.has_data
    world.tree.enable(world.documents[0], by=world.tree.root)
    assert world.mux.has_data
    assert world.order() == "aa"


def test_it_goes_as_far_as_it_may_and_leaves_when_it_is_through() -> None:
    world = World()
    a = world.leaf("a", nbytes=7)
    world.leaf("b", document=1)
    world.tree.set_marks(a, (1, 7))
    world.tree.set_limit(a, 4)
    world.appoint(a, 1.0)
    assert world.order() == "aaabb"  # 1, 2, 1
    world.tree.set_limit(a, None)
    world.tree.finish(a)
    assert world.order() == "aa"
    assert not a.attached
    assert len(world.appointments) == 0
    late = world.leaf("z", nbytes=0)
    world.appoint(late, 1.0)
    world.tree.finish(late)
    assert world.order() == "z"


def test_one_without_data_waits_and_one_that_is_given_up_goes_as_usual() -> None:
    world = World()
    a, b = world.leaf("a", nbytes=0), world.leaf("b")
    world.appoint(a, 1.0)
    assert world.order() == "bb"
    assert world.appointments.key(a) == (0, 1.0)
    world.tree.enqueue(b, 2)
    world.tree.enqueue(a, 2)
    world.appointments.clear(a)
    assert world.order() == "ba"


def test_a_quantum_of_a_node_above_holds_for_appointments_too() -> None:
    world = World()
    a = world.leaf("a")
    world.tree.set_quantum(world.documents[0], 3)
    world.appoint(a, 1.0)
    assert world.mux.next_quantum(0.0) == (a, 3, False)


@pytest.mark.parametrize("make", [WF2QPlus, RoundRobin, LowFidelityFirst])
def test_who_goes_before_is_charged_for_it_and_others_catch_up(make: type[Scheduler]) -> None:
    world = World(make())
    a, b = world.leaf("a", nbytes=4000), world.leaf("b", document=1, nbytes=4000)
    world.appoint(a, 1.0)
    for _ in range(100):
        world.mux.next_quantum(0.0)
    assert (a.sent, b.sent) == (200, 0)
    world.appointments.clear(a)
    for _ in range(1000):
        world.mux.next_quantum(0.0)
        check(world.tree)
    if make is WF2QPlus:
        assert abs(a.sent - b.sent) <= 4
    else:
        assert b.sent >= 1000 - 2


def test_random_appointments_lose_no_byte_and_break_no_rule() -> None:
    rng = random.Random(1)
    world = World()
    leaves = [world.leaf(str(n), document=n % 2, nbytes=rng.randrange(1, 40)) for n in range(12)]
    total = sum(leaf.backlog for leaf in leaves)
    sent = 0
    for _ in range(400):
        leaf = rng.choice(leaves)
        if rng.random() < 0.2 and leaf.attached:
            world.appoint(leaf, rng.random(), rng.randrange(3))
        elif rng.random() < 0.1:
            world.appointments.clear(leaf)
        grant = world.mux.next_quantum(0.0)
        check(world.tree)
        sent += 0 if grant is None else grant.length
    assert sent == total
