"""A node that has reserved a rate gets it, texts wait no longer than they must, and the rest of the
link is shared as before."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hats.disciplines.fifo import Fifo
from hats.disciplines.text_first import TextFirst
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.multiplexer import Multiplexer
from hats.reservations import AHEAD, Reservations
from hats.tree.hierarchy import Hierarchy
from hats.tree.invariants import check
from hats.tree.node import Node
from hats.tree.scheduler import Scheduler

QUANTUM = 100
LINK = 1_000.0
"""Bytes/second."""


class World:
    """Documents 1 and 2 under one root; a link that takes a quantum after the other."""

    def __init__(self, root: Scheduler | None = None) -> None:
        self.tree = Hierarchy(root=root or WF2QPlus())
        self.reservations = Reservations(self.tree)
        self.mux = Multiplexer(self.tree, quantum=QUANTUM, reservations=self.reservations)
        self.documents = [
            self.tree.attach(self.tree.root, name, scheduler=Fifo(), keep=True) for name in "12"
        ]
        self.now = 0.0
        self.sent: list[tuple[float, str, int]] = []

    def leaf(
        self, name: str, *, document: int = 0, kind: str = "image", nbytes: int = 100_000
    ) -> Node:
        leaf = self.tree.attach(self.documents[document], name, kind=kind)
        self.tree.enqueue(leaf, nbytes)
        return leaf

    def reserve(self, node: Node, rate: float, delay: float = 1.0) -> None:
        self.reservations.set(node, rate=rate, delay=delay, now=self.now)

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            assert self.mux.has_data
            grant = self.mux.next_quantum(self.now)
            assert grant is not None
            check(self.tree)
            self.now += max(grant.length, 1) / LINK
            self.sent.append((self.now, grant.leaf.name, grant.length))

    def bytes_of(self, name: str, since: float = 0.0) -> int:
        return sum(length for at, leaf, length in self.sent if leaf == name and at > since)


def test_a_reserved_rate_is_had_beside_whatever_else_there_is() -> None:
    world = World()
    for number in range(9):
        world.leaf(f"p{number}", document=1)
    film = world.leaf("film", kind="media")
    world.tree.set_weight(world.documents[0], 0.01)
    world.reserve(film, 400.0)
    world.run(50.0)
    assert abs(world.bytes_of("film") / 50.0 - 400.0) < 8.0
    assert world.bytes_of("p0") > 25_000, "the rest is shared as ever"


def test_without_one_it_gets_its_share() -> None:
    world = World()
    world.leaf("p", document=1)
    world.leaf("film", kind="media")
    world.tree.set_weight(world.documents[0], 0.01)
    world.run(50.0)
    assert world.bytes_of("film") < 1_000


def test_it_is_a_floor_and_no_ceiling() -> None:
    world = World()
    film = world.leaf("film", kind="media")
    world.leaf("p", document=1)
    world.reserve(film, 100.0)
    world.run(20.0)
    assert abs(world.bytes_of("film") / 20.0 - 500.0) < 20.0, "half by its share"


def test_what_it_got_besides_is_owed_for_some_seconds_at_most() -> None:
    world = World()
    film = world.leaf("film", kind="media")
    world.reserve(film, 200.0)
    world.run(30.0)  # alone: five times its rate
    world.tree.set_weight(world.documents[0], 0.001)
    world.leaf("p", document=1)
    world.run(20.0)
    got = world.bytes_of("film", since=30.0)
    assert 200.0 * (20.0 - AHEAD) - 200 <= got <= 200.0 * 20.0


def test_texts_go_first_for_as_long_as_its_delay() -> None:
    world = World(TextFirst())
    film = world.leaf("film", kind="media")
    world.reserve(film, 400.0, delay=2.0)
    world.run(5.0)
    text = world.leaf("text", document=1, kind="text", nbytes=1_500)
    begun = world.now
    while text.attached and text.backlog:
        world.run(0.1)
    assert world.now - begun < 1.7, "a text of 1.5 s is not held up by a film that can wait for 2"
    world.leaf("book", document=1, kind="text", nbytes=1_000_000)
    world.run(40.0)
    late = 400.0 * 40.0 - world.bytes_of("film", since=begun)
    assert late < 400.0 * (2.0 + 1.0) + 2 * QUANTUM, "then it has its rate, and its delay behind"


def test_a_strategy_does_not_hold_it_back_but_a_command_does() -> None:
    world = World(TextFirst())
    world.leaf("book", document=1, kind="text", nbytes=1_000_000)
    film = world.leaf("film", kind="media")
    world.reserve(film, 300.0)
    world.run(10.0)
    had = world.bytes_of("film")
    assert had > 2_000
    world.tree.disable(film, by=world.tree.root)
    world.run(10.0)
    assert world.bytes_of("film") == had
    world.tree.withdraw(film, by=world.tree.root)
    world.run(10.0)
    assert abs(world.bytes_of("film") - had - 3_000) < 500, "what it could not have is not owed"


def test_a_document_may_have_one_and_shares_it_by_its_own_scheduler() -> None:
    world = World()
    world.leaf("a", nbytes=2_000)
    world.leaf("b")
    world.leaf("p", document=1)
    world.tree.set_weight(world.documents[0], 0.001)
    world.reserve(world.documents[0], 500.0)
    world.run(10.0)
    assert abs(world.bytes_of("a") + world.bytes_of("b") - 5_000) < 300
    assert world.bytes_of("a") == 2_000, "first in, first out"


def test_a_node_that_has_left_is_forgotten() -> None:
    world = World()
    film = world.leaf("film", nbytes=500)
    world.tree.finish(film)
    world.reserve(film, 100.0)
    world.leaf("p", document=1)
    world.run(3.0)
    world.reservations.sweep()
    assert not film.attached
    assert not len(world.reservations)


@pytest.mark.long
@given(
    st.lists(st.tuples(st.floats(20, 200), st.floats(0.1, 3)), min_size=1, max_size=4),
    st.lists(st.tuples(st.floats(0, 20), st.sampled_from(["text", "image"])), max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_whoever_has_data_is_never_further_behind_than_its_delay(
    reserved: list[tuple[float, float]], others: list[tuple[float, str]]
) -> None:
    world = World(TextFirst())
    films = []
    for number, (rate, delay) in enumerate(reserved):
        film = world.leaf(f"f{number}", kind="media")
        world.reserve(film, rate, delay)
        films.append((film, rate, delay))
    pending = sorted(others)
    world.leaf("p", document=1)
    slack = len(films) * QUANTUM / LINK + QUANTUM / LINK
    while world.now < 25.0:
        while pending and pending[0][0] <= world.now:
            _, kind = pending.pop(0)
            world.leaf(f"x{len(pending)}", document=1, kind=kind, nbytes=4_000)
        world.run(0.5)
        for film, rate, delay in films:
            owed = rate * (world.now - delay - slack) - film.sent
            assert owed <= QUANTUM, (rate, delay, world.now)
