"""Tests of what a gate knows of its path: each fact against what it is made of."""

from __future__ import annotations

import pytest

from monitor.progress import ReportedProgress
from monitor.sensors.path_delay import DelayFilter
from transport.gate.margin import LATE_REPORT, TARGET, Margin
from transport.gate.path_facts import PathFacts

QUANTUM = 1000


def facts(*, rate: float = 0.0, delay: float = 0.1, late: float = 0.0) -> PathFacts:
    """Makes those of a path whose delays were all equal; `rate` in bytes/second, 0: unknown.
    `late`: seconds by which one more report was, of what had been there in time."""
    delays = DelayFilter()
    for report in range(20):
        at = 1.0 + report * delay
        delays.add(at, loop=delay, one_way=delay / 2, smaller=0.0, steady=True, noise=0.0, held=0.0)
    if late:
        noise = {"steady": False, "noise": 0.0, "held": 0.0}
        delays.add(at + delay, loop=delay + late, one_way=delay / 2, **noise)
    found = PathFacts(delays, Margin(), quantum=QUANTUM)
    found.delivered = rate * found.window
    return found


def test_the_rate_is_what_one_window_delivers() -> None:
    path = facts(rate=48_000.0)
    assert path.window == pytest.approx(0.1)
    assert path.rate == pytest.approx(48_000.0)
    path.delivered *= 2
    assert path.rate == pytest.approx(96_000.0)


def test_where_no_rate_is_known_nothing_is_divided_by_it() -> None:
    path = facts()
    assert (path.rate, path.serialisation) == (0.0, 0.0)
    assert path.target == path.drained == TARGET


def test_on_a_slow_link_the_margin_is_a_quantum_and_on_a_fast_one_a_time() -> None:
    slow, fast = facts(rate=7_000.0), facts(rate=1e6)
    assert slow.margin == pytest.approx(QUANTUM + LATE_REPORT * 7_000.0)
    assert slow.target == pytest.approx(slow.margin / 7_000.0)
    assert fast.margin == pytest.approx(TARGET * 1e6)
    assert fast.target == pytest.approx(TARGET)


def test_a_drain_costs_what_its_cap_lacks_and_a_quantum_that_does_not_fit() -> None:
    path = facts(rate=7_000.0)
    assert path.depth == pytest.approx(QUANTUM)
    assert path.drained == pytest.approx(2 * QUANTUM / 7_000.0)


def test_a_quantum_takes_longer_on_a_slow_link_and_may_be_changed() -> None:
    path = facts(rate=10_000.0)
    assert path.serialisation == pytest.approx(0.1)
    path.quantum = 2 * QUANTUM
    assert path.serialisation == pytest.approx(0.2)


def test_a_steady_path_has_neither_queue_nor_jitter_nor_late_reports() -> None:
    path = facts(rate=10_000.0)
    assert path.excess == pytest.approx(0.0)
    assert path.jitter == pytest.approx(0.0)
    assert path.unheard_of == pytest.approx(0.0)


def test_what_is_smaller_than_usual_would_have_taken_longer() -> None:
    path = facts(rate=10_000.0)
    small = ReportedProgress(5000, 400, 1.0, 1.0, 400, 400, 1.05)
    assert path.smaller(small) == pytest.approx((QUANTUM - 400) / 10_000.0)


def test_on_a_shared_link_a_small_packet_is_no_sooner_than_at_the_rate_of_the_link() -> None:
    path = facts(rate=10_000.0)
    small = ReportedProgress(50_000, 400, 1.0, 1.0, 400, 400, 1.05)
    assert path.smaller(small, most=4_000.0) == pytest.approx((QUANTUM - 400) / 40_000.0)
    assert path.smaller(small, most=500.0) == path.smaller(small)


def test_a_link_runs_dry_when_reports_are_later_than_what_is_under_way_lasts() -> None:
    late = facts(rate=10_000.0, late=0.5)
    assert late.dry(0.4, 2_000) == pytest.approx(0.4 - (0.2 - late.window))
    assert late.dry(0.05, 2_000) < 0, "what is under way keeps it busy"
    assert late.dry(9.0, 2_000) == pytest.approx(0.5), "when the rest came is known"


def test_a_link_that_has_become_slow_is_not_dry_and_neither_is_an_unknown_one() -> None:
    assert facts(rate=10_000.0).dry(9.0, 2_000) == pytest.approx(0.0), "its reports are in time"
    assert facts(late=0.5).dry(9.0, 2_000) == 0.0
