"""A delay above its band means a queue, which also runs empty on purpose."""

import pytest

from tests.transport.path import path
from transport.gate.drains import Drains
from transport.gate.queue_watch import Band, QueueVerdict

TARGET = 0.010
"""Seconds."""
WINDOW = 0.100


def verdicts(
    excesses: list[float], *, overfull: bool, jitter: float = 0.0
) -> list[QueueVerdict | None]:
    """The verdicts on reports that come every 20 ms."""
    band = Band()
    return [
        band.judge(
            0.02 * number,
            path(excess=excess, jitter=jitter, rate=1e5 if number == 0 else 1e4),
            overfull=overfull,
        )
        for number, excess in enumerate(excesses)
    ]


def test_within_the_band_nothing_is_to_be_done() -> None:
    assert verdicts([0.030] * 100, overfull=True) == [None] * 100


def test_jitter_widens_the_band() -> None:
    assert verdicts([0.045] * 100, overfull=True, jitter=0.02) == [None] * 100


def test_above_it_for_half_a_delay_the_link_has_become_slower() -> None:
    said = verdicts([0.040] * 10, overfull=True)
    assert said[:3] == [None] * 3
    assert said[3:] == [QueueVerdict.SLOWER] * 7


def test_what_comes_at_once_after_a_silence_waited_for_a_repair_unless_that_goes_on() -> None:
    band, above = Band(), path(excess=0.15)
    assert band.judge(0.0, above, overfull=True) is None
    assert band.judge(0.1, above, overfull=True, at_once=True) is None
    assert band.judge(0.2, above, overfull=True) is QueueVerdict.SLOWER, "what is spaced tells"
    repaired = Band()
    said = [repaired.judge(0.1 * n, above, overfull=True, at_once=True) for n in range(10)]
    assert said.index(QueueVerdict.SLOWER) * 0.1 == pytest.approx(2 * (WINDOW + 0.15), abs=0.11)


def test_a_delay_that_falls_back_was_nothing() -> None:
    assert verdicts([0.040, 0.040, 0.010] * 10, overfull=True) == [None] * 30


def test_with_nothing_of_ours_queued_the_path_has_become_longer_and_is_judged_anew() -> None:
    said = verdicts([0.040] * 40, overfull=False)
    assert said.index(QueueVerdict.LONGER) * 0.02 == pytest.approx(4 * (WINDOW + 0.040), abs=0.03)
    assert said[said.index(QueueVerdict.LONGER) + 1] is None


def test_where_a_longer_path_was_none_others_fill_the_queue() -> None:
    band = Band()
    said = [band.judge(0.02 * n, path(excess=0.040), overfull=False) for n in range(40)]
    assert QueueVerdict.LONGER in said
    band.judge(1.0, path(excess=0.0, least=0.040), overfull=False)  # it counts as longer, and is
    band.judge(2.0, path(excess=0.0, least=0.001), overfull=False)  # not: so short it was before
    said = [band.judge(3.0 + 0.02 * n, path(excess=0.040), overfull=False) for n in range(40)]
    assert QueueVerdict.OTHERS in said
    assert QueueVerdict.LONGER not in said


def test_the_rate_is_that_before_the_delay_rose() -> None:
    band = Band()
    for number, rate in enumerate([5e4, 4e4, 3e4]):
        band.judge(0.02 * number, path(excess=0.05, rate=rate), overfull=True)
    assert band.rate == 5e4


def due(drains: Drains, *, idle: float, window: float, empty_at: float = 0.0) -> float:
    """Seconds at which the next drain is due."""
    ticks = range(100_000)
    times = (tick / 100 for tick in ticks)
    facts = path(window=window, drained=idle)
    return next(t for t in times if drains.due(t, facts, empty_at=empty_at))


def test_a_drain_comes_every_ten_seconds_or_twenty_rounds() -> None:
    assert due(Drains(now=0.0), idle=TARGET, window=0.1) == 10.0
    drains = Drains(now=0.0)
    drains.begin(0.0, path(window=2.0, drained=TARGET))
    assert drains.end == 2.0
    assert due(drains, idle=TARGET, window=2.0) == 40.0


def test_what_a_drain_costs_puts_the_next_one_off() -> None:
    drains = Drains(now=0.0)
    drains.begin(0.0, path(window=0.1, drained=0.090))  # 90 ms are half a percent of 18 s
    assert due(drains, idle=0.090, window=0.1) == 18.0
    assert due(drains, idle=0.5, window=0.1) == 24.0  # or the least delay would be forgotten


def test_a_queue_that_ran_empty_by_itself_was_a_drain() -> None:
    assert due(Drains(now=0.0), idle=TARGET, window=0.1, empty_at=7.0) == 17.0
