"""A burst tells the rate of a link that draws it out, else that it is at least so fast."""

from __future__ import annotations

import pytest

from monitor.progress import ReportedProgress
from monitor.sensors.dispersion import Dispersion

PIECE = 512
MESSAGE = 1024
WAY = 3.0 + 0.02
"""Seconds; the clocks differ by three."""


def burst(
    rate: float, pieces: int, *, reports_every: float, at: float = 1.0
) -> list[ReportedProgress]:
    """Sent in a moment over a link of `rate` bytes/second whose end reports so often."""
    found: list[ReportedProgress] = []
    told, reported = 0, float("-inf")
    for number in range(1, pieces + 1):
        arrived = at + WAY + number * PIECE / rate
        last = number == pieces
        if arrived - reported < reports_every and not last:
            continue
        received = number * PIECE
        found.append(ReportedProgress(received, received - told, at, at, PIECE, PIECE, arrived))
        told, reported = received, arrived
    return found


def heard(reports: list[ReportedProgress], rate: float) -> Dispersion:
    dispersion = Dispersion()
    one_way = WAY + PIECE / rate
    for report in reports:
        dispersion.add(report, new_round=False, one_way=one_way, message=MESSAGE)
    return dispersion


@pytest.mark.parametrize("rate", [7e3, 48e3, 200e3, 625e3, 2.5e6, 6.25e6, 12.5e6, 125e6])
@pytest.mark.parametrize("pieces", [3, 7, 21, 42])
@pytest.mark.parametrize("reports_every", [0.0, 0.005, 0.02])
def test_it_never_says_more_than_the_link_carries(
    rate: float, pieces: int, reports_every: float
) -> None:
    reports = burst(rate, pieces, reports_every=reports_every)
    assert heard(reports, rate).at_least <= rate * 1.001


@pytest.mark.parametrize("rate", [6.25e6, 12.5e6, 125e6])
def test_a_burst_that_comes_between_two_reports_tells_that_the_link_is_fast(rate: float) -> None:
    reports = burst(rate, 42, reports_every=0.005)[-1:]
    whole = ReportedProgress(42 * PIECE, 42 * PIECE, 1.0, 1.0, PIECE, PIECE, reports[0].arrived_at)
    assert heard([whole], rate).at_least > 2e6


def test_bursts_are_told_apart_by_the_sender_s_pause() -> None:
    dispersion = Dispersion()
    first = ReportedProgress(3 * PIECE, 3 * PIECE, 1.0, 1.0, PIECE, PIECE, 1.0 + WAY)
    later = ReportedProgress(45 * PIECE, 42 * PIECE, 9.0, 9.0, PIECE, PIECE, 9.0 + WAY + 0.001)
    for report in (first, later):
        dispersion.add(report, new_round=True, one_way=WAY, message=MESSAGE)
    assert dispersion.at_least == pytest.approx((42 * PIECE - MESSAGE) / 0.010)
