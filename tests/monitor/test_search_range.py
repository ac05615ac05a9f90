"""Tests of the range in which available bandwidth is looked for."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.inline.search_range import FLOOR, RangeHistory, SearchRange, around, how_many


def test_sub_ranges_cover_the_range_from_above_and_have_one_width() -> None:
    parts = SearchRange(600.0, 1000.0).sub_ranges(4)
    assert [(one.low, one.high) for one in parts] == [
        (900.0, 1000.0), (800.0, 900.0), (700.0, 800.0), (600.0, 700.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("width", "count"), [(100, 2), (149, 2), (150, 3), (199, 3), (200, 4), (5000, 4)]
)
def test_a_wide_range_has_more_sub_ranges(width: int, count: int) -> None:
    assert how_many(SearchRange(1000.0, 1000.0 + width), 1000.0) == count


def test_one_result_makes_a_range_a_tenth_wide_around_it() -> None:
    found = RangeHistory().add(1000.0)
    assert (found.low, found.high) == (950.0, 1050.0)


def test_results_that_vary_make_it_as_wide_as_their_95_percent_interval() -> None:
    history = RangeHistory()
    history.add(600.0)
    found = history.add(1400.0)  # standard deviation 566, of two
    assert found.high == pytest.approx(1400.0 + 1.96 * math.sqrt(2) * 400.0 / math.sqrt(2))
    assert history.add(1.0).high == 2.0
    history.forget()
    assert history.add(1400.0) == SearchRange(1330.0, 1470.0)


def test_beyond_an_edge_the_range_grows_by_half_to_that_side() -> None:
    searched = SearchRange(800.0, 1000.0)
    assert searched.above() == SearchRange(800.0, 1100.0)
    assert searched.below() == SearchRange(700.0, 1000.0)
    assert SearchRange(10.0, 1000.0).below().low == FLOOR * 1000.0


@pytest.mark.parametrize(("low", "high"), [(0, 1), (1, 1), (2, 1), (-1, 1), (1, math.inf)])
def test_what_is_no_range_is_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="is no range"):
        SearchRange(low, high)


@given(st.lists(st.floats(1.0, 1e9), min_size=1, max_size=80))
def test_whatever_is_found_the_next_range_is_one_around_it(results: list[float]) -> None:
    history = RangeHistory()
    for result in results:
        found = history.add(result)
        assert found.low < result < found.high
        assert FLOOR * found.high * 0.999 <= found.low


@given(st.floats(1.0, 1e6), st.floats(1.01, 100.0), st.integers(1, 40))
def test_a_range_that_is_never_reached_does_not_reach_nothing(
    low: float, times: float, steps: int
) -> None:
    searched = around(low, low * times)
    for _ in range(steps):
        searched = searched.below()
        assert 0 < searched.low < searched.high
