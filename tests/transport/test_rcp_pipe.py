"""A pipe knows how much may be asked for, and finds each loss once, without a timeout if it can."""

from __future__ import annotations

from math import inf

import pytest

from transport.rcp.pipe import LEAST_TIMEOUT, Ask, Pipe
from transport.spp.congestion.new_reno import NewReno
from wire.errors import PeerError

SIZE = 1_228


def pipe_with(count: int, *, pulled: bool = False, each: int = 1) -> tuple[Pipe, list[Ask]]:
    """A pipe that has asked for so many segments, `each` with a request."""
    pipe = Pipe(NewReno(segment=SIZE), segment=SIZE)
    asks = []
    for number in range(count):
        if number % each == 0:
            clock = pipe.begin_request(0.01 * number)
        asks.append(ask(pipe, number, clock, 0.01 * number, pulled=pulled))
    pipe.asked(window_full=True)
    return pipe, asks


def ask(pipe: Pipe, number: int, clock: int, now: float, *, pulled: bool = False) -> Ask:
    return pipe.ask(
        number * 1000, number * 1000 + 1000, size=SIZE, clock=clock, pulled=pulled, now=now
    )


def test_the_window_is_what_may_be_under_way() -> None:
    pipe, asks = pipe_with(10)
    assert pipe.room == 0
    assert pipe.came(asks[0], 0, 0.1) == []
    assert pipe.room == 2 * SIZE  # slow start: one came, and one more
    assert not pipe.idle


class Told(NewReno):
    """Keeps what it is told to be under way."""

    def __init__(self) -> None:
        super().__init__(segment=SIZE)
        self.under_way: list[int] = []

    def sent(self, size: int, *, under_way: int, now: float) -> None:
        self.under_way.append(under_way)


def test_congestion_control_is_told_what_is_under_way_without_what_was_cancelled() -> None:
    control = Told()
    pipe = Pipe(control, segment=SIZE)
    first = ask(pipe, 0, pipe.begin_request(0.0), 0.0)
    ask(pipe, 1, pipe.begin_request(0.0), 0.0)
    pipe.cancel(first)
    ask(pipe, 2, pipe.begin_request(0.1), 0.1)
    assert control.under_way == [SIZE, 2 * SIZE, 2 * SIZE]


def test_three_later_arrivals_make_a_loss_for_every_hole() -> None:
    pipe, asks = pipe_with(10)
    assert pipe.came(asks[3], 3, 0.1) == []
    assert pipe.came(asks[4], 4, 0.1) == []
    assert pipe.came(asks[6], 6, 0.1) == asks[:3]  # all three have the same threshold
    pipe.lose(asks[:3], 0.1)
    assert pipe.came(asks[7], 7, 0.1) == []
    assert pipe.came(asks[8], 8, 0.1) == [asks[5]]
    assert pipe.lost == 3


def test_a_window_is_cut_once_for_what_was_asked_for_before() -> None:
    pipe, asks = pipe_with(10)
    window = pipe.room + pipe.in_flight
    pipe.lose(asks[:1], 0.1)
    pipe.lose(asks[1:3], 0.12)
    assert pipe.room + pipe.in_flight == window / 2
    late = ask(pipe, 20, pipe.begin_request(0.2), 0.2)
    pipe.lose([late], 0.3)
    assert pipe.room + pipe.in_flight == window / 4


def test_a_loss_in_the_air_leaves_the_window_alone() -> None:
    pipe, asks = pipe_with(10)
    pipe.lose((), 0.1, spared=asks[:2])
    assert (pipe.room, pipe.lost, pipe.spared) == (2 * SIZE, 2, 2)


def test_what_is_asked_for_twice_is_under_way_once() -> None:
    """As where another path was to bring it, and it is late there too."""
    pipe, asks = pipe_with(3)
    under_way = pipe.in_flight
    again = ask(pipe, 1, pipe.begin_request(1.0), 1.0)
    assert pipe.in_flight == under_way
    assert pipe.under_way() == [asks[0], asks[2], again]


def test_an_ask_is_late_by_the_rate_that_was_known() -> None:
    pipe, asks = pipe_with(2)
    assert [one.late_at for one in asks] == [inf, inf]
    pipe.carries(pipe.in_flight / 2, 10.0)
    one = ask(pipe, 9, pipe.begin_request(10.0), 10.0)
    assert 12.0 < one.late_at < 16.0


def test_what_is_given_before_its_sender_can_have_heard_of_a_fade_is_late_by_what_it_thinks() -> (
    None
):
    pipe = measured(0.1)
    pipe.carries(100_000.0, 9.0)
    sooner = ask(pipe, 1, pipe.begin_request(10.0), 10.0)
    pipe.carries(10_000.0, 10.0)
    pipe.carries(9_900.0, 10.01)
    given = ask(pipe, 2, pipe.begin_request(10.05), 10.05)
    later = ask(pipe, 3, pipe.begin_request(10.2), 10.2)
    assert sooner.late_at - 10.0 < 0.3
    assert given.late_at - 10.05 < 0.4
    assert later.late_at - 10.2 > 0.6


def test_a_lost_repetition_is_found_by_what_later_requests_bring() -> None:
    pipe, asks = pipe_with(6)
    pipe.lose(asks[:1], 0.1)
    again = ask(pipe, 0, pipe.begin_request(0.1), 0.1, pulled=True)
    for one in asks[1:6]:
        assert pipe.came(one, one.clock, 0.12) == []  # asked for before: they say nothing
    fresh = [ask(pipe, 10 + n, pipe.begin_request(0.13), 0.13) for n in range(3)]
    found = [pipe.came(one, one.clock, 0.2) for one in fresh]
    assert found == [[], [], [again]]
    assert pipe.timeouts == 0


def test_blocks_are_no_evidence_against_new_data_whose_request_was_lost() -> None:
    """The sender answers blocks first, so new data asked for before them may come after them."""
    pipe, asks = pipe_with(8)
    pipe.lose(asks[:3], 0.1)
    clock = pipe.begin_request(0.1)
    again = [ask(pipe, n, clock, 0.1, pulled=True) for n in range(3)]
    assert [pipe.came(one, clock, 0.2) for one in again] == [[], [], []]
    assert [one.later for one in asks[3:]] == [0] * 5


def test_an_answer_to_an_earlier_request_is_no_evidence() -> None:
    pipe, asks = pipe_with(8)
    pipe.lose(asks[4:7], 0.1)
    clock = pipe.begin_request(0.1)
    again = [ask(pipe, n, clock, 0.1, pulled=True) for n in (4, 5, 6)]
    assert [pipe.came(one, 4, 0.11) for one in again] == [[], [], []]  # the originals, late
    assert asks[0].later == 0


def test_what_stood_before_a_request_was_heard_is_no_evidence_against_it() -> None:
    pipe, _ = pipe_with(0)
    pipe.begin_request(0.0)
    clock = pipe.begin_request(0.0)
    late = ask(pipe, 20, clock, 0.0)
    stood = [ask(pipe, 30 + n, 0, 0.02) for n in range(5)]
    assert [pipe.came(one, 0, 0.1) for one in stood[:4]] == [[]] * 4
    assert late.later == 0
    pipe.came(stood[4], clock, 0.2)
    assert late.later == 1


def test_what_stands_is_not_lost_within_a_round_trip_of_being_asked_for() -> None:
    """A reliable word may bring its request behind others: it gives what it kept as that came."""
    pipe = Pipe(NewReno(segment=SIZE), segment=SIZE)
    pipe.round_trip.measured(0.1, delay=0.0)
    pipe.begin_request(0.0)
    asks = [ask(pipe, number, 0, 1.0) for number in range(8)]
    for one in asks:
        one.kept, one.stood_since = True, 0.95
    assert [pipe.came(one, 0, 1.02) for one in asks[1:5]] == [[]] * 4
    assert [pipe.came(one, 0, 1.06) for one in asks[5:]] == [[], [], asks[:1]]


def test_round_trips_are_measured_by_the_echo_also_of_repetitions() -> None:
    pipe = Pipe(NewReno(segment=SIZE), segment=SIZE)
    for _ in range(30):
        clock = pipe.begin_request(1.0)
        pipe.echoed(clock, 1.08)
    assert pipe.round_trip.smoothed == pytest.approx(0.08)
    assert pipe.timeout == LEAST_TIMEOUT
    pipe.echoed(clock, 9.0, measure=False)
    assert pipe.round_trip.smoothed == pytest.approx(0.08)
    with pytest.raises(PeerError):
        pipe.echoed(clock + 1, 1.1)


def test_the_queue_of_before_a_rest_is_gone() -> None:
    """Else a quick path whose last load filled its queue would be taken for a long one."""
    pipe, asks = pipe_with(2)
    pipe.echoed(0, 0.1)
    assert pipe.delay == pytest.approx(0.1)
    pipe.echoed(1, 0.91)  # its queue was full
    assert pipe.delay == pytest.approx(0.1 + 0.8 / 8)
    for one in asks:
        pipe.came(one, one.clock, 1.0)
    assert pipe.delay == pytest.approx(0.1)
    ask(pipe, 2, pipe.begin_request(9.0), 9.0)
    assert pipe.delay == pytest.approx(0.1), "nothing is known of its queue yet"
    pipe.echoed(2, 9.3)
    assert pipe.delay == pytest.approx(0.3)


def test_only_silence_is_a_timeout_and_it_doubles() -> None:
    pipe, asks = pipe_with(2)
    first = pipe.deadline()
    assert first == pytest.approx(0.01 + 0.333 + 4 * 0.1665)
    pipe.echoed(0, 0.5)
    again = pipe.deadline()
    assert again is not None
    assert again > 1.0  # something came: the wait begins anew
    assert pipe.timed_out(3.0) == asks
    assert (pipe.in_flight, pipe.idle, pipe.deadline()) == (0, True, None)
    assert pipe.room == 2 * SIZE
    before = pipe.timeout
    ask(pipe, 0, pipe.begin_request(3.0), 3.0)
    pipe.timed_out(9.0)
    assert pipe.timeout == 2 * before
    pipe.echoed(pipe.begin_request(9.0), 9.1)
    assert pipe.timeout < before


def test_a_reminder_goes_once_before_a_timeout_and_puts_it_off() -> None:
    pipe, _ = pipe_with(2)
    due, deadline = pipe.reminder(), pipe.deadline()
    assert due is not None
    assert deadline is not None
    assert due == pytest.approx(0.01 + 0.333 + 2 * 0.1665)
    pipe.remind(due)
    assert pipe.reminder() is None
    later = pipe.deadline()
    assert later is not None
    assert later == pytest.approx(due + deadline - 0.01)
    pipe.echoed(0, 1.0)
    assert pipe.reminder() is not None


def test_the_first_loss_of_a_window_goes_again_whatever_the_window_says() -> None:
    pipe, asks = pipe_with(10)
    pipe.lose(asks[:1], 0.1)
    assert pipe.fast
    pipe.fast = False
    pipe.lose(asks[1:2], 0.11)  # of the same window
    assert not pipe.fast


def test_what_is_cancelled_or_shortened_says_nothing_of_the_path() -> None:
    pipe, asks = pipe_with(3)
    window = pipe.room + pipe.in_flight
    pipe.cancel(asks[2])
    pipe.shorten(asks[1], 1_500)
    assert pipe.under_way() == asks[:2]
    assert pipe.find(1_000).end == 1_500
    assert pipe.find(2_000) is None
    assert pipe.room + pipe.in_flight == window


def test_old_requests_are_forgotten() -> None:
    pipe = Pipe(NewReno(segment=SIZE), segment=SIZE)
    for number in range(5_000):
        pipe.begin_request(float(number))
    pipe.echoed(1, 5_000.0)  # long forgotten: it measures nothing
    assert pipe.round_trip.smoothed == 0.333


def test_an_ask_is_lost_once_though_one_segment_answers_several() -> None:
    pipe, asks = pipe_with(6)
    lost = [other for one in asks[1:] for other in pipe.came(one, 5, 0.1)]
    assert lost == asks[:1]
    pipe.lose(lost, 0.1)


def measured(trip: float) -> Pipe:
    """A pipe whose answers took so long."""
    pipe = Pipe(NewReno(segment=SIZE), segment=SIZE)
    for number in range(20):
        clock = pipe.begin_request(number)
        one = ask(pipe, number, clock, number)
        pipe.echoed(clock, number + trip)
        pipe.came(one, clock, number + trip)
    return pipe


def test_words_tell_that_a_path_has_become_much_longer() -> None:
    pipe = measured(0.1)
    for _ in range(2):
        pipe.crossed(1.0, 30.0)
    assert pipe.delay == pytest.approx(0.1)  # they may have been repeated
    pipe.crossed(0.9, 30.0)
    assert pipe.delay == pytest.approx(0.9)
    assert pipe.timeout > 0.9


@pytest.mark.parametrize("trips", [(1.0, 0.1, 1.0, 1.0), (0.29, 0.29, 0.29, 0.29)])
def test_one_late_word_or_a_queue_tells_nothing(trips: tuple[float, ...]) -> None:
    pipe = measured(0.1)
    for trip in trips:
        pipe.crossed(trip, 30.0)
    assert pipe.delay == pytest.approx(0.1)


def test_words_take_no_longer_than_a_path_is() -> None:
    pipe = measured(0.5)
    pipe.crossed(0.1, 30.0)
    assert pipe.delay == pytest.approx(0.1)


def test_patience_stays_until_a_round_trip_is_known() -> None:
    """An answer to what was given up is no measure, and its path may be longer than the timeout
    (Karn and Partridge)."""
    pipe = measured(0.1)
    usual = pipe.timeout
    clock = pipe.begin_request(30.0)
    ask(pipe, 30, clock, 30.0)
    pipe.timed_out(31.0)
    pipe.echoed(clock, 31.5, measure=False)
    assert pipe.timeout == pytest.approx(2 * usual)
    pipe.echoed(pipe.begin_request(32.0), 32.1)
    assert pipe.timeout == pytest.approx(usual, rel=0.3)


def test_what_the_sender_keeps_is_not_lost_by_what_lies_before_it() -> None:
    """Whoever keeps what it was asked for gives the first bytes first: those that were asked for
    before come after."""
    pipe, asks = pipe_with(4, pulled=True)
    for one in asks:
        one.kept = True
    for number in (-1, -2, -3, -4):
        earlier = ask(pipe, number, pipe.begin_request(0.1), 0.1, pulled=True)
        assert pipe.came(earlier, pipe.clock - 1, 0.2) == []
    later = [ask(pipe, number, pipe.begin_request(0.3), 0.3, pulled=True) for number in (5, 6, 7)]
    lost = [pipe.came(one, pipe.clock - 1, 0.4) for one in later]
    assert lost == [[], [], asks]
