"""Tests of the Control unit: packets that wait leave as streams, and never for long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.inline.control_unit import ControlUnit, State
from monitor.inline.measurement import InlineMeasurement

PACKET = 1000
CAPACITY = 100_000.0
"""Bytes/second of the path, of which others take nothing."""
TRIP = 0.1
"""Seconds until a packet's acknowledgement, without its queue."""


@dataclass
class Sender:
    """Packets that wait, a path that serves one after the other, and what becomes of each."""

    measurement: InlineMeasurement
    unit: ControlUnit
    window: int = 20
    waiting: int = 0
    now: float = 0.0
    number: int = 0
    free_at: float = 0.0
    left: dict[int, float] = field(default_factory=dict)
    acks: list[tuple[float, int]] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    came: list[float] = field(default_factory=list)

    def come(self, count: int) -> None:
        """So many packets are to be sent."""
        self.waiting += count
        self.came += [self.now] * count
        self.leave()

    def leave(self) -> None:
        while count := self.unit.may_leave(self.waiting, window=self.window, now=self.now):
            assert count <= self.waiting
            for _ in range(count):
                self.free_at = max(self.free_at, self.now) + PACKET / CAPACITY
                self.left[self.number] = self.now
                self.waited.append(self.now - self.came[self.number])
                self.acks.append((self.free_at + TRIP, self.number))
                self.unit.left(self.number, self.now)
                self.number += 1
                self.waiting -= 1

    def until(self, end: float, heard: Callable[[int], None] = lambda number: None) -> None:
        """Time passes."""
        while True:
            due = self.acks[0][0] if self.acks else end
            wake = self.unit.wake if self.unit.wake is not None and self.waiting else end
            self.now = min(due, max(wake, self.now), end)
            if self.acks and self.acks[0][0] <= self.now:
                at, number = self.acks.pop(0)
                self.unit.arrived(number, at, self.now)
                heard(number)
            elif self.now >= end:
                return
            self.leave()

    def keep_busy(self, seconds: float) -> None:
        """One packet more for each that is acknowledged: TCP's self-clocking."""
        self.come(self.window)
        self.until(self.now + seconds, heard=lambda _: self.come(1))


def made(**settings: object) -> Sender:
    measurement = InlineMeasurement(packet=PACKET)
    unit = ControlUnit(measurement, **settings)  # type: ignore[arg-type]
    unit.round_trip(TRIP, 0.01)
    return Sender(measurement, unit)


def test_with_m_packets_a_stream_leaves_at_the_times_of_its_measurement() -> None:
    sender = made()
    sender.come(4)
    assert not sender.left, "m is N at first"
    sender.come(1)
    assert set(sender.left.values()) == {0.0}, "the first one finds out where to begin"
    assert sender.unit.state is State.PASS
    sender.until(1.0)
    assert sender.unit.latest is None
    stream = sender.measurement.stream
    sender.come(5)
    sender.until(2.0)
    times = [sender.left[number] for number in range(5, 10)]
    assert [later - times[0] for later in times] == pytest.approx(stream.offsets)


def test_what_comes_while_a_stream_leaves_leaves_behind_it() -> None:
    sender = made()
    sender.come(5)
    sender.until(1.0)
    sender.come(8)
    sender.until(1.5)
    assert len(sender.left) == 13
    stream, behind = range(5, 10), range(10, 13)
    assert {sender.left[number] for number in behind} == {sender.left[stream[-1]]}


def test_the_storing_timer_ends_the_storing_and_starts_with_a_packet() -> None:
    sender = made()
    sender.until(5.0)
    sender.come(3)
    sender.until(5.0 + 0.3)
    patience = PACKET * 4 / (20 * PACKET / TRIP) + 4 * 0.01
    assert sender.waited == pytest.approx([patience] * 3)
    assert sender.unit.state is State.STORE


def test_a_window_of_less_than_a_stream_stores_nothing() -> None:
    sender = made()
    sender.window = 4
    for _ in range(10):
        sender.come(3)
        sender.until(sender.now + 0.01)
    assert max(sender.waited) == 0.0
    assert sender.unit.streams == 0


def test_a_measurement_has_a_result_in_a_few_round_trips_and_it_is_right() -> None:
    sender = made()
    sender.window = 8  # less than the path holds: it carries more
    sender.keep_busy(20.0)
    latest = sender.unit.latest
    assert latest is not None
    assert latest.available == pytest.approx(CAPACITY, rel=0.15)
    assert sender.unit.streams > 20
    assert max(sender.waited) < 0.2


def test_streams_that_lack_packets_need_more_of_them_and_those_that_do_not_fewer() -> None:
    sender = made()
    sender.keep_busy(10.0)
    assert sender.unit.stored == 2, "packets come as fast as streams leave"
    sender.until(sender.now + 2.0)
    sender.unit.forget()
    before = sender.unit.failures
    sender.come(2)
    sender.until(sender.now + 1.0)
    assert sender.unit.failures == before + 1
    assert sender.unit.stored == 3


def test_a_packet_that_comes_when_its_time_is_over_is_no_streams() -> None:
    sender = made()
    sender.keep_busy(10.0)
    assert sender.unit.stored == 2
    sender.until(sender.now + 2.0)
    sender.unit.forget()
    before = sender.unit.failures
    sender.come(2)
    sender.until(sender.now + 0.001)
    assert sender.unit.state is State.SEND
    sender.now += 0.5
    sender.come(4)  # enough for all five, and too late
    assert sender.unit.failures == before + 1
    assert sender.unit.stored == 3


def test_a_stream_slower_than_the_connection_does_not_hold_it_up() -> None:
    sender = made()
    sender.keep_busy(5.0)
    sender.until(sender.now + 2.0)
    sender.unit.forget()
    sender.measurement.begin_at(CAPACITY / 50)  # as after some results below their ranges
    sender.waited.clear()
    sender.keep_busy(5.0)
    assert max(sender.waited) < 5 * PACKET / (CAPACITY / 2) + 0.1


def test_a_stream_that_lost_a_packet_is_sent_again() -> None:
    sender = made()
    sender.come(5)
    assert sender.unit.streams == 1
    assert sender.unit.lost(2, 0.2) is None
    sender.acks = [ack for ack in sender.acks if ack[1] != 2]
    sender.until(1.0)
    sender.come(5)
    assert set(list(sender.left.values())[5:]) == {1.0}, "all at once, as the first was to"
    sender.until(2.0)
    assert sender.unit.latest is None
    assert sender.unit.failures == 1


def test_between_measurements_is_the_pause_that_is_asked_for() -> None:
    often, seldom = made(), made(pause=lambda: 20.0)
    for sender in (often, seldom):
        sender.keep_busy(20.0)
    assert often.unit.streams > 4 * seldom.unit.streams > 0


def test_after_forgetting_old_acknowledgements_say_nothing() -> None:
    sender = made()
    sender.come(5)
    sender.unit.forget()
    sender.until(1.0)
    sender.come(5)
    assert set(list(sender.left.values())[5:]) == {1.0}, "still where it began"


@given(st.lists(st.tuples(st.integers(0, 6), st.floats(0.0, 0.2), st.integers(0, 12)), max_size=60),
       st.sets(st.integers(0, 300), max_size=30))  # fmt: skip
def test_packets_leave_in_their_order_all_of_them_and_none_waits_for_long(
    steps: list[tuple[int, float, int]], losses: set[int]
) -> None:
    sender = made()
    for count, pause, window in steps:
        sender.window = window + 1
        sender.come(count)
        for number in losses & set(sender.left):
            sender.unit.lost(number, sender.now)
        sender.until(sender.now + pause)
    sender.until(sender.now + 60.0)
    assert sender.waiting == 0
    times = [sender.left[number] for number in range(sender.number)]
    assert all(later >= before for before, later in pairwise(times))
    assert max(sender.waited, default=0.0) < 10.0
