"""A stream by RCP arrives whole, in order, once, whatever the path loses on either way."""

from __future__ import annotations

import pytest

from tests.transport.rcp_path import RcpPath, losing, noise
from transport.rcp.segments import Req
from transport.rcp.settings import RcpSettings


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("pulls", [False, True])
def test_a_file_arrives_byte_by_byte(loss: float, seed: int, pulls: bool) -> None:
    path = RcpPath(down=losing(loss, seed), up=losing(loss, 100 + seed), pulls=pulls)
    data = noise(500_000, seed)
    path.write(data, end=True)
    path.run(600.0, done=lambda: path.receiver.goodbye.closed)
    assert path.got == data
    assert path.receiver.goodbye.closed


@pytest.mark.parametrize("seed", range(3))
def test_lost_requests_cost_no_more_than_lost_acknowledgements(seed: int) -> None:
    """With 40 % of the requests lost, the stream takes little longer: 3.3.1, 3.4.1."""
    times = []
    for loss in (0.0, 0.4):
        chance = losing(loss, seed)
        path = RcpPath(up=lambda segment, now, chance=chance: now > 0.1 and chance(segment, now))
        data = noise(1_500_000, seed)
        path.write(data, end=True)
        times.append(path.run(100.0, done=lambda path=path: path.receiver.done))
        assert path.got == data
    assert times[1] < 1.15 * times[0]


def test_requests_are_a_small_part_of_what_crosses() -> None:
    path = RcpPath()
    path.write(noise(3_000_000), end=True)
    path.run(60.0, done=lambda: path.receiver.done)
    headers = RcpSettings().headers
    up = path.up_bytes + headers * len(path.requests)
    down = path.down_bytes + headers * len(path.data)
    assert up <= 0.04 * down
    assert len(path.requests) > 0.4 * len(path.data)  # self-clocked all the same


@pytest.mark.long
def test_a_way_back_of_a_twentieth_is_enough() -> None:
    """20:1: the requests of a full link fit one of a twentieth of the rate."""
    path = RcpPath(rate=500_000.0)
    path.write(noise(4_000_000), end=True)
    took = path.run(60.0, done=lambda: path.receiver.done)
    up = path.up_bytes + RcpSettings().headers * len(path.requests)
    assert up / took <= 500_000.0 / 20


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_path_that_dies_and_comes_back_goes_on_where_it_was(way: str) -> None:
    def dead(_: object, now: float) -> bool:
        return 2.0 <= now < 12.0

    path = RcpPath(**{way: dead})
    data = noise(1_500_000)
    path.write(data, end=True)
    path.run(60.0, done=lambda: path.receiver.goodbye.closed)
    assert path.got == data
    assert 1 <= path.receiver.pipe.timeouts <= 8
    assert path.receiver.buffer.duplicates <= 12 * path.receiver.size


def test_segments_that_overtake_each_other_arrive_whole() -> None:
    from heapq import heappush

    class Reordering(RcpPath):
        def _put(self, at: float, what: str, data: bytes) -> None:
            late = 0.02 * (next(self._number) % 5 == 0)
            heappush(self._events, (at + late, next(self._number), what, data))

    path = Reordering()
    data = noise(600_000)
    path.write(data, end=True)
    path.run(60.0, done=lambda: path.receiver.goodbye.closed)
    assert path.got == data


@pytest.mark.parametrize("lost", [1, 2])
def test_a_lost_request_for_the_first_window_costs_a_reminder_and_no_window(lost: int) -> None:
    dropped: list[float] = []

    def fate(segment: object, now: float) -> bool:
        if isinstance(segment, Req) and len(dropped) < lost:
            dropped.append(now)
            return True
        return False

    path = RcpPath(delay=0.05, up=fate)
    path.write(noise(12_000), end=True)
    took = path.run(20.0, done=lambda: path.receiver.done)
    assert path.receiver.pipe.timeouts == (lost == 2)
    assert path.receiver.reminders >= 1
    assert took < (0.6 if lost == 1 else 1.0)
