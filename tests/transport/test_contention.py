"""While others fill the queue, as much is under way as one more TCP would have."""

from __future__ import annotations

from itertools import pairwise

import pytest

from transport.contention.contention import Contention
from transport.contention.evidence import NewsOfArrival

LOOP = 0.1
"""Seconds of a round trip, half of it in the queue."""
QUEUE = 0.05
WINDOW = 20_000
LOW, HIGH = 4, 6
"""Round trips for which a window is held, after which the next begins with what has come of it."""


class Shared:
    """A queue in which as much arrives as is under way; or at a rate, where it is ours alone."""

    def __init__(
        self, *, most: float = 1.5 * WINDOW, rate: float | None = None, competes: bool = True
    ) -> None:
        self.competes = competes
        self.contention = Contention(competes=lambda: self.competes)
        self.contention.begin(0.0, window=WINDOW, most=most, loop=LOOP, excess=QUEUE)
        self.rate = rate
        """Bytes/second."""
        self._windows: list[float] = [WINDOW] * 10
        """In each tenth of the last round trip."""
        self.now = 0.0
        self.ours = False

    def round(self, *, excess: float = QUEUE, limited: bool = True) -> float:
        """A round trip of ten reports; the window at its end."""
        for _ in range(10):
            self.now += 1.0001 * LOOP / 10
            window = self.contention.window
            self._windows.append(window)
            gained = self._windows[-11] / 10 if self.rate is None else self.rate * LOOP / 10
            if self.contention.active:
                self.ours |= self.contention.heard(
                    self.now,
                    NewsOfArrival(round(gained), self.now - LOOP, self.now),
                    loop=LOOP,
                    excess=excess,
                    under_way=round(window),
                    limited=limited,
                )
        return self.contention.window

    def settle(self) -> None:
        """Others are here, which has been seen."""
        while self.contention.window != 1.5 * WINDOW:
            self.round()
        for _ in range(HIGH + 1):
            self.round()
        assert self.contention.active


def test_first_less_is_sent_then_as_much_as_before_and_then_more_and_more() -> None:
    shared = Shared(most=3 * WINDOW)
    windows = [shared.round() for _ in range(LOW + HIGH + 5)]
    assert windows[:LOW] == [0.6 * WINDOW] * LOW
    assert windows[LOW + 1 : LOW + HIGH] == [3 * WINDOW] * (HIGH - 1)
    assert windows[-1] > 3 * WINDOW


def test_a_loss_cuts_it_once_in_a_round_trip() -> None:
    shared = Shared()
    shared.settle()
    before = shared.contention.window
    shared.contention.lost(shared.now, sent_at=shared.now - LOOP)
    shared.contention.lost(shared.now, sent_at=shared.now - LOOP / 2)
    assert shared.contention.window == pytest.approx(0.7 * before)
    shared.contention.lost(shared.now + LOOP, sent_at=shared.now + 0.01)
    assert shared.contention.window == pytest.approx(0.49 * before)


def test_a_loss_while_less_is_sent_does_not_end_what_is_found_out_by_it() -> None:
    shared = Shared()
    shared.round()
    shared.contention.lost(shared.now, sent_at=shared.now - LOOP / 2)
    assert shared.contention.window == 0.6 * WINDOW
    shared.settle()


def test_what_is_not_used_does_not_grow() -> None:
    shared = Shared()
    shared.settle()
    before = shared.contention.window
    for _ in range(3):
        shared.round(limited=False)
    assert shared.contention.window <= before


def test_a_rest_is_no_time_in_which_it_grows() -> None:
    """RFC 9438, 5.8: else it would grow by half each round trip after it."""
    shared, rested = Shared(), Shared()
    for one in (shared, rested):
        one.settle()
        one.round()
    rested.now += 3600.0
    assert rested.round() <= 1.1 * shared.round()


def test_many_losses_leave_two_segments() -> None:
    shared = Shared()
    shared.settle()
    for number in range(100):
        shared.contention.lost(shared.now + number, sent_at=shared.now + number - 0.01)
    assert shared.contention.active
    assert shared.contention.window == 2 * 1448


def test_now_and_then_less_is_sent_and_less_arrives_of_it() -> None:
    shared = Shared()
    shared.settle()
    windows = [shared.round() for _ in range(80)]
    assert shared.contention.active
    dips = sum(after < 0.7 * before for before, after in pairwise(windows))
    assert 2 <= dips <= 6


def test_who_leaves_is_missed_although_the_queue_stays() -> None:
    """It is ours then: as much arrives, however much is under way."""
    shared = Shared()
    shared.settle()
    shared.rate = 2 * WINDOW / LOOP
    for _ in range(60):
        shared.round()
    assert shared.ours
    assert not shared.contention.active


def test_where_as_much_arrives_the_queue_is_ours_and_nobody_is_suspected_for_a_while() -> None:
    shared = Shared(rate=WINDOW / LOOP)
    rounds = 0
    while shared.contention.active:
        shared.round()
        rounds += 1
        assert rounds <= LOW + HIGH + 4
    assert shared.ours
    shared.contention.begin(shared.now, window=WINDOW, most=WINDOW, loop=LOOP, excess=QUEUE)
    assert not shared.contention.active
    later = shared.now + 3.0
    shared.contention.begin(later, window=WINDOW, most=WINDOW, loop=LOOP, excess=QUEUE)
    assert shared.contention.active


def test_a_queue_that_gets_shorter_as_less_is_sent_is_ours() -> None:
    shared = Shared()
    for number in range(LOW + 2):
        shared.round(excess=QUEUE * 0.9**number)
    assert shared.ours


def test_without_a_queue_others_are_gone_and_known_when_they_come_again() -> None:
    shared = Shared()
    shared.settle()
    for _ in range(4):
        shared.round(excess=0.005)
    assert not shared.contention.active
    assert not shared.ours
    assert [shared.contention.again(shared.now, QUEUE / 2) for _ in range(5)] == [False] * 4 + [
        True
    ]
    shared.contention.begin(shared.now, window=1_000.0, most=1_000.0, loop=LOOP, excess=QUEUE)
    for _ in range(LOW + 2):
        shared.round()
    assert shared.contention.window >= 1.5 * WINDOW


def test_a_queue_of_a_minute_ago_says_nothing() -> None:
    shared = Shared()
    shared.settle()
    for _ in range(4):
        shared.round(excess=0.005)
    assert not any(shared.contention.again(shared.now + 61.0, QUEUE) for _ in range(10))


def test_who_does_not_compete_leaves_the_line_to_others_until_the_queue_is_empty() -> None:
    shared = Shared(competes=False)
    windows = [shared.round() for _ in range(50)]
    assert windows == [0.0] * 50
    shared.contention.lost(shared.now, sent_at=shared.now - LOOP)
    for _ in range(2):
        shared.round(excess=0.005)
    shared.round()
    assert shared.contention.active, "empty for two round trips, as after a loss of theirs"
    for _ in range(3):
        shared.round(excess=0.005)
    assert not shared.contention.active
    assert not shared.ours
    again = [shared.contention.again(shared.now, QUEUE) for _ in range(5)]
    assert again == [False] * 4 + [True]


def test_who_has_something_else_to_send_has_his_share_again_and_leaves_it_again() -> None:
    shared = Shared(competes=False)
    for _ in range(8):
        shared.round()
    shared.competes = True
    grown = [shared.round() for _ in range(3)]
    assert grown[0] >= 1.5 * WINDOW, "as before others came"
    shared.competes = False
    assert [shared.round() for _ in range(3)][1:] == [0.0, 0.0]


def test_a_trial_ends_when_there_is_nothing_left_to_compete_for() -> None:
    shared = Shared()
    assert shared.round() == 0.6 * WINDOW
    shared.competes = False
    for _ in range(LOW):
        shared.round()
    assert shared.contention.window == 0.0
    assert shared.contention.active


@pytest.mark.parametrize("sent_at", [0.0, 5.0])
def test_losses_say_nothing_while_nobody_is_here(sent_at: float) -> None:
    contention = Contention()
    contention.lost(5.0, sent_at=sent_at)
    assert not contention.active
    assert contention.window == 0.0


def test_what_is_tried_out_before_a_pause_tells_nothing_after_it() -> None:
    """It would say "ours": little has arrived in all that time."""
    for rounds in (1, LOW + 2):
        shared = Shared()
        for _ in range(rounds):
            shared.round()
        shared.now += 4.0
        shared.contention.resumed(shared.now, pause=4.0)
        assert shared.contention.window == 1.5 * WINDOW, "as before others came"
        shared.round()
        assert shared.contention.active
        assert not shared.ours


def test_a_moment_without_anything_under_way_is_no_pause() -> None:
    shared = Shared()
    shared.round()
    shared.contention.resumed(shared.now, pause=LOOP / 10)
    assert shared.contention.window == 0.6 * WINDOW


def test_after_a_pause_as_much_is_tried_as_before_others_came() -> None:
    shared = Shared()
    shared.settle()
    for number in range(5):
        shared.contention.lost(shared.now + number, sent_at=shared.now + number - 0.01)
    assert shared.contention.window < WINDOW
    shared.contention.resumed(shared.now + 9.0, pause=4.0)
    assert shared.contention.window == 1.5 * WINDOW


def test_a_pause_says_nothing_where_nobody_is_known_of_or_all_is_left_to_others() -> None:
    alone = Contention()
    alone.resumed(5.0, pause=5.0)
    assert not alone.active
    polite = Shared(competes=False)
    polite.round()
    polite.contention.resumed(polite.now, pause=5.0)
    assert polite.contention.window == 0.0


def test_who_comes_to_others_shares_with_them_at_once_unless_he_was_wrong_just_now() -> None:
    contention = Contention()
    contention.join(0.0, window=WINDOW, loop=LOOP, excess=QUEUE)
    assert contention.window == WINDOW
    wrong = Shared(rate=WINDOW / LOOP)
    while wrong.contention.active:
        wrong.round()
    assert wrong.ours
    wrong.contention.join(wrong.now, window=WINDOW, loop=LOOP, excess=QUEUE)
    assert not wrong.contention.active
    polite = Contention(competes=lambda: False)
    polite.join(0.0, window=WINDOW, loop=LOOP, excess=QUEUE)
    assert polite.away


def test_one_dip_that_changes_nothing_does_not_prove_that_others_are_gone() -> None:
    """Their windows move as well: they were seen just now."""
    shared = Shared()
    shared.settle()
    for _ in range(60):  # dips that are answered
        shared.round()
    shared.rate = shared.contention.window / LOOP
    windows = [shared.round()]
    while shared.contention.active:
        windows.append(shared.round())
        assert len(windows) < 100
    assert shared.ours
    dips = [one for one, then in pairwise(windows) if then < 0.6 * one]
    assert len(dips) == 3, "two, and the end"
