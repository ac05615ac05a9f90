"""Tests of the choice of a sub-range by the trends of all streams."""

from __future__ import annotations

from itertools import product

import pytest

from monitor.inline.sub_range import choose
from monitor.inline.trend import Trend


def trends(text: str) -> list[Trend]:
    return [Trend({"+": 1, "-": -1, "0": 0}[one]) for one in text]


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("----", 0),
        ("+---", 1),
        ("0---", 1),
        ("++--", 2),
        ("+0--", 2),
        ("++0-", 3),
        ("+++-", 3),
        ("+++0", 4),
        ("++++", 5),
        ("++", 3),
        ("--", 0),
        ("+-", 1),
        ("-+--", 2),
        ("++-+", 4),
        ("000", 2),
    ],
)
def test_the_middle_between_those_that_rise_and_those_that_do_not(text: str, chosen: int) -> None:
    assert choose(trends(text)) == chosen


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_combination_has_an_answer_and_more_rising_ones_never_a_higher_rate(
    count: int,
) -> None:
    for some in product(list(Trend), repeat=count):
        chosen = choose(some)
        assert 0 <= chosen <= count + 1
        if chosen == count + 1:
            assert some[-1] is Trend.INCREASING
        if chosen == 0:
            assert some[0] is not Trend.INCREASING
