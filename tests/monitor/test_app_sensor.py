"""Tests of the counting sensor: reports follow the traffic, 1/f apart at least."""

from __future__ import annotations

import pytest

from monitor.sensors.app import LEAST_INTERVAL, AppSensor


def test_the_first_bytes_are_reported_and_then_those_that_pass_after_the_interval() -> None:
    sensor = AppSensor(interval=0.5)
    due = [sensor.count(100, now=at) for at in (10.0, 10.2, 10.49, 10.5, 10.6, 13.0, 13.4)]
    assert due == [True, False, False, True, False, True, False]
    assert sensor.total == 700


def test_a_silence_is_not_made_good_by_several_reports() -> None:
    sensor = AppSensor(interval=0.1)
    sensor.count(1, now=0.0)
    assert [sensor.count(1, now=9.0 + at) for at in (0.0, 0.05, 0.1)] == [True, False, True]


@pytest.mark.parametrize("interval", [0.0, -1.0, LEAST_INTERVAL / 2, float("nan")])
def test_an_interval_of_nothing_is_refused(interval: float) -> None:
    with pytest.raises(ValueError, match="interval"):
        AppSensor(interval=interval)
