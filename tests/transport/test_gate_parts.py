"""The gate's parts, one by one: margin, pacer, first reports, books, what limited, drains."""

from __future__ import annotations

import pytest

from monitor.progress import ReportedProgress
from tests.transport.path import path
from tests.transport.test_path_facts import facts
from transport.gate.drains import Drains
from transport.gate.first_reports import FirstReports
from transport.gate.margin import LATE_REPORT, TARGET, Margin
from transport.gate.pacer import Pacer
from transport.gate.sent_log import Ledger
from transport.gate.what_limited import LimitedBy
from wire.errors import PeerError
from wire.frames import CLOCK_MODULUS, CLOCK_TICK, RECEIVED_MODULUS

QUANTUM = 1024
PATH = path(window=0.4)


def progress(*, size: int = QUANTUM, part: int = QUANTUM, sent_at: float = 1.0) -> ReportedProgress:
    return ReportedProgress(5000, part, sent_at, sent_at, size, part, sent_at + 0.05)


class TestMargin:
    def test_on_a_slow_link_it_is_a_quantum_and_what_a_late_report_costs(self) -> None:
        rate = 7_000.0
        assert Margin().nbytes(rate=rate, quantum=QUANTUM) == QUANTUM + LATE_REPORT * rate

    def test_on_a_fast_link_it_is_the_target_s_queue(self) -> None:
        assert Margin().nbytes(rate=1e6, quantum=QUANTUM) == TARGET * 1e6

    def test_a_receiver_that_reports_seldom_gets_more_but_not_without_end(self) -> None:
        margin, usual = Margin(), Margin().nbytes(rate=1e6, quantum=QUANTUM)
        for _ in range(200):
            margin.reported(3.0, QUANTUM)
        assert usual < margin.nbytes(rate=1e6, quantum=QUANTUM) == 0.025 * 1e6

    def test_it_doubles_after_every_other_round_that_left_the_queue_empty(self) -> None:
        margin = Margin()
        grown = []
        for _ in range(6):
            margin.step(most=2)
            grown.append(margin.growth)
        assert grown == [0, 1, 1, 2, 2, 2]
        margin.rest()
        assert margin.growth == 0

    def test_a_small_message_would_have_taken_longer_had_it_been_a_quantum(self) -> None:
        small = progress(size=24, part=24)
        assert Margin().smaller(small, rate=1000.0, quantum=QUANTUM) == 1.0
        assert Margin().smaller(progress(), rate=1000.0, quantum=QUANTUM) == 0.0
        assert Margin().smaller(small, rate=0.0, quantum=QUANTUM) == 0.0


class TestPacer:
    def test_bytes_go_at_the_rate_after_a_burst(self) -> None:
        pacer = Pacer()
        for _ in range(3):
            pacer.sent(10.0, 100, rate=1000.0, burst=200.0)
        assert pacer.time() == pytest.approx(10.1)
        pacer.sent(10.1, 100, rate=1000.0, burst=200.0)
        assert pacer.time() == pytest.approx(10.2)

    def test_a_pause_gives_back_no_more_than_the_burst(self) -> None:
        pacer = Pacer()
        pacer.sent(0.0, 100, rate=1000.0, burst=200.0)
        pacer.sent(60.0, 100, rate=1000.0, burst=200.0)
        assert pacer.time() == pytest.approx(59.9)

    def test_it_is_asked_anew_after_a_reset(self) -> None:
        pacer = Pacer()
        pacer.sent(0.0, 1 << 20, rate=1.0, burst=1.0)
        pacer.reset()
        assert pacer.time() < 0.0


class TestFirstReports:
    def test_delays_are_told_as_if_each_had_told_of_a_whole_quantum(self) -> None:
        first = FirstReports()
        first.add(1.2, progress(size=24, part=24, sent_at=1.0), quantum=QUANTUM)
        ((at, loop, one_way),) = first.judge(quantum=QUANTUM, smaller=lambda one: 0.5)
        assert (at, loop, one_way) == (1.2, pytest.approx(0.7), pytest.approx(0.55))

    def test_they_are_judged_again_when_the_quantum_has_changed(self) -> None:
        first = FirstReports()
        assert not first.add(1.0, progress(), quantum=QUANTUM), "nobody has judged them yet"
        first.judge(quantum=QUANTUM, smaller=lambda one: 0.0)
        assert not first.add(1.1, progress(), quantum=QUANTUM)
        assert first.add(1.2, progress(), quantum=2 * QUANTUM)

    def test_no_more_are_kept_than_tell_something(self) -> None:
        first = FirstReports()
        for number in range(400):
            first.add(float(number), progress(), quantum=QUANTUM)
        assert len(first.judge(quantum=QUANTUM, smaller=lambda one: 0.0)) == 256


class TestLedger:
    def test_a_report_tells_when_its_newest_byte_left_and_how_much_with_it(self) -> None:
        ledger = Ledger(now=0.0)
        ledger.sent(1.0, 100)
        ledger.sent(2.0, 300)
        found = ledger.report(2.5, 250, 0)
        assert found == ReportedProgress(250, 250, 2.0, 1.0, 300, 150, 0.0)
        assert ledger.under_way == 150
        assert ledger.report(2.6, 250, 10) is None, "nothing new"

    def test_counts_and_clocks_that_wrap_go_on(self) -> None:
        ledger = Ledger(now=0.0)
        ledger.sent(0.0, RECEIVED_MODULUS - 1)
        ledger.report(1.0, RECEIVED_MODULUS - 1, CLOCK_MODULUS - 1)
        ledger.sent(1.0, 10)
        found = ledger.report(1.0 + 2 * CLOCK_TICK, 9, 1)
        assert found is not None
        assert (found.gained, found.received) == (10, RECEIVED_MODULUS + 9)
        assert found.arrived_at == pytest.approx(2 * CLOCK_TICK)

    def test_what_was_never_sent_can_t_have_arrived(self) -> None:
        ledger = Ledger(now=0.0)
        ledger.sent(0.0, 100)
        with pytest.raises(PeerError, match="101 bytes more, 100 are under way"):
            ledger.report(1.0, 101, 0)

    def test_a_clock_that_goes_back_is_a_lie(self) -> None:
        ledger = Ledger(now=0.0)
        ledger.sent(0.0, 100)
        ledger.report(1.0, 50, 5000)
        with pytest.raises(PeerError, match="backwards"):
            ledger.report(1.1, 60, 4000)


class TestLimitedBy:
    def test_the_gate_limited_what_was_sent_before_it_said_no(self) -> None:
        limited = LimitedBy(now=0.0)
        limited.reported(1.0, PATH, progress(sent_at=0.9), still=0)
        assert not limited.gate
        limited.refused_by_cap(1.1)
        limited.reported(1.2, PATH, progress(sent_at=1.0), still=0)
        assert limited.gate and limited.cap
        limited.reported(1.3, PATH, progress(sent_at=1.2), still=0)
        assert not limited.gate, "what was sent since went as soon as it wanted"

    def test_a_pacer_s_no_is_not_the_cap_s(self) -> None:
        limited = LimitedBy(now=0.0)
        limited.refused_by_pacer(1.0, until=1.5)
        limited.reported(1.1, PATH, progress(sent_at=0.9), still=0)
        assert limited.gate and not limited.cap

    def test_a_path_is_full_a_window_after_the_application_s_last_pause(self) -> None:
        limited = LimitedBy(now=0.0)
        limited.sent(5.0, PATH, last_sent_at=1.0, room=False)
        limited.reported(5.2, PATH, progress(sent_at=5.1), still=0)
        assert not limited.full(PATH)
        limited.reported(5.6, PATH, progress(sent_at=5.5), still=0)
        assert limited.full(PATH)

    @pytest.mark.parametrize(("room", "full"), [(True, False), (False, True)])
    def test_who_has_something_to_say_now_and_then_never_fills_a_path(
        self, room: bool, full: bool
    ) -> None:
        limited = LimitedBy(now=0.0)
        for tick in range(100):
            limited.sent(tick / 50, PATH, last_sent_at=(tick - 1) / 50, room=room)
        limited.reported(2.1, PATH, progress(sent_at=1.98), still=0)
        assert limited.full(PATH) is full

    def test_what_goes_on_where_it_was_held_back_is_no_pause(self) -> None:
        limited = LimitedBy(now=0.0)
        limited.refused_by_pacer(1.0, until=1.2)
        limited.sent(1.2, PATH, last_sent_at=1.0, room=True)
        limited.reported(1.5, PATH, progress(sent_at=1.4), still=0)
        assert limited.full(PATH)

    @pytest.mark.parametrize(("late", "full"), [(0.0, True), (0.3, False)])
    def test_a_path_that_had_nothing_while_reports_were_late_was_not_full(
        self, late: float, full: bool
    ) -> None:
        path = facts(rate=50_000.0, delay=0.1, late=late)
        limited = LimitedBy(now=0.0)
        limited.sent(2.0, path, last_sent_at=1.99, room=False)
        limited.refused_by_cap(2.0)  # until the report comes 6,000 bytes keep the link busy to 2.02
        limited.reported(2.5, path, progress(sent_at=2.0), still=6_000)
        limited.sent(2.5, path, last_sent_at=2.0, room=False)
        limited.reported(2.55, path, progress(sent_at=2.5), still=0)
        assert limited.full(path) is full


class TestDrains:
    def test_they_are_apart_and_further_where_one_costs_more(self) -> None:
        drains = Drains(now=0.0)

        def due(now: float, idle: float) -> bool:
            return drains.due(now, path(drained=idle), empty_at=0.0)

        assert not due(9.9, 0.01) and due(10.0, 0.01)
        drains.begin(10.0, path(drained=0.1))
        assert (drains.count, drains.end) == (1, pytest.approx(10.1))
        assert not due(29.9, 0.1), ".1 s may be .5 % of the link: one in 20 s"
        assert due(30.0, 0.1)

    def test_a_queue_that_has_run_empty_by_itself_needs_none(self) -> None:
        drains = Drains(now=0.0)
        assert not drains.due(12.0, path(), empty_at=11.0)
        assert drains.due(21.0, path(), empty_at=11.0)
