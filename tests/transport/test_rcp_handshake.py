"""Either end opens, what is lost is repeated by the opener, and nothing goes before it is open."""

from __future__ import annotations

import pytest

from tests.transport.rcp_path import Fate, RcpPath, noise
from transport.rcp.ends import SendingEnd
from transport.rcp.handshake import ATTEMPTS, HandshakeState, RcpHandshake
from transport.rcp.segments import (
    DataSegment,
    HandshakeAck,
    Req,
    Role,
    Segment,
    Syn,
    SynAck,
)
from transport.rcp.send_buffer import SendBuffer
from transport.rcp.settings import RcpSettings
from wire.errors import PeerError

HANDSHAKE = (Syn, SynAck, HandshakeAck)


def lose_first(kind: type, count: int) -> Fate:
    left = [count]

    def fate(segment: Segment, _: float) -> bool:
        if isinstance(segment, kind) and left[0]:
            left[0] -= 1
            return True
        return False

    return fate


@pytest.mark.parametrize("receiver_opens", [True, False])
@pytest.mark.parametrize("kind", [None, *HANDSHAKE])
def test_a_lost_word_of_the_handshake_costs_a_second_or_less(
    receiver_opens: bool, kind: type | None
) -> None:
    fates = {"down": lose_first(kind, 1), "up": lose_first(kind, 1)} if kind else {}
    path = RcpPath(receiver_opens=receiver_opens, delay=0.05, **fates)
    data = noise(3_000)
    path.write(data, end=True)
    took = path.run(30.0, done=lambda: path.receiver.done)
    assert path.got == data
    # SYN, SYN+ACK and the ACK with which the receiver's first request goes, then the data.
    trips = 2 if receiver_opens else 2.5
    repeats = kind is not None and not (receiver_opens and kind is HandshakeAck)
    assert trips * 0.1 + repeats * 1.0 <= took <= trips * 0.1 + repeats * 1.0 + 0.05


def test_the_receivers_first_request_follows_the_handshake_at_once() -> None:
    path = RcpPath(delay=0.05)
    path.write(bytes(10), end=True)
    path.run(1.0, done=lambda: bool(path.requests))
    assert path.now == pytest.approx(0.1, abs=0.001)
    assert path.requests[0].deq == 0
    assert path.requests[0].upto == 10 * path.receiver.size  # the initial window


def test_both_ends_agree_to_the_smaller_segments() -> None:
    path = RcpPath(settings=RcpSettings(size=1_000))
    path.far = SendingEnd(path.content, size=700)
    path.write(bytes(5_000), end=True)
    path.run(5.0, done=lambda: path.receiver.done)
    assert {len(one.data) for one in path.data} == {700, 5_000 % 700}
    assert path.receiver.size == path.far.sender.size == 700


def test_the_handshake_measures_the_first_round_trip() -> None:
    path = RcpPath(delay=0.2)
    path.run(0.45)
    assert path.receiver.pipe.round_trip.smoothed == pytest.approx(0.4, abs=0.001)


def test_who_gets_no_answer_gives_up() -> None:
    near = RcpHandshake(Role.RECEIVER, size=1_000, opens=True)
    now, said = 0.0, 0
    while near.state is not HandshakeState.FAILED:
        said += len(near.to_send(now))
        now = near.deadline
        near.on_timer(now)
    assert said == ATTEMPTS
    assert now == pytest.approx(127.0)
    assert (near.deadline, near.to_send(now)) == (None, [])


@pytest.mark.parametrize("segment", [Req(0, 0, 100), DataSegment(0, 0, b"x")])
def test_nothing_is_answered_before_there_is_a_connection(segment: Segment) -> None:
    far = SendingEnd(SendBuffer(10), size=100)
    with pytest.raises(PeerError):
        far.received(segment, 0.0)
    assert far.to_send(0.0) == []


def test_a_request_says_as_much_as_the_ack_that_was_lost() -> None:
    far = SendingEnd(SendBuffer(10), size=100)
    far.received(Syn(Role.RECEIVER, 100), 0.0)
    assert far.to_send(0.0) == [SynAck(100)]
    far.received(Req(0, 0, 100), 0.1)
    assert far.handshake.established
    assert len(far.to_send(0.1)) == 1
    far.received(Syn(Role.RECEIVER, 80), 0.2)  # an old one
    assert (far.to_send(0.2), far.handshake.size) == ([], 100)


@pytest.mark.parametrize(
    ("opens", "segment"),
    [
        (True, Syn(Role.SENDER, 500)),
        (False, Syn(Role.RECEIVER, 500)),
        (False, SynAck(500)),
        (True, SynAck(1_001)),
        (False, HandshakeAck()),
        (True, HandshakeAck()),
    ],
)
def test_what_does_not_fit_is_refused(opens: bool, segment: Segment) -> None:
    near = RcpHandshake(Role.RECEIVER, size=1_000, opens=opens)
    before = near.state
    with pytest.raises(PeerError):
        near.received(segment, 0.0)
    assert near.state is before
