"""Tests of which fetches expire early, by what the tree has to send and what the link carries."""

from __future__ import annotations

import pytest

from scheduling.deadlines import Deadlines, bytes_left
from scheduling.tree import Tree


class World:
    """A document's pictures in a tree, each of 10 KB in levels of 1, 4 and 10."""

    def __init__(self, *components: int) -> None:
        self.tree = Tree(quantum=1000)
        self.deadlines = Deadlines(self.tree)
        for component in components:
            leaf = self.tree.leaf(1, component, kind="image", order=component)
            self.tree.hierarchy.set_marks(leaf, (1_000, 4_000, 10_000))
            self.tree.hierarchy.enqueue(leaf, 10_000)
            self.want(component, 8.0)

    def want(self, component: int, deadline: float, priority: int = 0) -> None:
        self.deadlines.set(component, level="medium", priority=priority, deadline=deadline)


def test_what_fits_stays_and_the_first_that_does_not_expires() -> None:
    world = World(2, 4, 6, 8)
    assert world.deadlines.expire(0.0, rate=2_000) == []  # 16 KB in 8 s
    assert world.deadlines.expire(0.0, rate=1_500) == [8]
    assert world.deadlines.expire(0.0, rate=1_500) == []
    assert world.deadlines.expire(4.0, rate=1_500) == [4, 6]
    assert len(world.deadlines) == 1


def test_one_that_is_given_up_makes_room_for_those_behind_it() -> None:
    world = World(2, 4)
    leaf = world.tree.find_leaf(2)
    assert leaf is not None
    world.tree.hierarchy.set_marks(leaf, (1_000, 10_000))
    assert world.deadlines.expire(0.0, rate=600) == [2]


def test_urgent_ones_and_texts_go_before() -> None:
    world = World(2, 4)
    world.want(4, 8.0, priority=1)
    assert world.deadlines.expire(0.0, rate=700) == [2]
    world.want(2, 8.0)
    text = world.tree.leaf(1, 1, kind="text", order=0)
    world.tree.hierarchy.enqueue(text, 20_000)
    assert world.deadlines.expire(0.0, rate=2_500) == [4, 2]  # 20 KB take all of the 8 s
    assert world.deadlines.expire(0.0, rate=2_500) == []


def test_what_has_left_or_whose_time_is_over_is_forgotten_without_a_word() -> None:
    world = World(2, 4, 6)
    world.tree.forget(2)
    world.deadlines.clear(4)
    assert world.deadlines.expire(7.0, rate=1e6) == []
    assert len(world.deadlines) == 1
    assert world.deadlines.expire(8.0, rate=1.0) == []
    assert len(world.deadlines) == 0


@pytest.mark.parametrize(
    ("level", "left"), [("low", 1_000), ("medium", 4_000), ("original", 10_000)]
)
def test_bytes_until_a_level(level: str, left: int) -> None:
    world = World(2)
    leaf = world.tree.find_leaf(2)
    assert leaf is not None
    assert bytes_left(leaf, level) == left


def test_one_of_unknown_size_expires_at_no_bandwidth() -> None:
    world = World()
    world.tree.leaf(1, 2, kind="image", order=0)
    world.want(2, 8.0)
    assert world.deadlines.expire(0.0, rate=1.0) == []
    assert len(world.deadlines) == 1
