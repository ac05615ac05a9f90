"""Tests of what higher priorities have been sending lately, which is expected of them again."""

from __future__ import annotations

from admission.demand import Demand


def test_what_higher_priorities_have_most_seconds_is_expected_a_burst_is_not() -> None:
    demand = Demand()
    for second in range(10):
        demand.entered(2, 3000, second + 0.1)
        demand.entered(2, 3000, second + 0.6)
        demand.entered(1, 40_000 if second % 3 == 0 else 0, second + 0.7)
    assert demand.above(0, 10.0) == demand.above(1, 10.0) == 6000
    assert demand.above(2, 10.0) == 0
    assert demand.above(0, 11.5) == 6000  # a second without any is not the rule yet
    assert demand.above(0, 12.5) == 0
    assert Demand().above(0, 5.0) == 0


def test_the_second_that_is_not_over_does_not_count() -> None:
    demand = Demand()
    for second in range(3):
        demand.entered(1, 1000, float(second))
    demand.entered(1, 50_000, 3.9)
    assert demand.above(0, 3.95) == 0  # three whole ones are known: too few to tell
    demand.entered(1, 50_000, 4.9)
    assert demand.above(0, 4.95) == 1000


def test_after_a_rest_nothing_is_expected() -> None:
    demand = Demand()
    for second in range(10):
        demand.entered(1, 1000, float(second))
    assert demand.above(0, 100.0) == 0
    demand.entered(1, 1000, 100.0)
    assert demand.above(0, 101.0) == 0
