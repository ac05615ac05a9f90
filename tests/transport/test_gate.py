"""The gate by hand: single reports, hostile reports, lost reports, urgent bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.lines.line import Line
from transport.gate.controller import Gate
from transport.gate.statistics import Phase
from wire.errors import PeerError
from wire.frames import CLOCK_MODULUS, CLOCK_TICK, RECEIVED_MODULUS

QUANTUM = 1000


def fill(gate: Gate, now: float) -> int:
    """Send quanta until the gate closes; bytes sent."""
    sent = 0
    while gate.may_send(now, QUANTUM):
        gate.on_sent(now, QUANTUM)
        sent += QUANTUM
    return sent


def serve(gate: Gate, *, seconds: float, rate: float, delay: float) -> float:
    """A link of `rate` under a backlog, a report for each quantum; returns the time it ended."""
    return served(gate, seconds=seconds, rate=rate, delay=delay)[0]


def served(gate: Gate, *, seconds: float, rate: float, delay: float) -> tuple[float, int]:
    """The same, with the bytes that were reported."""
    line: Line[None] = Line(rate=rate, delay=delay, queue=1e9)
    now, received = 0.0, 0
    while now < seconds:
        for _ in range(fill(gate, now) // QUANTUM):
            line.push(now, None, QUANTUM)
        due = [time for time in (line.next_time(), gate.next_time(now)) if time and time > now]
        now = min(due)
        for arrival, _ in line.take(now):
            received += QUANTUM
            gate.on_report(now, received, round(arrival / CLOCK_TICK))
    return now, received


def test_a_few_quanta_go_before_anything_is_known() -> None:
    gate = Gate(now=0.0, quantum=QUANTUM)
    assert gate.estimate(0.0) is None
    assert fill(gate, 0.0) == 4 * QUANTUM
    assert gate.under_way == 4 * QUANTUM
    assert gate.statistics(0.0).phase is Phase.START


def test_reports_open_the_gate_and_starting_doubles() -> None:
    gate = Gate(now=0.0, quantum=QUANTUM)
    first = fill(gate, 0.0)
    gate.on_report(0.1, first, 1000)  # all at once: nothing was drawn out, nothing queued
    assert fill(gate, 0.1) == 2 * first


def test_a_busy_link_is_measured() -> None:
    gate = Gate(now=0.0, quantum=QUANTUM)
    now = serve(gate, seconds=3.0, rate=100_000.0, delay=0.05)
    estimate = gate.estimate(now)
    assert estimate is not None
    assert estimate.rate == pytest.approx(100_000, rel=0.1)
    assert estimate.confidence == 1.0
    assert gate.statistics(now).phase is Phase.STEADY
    later = gate.estimate(now + 20.0)
    assert later is not None
    assert later.confidence < 0.5


@pytest.mark.parametrize("delays", [[0.02], [0.05, 0.02, 0.08], [0.2, 0.05, 0.05]])
def test_while_little_is_said_the_rate_stays_whatever_delays_do(delays: list[float]) -> None:
    gate = Gate(now=0.0, quantum=QUANTUM)
    now, received = served(gate, seconds=3.0, rate=100_000.0, delay=0.05)
    received += gate.under_way
    gate.on_report(now + 0.2, received, round((now + 0.15) / CLOCK_TICK))
    known = gate.rate
    for number in range(60):
        sent_at = now + 1.0 + 0.3 * number
        gate.on_sent(sent_at, 40)
        arrived, received = sent_at + delays[number % len(delays)], received + 40
        gate.on_report(arrived + 0.05, received, round(arrived / CLOCK_TICK))
        assert gate.rate == pytest.approx(known, rel=0.01)


def test_urgent_bytes_pass_a_closed_gate_within_bounds() -> None:
    gate = Gate(now=0.0, quantum=QUANTUM)
    fill(gate, 0.0)
    passed = 0
    while gate.may_send(0.0, 100, urgent=True):
        gate.on_sent(0.0, 100)
        passed += 100
    assert passed == 4 * QUANTUM


def test_a_frame_larger_than_the_cap_goes_when_nothing_is_under_way() -> None:
    gate = Gate(now=0.0, quantum=QUANTUM)
    assert gate.may_send(0.0, 60_000)
    gate.on_sent(0.0, 60_000)
    assert not gate.may_send(0.0, 1)


def test_lost_reports_do_not_close_the_gate_for_ever() -> None:
    gate = Gate(now=0.0, quantum=QUANTUM)
    fill(gate, 0.0)
    due = gate.next_time(0.0)
    assert due is not None
    assert 0.5 <= due <= 2.0
    assert not gate.may_send(due - 0.01, QUANTUM)
    assert gate.may_send(due, QUANTUM)
    gate.on_sent(due, QUANTUM)
    assert not gate.may_send(due, QUANTUM)  # one quantum asks; it does not flood
    gate.on_report(due + 0.5, 5 * QUANTUM, 0)
    assert gate.under_way == 0


@pytest.mark.parametrize("received", [4001, 0xFFFFFFFF, 1 << 31])
def test_reports_of_what_was_never_sent_are_the_peers_error(received: int) -> None:
    gate = Gate(now=0.0, quantum=QUANTUM)
    fill(gate, 0.0)
    with pytest.raises(PeerError, match="under way"):
        gate.on_report(0.1, received, 0)


def test_a_report_that_goes_backwards_is_the_peers_error() -> None:
    gate = Gate(now=0.0, quantum=QUANTUM)
    fill(gate, 0.0)
    gate.on_report(0.1, 3000, 1000)
    with pytest.raises(PeerError, match="under way"):
        gate.on_report(0.2, 2000, 2000)


def test_a_clock_that_goes_backwards_is_the_peers_error() -> None:
    gate = Gate(now=0.0, quantum=QUANTUM)
    fill(gate, 0.0)
    gate.on_report(0.1, 1000, 5000)
    with pytest.raises(PeerError, match="clock"):
        gate.on_report(0.2, 2000, 4000)


def test_counters_wrap() -> None:
    gate = Gate(now=0.0, quantum=QUANTUM)
    gate.on_sent(0.0, RECEIVED_MODULUS - 500)
    gate.on_report(0.1, RECEIVED_MODULUS - 500, CLOCK_MODULUS - 1)
    gate.on_sent(0.1, 1000)
    gate.on_report(0.2, 500, 999)
    assert gate.under_way == 0


def test_a_repeated_report_changes_nothing() -> None:
    gate = Gate(now=0.0, quantum=QUANTUM)
    fill(gate, 0.0)
    gate.on_report(0.1, 1000, 1000)
    before = gate.statistics(0.1)
    gate.on_report(0.1, 1000, 1000)
    assert gate.statistics(0.1) == before


@given(
    st.lists(
        st.tuples(
            st.floats(0.0, 5.0),
            st.integers(0, RECEIVED_MODULUS - 1) | st.integers(0, 20_000),
            st.integers(0, CLOCK_MODULUS - 1) | st.integers(0, 2_000),
        ),
        max_size=40,
    )
)
def test_whatever_the_peer_reports_the_gate_errs_or_stays_sane(
    reports: list[tuple[float, int, int]],
) -> None:
    gate, now = Gate(now=0.0, quantum=QUANTUM), 0.0
    for gap, received, clock in reports:
        now += gap
        for _ in range(100):
            if not gate.may_send(now, QUANTUM):
                break
            gate.on_sent(now, QUANTUM)
        try:
            gate.on_report(now, received, clock)
        except PeerError:
            return
        assert gate.under_way >= 0
        assert gate.cap(now) >= QUANTUM
        due = gate.next_time(now)
        assert due is None or due >= now


def test_padding_opens_a_gate_only_while_nothing_else_is_under_way() -> None:
    # Doubled by padding's reports while an answer was under way, a modem had 2 s of it queued.
    for answer, cap in ((0, 8 * QUANTUM), (3 * QUANTUM, 4 * QUANTUM)):
        gate = Gate(now=0.0, quantum=QUANTUM)
        gate.on_sent(0.0, QUANTUM)
        gate.burst_ends(0.0)
        if answer:
            gate.on_sent(0.01, answer)
        gate.on_report(0.1, QUANTUM, 1000)
        assert gate.cap(0.1) == cap


@pytest.mark.parametrize("small", [20, 60, 200, 600])
def test_a_small_message_first_says_nothing_of_what_whole_quanta_take(small: int) -> None:
    """Else its delay is the path's least, and a quantum a round trip all that a modem carries."""
    gate, rate, size = Gate(now=0.0, quantum=QUANTUM), 7_000.0, 690
    line: Line[int] = Line(rate=rate, delay=0.04, queue=1e9)
    now, received, late = 0.0, 0, 0
    gate.on_sent(now, small)
    line.push(now, small, small + 52)
    while now < 12.0:
        while now > 0.3 and gate.may_send(now, gate.quantum):
            gate.on_sent(now, gate.quantum)
            line.push(now, gate.quantum, gate.quantum + 52)
        due = [time for time in (line.next_time(), gate.next_time(now)) if time and time > now]
        now = min([*due, 0.31] if now < 0.31 else due)
        for arrival, nbytes in line.take(now):
            received += nbytes
            gate.on_report(now, received, round(arrival / CLOCK_TICK))
            late += nbytes if now > 4.0 else 0
        if gate.statistics(now).phase is not Phase.START:
            gate.quantum = size
    assert late > 0.9 * 8.0 * rate * size / (size + 52)
