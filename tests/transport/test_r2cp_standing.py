"""Standing pulls: what one path was asked for before it is there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from transport.r2cp.availability import Availability
from transport.r2cp.engine import R2cpEngine
from transport.r2cp.path import PipePath
from transport.r2cp.standing import StandingPulls
from transport.rcp.pipe_requests import PipeRequests
from transport.rcp.received_stream import ReceivedStream
from transport.rcp.segments import DataSegment, Limit
from transport.rcp.settings import RcpSettings

SIZE = RcpSettings().size


def test_what_exists_is_released_and_the_rest_stands() -> None:
    standing = StandingPulls()
    standing.add(300, 400, since=2.0)
    standing.add(100, 200, since=1.0)
    assert standing.size == 200
    assert standing.covers(100)
    assert standing.covers(399)
    assert not standing.covers(200)
    assert standing.release(150) == [(100, 150, 1.0)]
    assert standing.release(350) == [(150, 200, 1.0), (300, 350, 2.0)]
    assert standing.release(350) == []
    assert standing.withdraw() == [(350, 400, 2.0)]
    assert standing.size == 0


@given(st.lists(st.integers(1, 50), min_size=1, max_size=20), st.lists(st.integers(0, 1200)))
def test_each_byte_is_released_once(sizes: list[int], words: list[int]) -> None:
    standing, at, added = StandingPulls(), 0, set[int]()
    for size in sizes:
        standing.add(at, at + size, since=0.0)
        added.update(range(at, at + size))
        at += size + 1
    released: list[int] = []
    for known in sorted(words):
        released += [byte for one in standing.release(known) for byte in range(*one[:2])]
    released += [byte for one in standing.withdraw() for byte in range(*one[:2])]
    assert sorted(released) == sorted(added)


def path() -> PipePath:
    made = PipePath(PipeRequests(RcpSettings(), None), established=True)
    made.asking.begin(size=SIZE, round_trip=0.1)
    return made


def test_what_a_sender_keeps_stands_and_all_else_is_pending_again() -> None:
    first, second = path(), path()
    stream = ReceivedStream(1 << 20, lambda: (first.pipe, second.pipe))
    senders = Availability(stream, lambda: (first, second), stands=True)
    for one, kept in ((first, True), (second, False)):
        wanted = stream.pending.take_beyond(0, 2 * SIZE, bound=1 << 20)
        assert wanted is not None
        one.asking.ask((wanted,), pulled=True, now=0.0, kept=kept)
        one.pipe.begin_request(0.0)
    senders.limited(second, 0, 0, 0.1)
    senders.limited(first, 500, 0, 0.1)
    assert [(one.begin, one.end) for one in first.pipe.under_way()] == [(0, 500)]
    assert first.standing.size == 2 * SIZE - 500
    assert second.pipe.idle
    assert stream.pending.begin == 2 * SIZE
    # Whoever says that there is more, what stood until now is under way.
    senders.exists(SIZE + 100, second, 0.2)
    assert first.standing.size == SIZE - 100
    assert [one.stood for one in first.pipe.under_way()] == [False, True, True]


def test_what_a_sender_keeps_and_others_say_exists_is_on_its_way() -> None:
    """Its word of how much it had is older than what they have brought."""
    first, second = path(), path()
    stream = ReceivedStream(1 << 20, lambda: (first.pipe, second.pipe))
    senders = Availability(stream, lambda: (first, second), stands=True)
    wanted = stream.pending.take_beyond(0, 3 * SIZE, bound=1 << 20)
    assert wanted is not None
    first.asking.ask((wanted,), pulled=True, now=0.0, kept=True)
    first.pipe.begin_request(0.0)
    senders.exists(2 * SIZE + 300, second, 0.1)
    senders.limited(first, 500, 0, 0.1)
    under_way = [(one.begin, one.end) for one in first.pipe.under_way()]
    assert under_way == [(0, SIZE), (SIZE, 2 * SIZE), (2 * SIZE, 2 * SIZE + 300)]
    assert first.standing.size == SIZE - 300
    assert not stream.pending.holes


def test_bytes_that_were_not_the_last_lift_every_limit_where_asking_makes_more() -> None:
    for stands in (True, False):
        first, second = path(), path()
        stream = ReceivedStream(1 << 20, lambda: (first.pipe, second.pipe))  # noqa: B023
        senders = Availability(stream, lambda: (first, second), stands=stands)  # noqa: B023
        first.limit = second.limit = 100
        senders.more(300, first, 0.1)
        assert first.limit is None
        assert second.limit == (None if stands else 300)


def engine_at_rest(*round_trips: float) -> R2cpEngine:
    """All that was asked for is not there yet: the quickest path's pulls stand."""
    engine = R2cpEngine(stands=True)
    for round_trip in round_trips:
        engine.established(engine.open(), size=SIZE, round_trip=round_trip)
    clocks = dict(engine.requests(0.0))
    for number, request in clocks.items():
        engine.received(number, Limit(request.clock, 0), round_trips[number])
    return engine


def test_the_quickest_path_alone_has_standing_pulls_and_no_timer_runs() -> None:
    engine = engine_at_rest(0.3, 0.1)
    assert engine.requests(1.0) == []
    assert engine.standing(1.0) == []  # a window stands already
    assert engine.next_timer() is None


def test_half_of_a_window_gone_it_is_asked_for_again() -> None:
    engine = engine_at_rest(0.1)
    window = 0
    for number in range(8):
        data = bytes(SIZE)
        engine.received(0, DataSegment(0, number * SIZE, data, False, True), 5.0 + number)
        engine.read()
        window += SIZE
        engine.requests(5.0 + number)
        for _, request in engine.standing(5.0 + number):
            (block,) = request.blocks
            assert block.begin >= window
            assert request.upto == block.end
            return
    raise AssertionError("it was never asked for")


def test_when_what_stood_comes_says_nothing_of_the_round_trip() -> None:
    engine = engine_at_rest(0.1)
    engine.received(0, DataSegment(0, 0, bytes(500), False, True), 99.0)
    assert engine.pipe(0).round_trip.smoothed < 0.2


def test_nor_does_what_stood_when_it_answers_a_copy_of_what_was_asked_for() -> None:
    engine = engine_at_rest(0.3, 0.1)
    engine.doubt(1)
    (others,) = [request for number, request in engine.standing(9.0) if number == 0]
    assert others.blocks
    copies = dict(engine.requests(9.0))
    assert 1 in copies
    engine.received(1, DataSegment(0, 0, bytes(SIZE), False, False), 9.01)
    assert engine.pipe(1).round_trip.smoothed < 0.2


def test_a_path_that_is_doubted_gives_up_what_stood_with_it_and_may_be_trusted_again() -> None:
    engine = engine_at_rest(0.3, 0.1)
    engine.doubt(1)
    assert [number for number, _ in engine.standing(1.0)] == [0]
    engine.trust(1)
    engine.close(0)
    assert [number for number, _ in engine.standing(2.0)] == [1]


def test_the_only_path_is_not_doubted() -> None:
    engine = engine_at_rest(0.1)
    engine.doubt(0)
    assert engine.standing(1.0) == []
