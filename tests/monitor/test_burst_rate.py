"""Bytes that a link draws out tell its rate; any others tell at least how fast they came."""

from __future__ import annotations

import pytest

from monitor.progress import ReportedProgress
from monitor.sensors.burst_rate import BurstRate, BurstSample


def heard(
    sensor: BurstRate, received: int, *, sent_at: float, clock: float, excess: float = 0.0
) -> BurstSample | None:
    return sensor.add(
        ReportedProgress(received, 1_000, sent_at, sent_at, 1_000, 1_000, clock), excess=excess
    )


def burst(sensor: BurstRate, *, apart: float, sent_apart: float = 0.0) -> list[BurstSample | None]:
    """Six reports of 1 KB each, so many seconds apart, of what was sent so many apart."""
    return [
        heard(sensor, 1_000 * n, sent_at=10 + n * sent_apart, clock=20 + n * apart)
        for n in range(1, 7)
    ]


def test_what_goes_at_once_tells_the_rate_as_soon_as_it_has_taken_long_enough() -> None:
    told = burst(BurstRate(), apart=0.005)
    assert told[:2] == [None, None]
    for sample in told[2:]:
        assert sample is not None
        assert sample.rate == pytest.approx(200_000)
        assert sample.sent_at == 10.0
        assert sample.drawn_out


def test_what_comes_closer_together_than_it_was_sent_tells_no_more_than_that_pace() -> None:
    told = burst(BurstRate(), apart=0.001, sent_apart=0.006)
    assert told[:2] == [None, None]
    for sample in told[2:]:
        assert sample is not None
        assert sample.rate == pytest.approx(1_000 / 0.006)
        assert not sample.drawn_out


def test_two_reports_tell_something_if_what_delays_one_of_them_is_little_beside_it() -> None:
    assert burst(BurstRate(), apart=0.02) == 6 * [None]
    told = burst(BurstRate(), apart=0.06, sent_apart=0.04)
    assert told[0] is None
    for sample in told[1:]:
        assert sample is not None
        assert sample.rate == pytest.approx(1_000 / 0.06)


def test_of_what_waits_behind_others_bytes_it_is_not_known_how_fast_the_link_is() -> None:
    sensor = BurstRate()
    told = [
        heard(sensor, 1_000 * n, sent_at=10.0, clock=20 + n * 0.005, excess=0.03) for n in range(6)
    ]
    assert told == 6 * [None]


def test_after_a_repair_what_was_heard_before_does_not_count() -> None:
    sensor = BurstRate()
    burst(sensor, apart=0.005)
    sensor.forget()
    assert burst(sensor, apart=0.005)[:2] == [None, None]
