"""Tests of rates over time: bytes and times agree, traces are read or refused with their line."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.lines.profiles import PATH
from emulation.lines.schedule import Steady, Steps, interrupted
from emulation.lines.traces import TraceError, parse, read

STEPS = st.lists(
    st.tuples(st.floats(0.01, 5), st.sampled_from([0.0, 1.0, 1000.0, 7e5])), min_size=1, max_size=8
).filter(lambda steps: any(rate for _, rate in steps))


def schedule_of(parts: list[tuple[float, float]], *, epoch: float = 0.0) -> Steps:
    times = [0.0]
    for length, _ in parts:
        times.append(times[-1] + length)
    rates = [rate for _, rate in parts]
    return Steps(list(zip(times, rates, strict=False)), duration=times[-1], epoch=epoch)


@given(STEPS, st.floats(-10, 100), st.floats(1, 1e5), st.floats(-5, 5))
def test_what_ends_has_been_carried_by_then(
    parts: list[tuple[float, float]], start: float, size: float, epoch: float
) -> None:
    schedule = schedule_of(parts, epoch=epoch)
    end = schedule.end(start, size)
    assert end >= start
    assert schedule.carried(start, end) == pytest.approx(size, rel=1e-6, abs=1e-2)


def test_a_round_follows_the_other() -> None:
    schedule = Steps([(0, 100), (1, 0), (2, 300)], duration=3, epoch=10.0)
    assert schedule.mean == pytest.approx(400 / 3)
    assert schedule.end(10.0, 50) == pytest.approx(10.5)
    assert schedule.end(10.5, 50) == pytest.approx(11.0)  # not at the end of the pause
    assert schedule.end(10.5, 51) == pytest.approx(12 + 1 / 300)
    assert schedule.end(10.0, 4000) == pytest.approx(40.0)
    assert schedule.from_epoch(20.0).end(20.0, 50) == pytest.approx(20.5)


def test_a_scaled_schedule_carries_so_many_times_as_much_at_the_same_times() -> None:
    schedule = Steps([(0, 100), (1, 0), (2, 300)], duration=3, epoch=10.0)
    half = schedule.scaled(0.5)
    assert half.mean == pytest.approx(schedule.mean / 2)
    for start, until in ((10.0, 10.5), (10.5, 12.5), (9.0, 17.0)):
        assert half.carried(start, until) == pytest.approx(schedule.carried(start, until) / 2)
    with pytest.raises(ValueError, match="number of bytes"):
        schedule.scaled(-1.0)


def test_the_three_traces_differ_in_how_much_they_vary_and_not_in_what_they_carry() -> None:
    spreads = []
    for name in ("low", "medium", "high"):
        schedule = read(PATH.parent / "traces" / f"internet-{name}.trace")
        rates = [2 * schedule.carried(at / 2, at / 2 + 0.5) for at in range(240)]
        assert schedule.mean == pytest.approx(70_000, rel=1e-3)
        spreads.append(statistics.stdev(rates) / statistics.mean(rates))
    assert spreads == [pytest.approx(spread, abs=0.12) for spread in (0.08, 0.35, 0.95)]


def test_outages_are_a_schedule() -> None:
    schedule = interrupted(1000.0, every=10.0, outage=2.0)
    assert schedule.end(0.0, 5000) == pytest.approx(5.0)
    assert schedule.end(0.0, 5100) == pytest.approx(7.1)
    assert schedule.mean == pytest.approx(800.0)


def test_a_stalled_line_never_ends() -> None:
    assert Steady(0.0).end(1.0, 1.0) == float("inf")
    with pytest.raises(ValueError, match="no such rate"):
        Steady(float("inf"))


@pytest.mark.parametrize(
    "steps", [[], [(1, 5)], [(0, 5), (0, 6)], [(0, -1)], [(0, 0)], [(0, float("nan"))]]
)
def test_steps_that_are_none_are_refused(steps: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match=r"steps begin|number of bytes|nothing ever"):
        Steps(steps, duration=3.0)


def test_deliveries_let_one_packet_through_at_a_time_and_begin_anew() -> None:
    schedule = parse("1\n1\n3\n10\n")
    assert schedule.mean == pytest.approx(600_000)
    assert schedule.end(0.0, 3000) == pytest.approx(0.001, abs=2e-6)
    assert schedule.end(0.0, 3001) == pytest.approx(0.003, abs=2e-6)
    assert schedule.end(0.004, 100) == pytest.approx(0.010, abs=2e-6)  # unused, 3 is gone
    assert schedule.end(0.0105, 1500) == pytest.approx(0.011, abs=2e-6)
    # Small packets share an opportunity, and a large one takes several.
    assert schedule.end(schedule.end(0.002, 700), 800) == pytest.approx(0.003, abs=2e-6)


def test_a_trace_without_a_duration_holds_its_last_rate_as_long_as_the_one_before() -> None:
    schedule = parse("# made up\n0 100\n2 200 # faster\n")
    assert schedule.mean == pytest.approx(150.0)
    assert parse("# duration_s 10\n0 100\n2 200\n").mean == pytest.approx(180.0)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no figures"),
        ("# duration_s 5\n", "no figures"),
        ("0 5\nx 6\n", "line 2: no number: 'x 6'"),
        ("0 5\n1\n", "line 2: another number of columns"),
        ("0 1 2\n", "3 columns"),
        ("0 -5\n", "line 1: out of range"),
        ("0 nan\n", "line 1: out of range"),
        ("# duration_s soon\n0 5\n", "line 1: no number: 'soon'"),
        ("0 5\n3 6\n2 7\n", "go forward"),
        ("0 0\n1 0\n", "nothing ever passes"),
        ("5\n3\n", "back in time"),
        ("0\n", "go forward"),
        ("1e999\n", "out of range"),
        ("0 5\n\x00\xff\n", "line 2: no number"),
    ],
)
def test_what_is_no_trace_says_where(text: str, complaint: str) -> None:
    with pytest.raises(TraceError, match=complaint):
        parse(text)


@given(st.text(alphabet="0123456789. #\n-enaduration_s", max_size=200))
def test_any_text_is_a_trace_or_is_refused(text: str) -> None:
    try:
        schedule = parse(text)
    except TraceError:
        return
    assert schedule.mean > 0


def test_a_file_is_named_when_it_is_none(tmp_path: Path) -> None:
    bad = tmp_path / "bad.trace"
    bad.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TraceError, match=r"bad\.trace: line 1"):
        read(bad)
    assert read(PATH.parent / "traces" / "wlan.trace").mean == pytest.approx(468_723, rel=1e-3)
