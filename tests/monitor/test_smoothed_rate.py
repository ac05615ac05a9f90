"""Tests of the smoothed rate: how soon it follows, and what it does not believe."""

from __future__ import annotations

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.observer.smoothed_rate import LEAST_APART, MEMORY, SmoothedRate


def after(points: list[tuple[float, int]], rate: SmoothedRate | None = None) -> SmoothedRate:
    rate = rate or SmoothedRate()
    for at, total in points:
        rate.add(total, at)
    return rate


def test_two_reports_make_a_rate_and_one_does_not() -> None:
    assert after([(5.0, 1000)]).measured == 0.0
    found = after([(5.0, 1000), (5.5, 2000)])
    assert (found.rate, found.measured) == (2000.0, 0.5)


@pytest.mark.parametrize("steps", [1, 4, 20])
def test_a_new_rate_counts_by_how_long_it_lasts_not_by_reports(steps: int) -> None:
    rate = after([(0.0, 0), (1.0, 1000)])
    for step in range(1, steps + 1):
        rate.add(1000 + 5000 * step // steps, 1.0 + MEMORY * step / steps)
    assert rate.rate == pytest.approx(1000 + 4000 * (1 - exp(-1)), rel=0.001)


def test_bursts_and_pauses_come_out_even() -> None:
    """A buffer of 50 KB at once, four times a second: 200 KB/s."""
    found = after([(quarter / 4 + late, 50_000 * (quarter + bool(late)))
                   for quarter in range(40) for late in (0.0, 0.01)])  # fmt: skip
    assert found.rate == pytest.approx(200_000, rel=0.35)
    found = after([(quarter / 4, 50_000 * quarter) for quarter in range(40)])
    assert found.rate == pytest.approx(200_000, rel=0.001)


def test_what_is_late_twice_or_too_close_is_no_news() -> None:
    rate = after([(0.0, 0), (1.0, 1000)])
    for at, total in ((1.0, 1000), (0.5, 1000), (1.0 + LEAST_APART / 2, 9000)):
        assert not rate.add(total, at)
    assert rate.rate == 1000.0
    assert rate.add(2000, 2.0)  # what was too close counts now
    assert rate.rate == pytest.approx(1000.0)


def test_a_count_that_falls_begins_anew_and_keeps_the_rate() -> None:
    rate = after([(0.0, 0), (1.0, 1000)])
    assert not rate.add(10, 2.0)
    assert rate.rate == 1000.0
    rate.add(1010, 3.0)
    assert rate.rate == pytest.approx(1000.0)


def test_an_interval_that_says_at_least_raises_and_does_not_lower() -> None:
    rate = after([(0.0, 0), (1.0, 1000)])
    assert rate.add(1010, 2.0, at_least=True)
    assert (rate.rate, rate.measured) == (1000.0, 1.0)
    rate.add(11_010, 3.0, at_least=True)
    assert rate.rate > 5000


@given(st.lists(st.tuples(st.floats(-1e12, 1e12), st.integers(0, 2**64 - 1))))
def test_no_reports_make_a_rate_that_is_none(points: list[tuple[float, int]]) -> None:
    found = after(points)
    assert 0.0 <= found.rate < float("inf")
    assert found.measured >= 0.0
