"""Tests of how large SPP's datagrams may be, and of when they may go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transport.spp.core.mtu import (
    AFTER_BLACK_HOLE,
    BASE,
    BLACK_HOLE,
    CEILING,
    CLOSE_ENOUGH,
    FLOOR,
    HOLE_LASTS,
    MOST_PROBES,
    SEARCH_AGAIN,
    MtuSearch,
)
from transport.spp.core.pacing import BURST, GRAIN, LEAST_BURST, PacingBucket, burst


def search(takes: int, *, now: float = 0.0, found: MtuSearch | None = None) -> MtuSearch:
    """A search on a path that takes so many bytes, until it is over."""
    found = found or MtuSearch()
    for _ in range(200):
        size = found.probe(now)
        if size is None:
            return found
        assert found.probe(now) is None, "one at a time"
        if size <= takes:
            found.acknowledged(size, probe=size, now=now)
        else:
            found.lost(size, probe=size, now=now)
    raise AssertionError("it never ends")


@given(st.integers(BASE, 2000))
def test_a_search_finds_what_the_path_takes_and_never_more(takes: int) -> None:
    found = search(takes)
    most = min(takes, CEILING)
    assert BASE <= found.size <= most
    assert most - found.size <= CLOSE_ENOUGH


def test_the_largest_is_tried_first_and_one_loss_is_no_proof() -> None:
    found = MtuSearch()
    assert found.size == BASE
    for _ in range(MOST_PROBES):
        assert found.probe(0.0) == CEILING
        found.lost(CEILING, probe=CEILING, now=0.0)
    assert found.probe(0.0) == (BASE + CEILING) // 2


def test_a_path_that_got_wider_is_found_when_it_is_time_to_search_again() -> None:
    found = search(1300)
    assert found.probe(SEARCH_AGAIN - 1.0) is None
    search(CEILING, now=SEARCH_AGAIN + 1.0, found=found)
    assert found.size == CEILING
    assert found.probe(1e9) is None  # there is nothing above


def test_a_black_hole_is_left_for_a_size_that_arrives() -> None:
    found = search(CEILING)
    for number in range(BLACK_HOLE):
        assert found.size == CEILING
        found.lost(CEILING, probe=0, now=1000.0 + number * HOLE_LASTS / 2)
    assert found.size == BASE
    last = 1000.0 + (BLACK_HOLE - 1) * HOLE_LASTS / 2
    assert found.probe(last + AFTER_BLACK_HOLE - 1.0) is None
    again = found.probe(last + AFTER_BLACK_HOLE)
    assert again is not None and BASE < again < CEILING
    for number in range(BLACK_HOLE):
        found.lost(BASE, probe=0, now=2000.0 + number * HOLE_LASTS / 2)
    assert found.size == FLOOR
    for number in range(3 * BLACK_HOLE):
        found.lost(FLOOR, probe=0, now=3000.0 + number)
    assert found.size == FLOOR


def test_an_overflow_is_no_black_hole_and_neither_are_losses_while_large_ones_arrive() -> None:
    found = search(CEILING)
    for _ in range(10 * BLACK_HOLE):
        found.lost(CEILING, probe=0, now=5.0)
    assert found.size == CEILING
    found.acknowledged(CEILING, probe=0, now=5.0)
    for number in range(10 * BLACK_HOLE):
        found.lost(CEILING, probe=0, now=10.0 + number)
        found.acknowledged(CEILING, probe=0, now=10.0 + number)
    assert found.size == CEILING


def test_what_this_machine_refuses_is_not_tried_again() -> None:
    found = MtuSearch()
    assert found.probe(0.0) == CEILING
    found.refused(CEILING, now=0.0)
    size = found.probe(0.0)
    assert size is not None and BASE < size < CEILING
    found.refused(BASE, now=0.0)
    assert found.size == FLOOR
    found.refused(FLOOR, now=0.0)
    assert found.size == FLOOR


def test_another_path_is_another_search_and_a_base_may_be_smaller() -> None:
    found = search(1300)
    found.begin_anew()
    assert (found.size, found.probe(0.0)) == (BASE, CEILING)
    thin = MtuSearch(base=400, ceiling=300)
    assert (thin.size, thin.probe(0.0)) == (400, None)


# The pace.


def test_a_burst_goes_at_once_and_what_exceeds_it_is_paid_at_the_rate() -> None:
    bucket = PacingBucket()
    rate = 1_000_000.0
    assert burst(rate) == BURST * rate
    assert burst(1.0) == LEAST_BURST
    bucket.sent(5.0, 10_000, rate=rate)
    assert bucket.time(rate=rate) <= 5.0  # the whole burst, no debt
    bucket.sent(5.0, 1_000, rate=rate)
    assert bucket.time(rate=rate) == pytest.approx(5.001)
    assert bucket.time(rate=rate / 10) == pytest.approx(5.01)  # at whatever the rate is then
    bucket.sent(100.0, 1_000, rate=rate)
    assert bucket.time(rate=rate) <= 100.0


def test_what_was_saved_in_a_pause_is_bounded() -> None:
    bucket = PacingBucket()
    bucket.sent(0.0, 1000, rate=1e6)
    bucket.sent(1000.0, 10_000, rate=1e6)
    bucket.sent(1000.0, 500, rate=1e6)
    assert bucket.time(rate=1e6) == pytest.approx(1000.0005)


def test_without_a_rate_nothing_goes_and_nobody_comes_back_for_it() -> None:
    bucket = PacingBucket()
    assert bucket.time(rate=0.0) == float("inf")
    assert bucket.next_turn(rate=0.0) is None
    bucket.sent(1.0, 100, rate=0.0)
    assert bucket.time(rate=100.0) == pytest.approx(2.0)


def test_several_go_together_for_nobody_comes_back_at_once() -> None:
    bucket = PacingBucket()
    bucket.sent(1.0, 100, rate=1e9)
    assert bucket.next_turn(rate=1e9) == pytest.approx(1.0 + GRAIN)
    bucket.sent(1.0, 100_000_000, rate=1e6)
    due = bucket.next_turn(rate=1e6)
    assert due == bucket.time(rate=1e6)
    assert due is not None and due > 50.0


@given(st.lists(st.tuples(st.floats(0, 0.1), st.integers(1, 1500)), min_size=1, max_size=100))
def test_who_heeds_the_pace_is_never_faster_than_it_but_for_a_burst(
    steps: list[tuple[float, int]],
) -> None:
    bucket, rate, now, total = PacingBucket(), 50_000.0, 0.0, 0
    for pause, size in steps:
        now = max(now + pause, bucket.time(rate=rate))
        bucket.sent(now, size, rate=rate)
        total += size
    assert total <= burst(rate) + rate * now + 1500 + 1e-3
