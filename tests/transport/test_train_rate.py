"""Trains of cells that say when they were sent tell what a path carries."""

from __future__ import annotations

import random

import pytest

from transport.r2cp.train_rate import TrainRate
from transport.rcp.segments import MOST_SENT

SIZE = 1_220


class Path:
    """One that carries so many bytes/second; cells are sent at times of its own clock."""

    def __init__(self, rate: float, *, delay: float = 0.05, clock: float = 4_321.0) -> None:
        self.rate, self.delay, self._clock = rate, delay, clock
        self.train = TrainRate()
        self._free = 0.0

    def send(self, at: float, *, jitter: float = 0.0, size: int = SIZE) -> None:
        self._free = max(self._free, at) + size / self.rate
        sent = round((at + self._clock) * 1_000) % MOST_SENT
        self.train.came(size, sent=sent, now=self._free + self.delay + jitter)

    def burst(self, cells: int, at: float) -> None:
        for _ in range(cells):
            self.send(at)

    def paced(self, cells: int, at: float, rate: float) -> float:
        for number in range(cells):
            self.send(at + number * SIZE / rate)
        return at + cells * SIZE / rate


@pytest.mark.parametrize("rate", [4_800.0, 48_000.0, 128_000.0])
def test_a_burst_tells_what_a_path_carries(rate: float) -> None:
    path = Path(rate)
    path.burst(4, 1.0)
    assert path.train.rate == pytest.approx(rate, rel=0.05)


def test_a_fade_is_found_out_by_the_first_cells_after_a_rest() -> None:
    """Though they were sent at the pace of before."""
    path = Path(48_000.0)
    path.burst(8, 0.0)
    path.rate = 4_800.0
    path.paced(3, 60.0, 60_000.0)
    assert path.train.rate == pytest.approx(4_800.0, rel=0.05)


def test_one_late_cell_is_no_fade() -> None:
    path = Path(48_000.0)
    path.burst(8, 0.0)
    for number in range(20):
        path.send(10.0 + number * SIZE / 40_000, jitter=0.4 if number == 6 else 0.0)
        assert path.train.rate > 30_000


def test_cells_that_a_radio_has_late_are_no_fade() -> None:
    """Four of them, sent 11 ms apart, came 13 apart: as on LTE."""
    path, chance = Path(1_500_000.0), random.Random(5)
    path.burst(60, 0.0)
    before = 0.0
    for number in range(400):
        at = 1.0 + number * 0.011
        before = max(before, at + chance.uniform(0.0, 0.02))
        path.send(at, jitter=before - at)
        assert path.train.rate > 700_000


def test_a_fade_is_found_out_though_little_more_is_sent_than_it_carries() -> None:
    """Each train is drawn out by little, but what comes has waited ever longer."""
    path = Path(48_000.0)
    path.burst(8, 0.0)
    path.rate = 20_000.0
    end = path.paced(20, 10.0, 30_000.0)
    assert end < 11.0
    assert path.train.rate == pytest.approx(20_000.0, rel=0.05)


def test_what_is_sent_slowly_is_no_fade() -> None:
    path = Path(48_000.0)
    path.burst(8, 0.0)
    path.paced(40, 10.0, 5_000.0)
    assert path.train.rate == pytest.approx(48_000.0, rel=0.05)


def test_a_path_that_has_become_longer_is_as_fast_as_it_was() -> None:
    path = Path(48_000.0)
    path.burst(8, 0.0)
    end = path.paced(20, 10.0, 40_000.0)
    path.delay += 0.45
    path.paced(20, end, 40_000.0)
    assert path.train.rate > 38_000


def test_what_comes_as_it_was_sent_is_carried_at_least() -> None:
    """A fade that is over shows within seconds: a path is given a little more than it carries."""
    path, at = Path(4_800.0), 1.0
    path.burst(4, at)
    path.rate = 48_000.0
    for _ in range(14):
        at = path.paced(4, at + 1.0, 1.25 * path.train.rate)
    assert 40_000 < path.train.rate < 60_000


def test_cells_that_overtake_and_jitter_do_not_make_a_rate_of_their_own() -> None:
    chance = random.Random(3)
    path = Path(125_000.0)
    path.burst(8, 0.0)
    for number in range(400):
        path.send(10.0 + number * SIZE / 100_000, jitter=chance.random() * 0.01)
    assert 60_000 < path.train.rate < 250_000


def test_a_fast_paths_trains_are_hundreds_of_cells() -> None:
    path = Path(6_000_000.0)
    path.burst(5_000, 1.0)
    assert path.train.rate == pytest.approx(6_000_000.0, rel=0.05)


def test_bounded_whatever_comes() -> None:
    chance, train = random.Random(9), TrainRate()
    for number in range(5_000):
        train.came(chance.randrange(1, 2_000), sent=chance.randrange(MOST_SENT), now=number * 0.001)
    assert train.rate < 1e8


@pytest.mark.parametrize("rest", [0.5, 7.0, 40.0])
def test_a_path_that_has_come_back_is_found_out_by_one_cell(rest: float) -> None:
    """Sent at the pace of before, whole trains show no more than that."""
    path = Path(48_000.0)
    path.burst(8, 0.0)
    path.rate = 4_800.0
    path.paced(5, 20.0, 6_000.0)
    path.send(22.0, size=69)  # what comes at the end of a page
    assert path.train.rate == pytest.approx(4_800.0, rel=0.05)
    path.rate = 48_000.0
    path.send(23.0, size=69)
    path.send(23.0 + rest)
    assert path.train.rate == pytest.approx(48_000.0, rel=0.15)


def test_cells_of_one_size_tell_by_no_single_one_that_a_path_has_come_back() -> None:
    path = Path(48_000.0)
    path.burst(8, 0.0)
    path.rate = 4_800.0
    path.paced(5, 20.0, 6_000.0)
    path.rate = 48_000.0
    path.send(30.0)
    assert path.train.rate == pytest.approx(4_800.0, rel=0.05)


def test_what_one_cell_told_wrongly_the_next_train_mends() -> None:
    """The small cell was late for another reason."""
    path = Path(48_000.0)
    path.burst(8, 0.0)
    path.rate = 4_800.0
    path.paced(5, 20.0, 6_000.0)
    path.send(123.0, size=69, jitter=0.2)
    path.send(124.0)
    assert path.train.rate > 10_000.0
    path.paced(4, 125.0, 48_000.0)
    assert path.train.rate == pytest.approx(4_800.0, rel=0.1)


def test_what_little_there_is_to_send_is_no_rate_where_none_is_known() -> None:
    """Four empty cells within a second: a satellite of 50 Mbit/s was then given 300 bytes/s."""
    path = Path(6_000_000.0, delay=0.3)
    for number in range(4):
        path.train.came(70, sent=300 * number, now=0.6 + 0.3 * number, asked=45_000.0)
    assert path.train.rate == 0.0
    path = Path(6_000_000.0, delay=0.3)
    for number in range(30):
        path.train.came(SIZE, sent=number, now=0.6 + 0.001 * number, asked=45_000.0)
    assert path.train.rate > 1_000_000


def test_what_the_newest_cell_has_waited_is_known() -> None:
    path = Path(12_000.0)
    assert path.train.waited == 0.0
    path.burst(1, 0.0)
    path.burst(4, 1.0)
    assert path.train.waited == pytest.approx(3 * SIZE / 12_000.0, abs=0.002)
    path.burst(1, 5.0)
    assert path.train.waited == pytest.approx(0.0, abs=0.002)
