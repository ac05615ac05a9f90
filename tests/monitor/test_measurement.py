"""Tests of measurements of available bandwidth by streams."""

from __future__ import annotations

import pytest

from monitor.inline.measurement import InlineMeasurement, InlineResult, Where
from monitor.inline.stream import MeasurementStream, StreamTimes

PACKET = 1500
CAPACITY = 12.5e6
"""Bytes/second."""


def carried(stream: MeasurementStream, free: float, *, capacity: float = CAPACITY) -> StreamTimes:
    """The stream over a bottleneck that others fill evenly but for `free` bytes/second."""
    queue, last = 0.0, 0.0
    arrived = []
    for at in stream.offsets:
        queue = max(0.0, queue + (at - last) * (capacity - free) - (at - last) * capacity)
        queue += stream.packet
        arrived.append(7.0 + at + queue / capacity)
        last = at
    return StreamTimes(stream.offsets, arrived)


def measured(measurement: InlineMeasurement, free: float) -> InlineResult:
    """The next result of a path where so much is free."""
    for _ in range(5):
        found = measurement.observed(carried(measurement.stream, free))
        if found is not None:
            return found
    raise AssertionError("more than a burst and four streams")


def test_it_begins_with_what_a_burst_says_and_looks_below_that() -> None:
    measurement = InlineMeasurement(packet=PACKET)
    assert measurement.searched is None
    assert measurement.stream.offsets == (0.0,) * 5
    assert measurement.observed(carried(measurement.stream, 7.5e6)) is None
    searched = measurement.searched
    assert searched is not None
    assert (searched.low, searched.high) == pytest.approx((CAPACITY / 2, CAPACITY))


@pytest.mark.parametrize("free", [6.5e6, 7.5e6, 9e6, 11e6])
@pytest.mark.parametrize("count", [5, 8])
def test_a_steady_path_is_measured_to_a_few_hundredths(free: float, count: int) -> None:
    measurement = InlineMeasurement(packet=PACKET, count=count)
    results = [measured(measurement, free) for _ in range(6)]
    assert results[-1].where is Where.INSIDE
    assert results[-1].available == pytest.approx(free, rel=0.04)
    assert results[-1].searched.width < 0.25 * free, "it looks nearby"
    assert results[-1].streams < results[0].streams


def test_after_a_step_it_says_on_which_side_and_finds_it_within_ten() -> None:
    measurement = InlineMeasurement(packet=PACKET)
    for _ in range(4):
        measured(measurement, 7.5e6)
    up = [measured(measurement, 11e6) for _ in range(10)]
    assert up[0].where is Where.ABOVE and up[0].available == up[0].searched.high
    assert up[-1].available == pytest.approx(11e6, rel=0.05)
    down = [measured(measurement, 2.5e6) for _ in range(10)]
    assert down[0].where is Where.BELOW and down[0].available == down[0].searched.low
    assert down[-1].available == pytest.approx(2.5e6, rel=0.05)


def test_slower_streams_are_not_sent_once_two_in_a_row_have_no_trend() -> None:
    measurement = InlineMeasurement(packet=PACKET)
    measurement.observed(carried(measurement.stream, CAPACITY))
    for number in (1, 2):
        found = measurement.observed(carried(measurement.stream, 2 * CAPACITY, capacity=1e9))
        assert (found is None) == (number == 1)
    assert found is not None and (found.streams, found.where) == (2, Where.ABOVE)


def test_another_path_is_begun_anew() -> None:
    measurement = InlineMeasurement(packet=PACKET)
    measured(measurement, 7.5e6)
    measurement.restart()
    assert measurement.searched is None and measurement.latest is not None
    assert measurement.stream.offsets == (0.0,) * 5


def test_a_burst_that_comes_all_at_once_still_gives_a_range() -> None:
    measurement = InlineMeasurement(packet=PACKET)
    times = StreamTimes((0.0,) * 5, (1.0,) * 5)
    assert measurement.observed(times, resolution=0.001) is None
    assert measurement.searched is not None and measurement.searched.high == pytest.approx(6e6)


def test_nothing_is_looked_for_below_half_of_what_is_known_to_arrive() -> None:
    measurement = InlineMeasurement(packet=PACKET)
    for _ in range(4):
        measured(measurement, 7.5e6)
    measured(measurement, 0.5e6)
    measurement.at_least(14e6)
    searched = measurement.searched
    assert searched is not None and (searched.low, searched.high) == (7e6, 14e6)
    measurement.at_least(40e6)
    searched = measurement.searched
    assert searched is not None and (searched.low, searched.high) == (20e6, 40e6)
    measurement.at_least(1e6)
    assert measurement.searched == searched, "that is less, and says nothing"


def test_a_measurement_that_has_begun_goes_on_where_it_looks() -> None:
    measurement = InlineMeasurement(packet=PACKET)
    measurement.observed(carried(measurement.stream, CAPACITY))
    searched = measurement.searched
    assert measurement.observed(carried(measurement.stream, 7e6)) is None
    measurement.at_least(40e6)
    assert measurement.searched == searched


def test_streams_of_two_packets_are_refused() -> None:
    with pytest.raises(ValueError, match="no trend"):
        InlineMeasurement(packet=PACKET, count=2)
