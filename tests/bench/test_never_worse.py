"""Verdicts on loads that are worse than none, and on those that only vary."""

from __future__ import annotations

from typing import Any

from bench.scenarios.pages.never_worse import MEASURES, OURS, judge


def loads(peer: str, times: list[float | None]) -> list[dict[str, Any]]:
    return [{"peer": peer, **dict.fromkeys(MEASURES, time)} for time in times]


def verdict(ours: list[float | None], *others: list[float | None]) -> bool:
    rows = loads(OURS, ours)
    for number, times in enumerate(others):
        rows += loads(f"other {number}", times)
    found = judge(rows, "page, link")
    assert len(found) == len(MEASURES)
    return found["page, link: painted"].ok


def test_a_tenth_or_a_moment_later_is_no_worse() -> None:
    assert verdict([11.0, 11.0, 10.9], [10.0, 10.0, 10.0])
    assert not verdict([11.3, 11.3, 11.2], [10.0, 10.0, 10.0])
    assert verdict([0.34, 0.34], [0.2, 0.2])
    assert not verdict([0.36, 0.36], [0.2, 0.2])


def test_the_better_of_the_others_counts() -> None:
    assert verdict([1.0, 1.0], [1.0, 1.0])
    assert not verdict([1.0, 1.0], [1.0, 1.0], [0.7, 0.7])


def test_beyond_the_limit_but_within_the_spread_is_no_verdict() -> None:
    assert verdict([0.8, 1.2, 1.3], [1.0, 1.0, 1.0])
    assert not verdict([1.2, 1.3, 1.6], [1.0, 1.0, 1.0]), "none of them was in time"


def test_what_never_came_is_worse() -> None:
    assert not verdict([None, None, 1.0], [1.0, 1.0, 1.0])
    assert not verdict([None, None, None], [1.0, 1.0, 1.0])
