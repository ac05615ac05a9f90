"""A rate that a path seems to carry is tried for some rounds, and soon again where it came."""

from __future__ import annotations

from transport.spp.congestion.tried_rate import AGAIN, TriedRate


def rounds(tried: TriedRate, count: int, *, came: float, now: float) -> None:
    for _ in range(count):
        tried.round_ended(came, now)


def test_what_does_not_come_is_not_tried_again_soon() -> None:
    tried = TriedRate()
    tried.begin(1_000.0, now=5.0)
    rounds(tried, 2, came=800.0, now=6.0)
    assert tried.rate == 1_000.0
    rounds(tried, 1, came=800.0, now=7.0)
    assert tried.rate == 0.0
    tried.begin(1_000.0, now=4.9 + AGAIN)
    assert tried.rate == 0.0
    tried.begin(1_000.0, now=5.0 + AGAIN)
    assert tried.rate == 1_000.0


def test_what_comes_may_be_less_than_there_is() -> None:
    tried = TriedRate()
    tried.begin(1_000.0, now=5.0)
    rounds(tried, 3, came=960.0, now=7.0)
    tried.begin(1_200.0, now=7.0)
    assert tried.rate == 1_200.0


def test_what_waits_ends_it() -> None:
    tried = TriedRate()
    tried.begin(1_000.0, now=5.0)
    tried.give_up()
    assert tried.rate == 0.0
    rounds(tried, 5, came=2_000.0, now=7.0)
    tried.begin(1_000.0, now=8.0)
    assert tried.rate == 0.0
