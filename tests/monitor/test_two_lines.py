"""Tests of the break between what comes as fast as it leaves and what does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.inline.two_lines import available

RATES = (70.0, 80.0, 90.0, 100.0)


def fluid(rates: tuple[float, ...], *, free: float, capacity: float) -> list[tuple[float, float]]:
    """Arrivals where others take `capacity` - `free`: above it they share by what they send."""
    others = capacity - free
    return [(rate, rate if rate <= free else capacity * rate / (rate + others)) for rate in rates]


@pytest.mark.parametrize(
    ("free", "found"), [(60.0, 65.0), (75.0, 70.0), (85.0, 80.0), (95.0, 90.0), (110.0, 100.0)]
)
def test_the_break_is_the_last_rate_that_came_as_it_left(free: float, found: float) -> None:
    assert available(fluid(RATES, free=free, capacity=150.0), low=65.0) == found


def test_a_little_noise_does_not_move_it() -> None:
    points = [(70.0, 70.3), (80.0, 79.6), (90.0, 84.8), (100.0, 89.7)]
    assert available(points, low=65.0) == 80.0


@given(st.lists(st.floats(1.0, 200.0), min_size=4, max_size=4))
def test_whatever_arrives_the_result_is_one_of_the_rates_or_the_low(arrived: list[float]) -> None:
    assert available(list(zip(RATES, arrived, strict=True)), low=65.0) in (65.0, *RATES)
