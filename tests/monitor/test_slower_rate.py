"""A receiver notices that its link has become slower by what was sent at the pace of before."""

from __future__ import annotations

import pytest

from monitor.slower_rate import EVENLY, LEAST, SLOWER, SlowerRate

RATE = 100_000.0
"""Bytes/second that the link is said to carry."""


def arrivals(*times: float, nbytes: int = 1_000, paced: bool = True) -> SlowerRate:
    """The first was sent after a pause."""
    sensor = SlowerRate()
    for number, at in enumerate(times):
        sensor.arrived(nbytes, paced=paced and number > 0, now=at)
    return sensor


def test_a_fade_is_seen_as_soon_as_three_have_come_evenly() -> None:
    sensor = arrivals(10.0, 10.2)
    assert sensor.rate(RATE) is None
    sensor.arrived(1_000, paced=True, now=10.4)
    assert sensor.rate(RATE) == pytest.approx(5_000)


def test_what_was_sent_slowly_says_nothing() -> None:
    assert arrivals(10.0, 10.2, 10.4, 10.6, paced=False).rate(RATE) is None


def test_what_comes_as_it_was_sent_is_no_fade() -> None:
    times = [10 + n * 1_000 / RATE for n in range(60)]
    assert arrivals(*times).rate(RATE) is None
    assert arrivals(*times).rate(RATE / SLOWER * 1.01) is not None


def test_neither_a_moment_nor_one_long_gap_is_a_fade() -> None:
    short = LEAST * 0.9
    assert arrivals(10.0, 10 + short / 2, 10 + short).rate(RATE) is None
    assert arrivals(10.0, 10.0 + EVENLY + 0.1, 11.0).rate(RATE) is None


def test_a_pause_of_the_sender_begins_anew() -> None:
    sensor = arrivals(10.0, 10.2, 10.4)
    sensor.arrived(1_000, paced=False, now=10.6)
    assert sensor.rate(RATE) is None


def test_the_rate_is_that_of_the_last_second() -> None:
    sensor = arrivals(*(10 + 0.01 * n for n in range(100)))
    for n in range(12):
        sensor.arrived(1_000, paced=True, now=11.0 + 0.1 * n)
    assert sensor.rate(RATE) == pytest.approx(10_000, rel=0.1)
