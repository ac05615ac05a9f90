"""Cells that are late over their path, and what another is asked for them."""

from __future__ import annotations

import pytest

from tests.transport.test_cell_asking import SETTINGS, asked, cell, engine
from transport.r2cp.engine import R2cpEngine
from transport.r2cp.late_cells import RANGES, overtaken
from transport.r2cp.path import PipePath
from transport.rcp.pending import ByteRange
from transport.rcp.pipe_requests import PipeRequests
from transport.rcp.segments import Req
from transport.spp.congestion.bottleneck import BottleneckBased

TRIP = 0.1


def trained(one: R2cpEngine, cells: list[int], *, rate: float) -> None:
    """They come over the first path at that rate, all sent at once."""
    for number, place in enumerate(cells, 1):
        one.received(0, cell(place, 0, b"x" * 1_000), TRIP + number * 1_000 / rate)


def test_what_a_path_that_fades_owes_is_asked_of_the_other_once_it_is_late() -> None:
    one = engine(TRIP, TRIP)
    trained(one, asked(one, 0.0)[0], rate=40_000.0)
    owed = asked(one, 0.35)[0]
    assert len(owed) >= 10
    assert not set(asked(one, 0.6).get(1, [])) & set(owed)
    due = one.next_timer()
    assert due is not None
    assert due < 2.0
    again = asked(one, 2.0)
    assert set(owed) <= set(again[1])
    assert not set(again.get(0, [])) & set(owed)
    assert not set(asked(one, 2.1).get(1, [])) & set(owed)  # once


def test_what_comes_late_after_all_is_taken_and_tells_what_the_path_carries() -> None:
    one = engine(TRIP, TRIP)
    trained(one, asked(one, 0.0)[0], rate=40_000.0)
    owed = asked(one, 0.35)[0]
    again = asked(one, 2.0)[1]
    for number, place in enumerate(owed):
        late = cell(place, 0, b"x" * 1_000, sent=300 + number)
        one.received(0, late, 2.5 + number * 0.25)
    assert len(one.cells()) == 10 + len(owed)
    assert one.lag(0).rate == pytest.approx(4_000, rel=0.1)
    for place in owed:
        one.received(1, cell(place, 0, b"x" * 1_000), 9.0)
    assert one.cells() == []
    assert set(owed) <= set(again)


def test_what_is_as_late_as_the_paths_rate_says_is_not_late() -> None:
    """A queue is no fade."""
    one = engine(TRIP, TRIP)
    trained(one, asked(one, 0.0)[0], rate=40_000.0)
    owed = asked(one, 0.35)[0]
    for number, place in enumerate(owed):
        at = 0.45 + number / 40
        one.received(0, cell(place, 0, b"x" * 1_000, sent=300), at)
        assert not set(asked(one, at).get(1, [])) & set(owed)


def test_a_lone_path_owes_what_it_owes() -> None:
    one = engine(TRIP)
    mine = asked(one, 0.0)
    trained(one, mine[0][:6], rate=40_000.0)
    asked(one, 0.25)
    assert not set(asked(one, 0.9).get(0, [])) & set(mine[0])


def test_what_a_doubted_path_owes_goes_to_the_quickest_other_and_not_to_it() -> None:
    one = engine(TRIP, 2 * TRIP, TRIP / 2)
    mine = asked(one, 0.0)
    one.doubt(2)
    again = asked(one, 0.1)
    assert set(mine[2]) <= set(again[0])
    assert again[2] == mine[2][:1]  # a copy, to hear whether it lives


def test_who_answers_after_all_is_not_asked_twice_for_what_another_brings() -> None:
    one = engine(TRIP, TRIP)
    mine = asked(one, 0.0)
    one.doubt(0)
    again = asked(one, 0.1)[1]
    assert set(mine[0]) <= set(again)
    one.trust(0)
    assert not set(asked(one, 0.2).get(0, [])) & set(again)


def test_no_more_of_what_is_owed_is_asked_for_at_once_than_the_other_path_has_room_for() -> None:
    """It overflowed that one's queue, and all waited for its timeout. What has come meanwhile is
    not asked for."""
    one = engine(TRIP, TRIP, TRIP)
    mine = asked(one, 0.0)
    owed = {*mine[0], *mine[1]}
    one.doubt(0)
    one.doubt(1)
    first = owed & set(asked(one, 0.1)[2])
    assert 8 <= len(first) <= 11
    came = min(owed - first)
    one.received(1, cell(came, 0), 0.12)
    rest = set[int]()
    now = 0.2
    for _ in range(4):
        for place in [ask.begin // 1_000 for ask in one.pipe(2).under_way()]:
            one.received(2, cell(place, 0, b"x" * 1_000), now)
        rest |= owed & {place for places in asked(one, now).values() for place in places}
        now += TRIP
    assert rest == owed - first - {came}


def test_a_path_whose_budget_is_spent_holds_up_nothing_that_is_owed() -> None:
    one = engine(TRIP / 2, TRIP, 2 * TRIP)
    mine = asked(one, 0.0)
    one.bound(0, 0)
    one.doubt(1)
    again = asked(one, 0.1)
    assert set(mine[1]) <= set(again[2])
    assert 0 not in again


def path(rate: float, cells: range) -> PipePath:
    """One that carries so much, is asked for these, and is a tenth of a second long."""
    made = PipePath(PipeRequests(SETTINGS, BottleneckBased(segment=SETTINGS.packet)))
    made.asking.begin(size=1_000, round_trip=TRIP)
    made.train.rate = rate
    made.pipe.carries(rate, 0.0)
    made.asking.ask(
        [ByteRange(1_000 * one, 1_000 * (one + 1)) for one in cells], pulled=True, now=0
    )
    return made


def resting(rate: float) -> PipePath:
    made = path(rate, range(0))
    made.standing.add(0, 4_000, since=0.0)
    return made


def test_a_path_that_has_nothing_to_bring_brings_what_another_would_for_seconds() -> None:
    """What was asked of that one since it has faded is not late by what is known of it."""
    slow = path(4_000.0, range(100, 130))
    found = [ask.begin // 1_000 for ask in overtaken(slow, resting(40_000.0))]
    assert len(found) == 9, "a quarter of a second's worth: something urgent may turn up"
    assert found[0] >= 104, "what comes within a second comes by its own"
    assert found == list(range(found[0], found[0] + 9))
    slow.copies.update(ask.number for ask in slow.pipe.asks())
    assert overtaken(slow, resting(40_000.0)) == []


@pytest.mark.parametrize(
    "other", [path(40_000.0, range(1)), path(40_000.0, range(0)), resting(4e3)]
)
def test_a_path_that_is_busy_or_hardly_quicker_brings_nothing_of_anothers(other: PipePath) -> None:
    assert overtaken(path(4_000.0, range(100, 112)), other) == []


def test_what_takes_a_path_a_second_or_less_is_left_to_it() -> None:
    """A satellite's own window does."""
    assert overtaken(path(40_000.0, range(100, 130)), resting(4e6)) == []


def test_no_request_names_more_ranges_than_it_has_places_for() -> None:
    one = engine(TRIP, TRIP, TRIP)
    mine = asked(one, 0.0)
    for number in range(2):
        for place in mine[number][::2]:
            one.received(number, cell(place, 0), 0.05)
    for number in range(2):
        one.doubt(number)
    requests = [request for number, request in one.requests(0.1) if number == 2]
    assert all(isinstance(one, Req) for one in requests)
    named = [
        sum(block.clock == one.clock for block in one.blocks)
        for one in requests
        if isinstance(one, Req)
    ]
    assert max(named) == RANGES


def test_what_was_asked_of_both_and_comes_by_neither_is_asked_for_again() -> None:
    """The first has it late, the second is doubted then, and the first has lost it after all."""
    one = engine(TRIP, TRIP)
    trained(one, asked(one, 0.0)[0], rate=40_000.0)
    owed = set(asked(one, 0.35)[0])
    assert owed <= set(asked(one, 2.0)[1])
    one.doubt(1)
    assert not owed & set(asked(one, 2.01).get(0, []))  # there it is on its way
    now, again = 2.01, set[int]()
    while not owed <= again and now < 30.0:
        due = one.next_timer()
        assert due is not None
        now = max(now, due)
        one.on_timer(now)
        asks = set(asked(one, now).get(0, []))
        again |= asks
        for place in asks:  # now they come
            one.received(0, cell(place, 0, b"x" * 1_000), now)
    assert owed <= again


def test_what_was_late_and_is_only_kept_is_no_loss_of_the_path() -> None:
    """The word came later than the cell should have. Had it stayed under way the path would have
    been doubted for good, and its window gone."""
    one = engine(TRIP, TRIP)
    trained(one, asked(one, 0.0)[0], rate=40_000.0)
    owed = asked(one, 0.35)[0]
    assert set(owed) <= set(asked(one, 2.0)[1])
    window = one.pipe(0).window
    one.kept(0, [ByteRange(place * 1_000, (place + 1) * 1_000) for place in owed])
    assert not [ask for ask in one.pipe(0).under_way() if ask.begin // 1_000 in owed]
    one.kept(1, [ByteRange(ask.begin, ask.end) for ask in one.pipe(1).under_way()])
    while (due := one.next_timer()) is not None and due < 30.0:
        one.on_timer(due)
        for number, request in one.requests(due):
            assert isinstance(request, Req)
            one.kept(number, [ByteRange(block.begin, block.end) for block in request.blocks])
    assert one.pipe(0).window >= window


def test_a_doubted_path_that_keeps_what_it_is_asked_for_is_relied_on_again() -> None:
    """It has nothing for a copy of what others are to bring, and says so; else it would be asked
    for one each round trip, at rest too, and for nothing else."""
    one = engine(TRIP, 6 * TRIP)
    for number, cells in asked(one, 0.0).items():
        one.kept(number, [ByteRange(place * 1_000, (place + 1) * 1_000) for place in cells])
    one.doubt(1)
    copy = asked(one, 1.0)
    assert copy == {0: list(range(10, 20)), 1: [0]}
    one.kept(1, [ByteRange(0, 1_000)])
    again = asked(one, 1.6)
    assert len(again[1]) == 10
    one.kept(1, [ByteRange(place * 1_000, (place + 1) * 1_000) for place in again[1]])
    assert asked(one, 2.2) == {}
    assert one.owed(1) == 10_000
