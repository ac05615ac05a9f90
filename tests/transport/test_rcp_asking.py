"""Tests parts that one pipe or several use: requests, the stream they fill, the persist mode."""

from __future__ import annotations

from itertools import pairwise

import pytest

from transport.rcp.pending import ByteRange
from transport.rcp.persist import LONGEST, Persist
from transport.rcp.pipe_requests import BATCH, PipeRequests
from transport.rcp.received_stream import ReceivedStream
from transport.rcp.segments import Block, DataSegment, Req
from transport.rcp.settings import RcpSettings
from wire.errors import PeerError

SETTINGS = RcpSettings()
SIZE = SETTINGS.size


def asking() -> PipeRequests:
    return PipeRequests(SETTINGS, None)


def test_a_range_is_asked_for_in_segments_and_said_as_one_block() -> None:
    one = asking()
    ranges = [ByteRange(0, SIZE), ByteRange(SIZE, 2 * SIZE), ByteRange(5 * SIZE, 5 * SIZE + 7)]
    blocks = one.blocks(ranges)
    assert blocks == [Block(0, 0, 2 * SIZE), Block(0, 5 * SIZE, 5 * SIZE + 7)]
    one.ask(ranges, pulled=True, now=0.0)
    assert [ask.begin for ask in one.pipe.under_way()] == [0, SIZE, 5 * SIZE]
    assert one.pipe.in_flight == 2 * SETTINGS.packet + 7 + SETTINGS.packet - SIZE
    assert one.say(blocks, 0.0, deq=3, upto=1, pull=True) == Req(0, 3, 3, True, tuple(blocks), 0)


def test_a_handshake_makes_segments_smaller_and_measures() -> None:
    one = asking()
    one.begin(size=500, round_trip=0.3)
    assert one.size == 500 and one.pipe.round_trip.smoothed == 0.3
    one.begin(size=9_000, round_trip=None)
    assert one.size == 500


def test_a_single_segment_waits_for_a_second_one() -> None:
    one = asking()
    assert not one.due(1.0)
    assert one.delayed == 1.0 + SETTINGS.delay
    assert not one.due(1.0 + SETTINGS.delay / 2) and one.due(1.0 + SETTINGS.delay)


def test_after_a_loss_one_segment_goes_whatever_the_window_says() -> None:
    one = asking()
    packets = one.packets(hole=True)
    assert packets == 10 > BATCH
    one.ask([ByteRange(0, packets * SIZE)], pulled=True, now=0.0)
    assert one.packets(hole=True) == 0
    one.pipe.fast = True
    assert (one.packets(hole=True), one.packets(hole=True)) == (1, 0)


def stream(*pipes: PipeRequests) -> ReceivedStream:
    return ReceivedStream(10 * SIZE, lambda: [one.pipe for one in pipes])


def test_where_a_sender_throttles_all_pipes_are_spared_what_lies_beyond() -> None:
    first, second = asking(), asking()
    filled = stream(first, second)
    filled.pending.take_new(4 * SIZE)
    first.ask([ByteRange(0, 2 * SIZE)], pulled=True, now=0.0)
    second.ask([ByteRange(2 * SIZE, 4 * SIZE)], pulled=True, now=0.0)
    filled.throttle(SIZE + 10)
    assert [one.end for one in first.pipe.under_way()] == [SIZE, SIZE + 10]
    assert second.pipe.idle and filled.pending.next == SIZE + 10
    filled.throttle(5)
    assert filled.pending.limit == SIZE + 10, "an older word"
    filled.hear(DataSegment(0, SIZE, b"x" * SIZE))
    assert filled.pending.limit is None, "the sender has had more since"


def test_a_stream_has_one_end() -> None:
    filled = stream()
    filled.accept(DataSegment(0, 0, b"abc"))
    with pytest.raises(PeerError, match="before what it has sent"):
        filled.check(2, fin=True)
    filled.check(3, fin=True)
    filled.ends(3)
    assert filled.done
    for end, fin in ((4, False), (2, True)):
        with pytest.raises(PeerError, match="two ends"):
            filled.check(end, fin=fin)


def test_probes_come_ever_more_seldom_and_begin_anew() -> None:
    persist = Persist()
    assert not persist.due(0.0, throttled=True, timeout=0.5)
    times = []
    for _ in range(8):
        assert persist.deadline is not None
        at = persist.deadline
        assert not persist.due(at - 0.01, throttled=True, timeout=0.5)
        assert persist.due(at, throttled=True, timeout=0.5)
        times.append(at)
    gaps = [later - one for one, later in pairwise(times)]
    assert times[0] == 0.5 and gaps == [1, 2, 4, 8, LONGEST, LONGEST, LONGEST]
    assert not persist.due(99.0, throttled=False, timeout=0.5)
    assert persist.deadline is None


def test_over_a_long_path_requests_wait_for_more() -> None:
    one = PipeRequests(SETTINGS, None, most=3)
    assert one.batch == BATCH
    for _ in range(3):  # slow start: from 10 segments to 80
        asks = [ByteRange(0, one.packets(hole=False) * SIZE)]
        one.ask(asks, pulled=True, now=0.0)
        one.asked()
        for ask in one.pipe.under_way():
            one.pipe.came(ask, ask.clock, 0.1)
    assert one.batch == 3 and asking().batch == BATCH
