"""Tests what the R2CP engine goes by: the rank of a request, and ranges behind others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transport.r2cp.rank import rank
from transport.rcp.pending import ByteRange, PendingRanges
from transport.rcp.pipe import Pipe
from transport.spp.congestion.bottleneck import BottleneckBased
from transport.spp.congestion.new_reno import NewReno

SIZE = 1_000


def pipe(round_trip: float, *, asks: tuple[float, ...] = ()) -> Pipe:
    """A pipe that has asked for one segment at each of these times."""
    made = Pipe(NewReno(), segment=SIZE)
    made.round_trip.measured(round_trip, delay=0.0)
    for number, at in enumerate(asks):
        made.ask(number * SIZE, (number + 1) * SIZE, size=SIZE, clock=0, pulled=True, now=at)
    return made


def left(asking: Pipe, other: Pipe, *, stands: int = 0) -> int:
    """Bytes that a pipe leaves to one other at 1 s."""
    return rank(asking, [(other, stands)], 1.0)


def test_equal_paths_leave_nothing_to_each_other() -> None:
    assert left(pipe(0.1), pipe(0.1, asks=(0.91, 0.95, 1.0))) == 0


def test_a_slow_path_leaves_to_a_quick_one_what_that_will_have_brought_by_then() -> None:
    # Its answer comes at 1.24. The quick one's are here at 1.05, and the next ones at 1.15.
    assert left(pipe(0.24), pipe(0.1, asks=(0.95, 0.96))) == 2 * SIZE
    # One more each until 1.34.
    assert left(pipe(0.34), pipe(0.1, asks=(0.95, 0.96))) == 4 * SIZE
    assert left(pipe(0.1, asks=(0.95, 0.96)), pipe(0.25, asks=(0.8, 1.0))) == 0


def test_what_stands_with_a_quick_path_s_sender_is_left_to_it_and_as_much_each_round() -> None:
    assert left(pipe(0.11), pipe(0.1), stands=3 * SIZE) == 0
    assert left(pipe(0.61), pipe(0.1), stands=3 * SIZE) == 5 * 3 * SIZE
    assert left(pipe(0.1), pipe(0.6), stands=3 * SIZE) == 0


class KnownBottleneck(BottleneckBased):
    """Carries 40,000 bytes/second."""

    @property
    def found(self) -> float:
        return 40_000.0


def known(*, asks: int) -> Pipe:
    """A pipe of such a path, of 100 ms, that has just asked for so many segments."""
    made = Pipe(KnownBottleneck(segment=SIZE), segment=SIZE)
    made.round_trip.measured(0.1, delay=0.0)
    for number in range(asks):
        made.ask(number * SIZE, (number + 1) * SIZE, size=SIZE, clock=0, pulled=True, now=1.0)
    return made


def test_a_path_is_left_no_more_than_its_bottleneck_carries() -> None:
    """Its window may be several times what it holds, and then much of it waits in a queue."""
    assert left(pipe(0.6), known(asks=0)) == 20 * SIZE
    assert left(pipe(0.6), known(asks=4)) == 20 * SIZE
    assert left(pipe(0.6), known(asks=12)) == 12 * SIZE
    assert left(pipe(0.6), known(asks=4), stands=12 * SIZE) == 8 * SIZE
    assert left(pipe(0.6), known(asks=30)) == left(pipe(0.1), known(asks=1)) == 0


def test_a_path_that_has_gone_silent_is_not_waited_for() -> None:
    assert left(pipe(0.5), pipe(0.1, asks=(0.5, 0.6))) == 0
    assert rank(pipe(0.6), [(known(asks=4), 0)], 1.19) == 20 * SIZE
    assert rank(pipe(0.6), [(known(asks=4), 0)], 1.21) == 0


def test_a_round_trip_that_changes_ranks_what_is_under_way_anew() -> None:
    quick = pipe(0.1, asks=(0.95,))
    slow = pipe(0.24)
    assert left(slow, quick) == SIZE
    for _ in range(50):
        quick.round_trip.measured(0.4, delay=0.0)
    assert left(slow, quick) == 0


def test_what_is_skipped_stays_pending() -> None:
    pending = PendingRanges()
    assert pending.take_beyond(3_000, 1_000, bound=9_999) == ByteRange(3_000, 4_000)
    assert (pending.begin, pending.next) == (0, 4_000)
    assert pending.take_beyond(3_000, 1_000, bound=9_999) == ByteRange(4_000, 5_000)
    assert pending.take_beyond(2_500, 1_000, bound=9_999) == ByteRange(2_500, 3_000)
    assert pending.take_beyond(0, 1_000, bound=9_999) == ByteRange(0, 1_000)
    assert pending.take_beyond(0, 9_000, bound=9_999) == ByteRange(1_000, 2_500)
    assert pending.take_beyond(0, 9_000, bound=9_999) == ByteRange(5_000, 9_999)
    assert pending.take_beyond(0, 9_000, bound=9_999) is None


@pytest.mark.parametrize("bound", ["limit", "length"])
def test_nothing_is_taken_beyond_what_the_stream_has(bound: str) -> None:
    pending = PendingRanges()
    setattr(pending, bound, 2_500)
    assert pending.take_beyond(3_000, 1_000, bound=9_999) is None
    assert pending.take_beyond(2_000, 1_000, bound=9_999) == ByteRange(2_000, 2_500)
    assert pending.begin == 0


@given(
    st.lists(st.tuples(st.integers(0, 9_000), st.integers(1, 3_000), st.booleans()), max_size=60)
)
def test_every_byte_is_taken_once_until_it_is_put_back(steps: list[tuple[int, int, bool]]) -> None:
    pending, length = PendingRanges(), 20_000
    pending.length = length
    taken: list[ByteRange] = []
    for skip, most, back in steps:
        if back and taken:
            pending.put_back(*taken.pop(skip % len(taken)))
            continue
        one = pending.take_beyond(skip, most, bound=length)
        if one is not None:
            assert 0 < one.end - one.begin <= most
            taken.append(one)
    while (one := pending.take_beyond(0, length, bound=length)) is not None:
        taken.append(one)
    taken.sort()
    assert [one.begin for one in taken] == [0, *(one.end for one in taken[:-1])]
    assert taken[-1].end == length
