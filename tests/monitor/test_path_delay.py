"""The delays of reports: the path's least, the queue on top, the jitter; each told apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.sensors.path_delay import MEMORY, DelayFilter, Mean, Minimum

SKEW = 3.0
"""Seconds by which the receiver's clock is ahead."""
TIMES = st.lists(st.floats(0.0, 2.0), min_size=1, max_size=60)


def heard(filter_: DelayFilter, now: float, *, there: float, back: float = 0.05) -> None:
    filter_.add(now, loop=there + back, one_way=there + SKEW, steady=True, noise=0.0, held=0.0)


def test_what_waits_in_a_queue_is_the_excess_whatever_the_way_back_does() -> None:
    path = DelayFilter()
    heard(path, 0.0, there=0.05)
    heard(path, 0.1, there=0.08, back=0.5)
    assert path.excess == pytest.approx(0.03)
    assert path.minimum == pytest.approx(0.1)
    assert path.latest == pytest.approx(0.58)


def test_a_small_message_was_sooner_than_a_whole_one_would_have_been() -> None:
    path = DelayFilter()
    path.add(0.0, loop=0.1, one_way=0.05, steady=True, noise=0.0, held=0.0, smaller=0.04)
    assert path.minimum == pytest.approx(0.14)
    path.add(0.1, loop=0.14, one_way=0.09, steady=True, noise=0.0, held=0.0)
    assert path.excess == pytest.approx(0.0)


def test_a_least_delay_is_believed_for_half_a_minute() -> None:
    path = DelayFilter()
    heard(path, 0.0, there=0.05)
    for second in range(1, int(MEMORY) + 1):
        heard(path, float(second), there=0.09)
    assert path.minimum == pytest.approx(0.1)
    heard(path, MEMORY + 0.1, there=0.09)
    assert path.minimum == pytest.approx(0.14), "the path has become longer"


def test_it_is_not_forgotten_while_nothing_is_heard() -> None:
    """Or who has waited for a minute takes the queue of others for the path."""
    path = DelayFilter()
    heard(path, 0.0, there=0.05)
    heard(path, 60.0, there=0.45)
    assert path.minimum == pytest.approx(0.1)
    assert path.excess == pytest.approx(0.4, abs=0.005), "less what clocks may have drifted"
    assert path.excess < 0.4


def test_after_ten_minutes_the_path_is_another_one() -> None:
    path = DelayFilter()
    heard(path, 0.0, there=0.05)
    heard(path, 620.0, there=0.45)
    assert path.minimum == pytest.approx(0.5)
    assert path.excess == 0.0


def test_a_route_that_has_changed_in_a_pause_is_told_from_before_it() -> None:
    path = DelayFilter()
    for second in range(3):
        heard(path, float(second), there=0.05)
    for second in range(40, 43):
        heard(path, float(second), there=0.2)
    path.forget_before(20.0)
    assert path.minimum == pytest.approx(0.25)


def test_on_another_route_only_what_came_since_counts() -> None:
    path = DelayFilter()
    heard(path, 0.0, there=0.05)
    heard(path, 5.0, there=0.2)
    path.forget_before(1.0)
    assert path.minimum == pytest.approx(0.25)


def test_delays_that_vary_make_jitter_and_widen_the_window() -> None:
    steady, shaky = DelayFilter(), DelayFilter()
    for number in range(200):
        now = number * 0.02
        heard(steady, now, there=0.05)
        heard(shaky, now, there=0.05 + 0.02 * (number % 2))
    assert steady.jitter == 0.0
    assert steady.window == pytest.approx(0.1)
    assert shaky.jitter_there == pytest.approx(0.02, rel=0.05)
    assert shaky.window > steady.window + 0.015


def test_what_is_our_own_doing_is_no_jitter() -> None:
    path = DelayFilter()
    for number in range(200):
        late = 0.02 * (number % 2)
        path.add(
            number * 0.02, loop=0.1 + late, one_way=0.05 + late, steady=True, noise=0.03, held=0.0
        )
    assert path.jitter == 0.0


@given(TIMES)
def test_the_least_of_a_span_is_the_least(values: list[float]) -> None:
    least = Minimum(5.0)
    for now, value in enumerate(values):
        least.add(float(now), value)
        assert least.value == min(values[max(0, now - 5) : now + 1])


def test_a_mean_forgets() -> None:
    mean = Mean(0.5)
    for value in (8.0, 8.0, 8.0, 8.0):
        mean.add(value)
    assert (mean.value, mean.deviation) == (7.5, 2.0)
