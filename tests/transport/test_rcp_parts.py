"""The parts of RCP's ends: what to ask for, places in the buffer, recent blocks, goodbye."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transport.rcp.goodbye import ATTEMPTS, RcpGoodbye
from transport.rcp.pending import ByteRange, PendingRanges
from transport.rcp.receive_buffer import ReceiveBuffer
from transport.rcp.recent_blocks import RecentBlocks
from transport.rcp.segments import Block
from transport.rcp.send_buffer import SendBuffer
from wire.errors import PeerError


def test_holes_go_before_what_is_new_and_in_order() -> None:
    pending = PendingRanges()
    assert pending.take_new(300) == (0, 300)
    pending.put_back(200, 300)
    pending.put_back(0, 100)
    assert pending.first == 100
    assert [pending.take_hole(), pending.take_hole()] == [(0, 100), (200, 300)]
    assert not pending.holes
    assert pending.first is None


def test_new_data_ends_at_the_limit_and_at_the_streams_end() -> None:
    pending = PendingRanges()
    assert pending.available() is None
    pending.limit = 250
    assert pending.take_new(200) == (0, 200)
    assert (pending.available(), pending.take_new(200)) == (50, (200, 250))
    assert pending.take_new(200) is None
    pending.limit, pending.length = None, 260
    assert pending.take_new(200) == (250, 260)


def test_what_will_not_be_sent_counts_as_never_asked_for() -> None:
    pending = PendingRanges()
    pending.take_new(1000)
    pending.put_back(300, 500)
    pending.put_back(600, 700)
    pending.retreat(400)
    assert (pending.next, pending.take_hole(), pending.holes) == (400, (300, 400), False)


RANGES = st.lists(
    st.tuples(st.integers(0, 90), st.integers(1, 10)).map(lambda r: (r[0], r[0] + r[1])),
    max_size=12,
)


@given(RANGES, RANGES)
def test_holes_are_exactly_what_was_put_back_and_has_not_come(
    lost: list[tuple[int, int]], came: list[tuple[int, int]]
) -> None:
    pending = PendingRanges()
    pending.take_new(100)
    expected: set[int] = set()
    for begin, end in lost:
        if expected.isdisjoint(range(begin, end)):
            pending.put_back(begin, end)
            expected |= set(range(begin, end))
    for begin, end in came:
        pending.arrived(begin, end)
        expected -= set(range(begin, end))
    holes: list[ByteRange] = []
    while pending.holes:
        holes.append(pending.take_hole())
    assert [at for begin, end in holes for at in range(begin, end)] == sorted(expected)


@given(RANGES, st.integers(1, 40))
def test_a_stream_is_put_together_from_any_pieces(
    pieces: list[tuple[int, int]], every: int
) -> None:
    stream = bytes(range(100))
    buffer = ReceiveBuffer(10_000)
    have: set[int] = set()
    got = b""
    for number, (begin, end) in enumerate(pieces):
        assert buffer.accept(begin, stream[begin:end])
        have |= set(range(begin, end))
        first = next(at for at in range(101) if at not in have)
        assert buffer.next == first
        assert buffer.has(begin, end)
        assert buffer.has(0, 100) == (len(have) == 100)
        if number % every == 0:
            got += buffer.read()
    got += buffer.read()
    assert got == stream[: buffer.next]
    assert buffer.duplicates == sum(end - begin for begin, end in pieces) - len(have)


def test_places_are_taken_when_asked_for_and_freed_by_reading() -> None:
    buffer = ReceiveBuffer(100)
    buffer.reserve(80)
    assert buffer.room == 20
    assert buffer.accept(0, bytes(60))
    assert (buffer.room, buffer.readable) == (20, 60)
    assert buffer.read() == bytes(60)
    assert buffer.room == 80
    buffer.release(70)
    assert buffer.room == 90
    assert not buffer.accept(150, bytes(11))  # nobody asked, and there is no place
    assert buffer.accept(150, bytes(10))
    assert buffer.room == 0


def test_a_sender_cannot_fill_the_memory_with_crumbs() -> None:
    buffer = ReceiveBuffer(64_000)
    taken = sum(buffer.accept(at, b"x") for at in range(1, 64_000, 2))
    assert taken <= 64_000 // 64 + 1
    assert buffer.accept(0, b"x")  # what fills the hole is always taken
    assert buffer.next == 2


def test_three_recent_blocks_are_carried_and_what_has_arrived_is_not() -> None:
    recent = RecentBlocks()
    a, b, c, d = (Block(n, 100 * n, 100 * n + 100) for n in range(4))
    assert recent.carried([a], deq=0) == (a,)
    assert recent.carried([b, c], deq=0) == (a, b, c)
    assert recent.carried([d], deq=0) == (b, c, d)
    assert recent.carried([], deq=300) == (d,)
    many = [Block(9, 1000 + n, 1001 + n) for n in range(5)]
    assert recent.carried(many, deq=0) == tuple(many)
    assert recent.carried([], deq=0) == tuple(many[-3:])


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=60))
def test_a_block_is_sent_once_and_at_the_first_request_that_gets_through(
    steps: list[tuple[int, bool]],
) -> None:
    """Both cyclic buffers agree on what is new, whichever requests are lost."""
    receiver, sender = RecentBlocks(), RecentBlocks()
    made: list[Block] = []
    sent: list[Block] = []
    for clock, (count, lost) in enumerate(steps):
        fresh = [Block(clock, 10 * n, 10 * n + 10) for n in range(count)]
        made += fresh
        carried = receiver.carried(fresh, deq=0)
        if not lost:
            sent += sender.missing(carried)
            assert set(carried) <= set(sent)
            assert set(made[-3:]) <= set(sent)  # also those whose own requests were lost
    assert len(sent) == len(set(sent))
    assert set(sent) <= set(made)
    assert all(made.index(one) <= made.index(two) for one, two in pairwise(sent))


def test_goodbye_is_said_five_times_at_most_and_then_all_is_closed() -> None:
    goodbye = RcpGoodbye()
    now, said = 0.0, []
    while not goodbye.closed:
        said += [now] * len(list(goodbye.to_send(100, now, 0.2)))
        now = goodbye.deadline if goodbye.deadline is not None else now
    assert len(said) == ATTEMPTS
    assert said == pytest.approx([0.0, 0.2, 0.6, 1.4, 3.0])
    assert list(goodbye.to_send(100, now, 0.2)) == []


def test_an_answer_closes_and_must_fit() -> None:
    goodbye = RcpGoodbye()
    with pytest.raises(PeerError):
        goodbye.answered(100, done=100)  # nobody has said goodbye
    list(goodbye.to_send(100, 0.0, 0.2))
    for length, done in ((99, 100), (100, None)):
        with pytest.raises(PeerError):
            goodbye.answered(length, done=done)
    assert not goodbye.closed
    goodbye.answered(100, done=100)
    assert goodbye.closed


def test_a_send_buffer_holds_what_is_not_purged() -> None:
    buffer = SendBuffer(10)
    buffer.write(b"0123456789")
    with pytest.raises(ValueError, match="room for 0"):
        buffer.write(b"x")
    buffer.purge(4)
    assert (buffer.room, buffer.written, buffer.slice(5, 8)) == (4, 10, b"567")
    buffer.purge(2)
    assert buffer.purged == 4
    buffer.end()
    assert buffer.room == 0
