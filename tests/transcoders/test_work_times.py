"""WorkTimes: what work takes here is learned, and a pause of the machine soon forgotten."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcoders.work.work_times import MOST, NEWEST, WorkTimes


def test_until_there_was_any_it_is_what_was_told() -> None:
    times = WorkTimes({"a": 2.0})
    assert times.expected("a", 3) == 6.0
    assert times.expected("b", 3) == 0.0


@given(st.floats(1e-9, 10.0), st.floats(1e-9, 10.0))
def test_it_is_learned_within_some_dozen_pieces(first: float, true: float) -> None:
    times = WorkTimes({"a": first})
    for _ in range(200):
        times.took("a", 1000, true * 1000)
    assert times.expected("a", 50) == pytest.approx(true * 50, rel=0.05)


def test_a_kind_that_nothing_was_told_of_is_learned_at_once() -> None:
    times = WorkTimes({})
    times.took("a", 10, 5.0)
    assert times.expected("a", 20) == 10.0


def test_one_piece_during_which_the_machine_stood_still_counts_for_little() -> None:
    times = WorkTimes({"a": 1.0})
    times.took("a", 1, 3600.0)
    assert times.expected("a", 1) == 1 + NEWEST * (MOST - 1)


@pytest.mark.parametrize(("size", "seconds"), [(0, 1.0), (-1, 1.0), (5, -0.1)])
def test_what_makes_no_sense_is_refused(size: int, seconds: float) -> None:
    with pytest.raises(ValueError, match="no bytes"):
        WorkTimes({}).took("a", size, seconds)
