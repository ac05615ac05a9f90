"""Tests of the transport sensor's core: even times, one batch, connections that go."""

from __future__ import annotations

import pytest

from monitor.samples import TransportSample
from monitor.sensors import transport as module
from monitor.sensors.transport import TransportSensor
from tests.monitor.facts import transport


def test_times_lie_on_a_grid_whatever_the_rounds_are_late() -> None:
    sensor = TransportSensor(interval=0.5, now=10.0)
    times = []
    for late in (0.0, 0.3, 0.1, 0.0):
        times.append(sensor.next_timer())
        sensor.sample(now=sensor.next_timer() + late)
    assert times == pytest.approx([10.5, 11.0, 11.5, 12.0])


def test_rounds_that_were_missed_are_left_out() -> None:
    sensor = TransportSensor(interval=0.5, now=10.0)
    sensor.sample(now=12.2)
    assert sensor.next_timer() == pytest.approx(12.5)


def test_a_timer_that_is_early_by_a_hair_does_not_come_twice() -> None:
    sensor = TransportSensor(interval=0.5, now=10.0)
    sensor.sample(now=10.5 - 1e-9)
    assert sensor.next_timer() == pytest.approx(11.0)


def test_all_connections_are_one_batch_and_those_that_are_gone_are_forgotten() -> None:
    sensor = TransportSensor(interval=1.0, now=0.0)
    there: dict[int, TransportSample | None] = {
        1: transport(connection=1, acked=5),
        2: transport(connection=2, acked=6),
    }
    sensor.register(1, lambda: there[1])
    sensor.register(2, lambda: there[2])
    assert sensor.sample(now=1.0) == list(there.values())
    there[1] = None
    assert [one.connection for one in sensor.sample(now=2.0)] == [2]
    assert len(sensor) == 1
    sensor.unregister(2)
    sensor.unregister(2)
    assert sensor.sample(now=3.0) == []


def test_there_are_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WATCHED", 2)
    sensor = TransportSensor(interval=1.0, now=0.0)
    for name in (1, 2, 2):
        sensor.register(name, transport)
    with pytest.raises(ValueError, match="watched already"):
        sensor.register(3, transport)


def test_an_interval_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="interval"):
        TransportSensor(interval=0.0, now=0.0)
