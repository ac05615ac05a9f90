"""Segments that SPP carries for a protocol which makes its own repairs."""

from __future__ import annotations

import pytest

from tests.transport.spp_ends import HOME, ends
from transport.spp.core.connection import SppConnection
from transport.spp.core.packets import SegmentFrame, decode, encode
from transport.spp.core.segments import MOST_WAITING, Segments
from wire.errors import LocalError, PeerError


def cross(sender: SppConnection, receiver: SppConnection, now: float) -> list[bytes]:
    """What the sender has goes over, nothing lost; the datagrams."""
    datagrams = sender.datagrams_to_send(now)
    for datagram in datagrams:
        assert receiver.datagram_received(datagram, now, address=HOME)
    return datagrams


def test_they_come_in_their_order_and_share_datagrams() -> None:
    near, far = ends()
    for number in range(50):
        near.send_segment(bytes([number]) * 100)
    datagrams = cross(near, far, 1.0)
    assert [one.segment[0] for one in far.segments()] == list(range(50))
    assert len(datagrams) == 5  # of 1,200 bytes
    assert far.segments() == []


def test_they_say_when_they_came() -> None:
    near, far = ends()
    near.send_segment(b"one")
    (datagram,) = near.datagrams_to_send(1.0)
    far.datagram_received(datagram, 2.0, address=HOME, arrived=1.75)
    assert [one.arrived for one in far.segments()] == [1.75]


def test_nobody_acknowledges_them_or_waits_for_an_acknowledgement() -> None:
    near, far = ends()
    near.send_segment(b"lost" * 100)
    near.datagrams_to_send(1.0)
    assert near.unanswered(100.0) == 0.0
    assert near.statistics(100.0).in_flight == 0
    near.send_segment(b"comes")
    cross(near, far, 1.0)
    assert [one.segment for one in far.segments()] == [b"comes"]
    assert far.datagrams_to_send(10.0) == []


def test_payloads_beside_them_are_repeated_when_they_are_lost() -> None:
    near, far = ends()
    near.send(b"payload", 1.0)
    near.send_segment(b"segment")
    near.datagrams_to_send(1.0)  # both are lost
    for _ in range(5):
        due = near.deadline()
        assert due is not None
        near.timeout(due)
        cross(near, far, due)
        if payloads := far.received():
            break
    assert payloads == [b"payload"]
    assert far.segments() == []


def test_an_acknowledgement_goes_with_them() -> None:
    near, far = ends()
    far.send(b"payload", 1.0)
    for datagram in far.datagrams_to_send(1.0):
        near.datagram_received(datagram, 1.0)
    near.send_segment(b"segment")
    (datagram,) = cross(near, far, 1.001)
    assert far.unacknowledged == 0
    assert far.segments()


def test_what_no_datagram_takes_is_refused() -> None:
    near, _ = ends()
    for size in (0, 1200):
        with pytest.raises(LocalError):
            near.send_segment(bytes(size))
    near.close(1.0)
    with pytest.raises(LocalError):
        near.send_segment(b"late")


def test_what_has_become_too_large_meanwhile_is_dropped() -> None:
    segments = Segments()
    segments.send(bytes(1000), most=1100)
    segments.send(b"small", most=1100)
    frames: list[bytes] = []
    segments.fill(frames, room=500, capacity=500)
    assert frames == [encode(SegmentFrame(b"small"))]
    assert not segments.waiting


def test_more_than_may_wait_is_dropped_at_either_end() -> None:
    segments = Segments()
    for _ in range(MOST_WAITING // 1000 + 10):
        segments.send(bytes(1000), most=1100)
        segments.came(bytes(1000), 1.0)
    frames: list[bytes] = []
    segments.fill(frames, room=1 << 30, capacity=1 << 20)
    assert MOST_WAITING - 1100 < sum(map(len, frames)) <= MOST_WAITING
    assert len(segments.received()) == MOST_WAITING // 1000
    segments.came(b"next", 2.0)
    assert [one.segment for one in segments.received()] == [b"next"]


@pytest.mark.parametrize("data", [b"\x0b", b"\x0b\x00", b"\x0b\x05abc"])
def test_malformed_ones_are_the_peers_fault(data: bytes) -> None:
    with pytest.raises(PeerError):
        list(decode(data))
