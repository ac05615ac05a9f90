"""One connection's rules, call by call."""

from __future__ import annotations

import pytest

from tests.transport.spp_ends import HOME, ends, exchange, far_seal, near_seal
from transport.spp.congestion.new_reno import NewReno
from transport.spp.congestion.rate_based import RateBased
from transport.spp.congestion.round_trip import RoundTrip
from transport.spp.core.connection import SppConnection
from transport.spp.core.packets import (
    LARGEST_PAYLOAD,
    Ack,
    Challenge,
    Close,
    Frame,
    PathResponse,
    PayloadFrame,
    PayloadPart,
    WindowFrame,
    decode,
    encode,
)
from transport.spp.core.recovery import LONGEST_PATIENCE
from transport.spp.core.settings import IdleTimeout, PayloadRefused
from transport.spp.handshake.seal import Seal
from wire.errors import LocalError, PeerError

AWAY = ("198.51.100.9", 777)


class Puppet:
    """A near end whose frames the test chooses."""

    def __init__(self, seal: Seal | None = None) -> None:
        self.seal = seal or near_seal()
        self.number = 0

    def says(self, *frames: Frame) -> bytes:
        datagram = self.seal.protect(self.number, b"".join(map(encode, frames)))
        self.number += 1
        return datagram

    def hears(self, datagrams: list[bytes]) -> list[Frame]:
        return [frame for one in datagrams for frame in decode(self.seal.open(one)[1])]


def kinds(frames: list[Frame]) -> list[str]:
    return [type(frame).__name__ for frame in frames]


def test_a_payload_arrives_once_and_its_delivery_is_reported() -> None:
    near, far = ends()
    assert near.send(b"hello", 1.0) == 0
    assert near.backlog(1.0) == 5
    (datagram,) = near.datagrams_to_send(1.0)
    assert near.backlog(1.0) == 0
    assert near.unacknowledged == 5
    assert far.datagram_received(datagram, 1.5)
    assert not far.datagram_received(datagram, 1.6)
    assert far.received() == [b"hello"]
    assert far.datagrams_to_send(1.51) == []  # in company, or after 25 ms
    assert far.deadline() == pytest.approx(1.525)
    (ack,) = far.datagrams_to_send(1.53)
    near.datagram_received(ack, 2.0)
    (report,) = near.acked()
    assert (report.payload, report.sequences, report.sent_at) == (5, (0,), 1.0)
    assert report.arrived_at == pytest.approx(1.5)
    assert near.unacknowledged == 0
    assert near.statistics(2.0).refused == 0
    assert far.statistics(2.0).refused == 1


def test_what_is_too_much_is_refused_and_nothing_is_lost() -> None:
    near, _ = ends(buffer=5000)
    near.send(bytes(4000), 0.0)
    with pytest.raises(PayloadRefused, match="room"):
        near.send(bytes(1001), 0.0)
    near.send(bytes(1000), 0.0)
    for bad in (b"", bytes(LARGEST_PAYLOAD + 1)):
        with pytest.raises(LocalError):
            near.send(bad, 0.0)


def test_small_payloads_share_a_datagram_and_large_ones_are_parted() -> None:
    near, far = ends()
    for _ in range(10):
        near.send(b"x" * 50, 0.0)
    assert len(near.datagrams_to_send(0.0)) == 1
    near.send(bytes(range(256)) * 16, 0.0)
    parts = near.datagrams_to_send(0.0)
    assert len(parts) >= 3
    for one in reversed(parts):
        far.datagram_received(one, 0.1)
    assert far.received() == []  # those before it are missing


@pytest.mark.parametrize("ordered", [True, False])
def test_order_is_kept_if_it_is_wanted(ordered: bool) -> None:
    near, far = ends(ordered=ordered)
    datagrams = []
    for number in range(4):
        near.send(bytes([number]) * 1000, 0.0)
    datagrams = near.datagrams_to_send(0.0) + near.datagrams_to_send(0.1)
    while len(datagrams) < 4:
        datagrams += near.datagrams_to_send(0.2)
    for one in reversed(datagrams):
        far.datagram_received(one, 0.3)
    firsts = [payload[0] for payload in far.received()]
    assert firsts == ([0, 1, 2, 3] if ordered else [3, 2, 1, 0])


@pytest.mark.parametrize(
    "bad",
    [
        Ack(0, ((0, 1000),)),
        WindowFrame(2**61),  # harmless, but see below
        PayloadPart(0, 0, 100, b"x"),
        PayloadFrame(1 << 40, b"far beyond the window"),
    ],
)
def test_who_breaks_the_protocol_ends_the_connection(bad: Frame) -> None:
    puppet, (_, far) = Puppet(), ends()
    far.datagram_received(puppet.says(PayloadPart(0, 0, 99, b"y")), 0.0)
    far.datagram_received(puppet.says(bad), 0.0)
    if isinstance(bad, WindowFrame):
        assert far.open
        return
    assert isinstance(far.error, PeerError)
    assert kinds(puppet.hears(far.datagrams_to_send(0.0))) == ["Close"]
    with pytest.raises(LocalError):
        far.send(b"more", 0.0)


def test_a_flood_meets_the_window() -> None:
    puppet, (_, far) = Puppet(), ends(window=20_000)
    for number in range(100):
        far.datagram_received(puppet.says(PayloadFrame(number, bytes(1000))), 0.0)
    assert isinstance(far.error, PeerError)
    assert far.statistics(0.0).held <= 20_000


def test_a_slow_reader_stops_the_sender_and_no_byte_is_lost() -> None:
    near, far = ends(window=20_000, buffer=100_000, congestion=RateBased(1e9))
    for number in range(60):
        near.send(bytes([number]) * 1000, 0.0)
    now = 0.0
    for _ in range(20):
        now += 0.01
        exchange(near, far, now)
    assert far.statistics(now).held <= 20_000
    assert near.backlog(now) > 40_000
    got: list[bytes] = []
    while len(got) < 60:
        got += far.received()
        now += 0.05
        far.timeout(now)
        near.timeout(now)
        exchange(near, far, now)
        assert now < 10
    assert [payload[0] for payload in got] == list(range(60))


def test_a_peer_that_never_acknowledges_costs_bounded_memory_and_ever_rarer_probes() -> None:
    near, _ = ends(buffer=1_000_000, window=1_000_000, keep_alive=None)
    for _ in range(900):
        near.send(bytes(1000), 0.0)
    now, sent = 0.0, []
    while now < 600:
        near.timeout(now)
        sent += [now] * len(near.datagrams_to_send(now))
        due = near.deadline()
        assert due is not None and due > now
        now = due
    assert near.open
    assert near.statistics(now).in_flight < 300_000
    minute = [at for at in sent if at > 540]
    assert 6 <= len(minute) <= 2 * 60 / LONGEST_PATIENCE + 2


def test_after_an_outage_the_link_is_found_within_seconds() -> None:
    near, far = ends()
    near.send(b"before", 0.0)
    exchange(near, far, 0.0)
    near.send(b"after", 1.0)
    near.datagrams_to_send(1.0)
    now = 1.0
    while now < 300:  # nothing arrives
        near.timeout(now)
        near.datagrams_to_send(now)
        due = near.deadline()
        assert due is not None
        now = due
    near.timeout(now)
    assert now < 300 + LONGEST_PATIENCE
    exchange(near, far, now)
    assert far.received() == [b"before", b"after"]


def test_an_idle_connection_asks_for_signs_of_life_and_ends_if_told_to() -> None:
    near, far = ends(keep_alive=20.0, idle=60.0)
    assert near.deadline() == 20.0
    near.timeout(20.0)
    exchange(near, far, 20.0)
    now = 20.03
    exchange(near, far, now)
    while near.open:
        now = near.deadline() or now
        near.timeout(now)
        near.datagrams_to_send(now)
    assert isinstance(near.error, IdleTimeout)
    assert now == pytest.approx(80.03)


def test_an_idle_connection_costs_a_datagram_now_and_then_and_no_answer() -> None:
    near, far = ends(keep_alive=25.0)
    said, answered, now = [], [], 0.0
    while now < 600.0:
        now = near.deadline() or 600.0
        near.timeout(now)
        for datagram in near.datagrams_to_send(now):
            said.append(len(datagram) + 28)
            assert far.datagram_received(datagram, now, address=HOME)
        answered += far.datagrams_to_send(now)
    assert not answered
    assert len(said) == 24
    assert sum(said) / 600.0 <= 2.2


def test_who_sends_after_a_rest_doubts_once_and_at_each_probe() -> None:
    near, far = ends(keep_alive=None)
    near.send(b"at once", 0.5)
    exchange(near, far, 0.5)
    exchange(near, far, 0.53)
    assert not near.doubts()
    near.send(b"after a rest", 9.0)
    assert near.datagrams_to_send(9.0)
    assert near.doubts() and not near.doubts()
    for _ in range(3):
        now = near.deadline()
        assert now is not None
        near.timeout(now)
        assert near.datagrams_to_send(now)
        assert near.doubts() and not near.doubts()


def test_a_farewell_is_heard_and_said_again_to_who_still_sends() -> None:
    near, far = ends()
    near.close(1.0)
    (farewell,) = near.datagrams_to_send(1.0)
    assert not near.finished(1.0)
    puppet = Puppet(far_seal())
    said = 0
    for _ in range(64):
        near.datagram_received(puppet.says(PayloadFrame(puppet.number, b"x")), 1.1)
        said += len(near.datagrams_to_send(1.1))
    assert 3 <= said <= 7
    far.datagram_received(farewell, 2.0)
    assert not far.open
    assert far.error is None
    assert far.finished(2.0)


def test_a_bad_farewell_says_why() -> None:
    puppet, (_, far) = Puppet(), ends()
    far.datagram_received(puppet.says(Close(1, "you sent nonsense")), 0.0)
    assert isinstance(far.error, PeerError)
    assert "nonsense" in str(far.error)


def test_a_device_that_moves_is_followed_once_it_has_proved_it() -> None:
    puppet, (_, far) = Puppet(), ends()
    far.datagram_received(puppet.says(PayloadFrame(0, b"x")), 0.0, address=HOME)
    far.datagram_received(puppet.says(PayloadFrame(1, b"y")), 1.0, address=AWAY)
    assert far.paths.address == HOME
    ((where, challenge),) = far.challenges_to_send(1.0)
    assert where == AWAY
    assert far.challenges_to_send(1.0) == []
    (token,) = [one.token for one in puppet.hears([challenge]) if isinstance(one, Challenge)]
    far.datagram_received(puppet.says(PathResponse(token)), 1.1, address=HOME)
    assert far.paths.address == HOME  # not from there
    far.datagram_received(puppet.says(PayloadFrame(2, b"z")), 1.2, address=AWAY)
    ((where, challenge),) = far.challenges_to_send(1.2)
    (token,) = [one.token for one in puppet.hears([challenge]) if isinstance(one, Challenge)]
    far.datagram_received(puppet.says(PathResponse(token)), 1.3, address=AWAY)
    assert far.paths.address == AWAY


def test_an_unproven_address_gets_little() -> None:
    puppet, (_, far) = Puppet(), ends()
    there = back = 0
    for number in range(200):
        datagram = puppet.says(PayloadFrame(number, b"x" * 10))
        far.datagram_received(datagram, 0.0, address=AWAY)
        there += len(datagram) + 28
        back += sum(len(one) + 28 for _, one in far.challenges_to_send(0.0))
    assert 0 < back <= 3 * there
    assert back < 1000


def test_the_other_end_echoes_a_challenge() -> None:
    near, _ = ends()
    puppet = Puppet(far_seal())
    near.datagram_received(puppet.says(Challenge(b"12345678")), 0.0)
    heard = puppet.hears(near.datagrams_to_send(0.0))
    assert PathResponse(b"12345678") in heard


def test_pace_and_window_follow_the_rate_that_is_set() -> None:
    control = RateBased(100_000.0)
    near, _ = ends(congestion=control, buffer=1_000_000)
    for _ in range(500):
        near.send(bytes(1000), 0.0)
    now, sent = 0.0, 0
    while now < 0.2:  # nothing is acknowledged yet
        sent += sum(len(one) + 28 for one in near.datagrams_to_send(now))
        now += 0.001
    assert sent == pytest.approx(100_000 * 0.2, rel=0.25)
    control.set_rate(0.0)
    assert near.datagrams_to_send(now) == []
    assert near.room(now) == 0
    assert near.room_at() is None


def test_new_reno_halves_once_a_round_trip_and_begins_anew_after_silence() -> None:
    reno = NewReno(segment=1000)
    trip = RoundTrip(0.1)
    assert reno.allowance(trip)[0] == 10_000
    for _ in range(10):
        reno.acknowledged(1000, sent_at=0.0, now=0.1, limited=True)
    assert reno.window == 20_000
    reno.acknowledged(1000, sent_at=0.0, now=0.1, limited=False)
    assert reno.window == 20_000
    reno.lost(1000, sent_at=0.1, now=0.2)
    reno.lost(1000, sent_at=0.15, now=0.25)  # the same event
    assert reno.window == 10_000
    reno.acknowledged(1000, sent_at=0.3, now=0.4, limited=True)
    assert reno.window == 10_100
    reno.timed_out(now=1.0)
    assert reno.window == 2000


def test_a_replay_changes_nothing() -> None:
    near, far = ends()
    datagrams = []
    for number in range(5):
        near.send(bytes([number]), 0.0)
        datagrams += near.datagrams_to_send(0.0)
    for one in datagrams:
        far.datagram_received(one, 0.1, address=HOME)
    before = far.statistics(0.2), far.deadline(), far.paths.address
    for one in datagrams * 3:
        assert not far.datagram_received(one, 0.2, address=AWAY)
    after = far.statistics(0.2), far.deadline(), far.paths.address
    assert before[1:] == after[1:]
    assert before[0].received == after[0].received
    assert far.challenges_to_send(0.2) == []


def test_repr_tells_the_state() -> None:
    near, _ = ends()
    assert repr(near) == "<SppConnection open sent=0 received=0>"
    assert isinstance(near, SppConnection)


def test_room_is_never_more_than_is_taken() -> None:
    near, _ = ends(buffer=5000, congestion=RateBased(1e9))
    room = near.room(0.0)
    assert room == 5000
    near.send(bytes(4000), 0.0)
    assert near.room(0.0) == 1000
