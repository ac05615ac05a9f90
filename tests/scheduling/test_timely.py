"""Tests of the choice of levels for pictures of a document that is to be there by a time."""

from __future__ import annotations

import random

import pytest

from scheduling.timely import GRACE, USED, Timely
from scheduling.tree import Tree

ENDS = {"low": 1_000, "medium": 3_000, "high": 6_000, "original": 10_000}


class World:
    """A document that was asked for at 0 s and whose pictures are to be there after 10 s."""

    def __init__(self, *components: int, ends: dict[str, int] | None = None) -> None:
        self.tree = Tree(quantum=500)
        self.timely = Timely(self.tree)
        self.timely.opened(1, 0.0)
        for component in components:
            self.picture(component, ends or ENDS)

    def picture(self, component: int, ends: dict[str, int]) -> None:
        leaf = self.tree.leaf(1, component, kind="image", order=component)
        if ends:
            marks = [*ends.values()]
            self.tree.set_marks(1, component, marks, marks, ends=ends)
            self.tree.hierarchy.enqueue(leaf, marks[-1])
            self.tree.hierarchy.finish(leaf)
        self.timely.want(component, 1, 10.0)

    def look(self, now: float, rate: float | None) -> dict[int, str | None]:
        """What is to stop where, after a look."""
        for _ in self.timely.look(now, rate=rate):
            pass
        found = self.timely.document(1)
        return {} if found is None else {one: self.timely.level(one) for one in found.pictures}


@pytest.mark.parametrize(
    ("rate", "levels"),
    [
        (100, {2: "low", 4: "low"}),  # 2 KB do not fit into 950 bytes
        (220, {2: "low", 4: "low"}),
        (430, {2: "medium", 4: "low"}),
        (640, {2: "medium", 4: "medium"}),
        (950, {2: "high", 4: "medium"}),
        (2_200, {2: "original", 4: "original"}),
    ],
)
def test_one_level_for_all_before_the_next_for_any(rate: float, levels: dict[int, str]) -> None:
    world = World(2, 4)
    world.look(0.0, rate)
    found = world.timely.document(1)
    assert found is not None
    assert (found.levels, found.spare) == (levels, None)
    assert found.possible == (rate > 200)
    assert found.earliest == pytest.approx(2_000 / (USED * rate))


def test_a_time_that_cannot_be_met_is_said_once_with_the_one_that_can() -> None:
    world = World(2, 4)
    world.look(0.0, 100)
    assert world.timely.refused() == [], "one look tells little"
    world.look(1.0, 100)
    assert world.timely.refused() == [(1, pytest.approx(1 + 2_000 / (USED * 100)))]
    world.look(2.0, 90)
    assert world.timely.refused() == [], "said once"
    world.timely.want(2, 1, 11.0)
    for now in (3.0, 4.0):
        world.look(now, 90)
    assert len(world.timely.refused()) == 1, "that is another time"


def test_a_time_that_is_over_before_it_is_sure_is_said_all_the_same() -> None:
    world = World(2, 4)
    world.look(9.9, 100)
    assert world.timely.refused() == []
    world.look(10.0, 100)
    assert world.timely.refused() == [(1, pytest.approx(9.9 + 2_000 / (USED * 100)))]


def test_a_doubt_that_goes_away_is_not_said() -> None:
    world = World(2, 4)
    for now, rate in ((0.0, 100), (1.0, 900), (2.0, 100), (3.0, 900)):
        world.look(now, rate)
        assert world.timely.refused() == []


def test_once_what_is_chosen_has_gone_the_next_one_goes_on_all_the_same() -> None:
    world = World(2, 4)
    assert world.look(0.0, 430) == {2: "medium", 4: "low"}
    for component, level in ((2, "medium"), (4, "low")):
        world.tree.stop_at(component, level, at_least=False)
    while world.tree.multiplexer.next_quantum(0.0) is not None:
        pass
    assert world.look(8.0, 430) == {2: "medium", 4: None}, "the link would rest"
    assert world.look(9.5, 430) == {2: "medium", 4: None}, "it takes nobody's place"
    world.picture(6, ENDS)
    assert world.look(9.5, 430)[4] == "low", "not in the last second, where it would"


@pytest.mark.parametrize("kind", ["text", "script", "deferred_script"])
def test_texts_go_first(kind: str) -> None:
    world = World(2)
    text = world.tree.leaf(1, 1, kind=kind, order=0)
    world.tree.hierarchy.enqueue(text, 9_000)
    world.look(0.0, 1_060)
    found = world.timely.document(1)
    assert found is not None and (found.levels, found.possible) == ({2: "low"}, True)
    assert found.earliest == pytest.approx(10_000 / (USED * 1_060))


def test_pictures_that_are_not_made_yet_have_their_coarsest_level_kept_for_them() -> None:
    world = World(2)
    for component in (4, 6, 8):
        world.picture(component, {})
    world.look(0.0, 500)  # 4.75 KB: one of each, and 750 bytes are left
    found = world.timely.document(1)
    assert found is not None and found.levels == {2: "low"}
    world.look(0.0, 650)
    assert found.levels == {2: "medium"}


def test_it_chooses_anew_as_the_link_changes_and_what_was_sent_costs_nothing() -> None:
    world = World(2, 4)
    assert world.look(0.0, 2_200) == {2: "original", 4: "original"}
    for _ in range(8):
        world.tree.multiplexer.next_quantum(0.0)  # 2 KB of each
    world.look(8.0, 100)
    found = world.timely.document(1)
    assert found is not None
    assert (found.levels, found.possible, found.earliest) == ({2: "low", 4: "low"}, True, 8.0)
    world.look(8.0, 540)  # 1 KB more: the rest of one medium level
    assert found.levels == {2: "medium", 4: "low"}


def test_without_a_rate_nothing_is_decided_and_after_its_time_nothing_holds() -> None:
    world = World(2)
    assert world.look(0.0, None) == world.look(0.0, 0.0) == {2: None}
    assert world.look(1.0, 100.0) == {2: "low"}
    assert [*world.timely.look(10.0 + GRACE, rate=100.0)] == [2]
    assert world.timely.level(2) is None
    assert len(world.timely) == 0


def test_what_was_chosen_and_is_late_goes_before_what_goes_on() -> None:
    world = World(2, 4)
    world.look(0.0, 430)
    for component, level in ((2, "medium"), (4, "low")):
        world.tree.stop_at(component, level, at_least=False)
    while (leaf := world.tree.find_leaf(2)) is not None and leaf.sent < 2_500:
        assert world.tree.multiplexer.next_quantum(0.0) is not None
    assert world.look(10.0, 430) == {2: "medium", 4: "low"}, "500 bytes are late"
    while world.tree.multiplexer.next_quantum(10.0) is not None:
        pass
    assert leaf is not None and leaf.sent == 3_000
    assert sorted(world.timely.look(10.2, rate=430.0)) == [2, 4]
    assert world.timely.level(4) is None


def test_what_goes_on_does_not_wait_for_what_is_held() -> None:
    world = World(2, 4)
    world.look(0.0, 430)
    world.tree.hold(2, on=True)
    world.tree.hold(4, on=True)
    assert sorted(world.timely.look(10.0, rate=430.0)) == [2, 4]


def test_one_that_went_on_with_what_was_spare_waits_for_what_is_late() -> None:
    world = World(2, 4)
    world.look(0.0, 430)
    for component, level in ((2, "medium"), (4, "low")):
        world.tree.stop_at(component, level, at_least=False)
    while world.tree.multiplexer.next_quantum(0.0) is not None:
        pass
    assert world.look(8.0, 430) == {2: "medium", 4: None}
    world.picture(6, ENDS)  # comes late
    found = world.timely.document(1)
    assert found is not None
    found.levels[6] = "low"
    assert [*world.timely.look(10.0, rate=430.0)] == [4]
    assert world.timely.level(4) == "low"


def test_what_has_left_or_was_never_asked_for_is_not_kept() -> None:
    world = World(2, 4)
    world.timely.want(6, 99, 5.0)  # a document that nobody opened
    world.timely.forget(2)
    world.timely.forget(2)
    world.look(0.0, 200)
    found = world.timely.document(1)
    assert found is not None and set(found.pictures) == {4}
    world.timely.left(1)
    world.timely.want(8, 1, 5.0)
    assert len(world.timely) == 0


@pytest.mark.parametrize("seed", range(20))
def test_what_is_chosen_fits_and_is_sent_in_time(seed: int) -> None:
    """On a steady link that sends what is chosen, in whatever order the tree has."""
    rng = random.Random(seed)
    world, rate = World(), rng.uniform(400, 4_000)
    for component in range(2, 2 + 2 * rng.randrange(1, 12), 2):
        steps, end = {}, 0
        for name in ENDS:
            end += rng.randrange(200, 3_000)
            steps[name] = end
        world.picture(component, steps)
    now, looked = 0.0, -1.0
    chosen: dict[int, str] = {}
    while now < 10.0:
        if now >= looked + 0.25:
            looked = now
            for component in world.timely.look(now, rate=rate):
                level = world.timely.level(component)
                world.tree.stop_at(component, level or "original", at_least=False)
            found = world.timely.document(1)
            assert found is not None
            chosen, possible = dict(found.levels), found.possible
        grant = world.tree.multiplexer.next_quantum(now)
        now += 0.05 if grant is None else grant.length / rate
    if possible:
        for component, level in chosen.items():
            leaf, end = world.tree.find_leaf(component), world.tree.level_end(component, level)
            assert leaf is None or (end is not None and leaf.sent >= end - 500)
