"""A queue that was there before anything of ours is others'; what a link does to us is not."""

from __future__ import annotations

from transport.contention.evidence import NewsOfArrival
from transport.contention.found_queue import FoundQueue

LEAST = 0.03
"""Seconds of any queue."""
TAKES = 0.002
"""Seconds that a packet takes."""


def heard(found: FoundQueue, now: float, *, sent_at: float, excess: float) -> bool:
    news = NewsOfArrival(1_000, sent_at, now)
    return found.heard(now, news, excess=excess, least=LEAST, takes=TAKES)


def paused() -> FoundQueue:
    found = FoundQueue()
    found.paused(10.0, enough=True)
    return found


def test_a_queue_at_the_end_of_a_pause_is_others_once_it_has_stayed_for_a_round_trip() -> None:
    found = paused()
    assert not heard(found, 10.3, sent_at=10.0, excess=0.2)
    assert found.seconds == 0.2
    assert not heard(found, 10.4, sent_at=10.1, excess=0.2), "it left before anything was known"
    assert heard(found, 10.6, sent_at=10.3, excess=0.15)


def test_a_link_that_was_asleep_is_awake_for_what_follows() -> None:
    found = paused()
    heard(found, 11.1, sent_at=10.0, excess=1.0)
    heard(found, 11.11, sent_at=10.5, excess=0.51)
    assert not heard(found, 11.2, sent_at=11.1, excess=0.0)
    assert found.seconds == 0.0


def test_one_that_falls_asleep_each_time_is_never_taken_for_others() -> None:
    found = paused()
    heard(found, 11.1, sent_at=10.0, excess=1.0)
    found.paused(15.0, enough=True)
    assert not heard(found, 16.1, sent_at=15.0, excess=1.0)


def test_a_link_that_has_become_slower_meanwhile_has_no_queue_of_others() -> None:
    found = paused()
    heard(found, 10.2, sent_at=10.0, excess=LEAST + 7.5 * TAKES)
    assert found.seconds == 0.0


def test_one_that_has_become_much_slower_has_none_either_for_what_follows_is_as_slow() -> None:
    found = paused()
    heard(found, 10.2, sent_at=10.0, excess=0.1)  # 1 KB took a tenth of a second instead of 2 ms
    assert found.seconds == 0.1
    heard(found, 10.3, sent_at=10.002, excess=0.198)
    assert found.seconds == 0.0
    assert not heard(found, 10.5, sent_at=10.3, excess=0.1)


def test_what_comes_together_behind_a_queue_of_others_says_that_the_link_is_as_fast_as_ever() -> (
    None
):
    found = paused()
    heard(found, 10.2, sent_at=10.0, excess=0.1)
    heard(found, 10.21, sent_at=10.002, excess=0.108)
    assert heard(found, 10.4, sent_at=10.25, excess=0.1)


def test_what_waits_behind_our_own_bytes_says_nothing() -> None:
    found = FoundQueue()
    heard(found, 10.3, sent_at=10.0, excess=0.5)
    assert found.seconds == 0.0
    found.paused(12.0, enough=False)
    heard(found, 12.5, sent_at=12.0, excess=0.5)
    assert found.seconds == 0.0, "what had gathered behind ours may be in it"


def test_a_drain_leaves_no_queue_of_ours_but_for_whole_packets() -> None:
    found = FoundQueue()
    found.drained(10.0)
    assert not heard(found, 10.1, sent_at=9.9, excess=0.2), "it left before the end"
    heard(found, 10.2, sent_at=10.0, excess=LEAST + 1.5 * TAKES)
    assert found.seconds == 0.0
    found.drained(20.0)
    heard(found, 20.2, sent_at=20.0, excess=LEAST + 2.5 * TAKES)
    assert found.seconds > 0.0
    assert heard(found, 20.5, sent_at=20.2, excess=0.1)


def test_it_is_told_once() -> None:
    found = paused()
    heard(found, 10.3, sent_at=10.0, excess=0.2)
    found.end()
    assert not heard(found, 10.6, sent_at=10.3, excess=0.2)
