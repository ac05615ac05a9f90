"""A link that seems faster is believed to be when a second burst says the same."""

from __future__ import annotations

from monitor.sensors.burst_rate import BurstSample
from transport.gate.rise import Rise

RATE, LOOP = 100_000.0, 0.5
FASTER = 800_000.0


def heard(rise: Rise, now: float, *, rate: float = FASTER, sent_at: float | None = None) -> float:
    sent_at = now - LOOP if sent_at is None else sent_at
    return rise.heard(now, BurstSample(rate, sent_at, drawn_out=True), rate=RATE, loop=LOOP)


def believed(rise: Rise, now: float) -> bool:
    """Whether two bursts in a row are."""
    heard(rise, now)
    return heard(rise, now + LOOP + 0.01) == FASTER


def test_a_first_burst_calls_for_a_second_that_is_short_and_faster() -> None:
    rise = Rise()
    assert rise.more(50_000) == 0 == rise.pace
    assert heard(rise, 10.0) == 0
    assert rise.pace == 2 * FASTER
    assert rise.more(50_000) == 12_000
    assert rise.more(9_000) == 9_000, "no more than the path is known to hold"


def test_only_what_left_after_the_first_was_heard_of_is_a_second() -> None:
    rise = Rise()
    heard(rise, 10.0)
    assert heard(rise, 10.1) == 0
    assert heard(rise, 10.6, rate=700_000) == 700_000
    assert rise.pace == 0, "there is nothing more to be tried"


def test_a_second_burst_that_is_as_slow_as_ever_ends_it() -> None:
    rise = Rise()
    heard(rise, 10.0)
    assert heard(rise, 10.6, rate=RATE) == 0
    assert heard(rise, 11.3, rate=RATE) == 0
    assert rise.pace == 0
    assert heard(rise, 11.4) == 0, "it is a first one again"


def test_a_little_more_is_left_to_the_margin() -> None:
    rise = Rise()
    heard(rise, 10.0, rate=1.4 * RATE)
    assert rise.pace == 0


def test_who_is_refuted_believes_nothing_for_a_while_and_longer_each_time() -> None:
    rise = Rise()
    assert believed(rise, 10.0)
    assert rise.slower(11.0, loop=LOOP)
    assert not believed(rise, 35.0)
    assert believed(rise, 45.0)
    assert rise.slower(46.0, loop=LOOP)
    assert not believed(rise, 95.0)
    assert believed(rise, 110.0)


def test_a_fade_long_afterwards_refutes_nothing() -> None:
    rise = Rise()
    assert believed(rise, 10.0)
    assert not rise.slower(14.0, loop=LOOP)
    assert believed(rise, 15.0)


def test_where_bytes_are_lost_no_second_burst_goes_on_purpose() -> None:
    rise = Rise()
    heard(rise, 10.0)
    rise.repaired()
    assert heard(rise, 10.6) == 0, "what was seen before it says nothing"
    assert (rise.pace, rise.more(50_000)) == (0, 0)
    assert heard(rise, 11.2) == FASTER, "one that went anyway tells the same"
    heard(rise, 100.0)
    assert rise.pace == 0, "a rest makes no line better"
    for _ in range(1000):
        rise.heard(101.0, None, rate=RATE, loop=LOOP)
    heard(rise, 200.0)
    assert rise.pace


def test_a_burst_that_no_second_one_followed_is_remembered_for_a_minute() -> None:
    rise = Rise()
    heard(rise, 10.0)
    assert rise.heard(14.0, None, rate=RATE, loop=LOOP) == 0
    assert rise.pace == 0, "a page has no more to send"
    assert heard(rise, 60.0, rate=2 * FASTER) == FASTER, "what both of them say"
    heard(rise, 100.0)
    assert heard(rise, 161.0) == 0, "that was long ago"


def test_what_was_remembered_is_forgotten_where_the_link_has_become_slower() -> None:
    rise = Rise()
    heard(rise, 10.0)
    rise.heard(14.0, None, rate=RATE, loop=LOOP)
    rise.slower(15.0, loop=LOOP)
    assert heard(rise, 20.0) == 0


def test_what_was_sent_slowly_says_nothing_of_what_was_remembered() -> None:
    rise = Rise()
    heard(rise, 10.0)
    slow = BurstSample(RATE, 19.5, drawn_out=False)
    assert rise.heard(20.0, slow, rate=RATE, loop=LOOP) == 0
    assert heard(rise, 30.0) == FASTER
