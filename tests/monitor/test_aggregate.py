"""Connections between two hosts are estimated together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.facts import ConnectionFacts
from monitor.models import model
from monitor.models.aggregate import shared_loss, together

MANY = ConnectionFacts(
    at=30.0, since=10.0, rtt=0.1, segment_size=1000, segments=4000, bytes_acked=3_900_000,
    loss_events=40.0, first_loss=100,
)  # fmt: skip
FEW = replace(MANY, at=31.0, segments=1000, loss_events=10.0)


def test_of_none_or_of_what_says_nothing_there_is_none() -> None:
    assert together([]) is None
    assert together([replace(MANY, segments=0, loss_events=0.0)]) is None


def test_one_is_what_it_is_alone() -> None:
    alone, found = model.estimate(MANY), together([MANY])
    assert (found.rate, found.at) == (pytest.approx(alone.rate), 30.0)
    assert found.confidence == pytest.approx(alone.confidence)


def test_rates_add_up_and_the_newest_counts() -> None:
    both = together(one for one in (MANY, FEW))
    apart = model.estimate(MANY).rate + model.long_run(FEW, loss=50 / 5000).rate
    assert (both.rate, both.at, both.source) == (pytest.approx(apart), 31.0, "connections")
    sure = sorted(model.estimate(one).confidence for one in (MANY, FEW))
    assert sure[0] < both.confidence < sure[1]


def test_losses_are_shared_once_they_are_enough() -> None:
    assert shared_loss([FEW, FEW]) is None
    assert shared_loss([FEW, FEW, FEW]) == 0.01
    unhurt = replace(FEW, loss_events=0.0, first_loss=None, segments=2000)
    alone, beside = model.estimate(unhurt).rate, together([unhurt, MANY]).rate
    assert beside - model.estimate(MANY).rate < alone  # it has only been lucky
    late = replace(unhurt, from_start=False)  # alone it would say nothing
    assert together([late, MANY]).rate == pytest.approx(beside)
    assert together([replace(late, segments=5), MANY]).rate == model.estimate(MANY).rate
    assert together([FEW, FEW]).rate == pytest.approx(2 * model.estimate(FEW).rate)
