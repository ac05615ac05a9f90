"""Tests of which fetches enter with deadlines and which expire early, by what the tree has to send
and what the link carries."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from admission.admission import Protects
from scheduling.deadlines import Deadlines, Missed, bytes_left
from scheduling.tree import Tree

ENDS = {"low": 1_000, "medium": 4_000, "original": 10_000}


class World:
    """A document's pictures in a tree, each of 10 KB in levels of 1, 4 and 10."""

    def __init__(self, *components: int) -> None:
        self.tree = Tree(quantum=1000)
        self.deadlines = Deadlines(self.tree)
        for component in components:
            self.picture(component)
            self.want(component, 8.0)

    def picture(self, component: int, ends: dict[str, int] = ENDS) -> None:
        leaf = self.tree.leaf(1, component, kind="image", order=component)
        marks = [*ends.values()]
        self.tree.set_marks(1, component, marks, marks, ends=ends)
        self.tree.hierarchy.enqueue(leaf, marks[-1])

    def want(
        self,
        component: int,
        deadline: float,
        priority: int = 0,
        *,
        level: str = "medium",
        rate: float | None = None,
        protects: Protects = Protects.ALL,
        goes_on: bool = False,
    ) -> Missed | None:
        return self.deadlines.set(
            component,
            level=level,
            priority=priority,
            deadline=deadline,
            now=0.0,
            rate=rate,
            protects=protects,
            goes_on=goes_on,
        )

    def expire(self, now: float, rate: float) -> list[int]:
        return [missed.component for missed in self.deadlines.expire(now, rate=rate)]

    def order(self) -> list[int]:
        """Whose quanta go, one number a run of quanta of the same component."""
        served: list[int] = []
        while (grant := self.tree.multiplexer.next_quantum(0.0)) is not None:
            if not served or served[-1] != int(grant.leaf.name):
                served.append(int(grant.leaf.name))
        return served


def test_what_fits_stays_and_the_first_that_does_not_expires() -> None:
    world = World(2, 4, 6, 8)
    assert world.expire(0.0, 2_000) == []  # 16 KB in 8 s
    assert world.expire(0.0, 1_500) == [8]
    assert world.expire(0.0, 1_500) == []
    assert world.expire(4.0, 1_500) == [4, 6]
    assert len(world.deadlines) == 1


def test_one_that_is_given_up_makes_room_for_those_behind_it() -> None:
    world = World(2, 4)
    world.tree.set_marks(1, 2, (1_000, 10_000), (), ends={"low": 1_000, "original": 10_000})
    assert world.expire(0.0, 600) == [2]


def test_urgent_ones_and_texts_go_before() -> None:
    world = World(2, 4)
    world.want(4, 8.0, priority=1)
    assert world.expire(0.0, 700) == [2]
    world.want(2, 8.0)
    text = world.tree.leaf(1, 1, kind="text", order=0)
    world.tree.hierarchy.enqueue(text, 20_000)
    assert world.expire(0.0, 2_500) == [4, 2]  # 20 KB take all of the 8 s
    assert world.expire(0.0, 2_500) == []


def test_what_can_not_be_in_time_is_refused_with_what_could_be() -> None:
    world = World(2, 4)
    assert world.expire(0.0, 1_000) == []
    world.picture(6)
    assert world.want(6, 8.0, rate=1_000) == Missed(6, "", 12.0, refused=True)
    assert world.want(6, 9.5, rate=1_000) == Missed(6, "low", 12.0, refused=True)
    assert world.want(6, 13.0, level="original", rate=1_000) == Missed(6, "medium", 18.0, True)
    assert world.want(6, 12.0, rate=1_000) is None
    assert len(world.deadlines) == 3


def test_a_newcomer_breaks_no_timer_that_it_must_protect() -> None:
    world = World(2)
    world.picture(4)
    assert world.want(4, 5.0, priority=1, rate=800) is not None  # 2 would be there after 10 s
    assert world.want(4, 5.0, priority=1, rate=800, protects=Protects.PEERS) is None
    assert world.expire(0.0, 800) == [2]


def test_the_tree_sends_by_deadline_within_a_priority_whatever_order_they_came_in() -> None:
    for order in permutations((2, 4, 6)):
        world = World()
        for component in (2, 4, 6, 8):
            world.picture(component)
        for component in order:
            world.want(component, {2: 20.0, 4: 6.0, 6: 9.0}[component], level="original")
        assert world.order() == [4, 6, 2, 8]


def test_a_document_has_the_earliest_deadline_of_its_parts() -> None:
    world = World(2)
    world.picture(4)
    world.want(4, 3.0)
    document = world.tree.document(1)
    assert document.deadline == 3.0
    assert document.parent is not None and document.parent.deadline == 3.0
    world.deadlines.clear(4)
    assert document.deadline == 8.0
    world.deadlines.clear(2)
    assert document.deadline is None and document.parent.deadline is None


def test_what_has_left_is_forgotten_without_a_word_and_what_is_late_is_told() -> None:
    world = World(2, 4, 6)
    world.tree.forget(2)
    world.deadlines.clear(4)
    assert world.expire(7.0, 1e6) == []
    assert len(world.deadlines) == 1
    assert world.deadlines.late(7.9) == []
    assert world.deadlines.late(8.0) == [6]
    assert len(world.deadlines) == 0
    assert world.deadlines.late(9.0) == []


@pytest.mark.parametrize(
    ("level", "left"), [("low", 1_000), ("medium", 4_000), ("high", 10_000), ("original", 10_000)]
)
def test_bytes_until_a_level(level: str, left: int) -> None:
    world = World(2)
    leaf = world.tree.find_leaf(2)
    assert leaf is not None
    assert bytes_left(world.tree, leaf, 2, level) == left


def test_one_of_unknown_size_expires_at_no_bandwidth_and_is_never_refused() -> None:
    world = World()
    world.tree.leaf(1, 2, kind="image", order=0)
    assert world.want(2, 8.0, rate=1.0) is None
    assert world.expire(0.0, 1.0) == []
    assert len(world.deadlines) == 1


def test_a_timer_may_be_set_before_its_component_is_there() -> None:
    world = World()
    world.tree.promise(1, 2, kind="image", order=0)
    world.want(2, 8.0, level="original")
    world.picture(4)
    world.picture(2)
    assert world.order() == [2, 4]


def test_a_time_outlasts_looks_at_the_link_before_its_component_enters_the_tree() -> None:
    world = World(2)
    assert world.want(4, 6.0, level="original", rate=5_000) is None
    assert (world.deadlines.until(4), world.deadlines.until(6)) == (6.0, None)
    assert world.expire(1.0, 5_000) == []
    assert len(world.deadlines) == 2
    world.picture(4)
    assert world.order() == [4, 2]


def test_one_that_is_called_off_before_it_enters_the_tree_has_no_time_any_more() -> None:
    world = World()
    world.want(4, 6.0)
    world.tree.forget(4)
    assert world.expire(1.0, 5_000) == []
    assert len(world.deadlines) == 0


def test_one_that_is_not_there_at_its_time_is_told_late() -> None:
    world = World()
    world.want(4, 6.0)
    assert world.deadlines.late(6.0) == [4]


def test_one_that_goes_on_is_lowered_to_what_can_be_in_time_and_nobody_hears_of_it() -> None:
    world = World()
    for component in (2, 4):
        world.picture(component)
    world.want(4, 5.0, level="original", goes_on=True)
    assert world.expire(0.0, 1_000) == []  # its 4 KB of `medium` take 4 s
    assert world.want(2, 4.0, rate=1_000) is not None, "they stand before what comes now"
    assert world.want(2, 10.0, rate=1_000) is None
    assert world.expire(4.5, 1_000) == []  # half a second brings not even 1 KB
    assert len(world.deadlines) == 1
    assert world.order() == [2, 4]


def test_one_that_goes_on_is_not_held_when_its_time_is_over() -> None:
    world = World(2)
    world.picture(4)
    world.want(4, 8.0, goes_on=True)
    assert world.deadlines.late(8.0) == [2]
    assert len(world.deadlines) == 0


@pytest.mark.parametrize("seed", range(40))
def test_all_that_is_admitted_is_in_time_and_no_fetch_was_refused_for_nothing(seed: int) -> None:
    """Against a brute-force oracle: an order that meets all deadlines, if there is one."""
    rng, rate = random.Random(seed), 1_000.0
    world = World()
    admitted: dict[int, tuple[int, float]] = {}
    for component in range(2, 14, 2):
        size = rng.randrange(500, 6_000)
        world.picture(component, {"original": size})
        deadline = rng.uniform(0.5, 14.0)
        candidate = {**admitted, component: (size, deadline)}
        refused = world.want(component, deadline, level="original", rate=rate)
        assert (refused is None) == feasible(candidate, rate)
        if refused is None:
            admitted = candidate
    now = 0.0
    while (grant := world.tree.multiplexer.next_quantum(now)) is not None:
        now += grant.length / rate
        component = int(grant.leaf.name)
        if component in admitted and grant.leaf.sent == admitted[component][0]:
            assert now <= admitted[component][1] + 1e-9


def feasible(wanted: dict[int, tuple[int, float]], rate: float) -> bool:
    """Whether any order of sending meets all deadlines."""
    for order in permutations(wanted.values()):
        now, met = 0.0, True
        for size, deadline in order:
            now += size / rate
            met = met and now <= deadline
        if met:
            return True
    return False
