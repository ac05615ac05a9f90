"""While others fill the queue, as much is under way as one more TCP would have."""

from __future__ import annotations

from itertools import pairwise

import pytest

from monitor.progress import ReportedProgress
from transport.contention.contention import Contention

LOOP = 0.1
"""Seconds of a round trip, half of it in the queue."""
QUEUE = 0.05
SEGMENT = 1448
WINDOW = 20_000


class Shared:
    """A queue in which as much arrives as is under way; or at a rate, where it is ours alone."""

    def __init__(self, *, most: float = WINDOW, rate: float | None = None) -> None:
        self.contention = Contention()
        self.contention.allowed = True
        self.contention.begin(0.0, window=WINDOW, most=most, loop=LOOP, excess=QUEUE)
        self._rate = rate
        self._windows: list[float] = [WINDOW] * 10
        """In each tenth of the last round trip."""
        self.now = 0.0
        self.ours = False

    def round(self, *, excess: float = QUEUE, limited: bool = True) -> float:
        """A round trip of ten reports; the least window in it."""
        least = float("inf")
        for _ in range(10):
            self.now += 1.0001 * LOOP / 10
            sent_at = self.now - LOOP
            window = self.contention.window(self.now)
            least = min(least, window)
            self._windows.append(window)
            gained = self._windows[-11] / 10 if self._rate is None else self._rate * LOOP / 10
            progress = ReportedProgress(0, round(gained), sent_at, sent_at, 500, 500, self.now)
            if self.contention.active:
                self.ours |= self.contention.heard(
                    self.now,
                    progress,
                    loop=LOOP,
                    excess=excess,
                    under_way=round(window),
                    limited=limited,
                )
        return least

    @property
    def window(self) -> float:
        return self.contention.window(self.now)


def test_a_round_trip_brings_a_segment() -> None:
    shared = Shared()
    for _ in range(4):
        shared.round()
    assert shared.window == WINDOW + 4 * SEGMENT


def test_a_loss_halves_it_once_in_a_round_trip() -> None:
    shared = Shared()
    shared.round()
    before = shared.window
    shared.contention.lost(shared.now, sent_at=shared.now - LOOP)
    shared.contention.lost(shared.now, sent_at=shared.now - LOOP / 2)
    assert shared.window == before / 2
    shared.contention.lost(shared.now + LOOP, sent_at=shared.now + 0.01)
    assert shared.contention.window(shared.now + LOOP) == before / 4


def test_what_was_under_way_before_is_soon_again_unless_that_is_too_much() -> None:
    shared = Shared(most=3 * WINDOW)
    shared.round()
    assert shared.window == 2 * WINDOW
    shared.round()
    assert shared.window == 3 * WINDOW
    shared = Shared(most=3 * WINDOW)
    shared.contention.lost(0.01, sent_at=0.0)
    shared.round()
    assert shared.window == WINDOW / 2 + SEGMENT


def test_what_is_not_used_does_not_grow() -> None:
    shared = Shared()
    for _ in range(4):
        shared.round(limited=False)
    assert shared.window == WINDOW


def test_now_and_then_less_is_sent_and_less_arrives_of_it() -> None:
    shared = Shared()
    windows = [shared.round() for _ in range(60)]
    assert shared.contention.active
    dips = [after for before, after in pairwise(windows) if after < 0.7 * before]
    assert 2 <= len(dips) <= 8


def test_where_as_much_arrives_the_queue_is_ours_and_nobody_is_suspected_for_a_while() -> None:
    shared = Shared(rate=WINDOW / LOOP)
    rounds = 0
    while shared.contention.active:
        shared.round()
        rounds += 1
        assert rounds < 30
    assert shared.ours
    shared.contention.begin(shared.now, window=WINDOW, most=WINDOW, loop=LOOP, excess=QUEUE)
    assert not shared.contention.active
    later = shared.now + 3.0
    shared.contention.begin(later, window=WINDOW, most=WINDOW, loop=LOOP, excess=QUEUE)
    assert shared.contention.active


def test_without_a_queue_others_are_gone_and_known_when_they_come_again() -> None:
    shared = Shared(most=2 * WINDOW)
    shared.round()
    shared.round(excess=0.005)
    assert not shared.contention.active
    assert not shared.ours
    assert [shared.contention.again(shared.now, QUEUE / 2) for _ in range(5)] == [False] * 4 + [
        True
    ]
    shared.contention.begin(shared.now, window=1_000.0, most=1_000.0, loop=LOOP, excess=QUEUE)
    for _ in range(18):
        shared.round()
    assert shared.window >= 2 * WINDOW


def test_a_queue_of_a_minute_ago_says_nothing() -> None:
    shared = Shared()
    shared.round(excess=0.005)
    assert not any(shared.contention.again(shared.now + 61.0, QUEUE) for _ in range(10))


@pytest.mark.parametrize("sent_at", [0.0, 5.0])
def test_losses_say_nothing_while_nobody_is_here(sent_at: float) -> None:
    contention = Contention()
    contention.lost(5.0, sent_at=sent_at)
    assert not contention.active
    assert contention.window(5.0) == 0.0
