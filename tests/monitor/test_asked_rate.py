"""The rate of a link whose receiver asks: told by what arrives while there is more to send."""

from __future__ import annotations

import pytest

from monitor.sensors.asked_rate import AskedRate


def busy(sensor: AskedRate, rate: float, *, begin: float, seconds: float, total: int = 0) -> int:
    """Arrivals of a link that is busy, every 20 ms, .1 s after they left; all that arrived."""
    for step in range(round(seconds / 0.02) + 1):
        now = begin + 0.02 * step
        total += round(rate * 0.02)
        sensor.arrived(total, sent_at=now - 0.1, now=now)
    return total


def test_what_arrives_while_there_is_more_is_the_rate() -> None:
    sensor = AskedRate()
    assert sensor.estimate(0.0) is None
    busy(sensor, 50_000, begin=1.0, seconds=3.0)
    estimate = sensor.estimate(4.0)
    assert estimate is not None
    assert estimate.rate == pytest.approx(50_000, rel=0.001)
    assert (estimate.confidence, estimate.source) == (1.0, "requests")


def test_what_left_before_the_sender_had_nothing_tells_nothing() -> None:
    sensor = AskedRate()
    total = busy(sensor, 50_000, begin=1.0, seconds=2.0)
    sensor.dry(3.0)
    for step in range(50):  # a trickle: the sender has nothing else
        now = 3.02 + 0.02 * step
        sensor.dry(now)
        total += 10
        sensor.arrived(total, sent_at=now - 0.1, now=now)
    estimate = sensor.estimate(4.0)
    assert estimate is not None
    assert estimate.rate == pytest.approx(50_000, rel=0.001)


def test_a_link_that_fades_is_told_within_a_window() -> None:
    sensor = AskedRate()
    total = busy(sensor, 50_000, begin=1.0, seconds=2.0)
    busy(sensor, 5_000, begin=3.02, seconds=1.1, total=total)
    estimate = sensor.estimate(4.2)
    assert estimate is not None
    assert estimate.rate == pytest.approx(5_000, rel=0.02)


def test_a_short_time_raises_what_is_known_and_never_lowers_it() -> None:
    sensor = AskedRate()
    total = busy(sensor, 50_000, begin=1.0, seconds=2.0)
    sensor.dry(3.0)
    total = busy(sensor, 20_000, begin=4.0, seconds=0.3, total=total)
    slow = sensor.estimate(4.4)
    sensor.dry(4.5)
    busy(sensor, 90_000, begin=5.0, seconds=0.3, total=total)
    fast = sensor.estimate(5.4)
    assert slow is not None
    assert fast is not None
    assert slow.rate == pytest.approx(50_000, rel=0.001)
    assert fast.rate == pytest.approx(90_000, rel=0.001)
    assert fast.confidence < 1.0


def test_what_is_known_becomes_a_guess() -> None:
    sensor = AskedRate()
    busy(sensor, 50_000, begin=1.0, seconds=2.0)
    shown = [sensor.estimate(3.0 + age) for age in (0.0, 15.0, 60.0)]
    assert [one and round(one.confidence, 1) for one in shown] == [1.0, 0.5, 0.1]
