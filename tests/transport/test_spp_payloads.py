"""Tests of SPP's payloads on both sides, and of the sender that joins window, pace and losses."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transport.spp.congestion.rate_based import RateBased
from transport.spp.core.acknowledgements import Arrivals
from transport.spp.core.control import ControlFrames
from transport.spp.core.mtu import BASE, FLOOR
from transport.spp.core.packets import (
    LARGEST_PAYLOAD,
    Ack,
    PayloadFrame,
    PayloadPart,
    decode,
)
from transport.spp.core.received_payloads import LEAST_WINDOW, ReceivedPayloads
from transport.spp.core.recovery import SentPacket
from transport.spp.core.sender import HEADERS, SppSender
from transport.spp.core.sent_payloads import COST, Piece, SentPayloads
from transport.spp.core.settings import PayloadRefused, SppSettings
from wire.errors import LocalError, PeerError

WINDOW = 1 << 20


def outgoing(*, buffer: int = WINDOW, limit: int = WINDOW) -> SentPayloads:
    return SentPayloads(buffer=buffer, limit=limit)


def taken(out: SentPayloads, room: int = 1200) -> tuple[list[Piece], bytes]:
    """One datagram's pieces and frames."""
    frames: list[bytes] = []
    pieces = out.take(room, capacity=room, frames=frames)
    data = b"".join(frames)
    assert len(data) <= room
    return pieces, data


# On their way out.


def test_payloads_have_numbers_and_bounds() -> None:
    out = outgoing(buffer=1000)
    assert [out.submit(b"x" * 400) for _ in range(2)] == [0, 1]
    assert (out.waiting, out.space, out.unacknowledged) == (800, 200, 800)
    with pytest.raises(PayloadRefused, match="800 bytes wait already"):
        out.submit(b"x" * 201)
    assert out.submit(b"x" * 200) == 2
    for wrong in (b"", bytes(LARGEST_PAYLOAD + 1)):
        with pytest.raises(LocalError, match=f"not {len(wrong)}"):
            out.submit(wrong)


def test_small_ones_share_a_datagram_and_a_large_one_goes_in_parts() -> None:
    out = outgoing()
    sent = [b"a" * 100, b"b" * 200, b"c" * 3000]
    for one in sent:
        out.submit(one)
    got = ReceivedPayloads(ordered=True, window=WINDOW)
    datagrams = 0
    while out.ready:
        pieces, data = taken(out)
        assert pieces
        datagrams += 1
        for frame in decode(data):
            if isinstance(frame, PayloadFrame):
                got.add(frame.sequence, frame.payload)
            else:
                assert isinstance(frame, PayloadPart)
                got.add_part(frame)
    assert got.received() == sent
    assert datagrams == 3
    assert out.waiting == 0
    assert out.unacknowledged == 3300


def test_one_that_an_empty_datagram_would_hold_waits_for_it() -> None:
    out = outgoing()
    out.submit(b"x" * 1000)
    frames: list[bytes] = []
    assert out.take(500, capacity=1200, frames=frames) == []
    assert frames == []
    assert [piece.whole for piece in taken(out)[0]] == [True]


def test_what_was_lost_goes_first_and_is_whole_only_when_all_of_it_is() -> None:
    out = outgoing()
    out.submit(b"x" * 2000)
    out.submit(b"y" * 100)
    (first,), _ = taken(out)
    (second, last), _ = taken(out)
    assert (first.payload.sequence, second.payload.sequence, last.payload.sequence) == (0, 0, 1)
    assert not out.ready
    assert out.acknowledged(last) == 1
    out.again(last)  # which has arrived
    assert not out.lost
    assert out.acknowledged(second) is None
    out.again(first)
    out.submit(b"z" * 10)
    assert out.lost
    pieces, _ = taken(out)
    assert pieces[0].payload.sequence == 0
    assert out.acknowledged(pieces[0]) is None or pieces[0].size == first.size
    for piece in pieces[1:]:
        out.acknowledged(piece)
    while out.ready:
        for piece in taken(out)[0]:
            out.acknowledged(piece)
    assert out.unacknowledged == 0
    assert out.acknowledged(first) is None  # told once


def test_the_receiver_s_window_holds_back_what_it_has_no_room_for() -> None:
    out = outgoing(limit=2 * (100 + COST))
    for _ in range(3):
        out.submit(b"x" * 100)
    assert out.allowance == 0
    pieces, _ = taken(out)
    assert [piece.payload.sequence for piece in pieces] == [0, 1]
    assert not out.ready
    out.limit += 1000
    assert out.ready
    assert out.allowance == 1000 - (100 + COST)


# On their way in.


@given(st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=30), st.integers(0, 99))
def test_payloads_come_once_and_in_order_whatever_the_path_does(
    sent: list[bytes], seed: int
) -> None:
    parts = [
        PayloadPart(sequence, offset, len(payload), payload[offset : offset + 50])
        for sequence, payload in enumerate(sent)
        for offset in range(0, len(payload), 50)
    ]
    chance = random.Random(seed)
    chance.shuffle(parts)
    got = ReceivedPayloads(ordered=True, window=WINDOW)
    come: list[bytes] = []
    whole = 0
    for part in [*parts, *parts[: len(parts) // 2]]:
        whole += got.add_part(part)
        come += got.received()
    assert come == sent
    assert whole == len(sent)
    assert (got.waiting, got.held) == (0, 0)
    assert not any(got.add(sequence, payload) for sequence, payload in enumerate(sent))


def test_without_order_they_come_as_they_come_and_still_only_once() -> None:
    got = ReceivedPayloads(ordered=False, window=WINDOW)
    assert got.add(2, b"c")
    assert got.add(0, b"a")
    assert not got.add(2, b"c")
    assert got.waiting == 2
    assert got.received() == [b"c", b"a"]
    assert got.add(1, b"b")
    assert got.received() == [b"b"]


def test_the_window_moves_on_as_the_application_takes_what_is_here() -> None:
    got = ReceivedPayloads(ordered=True, window=LEAST_WINDOW)
    assert got.limit == LEAST_WINDOW
    assert got.announcement() is None
    cost = 4000 + COST
    for sequence in range(4):
        got.add(sequence, bytes(4000))
    assert got.announcement() is None  # all of it is still here
    assert got.held == 4 * cost
    got.received()
    assert got.announcement() == LEAST_WINDOW + 4 * cost
    assert got.limit == LEAST_WINDOW + 4 * cost
    assert got.announcement() is None


def test_who_sends_beyond_the_window_or_says_two_things_of_one_payload_is_at_fault() -> None:
    with pytest.raises(LocalError, match="below"):
        ReceivedPayloads(ordered=True, window=LEAST_WINDOW - 1)
    got = ReceivedPayloads(ordered=True, window=LEAST_WINDOW)
    for sequence in range(4):
        got.add(sequence, bytes(LARGEST_PAYLOAD))
    with pytest.raises(PeerError):
        got.add(4, b"x")
    far = ReceivedPayloads(ordered=True, window=LEAST_WINDOW)
    with pytest.raises(PeerError):
        far.add(LEAST_WINDOW // COST + 1, b"x")  # all that are between cost something too
    torn = ReceivedPayloads(ordered=True, window=LEAST_WINDOW)
    torn.add_part(PayloadPart(0, 0, 100, b"x" * 10))
    with pytest.raises(PeerError, match="one payload's size"):
        torn.add_part(PayloadPart(0, 10, 101, b"x" * 10))


# The sender.


def sender(rate: float = 1e6) -> SppSender:
    control = ControlFrames(Arrivals(now=0.0), ReceivedPayloads(ordered=True, window=WINDOW))
    settings = SppSettings(window=WINDOW, buffer=WINDOW)
    return SppSender(settings, RateBased(rate), control, round_trip=0.1)


def put(one: SppSender, now: float, *, size: int = 1000) -> SentPacket:
    """A payload goes in a datagram of its own."""
    one.outgoing.submit(bytes(size))
    pieces = one.outgoing.take(1200, capacity=1200, frames=[])
    packet = SentPacket(one.recovery.number(), 0, now, pieces=pieces)
    one.sent(packet, datagram=size + 40, now=now)
    return packet


def test_window_and_pace_bound_what_goes() -> None:
    one = sender()
    assert one.may_send(0.0)
    while one.may_send(0.0):
        put(one, 0.0)
    assert 5000 < one.recovery.in_flight < 15_000  # a hundredth of a second of the rate
    assert not one.full
    assert one.room(0.0) == 0
    due = one.room_at()
    assert due is not None and 0 < due < 0.01
    assert one.may_send(due)
    now = due
    while not one.full:
        put(one, now)
        now = max(now, one.room_at() or now)
    assert not one.may_send(now + 10.0)
    assert one.next_turn() is None
    still = sender(0.0)
    assert still.full
    assert still.room_at() is None


def test_what_arrived_is_reported_with_its_payloads_and_frees_the_window() -> None:
    one = sender()
    packets = [put(one, 0.0), put(one, 0.001)]
    one.acknowledged(Ack(0, ((0, 1),), ((1, 60_000),)), 0.1)
    assert one.recovery.in_flight == 0
    assert [report.sequences for report in one.reports] == [(0,), (1,)]
    assert [report.size for report in one.reports] == [1040 + HEADERS] * 2
    assert [report.arrived_at for report in one.reports] == [None, 0.06]
    assert one.reports[0].sent_at == packets[0].at
    assert one.outgoing.unacknowledged == 0
    with pytest.raises(PeerError, match="never sent"):
        one.acknowledged(Ack(0, ((5, 9),)), 0.2)


def test_what_is_lost_waits_to_go_again() -> None:
    one = sender()
    for _ in range(6):
        put(one, 0.0)
    assert not one.outgoing.ready
    one.acknowledged(Ack(0, ((4, 5),)), 0.1)
    assert one.lost > 0
    assert one.outgoing.lost
    first = one.outgoing.take(1200, capacity=1200, frames=[])
    assert first[0].payload.sequence == 0


def test_when_patience_ends_what_is_missing_goes_as_a_probe_and_smaller_in_the_end() -> None:
    one = sender()
    put(one, 0.0)
    assert one.size == BASE
    for number in range(1, 5):
        due = one.recovery.deadline()
        assert due is not None
        one.timed_out(due)
        assert one.probes > 0
        assert one.recovery.probes == number
    assert one.outgoing.lost  # which is the payload, once
    assert len(one.outgoing.take(1200, capacity=1200, frames=[])) == 1
    assert not one.outgoing.lost
    assert one.size == FLOOR
    one.acknowledged(Ack(0, ((0, 0),)), 60.0)
    assert (one.probes, one.size) == (0, BASE)


def test_another_path_knows_nothing_of_the_one_before() -> None:
    one = sender()
    one.mtu.acknowledged(1400, probe=1400, now=0.0)
    assert one.size == 1400
    one.moved(1.0)
    assert one.size == BASE
    one.round_trip.measured(5.0, delay=0.0)
    assert one.round_trip.least == 5.0
