"""Rates are given as far as the link carries them, given up when it fades, and come back."""

from __future__ import annotations

import pytest

from scheduling.guarantees import MOST, PLAYED, RESTS, GuaranteeNews, Guarantees
from scheduling.tree import Tree

PAGE = ("browser", "1")


class World:
    """A page's films in a tree, and what they were given."""

    def __init__(self, *films: int) -> None:
        self.tree = Tree(quantum=1000)
        self.guarantees = Guarantees(self.tree)
        for film in films:
            self.film(film)

    def film(self, component: int, nbytes: int = 1_000_000) -> None:
        leaf = self.tree.leaf(1, component, kind="media", order=component)
        self.tree.hierarchy.enqueue(leaf, nbytes)

    def play(self, film: int, rate: float, *, link: float | None = 1000.0, now: float = 0) -> None:
        self.guarantees.read(film, rate, 2.0)
        self.guarantees.want(film, on=True)
        self.guarantees.look(now, link=link)

    def ask(
        self, path: tuple[str, ...], rate: float, *, link: float | None = 1000.0, now: float = 0
    ) -> str:
        return self.guarantees.ask(path, rate, 1.0, now=now, link=link)

    def reserved(self, film: int) -> float:
        leaf = self.tree.find_leaf(film)
        assert leaf is not None
        return self.tree.promised.reservations.rate(leaf)

    def news(self) -> list[tuple[str, bool]]:
        return [(path[-1], held) for path, _, held in self.guarantees.news()]


def test_films_have_half_of_the_link_together() -> None:
    world = World(2, 4, 6)
    world.play(2, 300.0)
    world.play(4, 300.0)  # too much beside the first
    world.play(6, 200.0)
    assert [world.reserved(film) for film in (2, 4, 6)] == [300.0, 0.0, 200.0]
    assert world.news() == [("2", True), ("4", False), ("6", True)]
    assert world.guarantees.promised(0.0) <= PLAYED * 1000.0


def test_whoever_asks_is_refused_with_the_reason() -> None:
    world = World(2)
    world.play(2, 500.0)
    why = world.ask(PAGE, 450.0)
    assert "450 bytes/second can't be guaranteed" in why
    assert "carries 1000, of which 500 are promised" in why
    assert world.ask(PAGE, 400.0) == ""
    assert world.ask(PAGE, 390.0) == "", "less than it has is no more"
    assert world.guarantees.promised(0.0) == 890.0
    assert world.ask(PAGE, 0.0) == ""
    assert world.guarantees.promised(0.0) == 500.0


def test_a_film_has_its_rate_while_the_plan_wants_it() -> None:
    world = World(2)
    world.guarantees.want(2, on=True)
    world.guarantees.look(0.0, link=1000.0)
    assert world.reserved(2) == 0.0, "nobody knows it yet"
    world.guarantees.read(2, 300.0, 2.0)
    world.guarantees.look(1.0, link=1000.0)
    assert world.reserved(2) == 300.0
    world.guarantees.want(2, on=False)
    world.guarantees.look(2.0, link=1000.0)
    assert world.reserved(2) == 0.0
    assert len(world.guarantees) == 0
    first, last = world.guarantees.news()
    assert (first.rate, first.held) == (300.0, True)
    assert (last.rate, last.held) == (0.0, False), "so nobody is shown that it has one"


def test_what_was_read_of_films_that_are_gone_is_forgotten() -> None:
    world = World()
    for film in (2, 4):
        world.guarantees.read(film, 200.0, 1.0)
        world.guarantees.want(film, on=True)
    world.guarantees.sweep({4})
    world.film(2)
    world.film(4)
    world.guarantees.look(0.0, link=1000.0)
    assert (world.reserved(2), world.reserved(4)) == (0.0, 200.0)


@pytest.mark.parametrize("rate", [5.0, float("nan"), float("inf"), -1.0])
def test_a_file_may_say_what_it_likes(rate: float) -> None:
    world = World(2)
    world.play(2, rate)
    assert world.reserved(2) == 0.0
    assert world.news() == []


def test_nothing_is_refused_while_nothing_is_measured() -> None:
    world = World(2)
    world.play(2, 5_000.0, link=None)
    assert world.reserved(2) == 5_000.0


def test_the_newest_is_given_up_first_and_comes_back() -> None:
    world = World(2, 4)
    world.play(2, 200.0)
    world.play(4, 200.0)
    world.news()
    world.guarantees.look(1.0, link=750.0)
    assert world.news() == [], "an estimate wavers"
    world.guarantees.look(2.0, link=700.0)
    assert world.news() == [("4", False)]
    assert (world.reserved(2), world.reserved(4)) == (200.0, 0.0)
    world.guarantees.look(3.0, link=750.0)
    assert world.news() == []
    world.guarantees.look(4.0, link=800.0)
    assert world.news() == [("4", True)]
    assert world.reserved(4) == 200.0


def test_what_was_asked_for_is_given_up_and_comes_back_as_well() -> None:
    world = World(2)
    assert world.ask(PAGE, 800.0) == ""
    world.guarantees.look(1.0, link=850.0)
    world.guarantees.look(2.0, link=700.0)
    world.guarantees.look(3.0, link=900.0)
    assert world.news() == [("1", True), ("1", False), ("1", True)]


def test_a_film_that_nobody_plays_leaves_its_rate_to_others() -> None:
    world = World(2, 4)
    world.play(2, 300.0)
    world.play(4, 300.0)
    world.news()
    leaf = world.tree.find_leaf(2)
    assert leaf is not None
    world.tree.hierarchy.sent(leaf, leaf.backlog, now=5.0)  # its browser takes no more
    world.guarantees.look(6.0, link=1000.0)
    assert world.news() == []
    world.guarantees.look(5.0 + RESTS, link=1000.0)
    assert world.news() == [("4", True)]
    world.tree.hierarchy.enqueue(leaf, 1000)  # it goes on: who came first has its rate
    world.guarantees.look(20.0, link=1000.0)
    assert world.news() == [("4", False)]
    assert (world.reserved(2), world.reserved(4)) == (300.0, 0.0)


def test_what_has_left_has_none() -> None:
    world = World(2, 4)
    world.play(2, 200.0)
    world.play(4, 200.0)
    world.guarantees.forget(2)
    world.tree.forget(4)
    world.guarantees.look(1.0, link=1000.0)
    assert len(world.guarantees) == 0
    assert world.reserved(2) == 0.0


def test_a_node_that_is_not_there_yet_has_it_once_it_is() -> None:
    world = World()
    assert world.ask((*PAGE, "2"), 300.0) == ""
    world.film(2)
    assert world.reserved(2) == 0.0
    world.guarantees.look(1.0, link=1000.0)
    assert world.reserved(2) == 300.0
    assert world.guarantees.news() == [GuaranteeNews((*PAGE, "2"), 300.0, held=True)]


@pytest.mark.parametrize(
    ("path", "rate", "delay", "why"),
    [
        ((), 500.0, 1.0, "one application, document or component"),
        (("browser", "*"), 500.0, 1.0, "one application, document or component"),
        (("browser", "x" * 65), 500.0, 1.0, "no node has such a path"),
        (("a", "b", "c", "d"), 500.0, 1.0, "one application, document or component"),
        (PAGE, 5.0, 1.0, "must be 100 to"),
        (PAGE, float("nan"), 1.0, "must be 100 to"),
        (PAGE, -500.0, 1.0, "must be 100 to"),
        (PAGE, 500.0, -1.0, "delay of -1"),
        (PAGE, 500.0, float("inf"), "delay of inf"),
    ],
)
def test_what_is_none_is_refused(
    path: tuple[str, ...], rate: float, delay: float, why: str
) -> None:
    world = World()
    assert why in world.guarantees.ask(path, rate, delay, now=0.0, link=1e9)
    assert len(world.guarantees) == 0


def test_there_are_so_many_at_most() -> None:
    world = World(*range(2, 2 * MOST + 10, 2))
    for film in range(2, 2 * MOST + 10, 2):
        world.play(film, 100.0, link=None)
    assert len(world.guarantees) == MOST
    assert "which is the most" in world.ask(PAGE, 200.0, link=None)
