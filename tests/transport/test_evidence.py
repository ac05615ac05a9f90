"""The mean of what bytes waited, and news of their arrival, tell whose a queue is."""

from __future__ import annotations

import pytest

from transport.contention.evidence import NewsOfArrival, PlainMean


def test_the_mean_is_of_all_that_was_added() -> None:
    mean = PlainMean()
    assert mean.value == 0.0
    for value in (1.0, 2.0, 6.0):
        mean.add(value)
    assert mean.value == pytest.approx(3.0)


def test_news_says_how_much_arrived_and_when_it_had_been_sent() -> None:
    news = NewsOfArrival(1_000, 2.0, 52.5)
    assert (news.gained, news.sent_at, news.arrived_at) == (1_000, 2.0, 52.5)
