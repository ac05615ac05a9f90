"""The R2CP engine over several paths in virtual time: a stream to the byte, whatever they do."""

from __future__ import annotations

import random

import pytest

from emulation.dumbbell.events import Events
from emulation.dumbbell.several_paths import PathModel, R2cpFlow
from transport.r2cp.engine import R2cpEngine
from transport.rcp.segments import DataSegment, Fin, Limit, Req
from transport.rcp.send_buffer import SendBuffer
from transport.rcp.settings import RcpSettings
from wire.errors import LocalError, PeerError

MBIT = 125_000.0
QUICK = PathModel(4 * MBIT, 0.03)
SLOW = PathModel(1 * MBIT, 0.2)
SIZE = RcpSettings().size


class Download:
    """A file of noise over these paths."""

    def __init__(self, *models: PathModel, size: int = 1_000_000, seed: int = 1) -> None:
        self.events, self.data = Events(), random.Random(seed).randbytes(size)
        content = SendBuffer(1 << 30)
        content.write(self.data)
        content.end()
        self.flow = R2cpFlow(self.events, models, content=content, seed=seed)
        self.flow.start()
        self.done_at = float("inf")

    def run(self, until: float) -> float:
        """Goes on until then, or until all is here and said goodbye; the time."""
        engine = self.flow.engine
        while self.events.now < until and not engine.closed:
            self.events.run(min(until, self.events.now + 0.01))
            if engine.done:
                self.done_at = min(self.done_at, self.events.now)
        return self.events.now

    @property
    def whole(self) -> bool:
        return bytes(self.flow.got) == self.data and self.flow.engine.closed


def test_two_paths_bring_a_file_in_the_time_of_their_sum() -> None:
    alone, both = (Download(*paths, size=3_000_000) for paths in ((QUICK,), (QUICK, SLOW)))
    for one in (alone, both):
        one.run(30)
        assert one.whole
    assert both.done_at < 0.82 * alone.done_at, ".8 is the rates' own share"
    engine = both.flow.engine
    assert engine.carried(0) + engine.carried(1) == len(both.data)
    assert engine.carried(1) > 0.1 * len(both.data)


def test_a_path_is_asked_for_no_more_than_may_cross_it() -> None:
    both = Download(QUICK, SLOW, size=1_000_000)
    engine = both.flow.engine
    while not engine.closed and both.events.now < 60:
        engine.bound(0, 50_000 - engine.carried(0))
        both.run(both.events.now + 0.001)
    assert both.whole
    assert 40_000 < engine.carried(0) <= 50_000 + 2 * SIZE  # what came between two looks


def test_requests_cost_four_hundredths_of_the_data() -> None:
    both = Download(QUICK, SLOW, size=3_000_000)
    both.run(30)
    assert both.flow.request_bytes <= 0.04 * len(both.data)


@pytest.mark.parametrize("seed", range(12))
def test_paths_that_lose_come_and_go_bring_every_byte_once(seed: int) -> None:
    chance = random.Random(seed)

    def path() -> PathModel:
        rate, trip = chance.uniform(0.3, 6) * MBIT, chance.uniform(0.01, 0.6)
        return PathModel(rate, trip, loss=chance.choice((0.0, 0.01, 0.05)))

    download = Download(path(), path(), size=600_000, seed=seed)
    flow, open_now = download.flow, [0, 1]
    while not flow.engine.closed and download.events.now < 300:
        download.run(download.events.now + chance.uniform(0.2, 2.0))
        if flow.engine.done:
            continue
        if len(open_now) > 1 and chance.random() < 0.6:
            flow.close(open_now.pop(chance.randrange(len(open_now))))
        else:
            open_now.append(flow.open(path()))
            flow.start()
    assert download.whole


@pytest.mark.parametrize("seed", range(40))
def test_a_path_that_is_pulled_out_costs_the_other_nothing(seed: int) -> None:
    chance = random.Random(seed)
    download = Download(QUICK, SLOW, size=2_000_000, seed=seed)
    flow, victim = download.flow, chance.randrange(2)
    download.run(chance.uniform(0.5, 2.5))
    flow.close(victim)
    download.run(60)
    assert download.whole
    assert flow.longest_gap <= 0.5, "the slow one alone has one of .42, where its queue overflows"


@pytest.mark.parametrize("seed", range(40))
def test_a_path_that_swallows_all_is_given_up_after_its_timeout(seed: int) -> None:
    chance = random.Random(seed)
    download = Download(QUICK, SLOW, size=2_000_000, seed=seed)
    flow, victim = download.flow, chance.randrange(2)
    download.run(chance.uniform(0.5, 2.5))
    trip, other = (flow.engine.pipe(one).round_trip.smoothed for one in (victim, 1 - victim))
    flow.cut(victim)
    download.run(60)
    assert bytes(flow.got) == download.data
    # Until it is doubted, and until what it owed has come by the other one.
    assert flow.longest_gap <= min(1.0, 2 * trip + 0.2 + 2 * other)


def test_a_channel_that_is_bad_is_left_alone_and_its_holes_come_by_the_other() -> None:
    download = Download(QUICK, SLOW, size=2_000_000)
    engine = download.flow.engine
    download.run(1.0)
    engine.freeze(0)
    before, lost = engine.carried(0), engine.pipe(0).lost
    download.run(2.0)
    assert engine.carried(0) - before < 60_000, "what was under way"
    assert engine.pipe(0).lost == lost, "that says nothing of the path"
    engine.resume(0)
    download.flow.start()
    download.run(60)
    assert download.whole and engine.carried(0) > before + 100_000


def test_a_sender_that_writes_now_and_then_is_asked_now_and_then() -> None:
    events, content = Events(), SendBuffer(1 << 20)
    flow = R2cpFlow(events, (QUICK, SLOW), content=content)
    flow.start()
    expected = bytearray()
    for number in range(20):
        piece = random.Random(number).randbytes(3_000)
        expected += piece
        content.write(piece)
        events.run(events.now + 15.0)  # nobody tells the receiver: it probes
        assert flow.got == expected
    content.end()
    events.run(events.now + 30.0)
    assert flow.engine.closed


@pytest.mark.parametrize("seed", range(12))
def test_what_a_sender_had_not_when_it_answered_is_an_old_word_beside_another_s(seed: int) -> None:
    chance = random.Random(seed)
    events, content, expected = Events(), SendBuffer(1 << 22), bytearray()
    flow = R2cpFlow(events, (QUICK, SLOW), content=content, seed=seed)
    flow.start()
    for _ in range(60):
        piece = chance.randbytes(chance.randrange(1_000, 60_000))
        expected += piece
        content.write(piece)
        flow.wrote()
        events.run(events.now + chance.uniform(0.02, 0.4))
    content.end()
    flow.wrote()
    events.run(events.now + 30.0)
    assert flow.got == expected and flow.engine.closed
    # Bytes of probes, and a segment of a path that was doubted; 22 to 42 KB before words were kept.
    assert flow.engine.duplicates < 2 * SIZE
    assert sum(flow.engine.pipe(number).timeouts for number in (0, 1)) <= 2


def established(*trips: float) -> R2cpEngine:
    """An engine whose pipes have asked for what they may."""
    engine = R2cpEngine()
    for trip in trips:
        engine.established(engine.open(), size=SIZE, round_trip=trip)
    return engine


def test_the_first_requests_of_a_slow_pipe_leave_the_stream_s_head_to_the_quick_one() -> None:
    engine = established(0.5, 0.05)
    said = [(number, block.begin) for number, one in engine.requests(0.0) for block in one.blocks]
    assert said[0] == (1, 0), "the quick one asks first, for what is wanted first"
    assert min(begin for number, begin in said if number == 0) >= 10 * SIZE * 9


def test_nobody_says_what_was_not_asked() -> None:
    engine = established(0.1)
    engine.requests(0.0)
    state = repr(engine), engine.pipe(0).in_flight
    for segment in (Req(0, 0, 9), Fin(9), DataSegment(99, 0, b"x"), Limit(99, 5, False)):
        with pytest.raises(PeerError):
            engine.received(0, segment, 0.1)
    assert (repr(engine), engine.pipe(0).in_flight) == state
    engine.received(0, DataSegment(0, 0, b"x" * SIZE), 0.1)
    engine.received(0, DataSegment(0, 0, b"x" * SIZE), 0.2)
    assert (engine.next, engine.carried(0)) == (SIZE, SIZE)
    with pytest.raises(PeerError, match="two ends"):
        engine.received(0, Limit(0, 3 * SIZE, True), 0.3)
        engine.received(0, Limit(0, 4 * SIZE, True), 0.3)


def test_there_are_no_other_pipes() -> None:
    engine = established(0.1)
    engine.close(0)
    for call in (engine.close, engine.freeze, engine.resume):
        with pytest.raises(LocalError, match="no pipe 0"):
            call(0)
    assert engine.requests(0.0) == [] and engine.next_timer() is None


def test_where_the_buffer_is_full_pipes_are_active_until_somebody_reads() -> None:
    engine = R2cpEngine(RcpSettings(buffer=4 * SIZE))
    engine.established(engine.open(), size=SIZE, round_trip=0.1)
    engine.requests(0.0)
    assert engine.active == {0}
    for number in range(4):
        engine.received(0, DataSegment(0, number * SIZE, b"x" * SIZE), 0.1)
    assert engine.requests(0.1) == [] and engine.filled == 1.0
    assert engine.read() == b"x" * SIZE * 4
    assert engine.active == set() and engine.requests(0.1)
