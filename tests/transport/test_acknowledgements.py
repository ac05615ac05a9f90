"""A receiver of SPP says soon, but not too often, what has come."""

from __future__ import annotations

import pytest

from transport.spp.core.acknowledgements import DELAY, EVERY, GRAIN, MOST_AT_ONCE, Arrivals
from transport.spp.core.packets import MOST_STAMPS


def said(spacing: float, count: int, *, without: frozenset[int] = frozenset()) -> list[float]:
    """When, of so many datagrams so far apart; timers are in time."""
    arrivals, times = Arrivals(now=0.0), []

    def say(now: float) -> None:
        assert arrivals.frame(now) is not None
        times.append(now)

    for number in range(count):
        now = (number + 1) * spacing
        due = arrivals.deadline()
        if due is not None and due < now:
            say(due)
        if number not in without:
            arrivals.note(number, arrived=now, asks=True, now=now)
        if arrivals.due(now):
            say(now)
    return times


def test_every_second_datagram_is_acknowledged_at_once_where_they_take_their_time() -> None:
    times = said(0.0025, 10)
    assert times == pytest.approx([0.0025 * n for n in (2, 4, 6, 8, 10)])


def test_on_a_fast_link_there_is_one_a_millisecond() -> None:
    spacing, count = 0.0001, 1000
    times = said(spacing, count)
    span = spacing * count
    assert 0.9 * span / GRAIN <= len(times) <= span / GRAIN + 1
    assert GRAIN / spacing < MOST_AT_ONCE


def test_no_more_wait_than_can_be_told_twice() -> None:
    spacing, count = GRAIN / 100, 800
    assert len(said(spacing, count)) == count // MOST_AT_ONCE
    assert MOST_AT_ONCE * 2 <= MOST_STAMPS


def test_what_is_missing_is_told_at_once() -> None:
    spacing = 0.0001
    times = said(spacing, 8, without=frozenset({3}))
    assert spacing * 5 in times


def test_a_single_one_waits_for_company() -> None:
    arrivals = Arrivals(now=0.0)
    arrivals.note(0, arrived=1.0, asks=True, now=1.0)
    assert arrivals.deadline() == pytest.approx(1.0 + DELAY)
    assert EVERY == 2
