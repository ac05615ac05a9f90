"""Tests of what SPP says beside payloads, and of how a connection says that it ends."""

from __future__ import annotations

import pytest

from transport.spp.core.acknowledgements import Arrivals
from transport.spp.core.control import PING, ControlFrames
from transport.spp.core.farewell import Farewell
from transport.spp.core.packets import (
    Ack,
    Close,
    Floor,
    Frame,
    PathResponse,
    PingFrame,
    Reason,
    WindowFrame,
    decode,
)
from transport.spp.core.received_payloads import LEAST_WINDOW, ReceivedPayloads
from transport.spp.core.recovery import SentPacket


class Said:
    """What would go into the next datagram."""

    def __init__(self) -> None:
        self.arrivals = Arrivals(now=0.0)
        self.incoming = ReceivedPayloads(ordered=True, window=LEAST_WINDOW)
        self.control = ControlFrames(self.arrivals, self.incoming)
        self.asks = False
        self.packet = SentPacket(0, 0, 0.0)

    def next(self, now: float = 0.0, *, sending: bool = False) -> list[Frame]:
        frames: list[bytes] = []
        self.packet = SentPacket(0, 0, now)
        self.asks = self.control.frames(frames, self.packet, now, sending=sending)
        return [one for frame in frames for one in decode(frame)]

    def take_all(self) -> None:
        """The application takes enough for the window to move on."""
        for sequence in range(3):
            self.incoming.add(self.taken + sequence, bytes(4000))
        self.taken += 3
        self.incoming.received()

    taken = 0


def test_nothing_is_said_where_nothing_happened() -> None:
    said = Said()
    assert said.next() == []
    assert not said.asks
    assert list(decode(PING)) == [PingFrame()]


def test_an_acknowledgement_waits_for_company_or_for_its_time() -> None:
    said = Said()
    said.arrivals.note(0, arrived=0.0, asks=True, now=0.0)
    assert said.next(0.001) == []
    (ack,) = said.next(0.002, sending=True)  # payloads take it along
    assert isinstance(ack, Ack)
    assert ack.ranges == ((0, 0),)
    assert not said.asks  # nobody acknowledges an acknowledgement
    said.arrivals.note(1, arrived=0.5, asks=True, now=0.5)
    assert said.next(0.501) == []
    assert len(said.next(1.0)) == 1


def test_a_ping_takes_an_acknowledgement_along() -> None:
    said = Said()
    said.arrivals.note(0, arrived=0.0, asks=True, now=0.0)
    said.control.ping = True
    assert [type(one) for one in said.next()] == [Ack]


def test_each_echo_goes_once_and_a_peer_that_asks_without_end_gets_a_few() -> None:
    said = Said()
    said.control.echo(b"12345678")
    assert said.next() == [PathResponse(b"12345678")]
    assert said.asks
    assert said.next() == []
    for number in range(100):
        said.control.echo(number.to_bytes(8, "big"))
    answers = said.next()
    assert 1 <= len(answers) < 10
    assert answers[-1] == PathResponse((99).to_bytes(8, "big"))


def test_a_window_that_was_lost_is_said_again_unless_a_later_one_was() -> None:
    said = Said()
    said.take_all()
    (first,) = said.next()
    assert isinstance(first, WindowFrame)
    assert said.asks
    lost = said.packet
    assert lost.window == first.limit
    assert said.next() == []
    said.control.lost(lost)
    assert said.next() == [first]
    assert said.next() == []
    said.take_all()
    (second,) = said.next()
    assert isinstance(second, WindowFrame)
    assert second.limit > first.limit
    said.control.lost(lost)
    assert said.next() == []


def test_the_floor_is_told_when_it_has_risen_by_much() -> None:
    said = Said()
    said.control.set_floor(10)
    assert said.next() == []
    said.control.set_floor(100)
    assert said.next() == [Floor(100)]
    assert said.asks
    said.control.set_floor(120)
    assert said.next() == []


# Farewell.


def words(farewell: Farewell) -> Close | None:
    said = farewell.words()
    if said is None:
        return None
    (close,) = decode(said)
    assert isinstance(close, Close)
    return close


def test_a_farewell_is_said_and_waits_for_who_still_sends() -> None:
    farewell = Farewell()
    assert not farewell.begun
    assert not farewell.finished(1e9)
    assert farewell.deadline() is None
    farewell.say(Reason.PROTOCOL, "why", until=5.0)
    assert farewell.begun
    assert not farewell.finished(9.0)  # it has not been said yet
    assert words(farewell) == Close(Reason.PROTOCOL, "why")
    assert words(farewell) is None
    assert farewell.deadline() == 5.0
    assert not farewell.finished(4.9)
    assert farewell.finished(5.0)
    farewell.forget()
    assert farewell.deadline() is None


def test_who_still_sends_is_told_again_ever_more_rarely() -> None:
    farewell = Farewell()
    farewell.say(Reason.DONE, "", until=5.0)
    farewell.words()
    told = []
    for number in range(1, 65):
        farewell.still_sent()
        if farewell.words() is not None:
            told.append(number)
    assert told == [1, 2, 4, 8, 16, 32, 64]


@pytest.mark.parametrize("said_before", [False, True])
def test_a_peer_that_has_closed_needs_no_word(said_before: bool) -> None:
    farewell = Farewell()
    if said_before:
        farewell.say(Reason.DONE, "", until=5.0)
    farewell.heard(1.0)
    assert farewell.begun
    farewell.still_sent()
    assert farewell.words() is None
    assert farewell.finished(1.0)
