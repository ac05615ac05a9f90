"""Tests of a sender's parts: cutting, the contest, the way out, those who wait, and the counts."""

from __future__ import annotations

from collections import Counter

import pytest

from admission.admission import Protects
from tests.transport.nai_world import Box, Known
from transport.nai import headers
from transport.nai.errors import NaiError
from transport.nai.estimators.estimator import NaiEstimate
from transport.nai.headers import MessageData, Poll
from transport.nai.messages.contest import Contest
from transport.nai.messages.departure import Departure
from transport.nai.messages.message import Cancel, Expiry, MessageState, NaiMessage
from transport.nai.messages.segments import Cutting
from transport.nai.messages.standby import Standby
from transport.nai.receiving.receiver import MOST_STREAMS
from transport.nai.statistics import SenderTally


def message(
    size: int,
    number: int = 1,
    *,
    deadline: float | None = None,
    priority: int = 0,
    queue: str = "",
) -> NaiMessage:
    """As a sender has made it ready."""
    made = NaiMessage(bytes(range(256)) * (size // 256 + 1), priority=priority, queue=queue)
    made = NaiMessage(made.source(0, size), priority=priority, queue=queue)
    made.id = made.order = number
    made.deadline = deadline
    return made


def cut(cutting: Cutting, one: NaiMessage, length: int, *, last: bool) -> MessageData:
    found = headers.parse(cutting.segment(one, length, last=last))
    assert isinstance(found, MessageData)
    one.sent += length
    return found


# Messages into segments.


def test_a_message_s_segments_say_where_they_belong_and_fit_the_carrier() -> None:
    box = Box(200)
    cutting = Cutting(box)
    one = message(400, 7, queue="files", priority=-2)
    cutting.open("files", -2)
    first = cut(cutting, one, cutting.first(one), last=False)
    assert (first.id, first.offset, first.size, first.queue) == (7, 0, 400, "files")
    assert not first.last
    second = cut(cutting, one, cutting.first(one), last=False)
    assert second.size is None
    assert second.offset == len(first.payload)
    assert len(second.payload) == cutting.payload
    rest = one.left
    third = cut(cutting, one, rest, last=True)
    assert (third.last, third.priority, third.place) == (True, -2, 0)
    assert first.payload + second.payload + third.payload == one.source(0, 400)
    assert cutting.full == 200


def test_places_are_counted_by_queue_and_priority() -> None:
    cutting = Cutting(Box())
    places = []
    for number, (queue, priority) in enumerate([("a", 0), ("a", 1), ("a", 0), ("b", 0), ("a", 0)]):
        cutting.open(queue, priority)
        one = message(10, number + 1, queue=queue, priority=priority)
        places.append(cut(cutting, one, 10, last=True).place)
    assert places == [0, 0, 1, 0, 2]


def test_what_cannot_be_cut_is_refused() -> None:
    with pytest.raises(NaiError, match="too small"):
        Cutting(Box(127))
    cutting = Cutting(Box(128))
    for number in range(MOST_STREAMS):
        cutting.open("", number)
    cutting.open("", 0)  # which is known
    with pytest.raises(NaiError, match="pairs of queue and priority"):
        cutting.open("one more", 0)
    short = NaiMessage(lambda offset, length: b"x", size=50)
    with pytest.raises(NaiError, match="gave 1 bytes; it was asked for 50"):
        cutting.segment(short, 50, last=False)


def test_a_message_costs_at_least_its_bytes_and_an_empty_one_a_header() -> None:
    cutting = Cutting(Box(1000))
    assert cutting.cost(0) > 0
    assert cutting.cost(2 * cutting.payload) == 2 * cutting.full
    costs = [cutting.cost(size) for size in range(0, 5000, 7)]
    assert costs == sorted(costs)
    assert all(cost > size for cost, size in zip(costs, range(0, 5000, 7), strict=True))


# The contest.


def contest(*, rate: float = 10_000.0) -> tuple[Contest, Cutting]:
    cutting = Cutting(Box(1000))
    made = Contest(cutting, protects=Protects.ALL, expects=False)
    made.set_rate(rate)
    return made, cutting


def test_who_enters_counts_until_the_last_byte_was_chosen() -> None:
    made, cutting = contest()
    one = message(2500, deadline=10.0)
    made.enter(one)
    assert (len(made), made.timed, made.total) == (1, 1, cutting.cost(2500))
    chosen = []
    while (found := made.next(0.0)) is not None:
        chosen.append((found.length, found.last))
        one.sent += found.length
    assert [last for _, last in chosen] == [False] * (len(chosen) - 1) + [True]
    assert sum(length for length, _ in chosen) == 2500
    assert (len(made), made.timed, made.total) == (0, 0, 0)


def test_who_leaves_is_gone_from_both_accounts_and_may_leave_twice() -> None:
    made, _ = contest()
    one, other = message(5000, 1, deadline=5.0), message(500, 2)
    made.enter(one)
    made.enter(other)
    found = made.next(0.0)
    assert found is not None
    found.message.sent += found.length
    for _ in range(2):
        made.leave(one)
    assert (len(made), made.timed) == (1, 0)
    made.leave(other)
    assert (len(made), made.total) == (0, 0)


@pytest.mark.parametrize("size", [500, 5000])
def test_what_lost_its_bytes_leaves_whether_it_was_its_last_segment_or_not(size: int) -> None:
    made, _ = contest()
    made.enter(message(size, deadline=50.0))
    chosen = made.next(0.0)
    assert chosen is not None
    assert chosen.last == (size == 500)
    made.lost(chosen)
    assert (len(made), made.timed, made.total) == (0, 0, 0)


def test_none_is_admitted_that_cannot_be_in_time_or_would_make_another_late() -> None:
    made, _ = contest(rate=1000.0)
    assert made.admits(message(1500, deadline=2.0), 0.0)
    assert not made.admits(message(3000, deadline=2.0), 0.0)
    made.enter(message(1500, 1, deadline=2.0))
    assert not made.admits(message(1500, 2, deadline=2.0), 0.0)
    assert not made.admits(message(1500, 3, deadline=1.9), 0.0)
    assert made.admits(message(1500, 4, deadline=5.0), 0.0)
    assert made.admits(message(100_000, 5), 0.0)  # without a timer it stands behind


def test_when_the_rate_falls_those_are_late_who_cannot_be_in_time_any_more() -> None:
    made, _ = contest(rate=10_000.0)
    soon, later = message(5000, 1, deadline=1.0), message(1000, 2, deadline=100.0)
    made.enter(soon)
    made.enter(later)
    assert made.late(0.0, grace=0.1) == []
    made.set_rate(1000.0)
    assert made.late(0.0, grace=0.1) == [soon]
    assert made.late(0.0, grace=50.0) == []


# The way to the carrier.


class Watching(Known):
    """Notes what it is told."""

    def __init__(self) -> None:
        super().__init__(1000.0)
        self.seen: list[tuple[int, int]] = []
        self.noted: list[int] = []
        self.polls = 0

    def observe(self, now: float, *, departed: int, backlog: int, latency: float) -> bool:
        self.seen.append((departed, backlog))
        return True

    def sent(self, now: float, size: int) -> None:
        self.noted.append(size)

    def wants_poll(self, now: float) -> bool:
        return self.polls == 0

    def poll_sent(self, now: float, size: int) -> None:
        self.polls += size


def test_control_goes_first_and_messages_wait_for_room() -> None:
    box, known = Box(1000), Watching()
    departure = Departure(box, known)
    for control in (b"one", b"two"):
        departure.put(control)
    departure.reply(b"three")
    assert len(departure) == 3
    assert not departure.ready(0.0)
    box.allowed = 2
    assert not departure.ready(0.0)
    assert box.segments == [b"one", b"two"]
    box.allowed = 2
    assert departure.ready(0.0)
    assert box.segments == [b"one", b"two", b"three"]
    assert known.noted == [3, 3, 5]
    departure.put(b"never")
    departure.clear()
    assert departure.ready(0.0)
    assert len(box.segments) == 3


def test_a_peer_that_asks_and_does_not_read_makes_no_more_replies() -> None:
    departure = Departure(Box(), Watching())
    for _ in range(5000):
        departure.reply(b"again")
    held = len(departure)
    assert held < 5000
    departure.put(b"our own goes all the same")
    assert len(departure) == held + 1


def test_what_has_left_is_what_the_carrier_took_and_does_not_hold() -> None:
    class Holding(Box):
        held = 0

        def backlog(self, now: float) -> int:
            return self.held

    box, known = Holding(), Watching()
    departure = Departure(box, known)
    box.allowed = 1
    departure.hand_over(bytes(700), 0.0)
    box.held = 300
    assert departure.observe(1.0)
    assert known.seen == [(400, 300)]


def test_a_pair_goes_only_where_both_fit_and_they_are_alike() -> None:
    box, known = Box(1000), Watching()
    departure = Departure(box, known)
    box.allowed = 1
    departure.poll(0.0)
    assert box.segments == []
    box.allowed = 2
    departure.poll(0.0)
    departure.poll(0.0)
    assert [headers.parse(one) for one in box.segments] == [Poll(1, 1000)] * 2
    assert known.polls == 2000


# Those who wait for more bandwidth.


def waits(deadline: float | None, *, priority: int = 0) -> NaiMessage:
    return message(10, deadline=deadline, priority=priority)


def test_only_those_may_wait_whom_nobody_is_asked_about_while_their_time_runs() -> None:
    standby = Standby(wanted=True)
    assert standby.takes(waits(5.0), Expiry.EARLY)
    assert standby.takes(waits(5.0), Expiry.REFUSED)
    assert not standby.takes(waits(5.0), Expiry.LATE)
    assert not standby.takes(waits(None), Expiry.EARLY)
    asked = NaiMessage(b"x", on_timer=lambda *_: Cancel())
    asked.deadline = 5.0
    assert not standby.takes(asked, Expiry.EARLY)
    assert not Standby(wanted=False).takes(waits(5.0), Expiry.EARLY)


def test_they_are_asked_about_once_for_each_hope_a_few_at_a_time_and_in_their_order() -> None:
    standby = Standby(wanted=True)
    made = [waits(float(20 - number), priority=number % 2) for number in range(20)]
    for one in made:
        assert standby.add(one) == one.deadline
    assert standby.first() == []
    standby.hopeful = True
    first = standby.first()
    assert 0 < len(first) < 20
    ranks = [(-one.priority, one.deadline or 0.0) for one in first]
    assert ranks == sorted(ranks)
    assert first[0] is made[19]
    assert standby.first() == []
    for _ in range(2):
        standby.remove(made[19])
    assert made[19] not in standby
    assert made[18] in standby
    standby.hopeful = True
    assert standby.first()[0] is made[17]


# The counts.


def test_statistics_name_each_count_by_what_it_counts() -> None:
    tally = SenderTally()
    ends = Counter({MessageState.DELIVERED: 3, MessageState.CANCELLED: 2, MessageState.REJECTED: 1})
    for state, count in ends.items():
        tally.ended[state] += count
    for number, expiry in enumerate(Expiry):
        tally.expiries[expiry] += 10 * (number + 1)
    tally.wasted += 99
    estimate = NaiEstimate(1.0, 2.0, 3.0)
    found = tally.statistics(4, 5, 600, 7, estimate)
    assert (found.queued, found.waiting, found.bytes, found.turned_away) == (4, 5, 600, 7)
    assert (found.delivered, found.cancelled, found.wasted) == (3, 2, 99)
    assert (found.late, found.early, found.refused) == (10, 20, 30)
    assert found.estimate is estimate
    tally.wasted += 1
    assert found.wasted == 99
