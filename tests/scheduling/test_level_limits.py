"""Where pictures stop, by the levels that they have."""

from __future__ import annotations

import pytest

from scheduling.level_limits import LevelLimits

ALL = {"low": 10, "medium": 20, "high": 40, "original": 70}
TWO = {"low": 10, "original": 70}


@pytest.mark.parametrize(
    ("ends", "level", "finer", "coarser"),
    [
        (ALL, "low", 10, 10),
        (ALL, "medium", 20, 20),
        (ALL, "original", None, None),
        (TWO, "medium", None, 10),
        ({"original": 70}, "low", None, 70),
        ({"low": 10}, "high", None, 10),  # those behind it are not known yet
        ({"medium": 20, "original": 70}, "low", 20, 20),
        ({}, "low", None, None),
    ],
)
def test_a_fetch_brings_that_level_at_least_and_a_plan_no_more(
    ends: dict[str, int], level: str, finer: int | None, coarser: int | None
) -> None:
    limits = LevelLimits()
    limits.known(2, ends)
    limits.stop_at(2, level, at_least=True)
    assert limits.limit(2) == finer
    limits.stop_at(2, level, at_least=False)
    assert limits.limit(2) == coarser


def test_either_may_be_said_first() -> None:
    limits = LevelLimits()
    assert limits.stop_at(2, "low", at_least=False)
    assert limits.limit(2) is None
    limits.known(2, ALL)
    assert limits.limit(2) == 10


def test_what_is_no_news_says_so() -> None:
    limits = LevelLimits()
    assert not limits.stop_at(2, "original", at_least=True)
    assert limits.stop_at(2, "low", at_least=True)
    assert not limits.stop_at(2, "low", at_least=True)
    assert limits.stop_at(2, "low", at_least=False)
    assert limits.stop_at(2, "original", at_least=False)


def test_where_a_level_ends() -> None:
    limits = LevelLimits()
    assert limits.end(2, "low") is None
    limits.known(2, TWO)
    assert [limits.end(2, name) for name in ("low", "medium", "original", "fine")] == [
        10, 70, 70, None,
    ]  # fmt: skip


def test_what_has_left_is_forgotten() -> None:
    limits = LevelLimits()
    for component in (2, 4, 6):
        limits.known(component, ALL)
        limits.stop_at(component, "low", at_least=True)
    limits.forget(2)
    assert sorted(limits.stopping()) == [4, 6]
    limits.sweep({6})
    assert set(limits) == {6}
