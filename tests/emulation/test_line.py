"""Tests of the line: exact rate, order, droptail, changes of rate."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.lines.line import Line, packet_size


def drain(line: Line[int]) -> list[tuple[float, int]]:
    arrived = []
    while (due := line.next_time()) is not None:
        arrived += line.take(due)
    return arrived


def test_a_packet_takes_its_serialisation_and_the_delay() -> None:
    line: Line[int] = Line(rate=1000.0, delay=0.5, queue=10_000)
    line.push(10.0, 1, 200)
    assert drain(line) == [(pytest.approx(10.7), 1)]


def test_packets_queue_behind_each_other_and_an_idle_line_earns_nothing() -> None:
    line: Line[int] = Line(rate=1000.0, delay=0.0, queue=10_000)
    line.push(0.0, 1, 100)
    line.push(0.0, 2, 100)
    assert [due for due, _ in drain(line)] == pytest.approx([0.1, 0.2])
    line.push(5.0, 3, 100)
    assert [due for due, _ in drain(line)] == pytest.approx([5.1])


def test_a_full_queue_drops_and_counts() -> None:
    line: Line[int] = Line(rate=1000.0, delay=0.0, queue=250)
    assert [line.offer(0.0, n, 100) for n in range(4)] == [True, True, False, False]
    assert line.statistics().dropped == 200
    assert [item for _, item in drain(line)] == [0, 1]


def test_a_changed_rate_holds_from_the_next_byte() -> None:
    line: Line[int] = Line(rate=1000.0, delay=0.0, queue=10_000)
    line.push(0.0, 1, 100)
    line.set_rate(0.05, 100.0)  # 50 bytes left, ten times slower
    assert [due for due, _ in drain(line)] == pytest.approx([0.55])


def test_a_stalled_line_resumes() -> None:
    line: Line[int] = Line(rate=1000.0, delay=0.0, queue=10_000)
    line.push(0.0, 1, 100)
    line.set_rate(0.05, 0.0)
    assert line.next_time() is None
    line.set_rate(3.0, 1000.0)
    assert [due for due, _ in drain(line)] == pytest.approx([3.05])


def test_order_holds_when_the_extra_delay_shrinks() -> None:
    line: Line[int] = Line(rate=1000.0, delay=0.1, queue=10_000)
    line.push(0.0, 1, 10)
    line.push(0.0, 2, 10)
    line.advance(0.01, extra_delay=1.0)
    assert drain(line) == [(pytest.approx(1.11), 1), (pytest.approx(1.11), 2)]


@given(st.lists(st.tuples(st.floats(0, 2), st.integers(1, 2000)), min_size=1, max_size=50))
def test_nothing_is_lost_and_nothing_is_faster_than_the_rate(
    packets: list[tuple[float, int]],
) -> None:
    line: Line[int] = Line(rate=5000.0, delay=0.25, queue=10**9)
    now = 0.0
    for number, (gap, size) in enumerate(packets):
        now += gap
        line.push(now, number, size)
    arrived = drain(line)
    assert [item for _, item in arrived] == list(range(len(packets)))
    total = sum(size for _, size in packets)
    assert arrived[-1][0] >= total / 5000.0 + 0.25 - 1e-9
    assert line.idle
    assert line.statistics().carried == total


def test_whoever_looks_only_when_something_arrives_gets_all_at_the_same_times() -> None:
    def arrivals(next_look: Callable[[Line[int]], float | None]) -> list[tuple[float, int]]:
        line: Line[int] = Line(rate=1000.0, delay=0.25, queue=10_000)
        arrived = []
        for item, at in enumerate((0.0, 0.01, 0.02, 1.5, 1.6)):
            while (look := next_look(line)) is not None and look <= at:
                arrived += line.take(look)
            line.advance(at)
            line.push(at, item, 100 + item)
        while (look := next_look(line)) is not None:
            arrived += line.take(look)
        return arrived

    each_step = arrivals(lambda line: line.next_time())
    assert arrivals(lambda line: line.next_arrival()) == each_step
    assert [item for _, item in each_step] == [0, 1, 2, 3, 4]
    assert each_step[0][0] == pytest.approx(0.35)


def test_nothing_arrives_of_a_line_that_stands() -> None:
    line: Line[int] = Line(rate=0.0, delay=0.25, queue=10_000)
    assert line.next_arrival() is None
    line.push(0.0, 1, 100)
    assert line.next_arrival() is None


@pytest.mark.parametrize("bad", [{"rate": -1.0}, {"delay": -0.1}, {"queue": 0}])
def test_nonsense_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="no such line"):
        Line(**{"rate": 1.0, "delay": 0.0, "queue": 1.0, **bad})


def test_packets_fit_the_rate() -> None:
    assert packet_size(7_000) == 64
    assert packet_size(48_000) == 240
    assert packet_size(625_000) == 1460
