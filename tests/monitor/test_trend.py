"""Tests of the trend of a stream's delays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.inline.trend import Trend, trend


@pytest.mark.parametrize(
    ("delays", "expected"),
    [
        ([0, 1, 2, 3, 4], Trend.INCREASING),
        ([0, 0, 0, 0, 0], Trend.NONE),
        ([0, 0, 0, 1, 2], Trend.INCREASING),  # one way, if late
        ([4, 3, 2, 1, 0], Trend.NONE),
        ([0, 2, 0, 2, 0], Trend.NONE),
        ([0, 3, 1, 0, 1], Trend.NONE),
        ([0, 4, 2, 4, 2], Trend.NONE),
        ([0, 4, 2, 4, 3], Trend.UNDETERMINED),  # a third of the movement stays
        ([0, 5, 4, 5, 6], Trend.INCREASING),
        ([0, 0, 0, 0, 5], Trend.UNDETERMINED),  # of one packet
        ([7], Trend.UNDETERMINED),
    ],
)
def test_delays_rise_if_most_pairs_do_or_if_the_movement_is_upwards(
    delays: list[float], expected: Trend
) -> None:
    assert trend(delays) is expected


def test_what_a_clock_cannot_tell_apart_does_not_move() -> None:
    delays = [0.0, 0.0009, 0.0018, 0.0027, 0.0036]
    assert trend(delays) is Trend.INCREASING
    assert trend(delays, resolution=0.001) is Trend.NONE


def test_movements_below_a_nanosecond_are_rounding() -> None:
    assert trend([-5.6e-10, 0.0, 0.0]) is trend([0.0, 0.0, 0.0]) is Trend.NONE
    assert trend([-1.12e-9, 0.0, 0.0]) is not Trend.NONE


@given(
    st.lists(st.floats(-1e3, 1e3).map(lambda delay: round(delay, 6)), min_size=3, max_size=20),
    st.floats(1e-3, 1e3),
)
def test_neither_the_unit_nor_the_clocks_offset_matters(delays: list[float], unit: float) -> None:
    shifted = [delay * 2.0 for delay in delays]
    assert trend(delays) is trend(shifted)
    assert trend([0.0, unit, 2 * unit, 3 * unit]) is Trend.INCREASING
