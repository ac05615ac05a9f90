"""Cells at their receiver: as many as a window holds are asked for, whoever has something."""

from __future__ import annotations

import pytest

from transport.r2cp import cell_asking
from transport.r2cp.engine import R2cpEngine
from transport.r2cp.path import PipePath
from transport.rcp.pending import ByteRange
from transport.rcp.pipe_requests import PipeRequests
from transport.rcp.segments import DataSegment, Req
from transport.rcp.settings import RcpSettings
from transport.spp.congestion.bottleneck import BottleneckBased

SETTINGS = RcpSettings(size=1_000)


def engine(*round_trips: float) -> R2cpEngine:
    one = R2cpEngine(SETTINGS, stands=True)
    for trip in round_trips:
        number = one.open(BottleneckBased(segment=SETTINGS.packet))
        one.established(number, size=1_000, round_trip=trip)
    one.part()
    return one


def asked(one: R2cpEngine, now: float) -> dict[int, list[int]]:
    """By path the cells that requests name for the first time."""
    cells: dict[int, list[int]] = {}
    for number, request in one.requests(now):
        assert isinstance(request, Req)
        for block in request.blocks:
            if block.clock == request.clock:
                assert block.begin % 1_000 == block.end % 1_000 == 0
                cells.setdefault(number, []).extend(range(block.begin // 1_000, block.end // 1_000))
    return cells


def cell(place: int, echo: int, data: bytes = b"x", *, sent: int = 0) -> DataSegment:
    return DataSegment(echo, place, data, cell=True, sent=sent).padded(1_000)


def test_every_path_is_asked_for_a_window_and_what_is_kept_counts() -> None:
    one = engine(0.1, 0.6)
    cells = asked(one, 0.0)
    assert cells == {0: list(range(10)), 1: list(range(10, 20))}
    one.kept(0, [ByteRange(0, 10_000)])
    assert one.pipe(0).idle
    assert one.owed(0) == 10_000
    assert asked(one, 0.2) == {}


def test_cells_are_handed_on_as_they_come_and_once() -> None:
    one = engine(0.1, 0.6)
    asked(one, 0.0)
    for place in (12, 3, 12):
        one.received(1 if place == 12 else 0, cell(place, 0, b"%d" % place), 0.3)
    assert [data.rstrip(b"\0") for data in one.cells()] == [b"12", b"3"]
    assert one.cells() == []
    assert one.next == 0


def test_what_was_kept_and_is_given_can_be_missed() -> None:
    one = engine(0.1, 0.1)
    asked(one, 0.0)
    one.kept(0, [ByteRange(0, 10_000)])
    one.given(0, [ByteRange(0, 5_000)], 3.0)
    assert one.owed(0) == pytest.approx(10_000, rel=0.1)
    for place in (1, 2, 3, 4):
        one.received(0, cell(place, 0), 3.05)
    due = one.next_timer()
    assert due is not None
    one.on_timer(due)
    assert 0 in [place for places in asked(one, due).values() for place in places]


def test_a_path_that_is_doubted_is_asked_for_nothing_and_others_are() -> None:
    one = engine(0.1, 0.1)
    asked(one, 0.0)
    one.kept(0, [ByteRange(0, 10_000)])
    assert one.lag(0).void == 0
    one.doubt(0)
    assert one.lag(0).void > 0
    one.received(1, cell(10, 0), 0.2)
    assert set(asked(one, 0.3)[1]) <= set(range(10))


class Found(BottleneckBased):
    """Has searched for its rate."""

    @property
    def found(self) -> float:
        return self.rate


def test_what_lies_behind_the_others_is_what_they_carry_for_as_long() -> None:
    def path(trip: float, rate: float) -> PipePath:
        control = Found(segment=SETTINGS.packet)
        asking = PipeRequests(SETTINGS, control)
        asking.begin(size=1_000, round_trip=trip)
        for number in range(30):
            sent = number * 0.01
            control.sent(1_000, under_way=1_000, now=sent)
            control.acknowledged(round(rate / 100), sent_at=sent, now=sent + trip, limited=False)
        return PipePath(asking)

    quick, slow = path(0.1, 48_000), path(0.6, 125_000)
    control = quick.pipe.congestion
    assert isinstance(control, BottleneckBased)
    rate = control.rate
    assert cell_asking.lag(slow, [quick]).behind == int(rate * 0.25) // 1_000 * 1_000
    assert cell_asking.lag(quick, [slow]).behind == 0


def test_what_comes_while_little_is_asked_for_says_nothing_of_what_a_path_carries() -> None:
    """A first page is not dealt out as if the quick path carried what two words took."""
    one = engine(0.1, 0.6)
    asked(one, 0.0)
    one.received(0, cell(0, 0, b"word"), 0.1)
    assert one.lag(1).behind >= 0.2 * 10_000 / 0.1
    one.received(0, cell(1, 0, b"word", sent=100), 0.2)
    assert one.lag(1).behind >= 0.2 * 10_000 / 0.12


def test_empty_cells_tell_nothing_of_a_rate() -> None:
    one = engine(0.1)
    asked(one, 0.0)
    for place in range(8):
        one.received(0, cell(place, 0, b"\0"), 0.1 + place / 1_000)
    control = one.pipe(0).congestion
    assert isinstance(control, BottleneckBased)
    assert control.rate < 8 * 100 / 0.1


def test_a_path_that_rests_brings_nothing_sooner() -> None:
    """Else what is said would wait for one that nobody asks."""
    one = engine(0.1, 0.6)
    assert one.lag(1).behind > 0
    one.spare(0, True)
    assert one.lag(1).behind == 0
    one.spare(0, False)
    one.bound(0, 100)
    assert one.lag(1).behind == 0
    one.bound(0, None)
    one.retire(0)
    assert one.lag(1).behind == 0


class Told(BottleneckBased):
    """Keeps what it is told to have come unasked."""

    def __init__(self) -> None:
        super().__init__(segment=SETTINGS.packet)
        self.sizes: list[int] = []

    def arrived(self, size: int) -> None:
        self.sizes.append(size)


def test_a_cell_that_stood_counts_as_a_packet_as_one_that_was_asked_for_does() -> None:
    """Else a path seems to carry less than it does."""
    one, control = R2cpEngine(SETTINGS, stands=True), Told()
    one.established(one.open(control), size=1_000, round_trip=0.1)
    one.part()
    asked(one, 0.0)
    one.kept(0, [ByteRange(0, 10_000)])
    one.received(0, cell(0, 0, b"x" * 1_000), 0.3)
    one.received(0, cell(1, 0, b"x" * 400), 0.3)
    assert control.sizes == [SETTINGS.packet, SETTINGS.packet - 600]


def train(one: R2cpEngine, first: int, count: int, *, at: float, rate: float) -> None:
    """Cells that left at once come over the first path at so many bytes/second."""
    for place in range(first, first + count):
        at += SETTINGS.packet / rate
        one.received(0, cell(place, 0, b"x" * 1_000, sent=0), at)


def faded() -> R2cpEngine:
    """Two paths; all that the first was asked for is given, some comes quickly, and the rest at a
    tenth of that pace."""
    one = engine(0.1, 0.1)
    asked(one, 0.0)
    one.given(0, [ByteRange(0, 10_000)], 0.0)
    train(one, 0, 4, at=0.1, rate=50_000.0)
    asked(one, 0.3)
    one.kept(0, [ByteRange(20_000, 22_000)])
    train(one, 4, 4, at=0.3, rate=5_000.0)
    for place in range(10, 20):
        one.received(1, cell(place, 0), 1.9)
    return one


def test_what_stands_with_a_path_that_fades_is_asked_of_another() -> None:
    """Its sender gives that away at the pace of before, and would have it come seconds later."""
    one = faded()
    assert one.lag(0).void > 0
    assert {20, 21} <= set(asked(one, 2.0)[1])


def test_what_is_kept_no_more_since_a_path_has_faded_is_asked_for_again() -> None:
    """It was under way, as far as was known; its sender heard of the fade, and then said so."""
    one = faded()
    before = one.owed(0)
    one.kept(0, [ByteRange(22_000, 24_000)])
    assert one.owed(0) < before
    assert {22, 23} <= set(asked(one, 2.0)[1])


def test_what_was_kept_for_others_requests_than_the_newest_is_not_taken_for_kept() -> None:
    """A word that a cut has held up: the sender has dropped that cell since, and sent what the
    device has asked for anew. A page waited for it for good."""
    one = engine(0.1, 0.1)
    one.will_drop(0)
    mine = asked(one, 0.0)[0]
    one.doubt(0)
    asked(one, 0.1)
    one.trust(0)
    one.close(1)
    assert set(mine) <= set(asked(one, 0.2)[0])
    one.kept(0, [ByteRange(0, 10_000)])
    assert {ask.begin // 1_000 for ask in one.pipe(0).under_way()} >= set(mine)
    one.dropped(0, one.lag(0).void, [ByteRange(0, 10_000)])
    assert {ask.begin // 1_000 for ask in one.pipe(0).under_way()} >= set(mine)
    one.kept(0, [ByteRange(0, 10_000)])
    assert not {ask.begin // 1_000 for ask in one.pipe(0).under_way()} & set(mine)


def test_what_is_dropped_and_nobody_else_was_asked_for_is_asked_for_again() -> None:
    one = faded()
    one.will_drop(0)
    void = one.lag(0).void
    assert {22, 23} <= {ask.begin // 1_000 for ask in one.pipe(0).under_way()}
    one.dropped(0, void, [ByteRange(20_000, 24_000)])
    assert not {22, 23} & {ask.begin // 1_000 for ask in one.pipe(0).under_way()}
    assert {20, 21, 22, 23} <= set(asked(one, 2.0)[1])


def test_what_must_be_asked_for_again_is_though_all_windows_stand() -> None:
    """Nothing more comes for what stands while all waits for the gap: a page waited for good."""
    one = engine(0.1, 0.1)
    for number, cells in asked(one, 0.0).items():
        one.kept(number, [ByteRange(place * 1_000, (place + 1) * 1_000) for place in cells])
    assert asked(one, 0.1) == {}
    one.close(1)
    assert asked(one, 0.2) == {0: list(range(10, 20))}
    one.kept(0, [ByteRange(10_000, 20_000)])
    assert asked(one, 0.4) == {}


def test_a_queue_that_cells_have_waited_in_is_part_of_the_way() -> None:
    """No round trip is measured of what stood, so nothing else tells of it."""
    one = engine(0.1, 0.1)
    asked(one, 0.0)
    one.kept(0, [ByteRange(0, 10_000)])
    one.given(0, [ByteRange(0, 10_000)], 1.0)
    one.received(0, cell(0, 0, b"x" * 1_000, sent=1_000), 1.05)
    quick = one.lag(0).behind
    one.received(0, cell(1, 0, b"x" * 1_000, sent=1_000), 2.05)
    assert one.lag(0).behind > quick + 0.5 * 10_000 / 0.1
