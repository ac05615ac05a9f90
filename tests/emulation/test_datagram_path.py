"""Tests of the path of datagrams: what it takes, what it loses, and a clock that jumps."""

from __future__ import annotations

import pytest

from emulation.accuracy.accuracy import altered, link
from emulation.memory.datagram_path import HEADERS, DatagramPath, PathDirection, PathRun

SIZE = 100 - HEADERS
"""Bytes of a datagram that is a packet of 100."""
THIN = link(8000, delay=0.5, queue=300)
"""A thousand bytes a second."""


def test_a_datagram_takes_its_time_with_the_headers_that_links_carry() -> None:
    path = DatagramPath(THIN)
    assert path.next_time() is None
    path.up.send(bytes(SIZE), 0.0)
    assert path.next_time() == pytest.approx(0.1)
    assert path.up.arrived(0.59) == []
    assert path.next_time() == pytest.approx(0.6)
    assert path.up.arrived(0.6001) == [bytes(SIZE)]
    assert path.next_time() is None


def test_a_full_queue_drops_and_each_way_has_its_own() -> None:
    path = DatagramPath(altered(THIN, queue_up=200))
    for way in (path.up, path.down):
        for number in range(4):
            way.send(bytes([number]) * SIZE, 0.0)
    assert [one[0] for one in path.up.arrived(10.0)] == [0, 1]
    assert [one[0] for one in path.down.arrived(10.0)] == [0, 1, 2]
    assert path.up.statistics().dropped_packets == 2
    assert path.down.statistics().dropped_packets == 1


def test_what_is_too_large_vanishes_and_nobody_is_told() -> None:
    way = PathDirection(THIN, down=True, seed=1)
    way.send(bytes(1500 - HEADERS + 1), 0.0)
    assert way.next_time() is None
    assert way.statistics().dropped == 0
    way.send(bytes(1500 - HEADERS), 0.0)
    assert len(way.arrived(10.0)) == 1
    way.set_mtu(600)
    way.send(bytes(600 - HEADERS), 10.0)
    way.send(bytes(601 - HEADERS), 10.0)
    assert [len(one) for one in way.arrived(20.0)] == [600 - HEADERS]


def test_a_rate_that_is_changed_holds_from_then_on() -> None:
    way = PathDirection(THIN, down=True, seed=1)
    way.send(bytes(SIZE), 0.0)
    way.set_rate(0.0, 0.05)
    assert way.next_time() is None
    way.set_rate(100.0, 2.0)  # fifty bytes are left
    assert way.next_time() == pytest.approx(2.5)


def test_a_seed_loses_the_same_and_the_two_ways_have_chances_of_their_own() -> None:
    def passed(way: PathDirection) -> list[int]:
        for number in range(100):
            way.send(bytes([number]), number * 1.0)
        return [one[0] for one in way.arrived(1000.0)]

    lossy = altered(THIN, loss=0.3)
    path, again, other = (DatagramPath(lossy, seed=seed) for seed in (1, 1, 2))
    up, down = passed(path.up), passed(path.down)
    assert 40 < len(up) < 95
    assert up != down
    assert (up, down) == (passed(again.up), passed(again.down))
    assert up != passed(other.up)


class End:
    """A core that sends what it is given, and answers if it is asked to."""

    def __init__(self, *to_send: bytes, answers: bool = False, due: float | None = None) -> None:
        self.to_send = list(to_send)
        self.answers = answers
        self.due = due
        self.got: list[tuple[float, bytes]] = []
        self.fired: list[float] = []

    def datagram_received(self, datagram: bytes, now: float) -> None:
        self.got.append((now, datagram))
        if self.answers:
            self.to_send.append(datagram)

    def datagrams_to_send(self, now: float) -> list[bytes]:
        going, self.to_send = self.to_send, []
        return going

    def deadline(self) -> float | None:
        return self.due

    def timeout(self, now: float) -> None:
        self.fired.append(now)
        self.due = None


def test_two_ends_talk_and_the_clock_jumps_to_what_happens() -> None:
    near, far = End(bytes(SIZE)), End(answers=True, due=0.25)
    steps: list[float] = []
    run = PathRun(near, far, DatagramPath(THIN))
    assert run.until(lambda: bool(near.got), step=steps.append, limit=60.0)
    assert run.now == pytest.approx(1.2)
    assert far.got == [(pytest.approx(0.6), bytes(SIZE))]
    assert far.fired == [0.25]
    assert steps == [0.0, 0.25, pytest.approx(0.6), pytest.approx(1.2)]


def test_what_does_not_come_in_time_is_not_waited_for() -> None:
    near, far = End(bytes(SIZE)), End()
    run = PathRun(near, far, DatagramPath(THIN))
    assert not run.until(lambda: bool(far.got), limit=0.3)
    assert run.now == 0.3
    assert run.until(lambda: bool(far.got), limit=0.7)
    assert not run.until(lambda: bool(near.got), limit=99.0)  # nothing is under way any more
    assert run.now == 99.0
