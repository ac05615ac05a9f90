"""The start of a gate: more and more is under way until something tells the rate."""

from __future__ import annotations

import pytest

from monitor.progress import ReportedProgress
from monitor.sensors.path_delay import DelayFilter
from transport.gate.margin import Margin
from transport.gate.path_facts import PathFacts
from transport.gate.rate_search import RateSearch

QUANTUM = 500
LOOP = 0.1


class Start:
    """Reports of a path whose queue is as long as the test says."""

    def __init__(self) -> None:
        self.search = RateSearch()
        self.delay = DelayFilter()
        self.path = PathFacts(self.delay, Margin(), quantum=QUANTUM)
        self.now = 1.0
        self.received = 0

    def report(
        self, *, later: float = 0.2, excess: float = 0.0, limited: bool = True, under_way: int = 900
    ) -> bool:
        """One, so much later than the last; whether the rate is known."""
        self.now += later
        self.received += QUANTUM
        sent_at = self.now - LOOP - excess
        self.delay.add(
            self.now, loop=LOOP + excess, one_way=excess, steady=False, noise=0.0, held=0.0
        )
        arrived_at = self.now - LOOP / 2
        progress = ReportedProgress(
            self.received, QUANTUM, sent_at, sent_at, QUANTUM, QUANTUM, arrived_at
        )
        return self.search.heard(
            progress, self.delay, self.path, most=10_000.0, under_way=under_way, limited=limited
        )

    @property
    def cap(self) -> float:
        return self.search.cap(QUANTUM)


def test_a_few_quanta_and_twice_as_many_each_round() -> None:
    start = Start()
    assert start.cap == 4 * QUANTUM
    caps = []
    for _ in range(4):
        assert not start.report()
        caps.append(start.cap / QUANTUM)
    assert caps == [8, 16, 32, 64]


def test_who_has_little_to_say_is_let_say_no_more() -> None:
    start = Start()
    for _ in range(4):
        assert not start.report(limited=False)
    assert start.cap == 4 * QUANTUM


def test_what_was_padded_until_then_counts_as_if_the_cap_had_ended_it() -> None:
    start = Start()
    start.search.burst_ends(start.now + 10.0)
    assert not start.report(limited=False, under_way=0)
    assert start.cap == 8 * QUANTUM
    assert not start.report(limited=False, under_way=500)
    assert start.cap == 8 * QUANTUM


def test_a_whole_round_that_is_late_ends_it() -> None:
    start = Start()
    start.report()
    said = [start.report(later=0.03, excess=1.0) for _ in range(12)]
    assert True in said
    assert start.path.delivered == 10_000.0


def test_a_burst_that_the_link_draws_out_tells_its_rate() -> None:
    start = Start()
    said, arrived_at = [], 1.0
    for number in range(6):
        start.now += 0.05
        start.received += QUANTUM
        arrived_at += 0.05  # 10,000 bytes/second; all had been sent at once
        sent_at = 1.0 + 0.001 * number
        start.delay.add(start.now, loop=0.1, one_way=0.0, steady=False, noise=0.0, held=0.0)
        progress = ReportedProgress(
            start.received, QUANTUM, sent_at, sent_at, QUANTUM, QUANTUM, arrived_at
        )
        said.append(
            start.search.heard(
                progress, start.delay, start.path, most=0.0, under_way=900, limited=True
            )
        )
    assert True in said
    assert start.path.rate == pytest.approx(10_000.0)
    assert start.search.at_least > 0.0
