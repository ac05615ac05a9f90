"""RCP's receiver decides: what is asked for, how much, what is lost; and it waits when it must."""

from __future__ import annotations

import pytest

from tests.transport.rcp_path import RcpPath, losing, noise
from transport.rcp.receiver import RcpReceiver
from transport.rcp.segments import DataSegment, Fin, Limit, Req, Segment, Syn
from transport.rcp.settings import RcpSettings
from transport.spp.congestion.rate_based import RateBased
from wire.errors import PeerError

SIZE = RcpSettings().size


def opened(**settings: int) -> tuple[RcpReceiver, list[Req]]:
    """A receiver that has asked for its first window."""
    receiver = RcpReceiver(RcpSettings(**settings))
    receiver.begin(size=receiver.size, round_trip=0.1)
    return receiver, receiver.requests(0.0)


def data(number: int, *, echo: int = 0, **flags: bool) -> DataSegment:
    return DataSegment(echo, number * SIZE, bytes([number]) * SIZE, **flags)


def test_two_segments_are_asked_for_at_a_time_and_one_after_a_while() -> None:
    receiver, _ = opened()
    # In congestion avoidance what arrives makes room for as much.
    receiver.pipe.congestion.lost(1, sent_at=0.0, now=0.0)
    for number in range(6):
        receiver.received(data(number), 0.1)
    asked = receiver.requests(0.1)
    assert [one.upto for one in asked] == []
    receiver.received(data(6), 0.1)
    receiver.received(data(7), 0.1)
    assert [(one.deq, one.upto) for one in receiver.requests(0.1)] == [(8 * SIZE, 13 * SIZE)]
    receiver.received(data(8), 0.11)
    assert receiver.requests(0.11) == []
    assert receiver.next_timer() == pytest.approx(0.15)
    receiver.on_timer(0.15)
    assert [(one.deq, one.upto) for one in receiver.requests(0.15)] == [(9 * SIZE, 14 * SIZE)]


def test_a_hole_is_pulled_once_three_came_after_it() -> None:
    receiver, _ = opened()
    for number in (1, 2, 3):
        assert all(not one.blocks for one in receiver.requests(0.1))
        receiver.received(data(number), 0.1)
    asked = receiver.requests(0.1)
    assert [(one.begin, one.end) for one in asked[0].blocks] == [(0, SIZE)]
    assert asked[0].deq == 0
    # It stays in the next requests: the pull itself may be lost.
    receiver.received(data(4), 0.11)
    receiver.received(data(5), 0.11)
    receiver.received(data(6), 0.11)
    assert [one.blocks for one in receiver.requests(0.12)] in ([asked[0].blocks], [])


@pytest.mark.parametrize("delay", [0.02, 0.3])
def test_no_more_is_expected_than_the_buffer_has_places_for(delay: float) -> None:
    path = RcpPath(delay=delay, settings=RcpSettings(buffer=20 * SIZE), reads=False)
    path.write(noise(100 * SIZE), end=True)
    path.run(20.0)
    assert path.receiver.buffer.readable == 20 * SIZE
    assert sum(len(one.data) for one in path.data) == 20 * SIZE
    assert path.receiver.next_timer() is None  # it waits for its own application alone
    path.got += path.receiver.read()
    path.run(25.0)
    assert path.receiver.buffer.readable == 20 * SIZE
    assert path.receiver.pipe.timeouts == 0


def test_a_slow_writer_is_waited_for_and_costs_no_window() -> None:
    path = RcpPath()
    window = path.receiver.pipe.room
    written = b""
    for number in range(40):
        piece = noise(50 + 13 * number, number)
        written += piece
        path.write(piece)
        path.run(path.now + 0.5)
        assert path.got == written  # each is there when the next is written
    assert path.receiver.pipe.timeouts == path.receiver.pipe.lost == 0
    assert path.receiver.pipe.room >= window
    path.content.end()
    path.far.wrote()
    path.run(path.now + 5.0, done=lambda: path.receiver.goodbye.closed)
    assert path.receiver.goodbye.closed
    assert path.far.sender.closed


def test_news_of_more_that_is_lost_is_asked_for_ever_more_seldom() -> None:
    lost: list[float] = []

    def fate(segment: Segment, now: float) -> bool:
        if isinstance(segment, Limit) and segment.limit > 0 and len(lost) < 3:
            lost.append(now)
            return True
        return False

    path = RcpPath(down=fate)
    path.run(30.0)
    assert path.receiver.throttled
    probes = path.receiver.probes
    assert 3 <= probes <= 9
    path.write(b"at last")
    path.run(path.now + 25.0)
    assert path.got == b"at last"
    assert path.receiver.probes <= probes + 3
    assert path.receiver.pipe.timeouts == 0


@pytest.mark.parametrize("seed", range(5))
def test_a_writer_in_fits_and_starts_over_a_bad_path_is_heard_in_full(seed: int) -> None:
    path = RcpPath(down=losing(0.2, seed), up=losing(0.2, 50 + seed))
    written = b""
    for number in range(30):
        piece = noise(1 + 997 * number % 9_000, number)
        written += piece
        path.write(piece)
        path.run(path.now + 0.15)
    path.content.end()
    path.far.wrote()
    path.run(path.now + 400.0, done=lambda: path.receiver.goodbye.closed)
    assert path.got == written
    assert path.receiver.goodbye.closed


def test_sleeping_through_a_bad_channel_costs_no_window_and_nothing_twice() -> None:
    path = RcpPath(delay=0.05)
    content = noise(1_500_000)
    path.write(content, end=True)
    path.run(1.0)
    window = path.receiver.pipe.room + path.receiver.pipe.in_flight
    path.receiver.freeze(path.now)
    path.asleep = True
    assert path.receiver.next_timer() is None
    before = len(path.requests)
    path.run(9.0)
    assert len(path.requests) == before  # no timer runs
    path.asleep = False
    path.receiver.resume(path.now)
    path.turn()
    assert path.receiver.pipe.room + path.receiver.pipe.in_flight == window
    path.run(30.0, done=lambda: path.receiver.done)
    assert path.got == content
    assert path.receiver.pipe.timeouts == 0
    assert path.receiver.buffer.duplicates == 0
    assert path.now < 9.0 + 1_500_000 / 250_000  # it goes on where it was


def test_a_hole_of_the_air_is_asked_for_at_once_without_a_cut() -> None:
    told, silent = (RcpPath(down=losing(0.05, 3), elns=elns, rate=1e6) for elns in (True, False))
    content = noise(2_000_000)
    for path in (told, silent):
        path.write(content, end=True)
        path.run(100.0, done=lambda path=path: path.receiver.done)
        assert path.got == content
    assert told.receiver.pipe.spared == told.receiver.pipe.lost > 50
    assert told.now < 0.5 * silent.now


def test_what_was_asked_for_again_is_not_lost_by_news_of_its_first_sending() -> None:
    receiver, _ = opened()
    receiver.corrupted(0, 0, 0.1)
    asked = receiver.requests(0.1)
    assert asked[0].blocks[0][1:] == (0, SIZE)
    receiver.corrupted(0, 0, 0.1)  # the same sending
    receiver.corrupted(99 * SIZE, 0, 0.1)  # nobody asked
    assert receiver.pipe.spared == 1


def test_the_window_follows_the_congestion_control_of_the_interface() -> None:
    receiver = RcpReceiver(RcpSettings(), RateBased(500_000.0))
    receiver.begin(size=SIZE, round_trip=0.2)
    asked = receiver.requests(0.0)
    assert asked[-1].upto == pytest.approx(500_000 * (3 * 0.2 + 4 * 0.1 + 0.1), rel=0.1)


def test_silence_keeps_what_has_arrived() -> None:
    receiver, _ = opened()
    for number in (0, 2):
        receiver.received(data(number), 0.1)
    receiver.requests(0.1)
    while not receiver.pipe.timeouts:
        now = receiver.next_timer()
        receiver.on_timer(now)
        asked = receiver.requests(now)
    assert receiver.reminders == 1
    (only,) = asked
    assert isinstance(only, Req)
    assert only.pull  # nothing new before the holes are asked for
    assert [(one.begin, one.end) for one in only.blocks] == [
        (SIZE, 2 * SIZE),
        (3 * SIZE, 4 * SIZE),
    ]


def test_a_rate_goes_with_each_request() -> None:
    receiver = RcpReceiver()
    receiver.release_at(12_000)
    assert [one.rate for one in receiver.requests(0.0)] == [12_000]


@pytest.mark.parametrize(
    "segment",
    [
        data(0, echo=99),  # nobody asked
        Limit(99, 0),
        Limit(0, SIZE, True),  # the end before what was sent
        data(0, fin=True),
        Fin(5 * SIZE),
        Syn(0, 100),
        Req(0, 0, 0),
    ],
)
def test_what_no_sender_says_is_refused_and_changes_nothing(segment: Segment) -> None:
    receiver, _ = opened()
    receiver.received(data(3), 0.1)
    before = receiver.pipe.in_flight, receiver.pending.length, receiver.buffer.next
    with pytest.raises(PeerError):
        receiver.received(segment, 0.1)
    assert (receiver.pipe.in_flight, receiver.pending.length, receiver.buffer.next) == before


def test_a_stream_has_one_end() -> None:
    receiver, _ = opened()
    receiver.received(Limit(0, 4 * SIZE, True), 0.1)
    assert receiver.pipe.in_flight == 4 * RcpSettings().packet  # what lies beyond is taken back
    for segment in (Limit(0, 5 * SIZE, True), data(4), data(2, fin=True)):
        with pytest.raises(PeerError):
            receiver.received(segment, 0.1)
    for number in range(4):
        receiver.received(data(number), 0.1)
    assert receiver.done
    assert receiver.requests(0.1) == [Fin(4 * SIZE)]


def test_data_that_comes_twice_or_for_nobody_changes_nothing() -> None:
    receiver, _ = opened(buffer=12 * SIZE)
    receiver.received(data(0), 0.1)
    state = receiver.pipe.in_flight, receiver.buffer.next
    receiver.received(data(0), 0.1)
    receiver.received(data(90), 0.1)  # beyond every place of the buffer
    assert (receiver.pipe.in_flight, receiver.buffer.next) == state
    assert receiver.read() == bytes(SIZE)
