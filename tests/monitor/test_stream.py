"""Tests of measurement streams."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.inline.search_range import SearchRange
from monitor.inline.stream import StreamTimes, at_once, covering


def test_a_streams_rates_rise_from_the_sub_ranges_low_to_its_high() -> None:
    stream = covering(SearchRange(80_000.0, 120_000.0), packet=1000, count=5)
    rates = [1000 / (later - before) for before, later in pairwise(stream.offsets)]
    assert rates == pytest.approx([90_000, 100_000, 110_000, 120_000])
    assert stream.offsets[0] == 0.0 and stream.count == 5


@given(st.floats(1e3, 1e8), st.floats(1.001, 10.0), st.integers(3, 20))
def test_intervals_fall(low: float, times: float, count: int) -> None:
    stream = covering(SearchRange(low, low * times), packet=1200, count=count)
    intervals = [later - before for before, later in pairwise(stream.offsets)]
    assert all(later < before for before, later in pairwise(intervals))


def test_the_first_stream_leaves_at_once() -> None:
    assert at_once(packet=1000, count=3).offsets == (0.0, 0.0, 0.0)


def test_delays_are_what_each_packet_took_more_than_the_first_whatever_the_clocks_say() -> None:
    times = StreamTimes([5.0, 5.1, 5.2], [1005.5, 1005.6, 1005.75])
    assert times.delays == pytest.approx([0.0, 0.0, 0.05])
    assert times.rates(1000, resolution=0.0) == [
        (pytest.approx(10_000), pytest.approx(10_000)),
        (pytest.approx(10_000), pytest.approx(1000 / 0.15)),
    ]


def test_arrivals_that_cannot_be_told_apart_are_taken_for_as_far_apart_as_that() -> None:
    times = StreamTimes([0.0, 0.1], [7.0, 7.0])
    assert times.rates(1000, resolution=0.01) == [(pytest.approx(10_000), pytest.approx(100_000))]


@pytest.mark.parametrize(
    ("sent", "arrived"), [([0.0, 1.0], [0.0]), ([0.0], [0.0]), ([1.0, 0.0], [0.0, 1.0])]
)
def test_times_that_are_not_of_one_stream_are_refused(
    sent: list[float], arrived: list[float]
) -> None:
    with pytest.raises(ValueError, match=r"packets"):
        StreamTimes(sent, arrived)
