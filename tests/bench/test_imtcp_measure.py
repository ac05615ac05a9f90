"""Tests of the ImTCP paper's measurement in small."""

from __future__ import annotations

import pytest

from bench.scenarios.imtcp.crossed_path import CrossedPath
from bench.scenarios.imtcp.imtcp_measure import (
    SLOPES,
    STEPS,
    MeasuredPath,
    found_again,
    left,
    measure,
)


def test_others_take_what_the_schedule_says_of_a_line() -> None:
    assert [left(STEPS, at) for at in (0.0, 49.9, 50.0, 149.0, 150.0, 299.0)] == [
        0.6, 0.6, 0.4, 0.6, 0.2, 0.6,
    ]  # fmt: skip
    assert [left(SLOPES, at) for at in (75.0, 180.0, 999.0)] == pytest.approx([0.5, 0.4, 0.6])


def path(share: float, *, even: bool = True) -> CrossedPath:
    return CrossedPath(capacity=1e6, delay=0.02, others=lambda _: share * 1e6, seed=1, even=even)


def test_a_path_without_others_delays_packets_by_their_own_length_alone() -> None:
    free = path(0.0)
    assert free.available(0.0) == 1e6
    assert free.send([1.0, 1.0, 1.5], 1000) == pytest.approx([1.021, 1.022, 1.521])


@pytest.mark.parametrize("even", [True, False])
def test_a_long_train_comes_as_a_queue_in_order_of_arrival_lets_it(even: bool) -> None:
    """Sent at .8 of the line, of which others want half, it gets 8 parts of 13."""
    crossed = path(0.5, even=even)
    arrived = crossed.send([1.0 + n * 1000 / 0.8e6 for n in range(4000)], 1000)
    rate = 1000 * 3999 / (arrived[-1] - arrived[0])
    assert rate == pytest.approx(1e6 * 8 / 13, rel=0.03)


def test_after_a_pause_nothing_of_before_is_queued() -> None:
    crossed = path(0.9)
    crossed.send([1.0] * 200, 1500)
    (arrived,) = crossed.send([60.0], 1500)
    assert arrived < 60.1


def test_a_shared_line_is_measured_and_a_step_is_found_again() -> None:
    outcome = measure("100M", "steps", 5, seed=3, seconds=60.0, patience=2)
    errors = outcome.errors
    assert errors[len(errors) // 2] < 0.15
    assert found_again(outcome, [50.0])[0] <= 12
    assert min(outcome.took) >= 1.0


def test_a_step_that_is_never_found_counts_as_later_than_all() -> None:
    outcome = MeasuredPath(at=[1.0, 2.0, 3.0], found=[5.0, 5.0, 5.0], truth=[5.0, 1.0, 1.0])
    assert found_again(outcome, [0.0, 2.0, 9.0]) == [1, 3]
