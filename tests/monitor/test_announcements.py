"""Tests of when a link's sender tells the other end what it carries, and how far it is believed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.announcements import (
    BURST,
    EVERY,
    FADES,
    LUMP,
    SEEN_FOR,
    SHARE,
    SIZE,
    STANDS,
    Announcements,
    ToldBandwidth,
)
from monitor.estimate import BandwidthEstimate

FAST = 1e6


def found(rate: float, *, sure: float = 1.0, at: float = 0.0) -> BandwidthEstimate:
    return BandwidthEstimate(rate, at, sure, "reports")


def test_the_first_finding_is_told_at_once() -> None:
    announcements, first = Announcements(), found(FAST)
    assert announcements.due(None, 0.0) is None
    assert announcements.due(first, 0.0) == first


@pytest.mark.parametrize(
    ("then", "sure", "news"),
    [(1.05e6, 1.0, False), (0.95e6, 1.0, False), (1.11e6, 1.0, True), (0.89e6, 1.0, True),
     (1e6, 0.8, True), (1e6, 0.7, False)],
)  # fmt: skip
def test_a_tenth_of_the_rate_is_news_and_so_is_who_has_become_surer(
    then: float, sure: float, news: bool
) -> None:
    announcements = Announcements()
    announcements.due(found(FAST, sure=0.5 if then == FAST else 1.0), 0.0)
    later = found(then, sure=sure)
    assert announcements.untold(later) is news
    rises = then > FAST
    assert (announcements.due(later, 10.0) is not None) is (news and not rises)
    assert (announcements.due(later, 10.0 + STANDS) is not None) is (news and rises)


def test_a_lump_is_not_told_and_a_rise_that_has_stood_is_as_far_as_it_stood() -> None:
    announcements = Announcements()
    announcements.due(found(FAST), 0.0)
    rates = [1.0, 1.2, 1.3, 1.2, 1.05, 1.25, 1.0]
    at = [1.0 + STANDS * step / 5 for step in range(len(rates))]
    said = [announcements.due(found(FAST * rate), now) for rate, now in zip(rates, at, strict=True)]
    assert said == [None] * len(rates)
    risen = [announcements.due(found(FAST * rate), 5.0 + STANDS * step / 2)
             for step, rate in enumerate((1.25, 1.15, 1.3))]  # fmt: skip
    assert risen[:2] == [None, None]
    assert risen[2] == found(FAST * 1.15)


def test_a_rise_by_more_than_a_lump_is_told_at_once() -> None:
    announcements = Announcements()
    announcements.due(found(FAST), 0.0)
    faster = found(FAST * (1 + LUMP))
    assert announcements.due(faster, 1.0) == faster


def test_small_steps_are_told_once_they_add_up() -> None:
    announcements, told = Announcements(), []
    for step in range(50):
        due = announcements.due(found(FAST * 1.02**step), float(step))
        told += [due.rate] if due is not None else []
    assert all(later >= 1.1 * sooner for sooner, later in pairwise(told))
    assert told[-1] > FAST * 1.02**44


@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(100.0, 1e8)), max_size=200))
def test_it_is_never_told_more_often_than_a_link_can_bear(
    steps: list[tuple[float, float]],
) -> None:
    announcements, now, last = Announcements(), 0.0, float("-inf")
    allowed, said = float(BURST * SIZE), 0
    for pause, rate in steps:
        now += pause
        allowed += SHARE * rate * pause
        if announcements.due(found(rate), now) is not None:
            assert now - last >= EVERY * 0.999
            last, said = now, said + SIZE
            assert said <= allowed * 1.001


def test_of_a_fade_over_a_thin_link_the_end_is_told_soon_after_the_middle() -> None:
    announcements = Announcements()
    assert announcements.due(found(7_000), 0.0) is not None
    fade = [(60.0, 4_000), (60.3, 1_500), (60.6, 700)]
    assert all(announcements.due(found(rate), at) is not None for at, rate in fade)


def test_who_never_rests_is_told_no_more_often_than_the_share_allows() -> None:
    announcements, rates = Announcements(), (700.0, 1_400.0)
    told = [announcements.due(found(rates[n % 2]), 0.3 * n) for n in range(2_000)]
    count = sum(one is not None for one in told)
    assert BURST < count <= BURST + SHARE * 1_400 * 600 / SIZE


def test_what_was_told_is_believed_less_and_less_but_never_lower() -> None:
    told = ToldBandwidth()
    assert told.at(0.0) is None
    told.hear(FAST, 1.0, 10.0)
    ages = [told.at(10.0 + age) for age in (0.0, 30.0, 60.0, 1e6)]
    assert [one.rate for one in ages if one is not None] == [FAST] * 4
    sure = [one.confidence for one in ages if one is not None]
    assert sure == sorted(sure, reverse=True) and sure[0] == 1.0 and sure[-1] == pytest.approx(0.1)


def fade(told: ToldBandwidth, since: float) -> float:
    """Three quanta that were sent as fast as the link is said to carry come in half a second; the
    last at the time that it gives."""
    for n in range(3):
        told.arrived(int(FAST / 40), paced=n > 0, now=since + n / 4)
    return since + 0.5


def test_what_is_seen_stands_for_a_while_against_what_was_said_and_no_longer() -> None:
    told = ToldBandwidth()
    told.hear(FAST, 1.0, 10.0)
    at = fade(told, 11.0)
    seen, later = told.at(at + SEEN_FOR - 0.1), told.at(at + SEEN_FOR)
    assert seen is not None and later is not None
    assert (seen.rate, seen.source) == (pytest.approx(FAST / 10, rel=0.01), "arrivals")
    assert later.rate == FAST


def test_what_is_said_after_it_was_seen_counts() -> None:
    told = ToldBandwidth()
    told.hear(FAST, 1.0, 10.0)
    at = fade(told, 11.0)
    told.hear(FAST / 8, 1.0, at)
    now = told.at(at)
    assert now is not None and now.rate == FAST / 8


def test_nothing_is_seen_of_a_link_of_which_nothing_was_said() -> None:
    told = ToldBandwidth()
    assert told.at(fade(told, 11.0)) is None


def test_what_was_told_is_not_lately_for_long() -> None:
    told = ToldBandwidth("imtcp")
    assert told.lately(0.0) is None
    told.hear(FAST, 1.0, 10.0)
    now, later = told.lately(10.0 + FADES - 1.0), told.lately(10.0 + FADES)
    assert now is not None
    assert (now.rate, now.source) == (FAST, "imtcp")
    assert later is None


def test_what_is_the_same_is_told_again_where_it_is_to_be() -> None:
    once, often = Announcements(), Announcements(again=30.0)
    told = {
        one: [at for at in range(100) if one.due(found(FAST, at=float(at)), float(at)) is not None]
        for one in (once, often)
    }
    assert told[once] == [0]
    assert told[often] == [0, 30, 60, 90]
    stale = Announcements(again=30.0)
    assert sum(stale.due(found(FAST), float(at)) is not None for at in range(100)) == 1
