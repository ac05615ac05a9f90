"""Tests of rates for what documents play: by a rule each, in the default as well."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from policies.api import (
    Command,
    CommandRefused,
    DocumentClosed,
    DocumentOpened,
    Event,
    Kind,
    PlayingChanged,
    Policy,
    RateGuaranteed,
    Reserve,
    Rule,
    SessionOpened,
    SessionView,
    SetPlan,
    SetScheduler,
    SkeletonGrew,
)
from policies.builtin.default import Default
from policies.builtin.media import SteadyMedia
from policies.host.loader import load
from policies.testing import replay
from policies.testing.simulation import Item, SimulatedPage, simulate


def rule(document: int) -> Rule:
    return Rule(kind=Kind.MEDIA, document=document, steady=True)


EVENTS: list[tuple[float, Event]] = [
    (0.0, SessionOpened()),
    (1.0, DocumentOpened(1, "http://a.test/")),
    (1.0, DocumentOpened(3, "http://b.test/")),
    (2.0, PlayingChanged(1, playing=True)),
    (3.0, PlayingChanged(3, playing=True)),
    (3.5, PlayingChanged(3, playing=True)),
    (4.0, PlayingChanged(1, playing=False)),
    (4.5, PlayingChanged(1, playing=False)),
    (5.0, DocumentClosed(3)),
]


@pytest.mark.parametrize("policy", [load("media"), Default()])
def test_what_plays_has_its_rate_in_each_document(policy: Policy) -> None:
    plans = [
        (at, {one for one in command.rules if one.kind is Kind.MEDIA})
        for at, command in replay(policy, EVENTS).sent
        if isinstance(command, SetPlan)
    ]
    assert plans == [
        (2.0, {rule(1)}),
        (3.0, {rule(1), rule(3)}),
        (4.0, {rule(3)}),
        (5.0, set()),
    ]


def test_what_happens_to_rates_is_no_reason_to_speak() -> None:
    event = RateGuaranteed(("browser", "1", "3"), 900.0, held=False)
    assert replay(SteadyMedia(), [(0.0, event)]).commands() == []


class Reserves:
    """Half of the link for the second document, then for the first as well."""

    name = "reserves"

    def __init__(self) -> None:
        self.heard: list[Event] = []

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, RateGuaranteed | CommandRefused):
            self.heard.append(event)
        if isinstance(event, SkeletonGrew) and event.document == 21:
            yield SetScheduler(("browser",), "fifo")
            yield Reserve(("browser", "21"), 500.0)
            yield Reserve(("browser", "11"), 500.0)


def test_a_policy_can_be_tried_out_without_a_link() -> None:
    pages = [SimulatedPage(number, (Item(number + 1, 20_000),)) for number in (11, 21)]
    policy = Reserves()
    done = simulate(policy, pages, rate=1_000.0, quantum=100, round_trip=0.2)
    assert done.share(21, 1.0, 20.0) == pytest.approx(0.5, abs=0.02), "though it comes second"
    refused, held = policy.heard
    assert isinstance(refused, CommandRefused)
    assert "of which 500 are promised" in refused.reason
    assert held == RateGuaranteed(("browser", "21"), 500.0, held=True)
