"""RCP's sender answers requests, each once, and decides nothing."""

from __future__ import annotations

import pytest

from transport.rcp.segments import Block, DataSegment, Fin, Limit, Req, Segment, Syn
from transport.rcp.send_buffer import SendBuffer
from transport.rcp.sender import MOST_AT_ONCE, RcpSender
from wire.errors import PeerError


def sender_of(data: bytes, *, ended: bool = False, size: int = 100) -> RcpSender:
    buffer = SendBuffer(1 << 24)
    buffer.write(data)
    if ended:
        buffer.end()
    return RcpSender(buffer, size=size)


def ranges(segments: list[Segment]) -> list[tuple[int, int]]:
    assert all(isinstance(one, DataSegment) for one in segments)
    return [(one.begin, one.end) for one in segments]


def test_a_cumulative_request_gets_what_was_not_sent_yet() -> None:
    sender = sender_of(bytes(1000))
    assert ranges(sender.received(Req(0, 0, 250))) == [(0, 100), (100, 200), (200, 250)]
    # The request for up to 350 is lost, and the next one has all that it asked for.
    assert ranges(sender.received(Req(2, 100, 450))) == [(250, 350), (350, 450)]
    assert sender.content.purged == 100


def test_pull_gets_the_blocks_alone_and_each_once() -> None:
    sender = sender_of(bytes(1000))
    sender.received(Req(0, 0, 500))
    block = Block(1, 100, 200)
    assert ranges(sender.received(Req(1, 100, 600, True, (block,)))) == [(100, 200)]
    assert ranges(sender.received(Req(2, 100, 600, False, (block,)))) == [(500, 600)]
    assert sender.recovered == 0
    # Asked for again, it is another block.
    again = Block(3, 100, 200)
    assert ranges(sender.received(Req(3, 100, 600, True, (block, again)))) == [(100, 200)]


def test_a_pull_whose_request_was_lost_is_found_in_the_next() -> None:
    sender = sender_of(bytes(1000))
    sender.received(Req(0, 0, 500))
    lost, other = Block(1, 100, 200), Block(2, 300, 400)
    answer = sender.received(Req(2, 100, 600, False, (lost, other)))
    assert ranges(answer) == [(100, 200), (300, 400), (500, 600)]
    assert sender.recovered == 1


def test_a_pull_above_all_that_was_sent_moves_snd_nxt() -> None:
    sender = sender_of(bytes(1000))
    assert ranges(sender.received(Req(0, 0, 300, True, (Block(0, 200, 300),)))) == [(200, 300)]
    assert ranges(sender.received(Req(1, 0, 400))) == [(300, 400)]


@pytest.mark.parametrize("clock", [5, 4, 0])
def test_a_request_that_comes_twice_or_too_late_changes_nothing(clock: int) -> None:
    sender = sender_of(bytes(1000))
    sender.received(Req(5, 100, 300))
    before = repr(sender), sender.content.purged, sender.rate
    assert sender.received(Req(clock, 200, 900, False, (Block(0, 0, 300),), 7)) == []
    assert (repr(sender), sender.content.purged, sender.rate) == before


@pytest.mark.parametrize("segment", [Req(0, 1001, 1001), Syn(0, 100), Fin(1000), Limit(0, 5)])
def test_what_no_receiver_says_is_refused_and_changes_nothing(segment: Segment) -> None:
    sender = sender_of(bytes(1000))
    with pytest.raises(PeerError):
        sender.received(segment)
    assert ranges(sender.received(Req(0, 0, 100))) == [(0, 100)]


def test_one_request_gets_so_much_and_no_more() -> None:
    sender = sender_of(bytes(MOST_AT_ONCE + 50_000), size=10_000)
    answer = sender.received(Req(0, 0, MOST_AT_ONCE + 50_000))
    assert sum(len(one.data) for one in answer) == MOST_AT_ONCE
    greedy = tuple(Block(1, 1000 * n, MOST_AT_ONCE) for n in range(8))
    answer = sender.received(Req(1, 0, MOST_AT_ONCE, True, greedy))
    assert sum(len(one.data) for one in answer) <= MOST_AT_ONCE


def test_what_was_purged_or_is_not_there_is_not_sent() -> None:
    sender = sender_of(bytes(500))
    sender.received(Req(0, 0, 400))
    blocks = (Block(1, 100, 250), Block(1, 450, 700))
    data = sender.received(Req(1, 200, 400, True, blocks))
    assert ranges(data) == [(200, 250), (450, 500)]
    assert data[1].throttled  # more is not there to be asked for


def test_a_pull_for_what_came_otherwise_is_answered_all_the_same() -> None:
    """Who asks a silent path for a copy wants to hear that somebody is there."""
    sender = sender_of(bytes(500))
    assert sender.received(Req(0, 300, 300, True, (Block(0, 100, 300),))) == [Limit(0, 500, False)]
    assert sender.received(Req(1, 300, 300, True)) == [], "a reminder asks for nothing"


def test_the_last_byte_says_so() -> None:
    sender = sender_of(bytes(250), ended=True)
    data = sender.received(Req(0, 0, 250))
    assert [one.fin for one in data] == [False, False, True]
    assert not any(one.throttled for one in data)
    assert sender.received(Req(1, 100, 500)) == [Limit(1, 250, True)]  # if that one was lost
    assert sender.received(Fin(250)) == [Fin(250)]
    assert sender.closed


def test_a_receiver_that_asks_too_early_is_told_once_there_is_more() -> None:
    buffer = SendBuffer(1_000)
    sender = RcpSender(buffer, size=100)
    assert sender.received(Req(0, 0, 1000)) == [Limit(0, 0)]
    assert sender.news() == []
    buffer.write(bytes(150))
    assert sender.news() == [Limit(0, 150)]
    assert sender.news() == []
    data = sender.received(Req(1, 0, 150))
    assert [one.throttled for one in data] == [False, True]
    buffer.write(bytes(10))
    assert sender.news() == []  # it has asked for no more than there was
    assert sender.received(Req(2, 150, 300)) == [DataSegment(2, 150, bytes(10), False, True)]
    buffer.end()
    assert sender.news() == [Limit(2, 160, True)]


def test_a_sender_can_throttle_what_it_has() -> None:
    sender = sender_of(bytes(500))
    assert sender.throttle(100) == []  # nobody waits
    data = sender.received(Req(0, 0, 300))
    assert (ranges(data), data[-1].throttled) == ([(0, 100)], True)
    assert sender.throttle(None) == [Limit(0, 500)]


def test_the_rate_of_a_request_is_for_the_owners_timer() -> None:
    sender = sender_of(bytes(500))
    sender.received(Req(0, 0, 100, rate=48_000))
    assert sender.rate == 48_000


def written(sender: RcpSender, data: bytes) -> list[Segment]:
    """What goes once that is written."""
    assert isinstance(sender.content, SendBuffer)
    sender.content.write(data)
    return sender.news()


def test_what_is_kept_goes_once_it_is_there_and_the_limit_is_said_each_time() -> None:
    sender = sender_of(bytes(150))
    data, rest = sender.received(Req(0, 0, 500, True, (Block(0, 0, 500),)))
    assert ranges([data, rest]) == [(0, 100), (100, 150)]
    assert rest.throttled
    assert sender.awaited == 500
    *data, limit = written(sender, bytes(120))
    assert ranges(data) == [(150, 250), (250, 270)]
    assert limit == Limit(0, 270)
    *data, limit = written(sender, bytes(300))
    assert ranges(data) == [(270, 370), (370, 470), (470, 500)]
    assert limit == Limit(0, 570)
    assert sender.awaited == 0
    assert sender.asks_upto(Req(1, 0, 600, True, (Block(1, 500, 600),))) == 600


def test_a_pull_that_is_not_to_be_kept_is_forgotten() -> None:
    sender = sender_of(bytes(150))
    sender.received(Req(0, 0, 0, True, (Block(0, 0, 500),)))
    assert sender.awaited == 0
    assert written(sender, bytes(120)) == [Limit(0, 270)]


def test_a_standing_pull_may_be_overtaken_by_later_requests() -> None:
    sender = sender_of(bytes(150))
    sender.received(Req(3, 0, 0, True, (Block(3, 0, 100),)))
    data = sender.keep(Req(1, 0, 400, True, (Block(1, 100, 400),)))
    assert ranges(data) == [(100, 150)]
    *data, _ = written(sender, bytes(50))
    assert ranges(data) == [(150, 200)]
    assert data[0].echo == 3


@pytest.mark.parametrize("segment", [Req(0, 0, 100), Fin(3), Limit(0, 5)])
def test_what_is_no_standing_pull_is_refused(segment: Segment) -> None:
    sender = sender_of(bytes(150))
    sender.received(Req(0, 0, 0, True, (Block(0, 0, 100),)))
    with pytest.raises(PeerError):
        sender.keep(segment)


def test_no_pull_stands_before_the_first_request() -> None:
    with pytest.raises(PeerError):
        sender_of(b"").keep(Req(0, 0, 100, True, (Block(0, 0, 100),)))


def test_of_many_kept_ranges_the_last_are_forgotten() -> None:
    sender = sender_of(b"")
    for clock in range(100):
        begin = 10 * clock
        sender.received(Req(clock, 0, begin + 10, True, (Block(clock, begin, begin + 10),)))
    *data, _ = written(sender, bytes(1000))
    assert ranges(data) == [(begin, begin + 10) for begin in range(0, 640, 10)]


def test_each_byte_that_is_kept_goes_once_however_often_it_was_asked_for() -> None:
    """A hostile receiver: 64 pulls for the same 100,000 bytes."""
    sender = sender_of(b"")
    for clock in range(64):
        sender.received(Req(clock, 0, 100_000, True, (Block(clock, 0, 100_000),)))
    *data, _ = written(sender, bytes(50_000))
    assert sum(len(one.data) for one in data) == 50_000
    *data, _ = written(sender, bytes(60_000))
    assert sum(len(one.data) for one in data) == 50_000
    assert sender.awaited == 0


def test_a_standing_pull_for_what_is_there_gets_no_more_than_any_request() -> None:
    sender = sender_of(bytes(3 * MOST_AT_ONCE))
    sender.received(Req(0, 0, 0, True, (Block(0, 0, 100),)))
    end = 3 * MOST_AT_ONCE
    data = sender.keep(Req(0, 0, end, True, (Block(0, 0, end),)))
    assert sum(len(one.data) for one in data) <= MOST_AT_ONCE + sender.size
