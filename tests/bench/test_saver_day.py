"""The bench of a day's budget: what it judges."""

from __future__ import annotations

from bench.scenarios.pages.saver_day import PageView, judge


def day(*left_out: int, crossed: int = 1_000_000) -> list[PageView]:
    return [PageView("news", 8, left, crossed) for left in left_out]


def verdicts(views: list[PageView], *, told: int = 1_000_000, tapped: int = 9000) -> list[bool]:
    found = judge(views, budget=1_000_000, told=told, tapped=tapped)
    return [check.ok for check in found.values()]


def test_a_day_that_is_kept_to() -> None:
    assert verdicts(day(0, 3, 8)) == [True] * 5


def test_each_goal_can_be_missed() -> None:
    assert not verdicts(day(0, 8, crossed=1_030_000), told=1_030_000)[0]
    assert not verdicts(day(0, 8, crossed=700_000), told=700_000)[0]
    assert not verdicts(day(0, 0))[1]
    assert not verdicts(day(0, 7))[2]
    assert not verdicts(day(0, 8), tapped=0)[3]
    assert not verdicts(day(0, 8), told=900_000)[4]
