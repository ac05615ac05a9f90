"""One result of a measurement is chance, several are what others leave."""

from __future__ import annotations

import pytest

from monitor.inline.steadied import FAR, LATEST, SteadiedResults


def after(*results: float) -> float | None:
    steadied = SteadiedResults()
    for one in results:
        steadied.add(one)
    return steadied.mean


def test_the_mean_of_the_latest_counts() -> None:
    assert after() is None
    assert after(100.0) == 100.0
    assert after(80.0, *[100.0, 120.0] * 2, 110.0) == pytest.approx(110.0)
    assert after(*[100.0] * LATEST, *[120.0] * LATEST) == 120.0


@pytest.mark.parametrize("odd", [30.0, 100.0 * (1 + FAR) + 1, 500.0])
def test_one_that_is_far_from_the_others_does_not_count(odd: float) -> None:
    assert after(100.0, 100.0, odd) == 100.0
    assert after(100.0, 100.0, odd, 100.0, odd) == 100.0


def test_two_in_a_row_say_that_something_has_changed() -> None:
    assert after(*[100.0] * LATEST, 40.0, 44.0) == 42.0
    assert after(*[40.0] * LATEST, 100.0, 110.0, 105.0) == 105.0
    assert after(100.0, 30.0, 200.0) == 100.0, "they disagree"
    assert after(100.0, 30.0, 200.0, 200.0) == 200.0
