"""A day's budget lets in whole what it has room for, and nothing of what it has none for."""

from __future__ import annotations

from datetime import date

import pytest

from local_proxy.link.components import Component, ComponentFailed, OriginHead
from local_proxy.sites.day_budget import DayBudget
from local_proxy.sites.rations import Rations, size_of
from wire.skeleton import Kind, Level

SIZE = 1_000_000
LEVELS = (Level("low", 0, 2_000, "image/jpeg"), Level("original", 0, 9_000, "image/jpeg"))


def picture(number: int, size: int | None = None, kind: str = "image/webp") -> Component:
    """One that a page is promised; its head is here if `size` is said."""
    component = Component(number, 1, f"http://a/{number}", Kind.IMAGE, promised=True)
    component.rationed = True
    if size is not None:
        answer(component, size, kind)
    return component


def answer(component: Component, size: int | None, kind: str = "image/webp") -> None:
    component.head = OriginHead(200, [("content-type", kind)], size)


class Day:
    def __init__(self, crossed: int = 0) -> None:
        self.crossed = crossed
        self.refused: list[int] = []
        self.budget = DayBudget(
            SIZE, crossed=lambda: self.crossed, today=lambda: date(2026, 11, 30)
        )
        self.seen: list[int] = []
        self.rations = Rations(
            self.budget,
            lambda one: self.seen.append(one.id),
            refuse=lambda one: self.refused.append(one.id),
        )

    def come(self, component: Component, amount: int) -> None:
        component.carried += amount
        self.crossed += amount
        self.rations.look(component)


def test_what_was_let_in_counts_before_it_has_come() -> None:
    day = Day()
    pictures = [picture(number, 400_000) for number in range(1, 4)]
    for one in pictures:
        day.rations.look(one)
    assert day.refused == [3], "1.2 MB of 1 MB"
    assert pictures[2].spared
    assert not day.budget.gone, "smaller ones still have room"
    day.rations.look(picture(4, 150_000))
    assert day.refused == [3]


def test_what_is_let_in_comes_whole_and_leaves_room_when_it_is_called_off() -> None:
    day = Day()
    one, other = picture(1, 700_000), picture(2, 700_000)
    day.rations.look(one)
    day.come(one, 100_000)
    one.failure = ComponentFailed(499, "nobody wanted this")
    day.rations.look(one)
    day.rations.look(other)
    for _ in range(7):
        day.come(other, 100_000)
    assert day.refused == []


def test_where_little_is_left_one_without_room_ends_the_pictures_of_the_day() -> None:
    day = Day(crossed=960_000)
    expected = [picture(number) for number in range(1, 4)]
    for one in expected:
        day.rations.look(one)
    assert day.refused == []
    answer(expected[1], 50_000)
    day.rations.look(expected[1])
    assert day.refused == [2, 1, 3]
    assert day.budget.gone
    day.rations.look(picture(4))
    assert day.refused == [2, 1, 3, 4], "one that is promised later does not even begin"


def test_another_day_has_room_again() -> None:
    today = date(2026, 11, 30)
    budget = DayBudget(SIZE, crossed=lambda: 970_000, today=lambda: today)
    assert not budget.takes(40_000, coming=0)
    assert budget.gone
    today = date(2026, 12, 1)
    assert not budget.gone
    assert budget.takes(40_000, coming=0)


@pytest.mark.parametrize(("kind", "size"), [("video/mp4", 50_000_000), ("image/png", None)])
def test_what_has_no_size_or_is_played_comes_until_it_is_gone(kind: str, size: int | None) -> None:
    day = Day()
    film = picture(1)
    answer(film, size, kind)
    for _ in range(9):
        day.come(film, 100_000)
    assert day.refused == []
    day.come(film, 100_000)
    assert day.refused == [1]
    day.come(film, 100)
    assert day.refused == [1], "said once"


@pytest.mark.parametrize("kind", ["text/css", "image/svg+xml", "application/javascript"])
def test_texts_come_all_the_same(kind: str) -> None:
    day = Day(crossed=2 * SIZE)
    day.rations.look(picture(1, 5_000, kind))
    assert day.refused == []


def test_what_somebody_asked_for_as_it_is_comes_all_the_same() -> None:
    day, wanted = Day(crossed=2 * SIZE), picture(1, 5_000)
    wanted.rationed = False
    day.rations.look(wanted)
    assert day.refused == []


def test_a_picture_has_the_size_of_what_is_known_of_it() -> None:
    one = picture(1)
    assert size_of(one) is None
    one.levels, one.unsettled = LEVELS, True
    assert size_of(one) == 2_000
    one.unsettled = False
    assert size_of(one) == 9_000


def test_a_document_that_closes_leaves_its_room() -> None:
    """Also where nothing of it ever comes again, because the link was lost."""
    day = Day()
    for one in (picture(1, 900_000), picture(2)):
        day.rations.look(one)
    day.rations.look(picture(3, 500_000))
    assert day.refused == [3]
    day.rations.close_document(1)
    day.rations.look(picture(4, 500_000))
    assert day.refused == [3]


def test_a_picture_that_turns_out_larger_takes_its_room() -> None:
    day, one = Day(), picture(1)
    one.levels, one.unsettled = LEVELS, True
    day.rations.look(one)
    one.levels, one.unsettled = (Level("original", 0, 800_000, "image/jpeg"),), False
    day.rations.look(one)
    assert day.refused == [], "what was let in stays"
    day.rations.look(picture(2, 300_000))
    assert day.refused == [2]


def test_all_is_seen_whether_there_is_a_budget_or_not() -> None:
    seen: list[int] = []
    rations = Rations(None, lambda one: seen.append(one.id), refuse=lambda one: pytest.fail("why"))
    rations.look(picture(7, 1))
    rations.close_document(1)
    day = Day(crossed=2 * SIZE)
    day.rations.look(picture(7, 1))
    assert seen == day.seen == day.refused == [7]
