"""Fetches with timers through both proxies, in virtual time: what is promised is kept."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest

from bench.origins.synthetic import Shelf, page, prepared
from bench.pairs.pair import Pair, memory_pair
from emulation.memory.memory import LinkModel, MemoryLink
from emulation.memory.virtual_time import run
from policies.api import (
    Command,
    Event,
    Fetch,
    FetchInTime,
    Kind,
    Progress,
    SessionView,
    TimerExpired,
)
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services

RATE = 40_000.0
"""Bytes/second towards the device."""
LINK = LinkModel(rate_up=20_000, rate_down=RATE, delay=0.05)
PAGE = page("http://page.test/", text=6_000, large=800_000)
MADE = prepared([PAGE])


@dataclass
class Wanting:
    """Fetches pictures with timers once their low level is here, and notes what comes of it."""

    choose: Callable[[int, SessionView], Iterable[Fetch]]
    name: str = "wanting"
    wanted: dict[int, tuple[float, Fetch]] = field(default_factory=dict)
    """When each was said, and what."""
    heard: dict[int, tuple[float, TimerExpired | FetchInTime]] = field(default_factory=dict)

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, FetchInTime):
            self.heard[event.component] = view.now, event
        elif isinstance(event, TimerExpired):
            self.heard[int(event.name.removeprefix("fetch:"))] = view.now, event
        elif isinstance(event, Progress) and event.level == "low":
            if event.component in self.wanted or not is_picture(event.component, view):
                return
            for fetch in self.choose(event.component, view):
                self.wanted[fetch.component] = view.now, fetch
                yield fetch


def is_picture(component: int, view: SessionView) -> bool:
    return view.components[component].kind is Kind.IMAGE


def load(
    policy: Wanting, *, seconds: float = 60.0, then: Callable[[Pair], None] = lambda pair: None
) -> None:
    async def go() -> None:
        async with memory_pair(LINK, Services(Shelf([PAGE]), MADE), [Default(), policy]) as pair:
            await pair.load(PAGE.url)
            then(pair)
            await asyncio.sleep(seconds)

    run(go())


def rate_becomes(rate: float) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        link = pair.remote.link
        assert isinstance(link, MemoryLink)
        link.outgoing.set_rate(rate)

    return change


def test_of_two_that_can_both_be_in_time_the_one_with_less_time_goes_first() -> None:
    def choose(component: int, view: SessionView) -> Iterable[Fetch]:
        first = min(one.id for one in view.components.values() if one.kind is Kind.IMAGE)
        if component == first:
            yield Fetch(component, timer=20.0)
        elif len(policy.wanted) < 2:
            yield Fetch(component, timer=6.0)

    policy = Wanting(choose)
    load(policy)
    by_timer = {fetch.timer: component for component, (_, fetch) in policy.wanted.items()}
    urgent, patient = policy.heard[by_timer[6.0]], policy.heard[by_timer[20.0]]
    assert isinstance(urgent[1], FetchInTime) and isinstance(patient[1], FetchInTime)
    assert urgent[0] < patient[0]
    both = sum(at - policy.wanted[one][0] for one, (at, _) in policy.heard.items())
    assert both < 20, "and the link did not rest between them"


def test_what_can_not_be_in_time_is_refused_within_a_round_trip_and_told_when_it_can_be() -> None:
    def choose(component: int, view: SessionView) -> Iterable[Fetch]:
        if not policy.wanted:
            yield Fetch(component, timer=0.5)

    policy = Wanting(choose)
    load(policy)
    ((component, (said, _)),) = policy.wanted.items()
    at, refused = policy.heard[component]
    assert isinstance(refused, TimerExpired) and refused.refused
    assert at - said < 0.3
    assert refused.within is not None and refused.within > 0.5

    def again(component: int, view: SessionView) -> Iterable[Fetch]:
        if not patient.wanted:
            assert refused.within is not None
            yield Fetch(component, timer=refused.within + 0.5)

    patient = Wanting(again)
    load(patient)
    ((_, kept),) = patient.heard.values()
    assert isinstance(kept, FetchInTime)


@pytest.mark.parametrize("seed", range(6))
def test_all_that_is_admitted_on_a_steady_link_is_in_time(seed: int) -> None:
    rng = random.Random(seed)

    def choose(component: int, view: SessionView) -> Iterable[Fetch]:
        level = rng.choice(("medium", "high", "original"))
        timer, priority = rng.uniform(0.5, 15.0), rng.randrange(3)
        yield Fetch(component, level, priority, timer=timer)

    policy = Wanting(choose)
    load(policy)
    assert len(policy.wanted) > 5
    outcomes = [outcome for _, outcome in policy.heard.values()]
    assert set(policy.heard) == set(policy.wanted), "each came to an end"
    kept = [one for one in outcomes if isinstance(one, FetchInTime)]
    missed = [one for one in outcomes if isinstance(one, TimerExpired) and not one.refused]
    assert kept
    assert missed == []


def test_where_the_link_fades_what_can_not_be_in_time_expires_before_its_time() -> None:
    def choose(component: int, view: SessionView) -> Iterable[Fetch]:
        yield Fetch(component, "original", timer=15.0)

    policy = Wanting(choose)
    load(policy, then=lambda pair: asyncio.get_running_loop().call_later(5, fade, pair) and None)
    early = {
        one: at
        for one, (at, outcome) in policy.heard.items()
        if isinstance(outcome, TimerExpired) and outcome.early
    }
    assert early, "the estimate fell"
    late = [
        outcome
        for _, outcome in policy.heard.values()
        if isinstance(outcome, TimerExpired) and not (outcome.early or outcome.refused)
    ]
    assert late == []
    for component, at in early.items():
        said, fetch = policy.wanted[component]
        assert fetch.timer is not None and at < said + fetch.timer - 5.0


@pytest.mark.parametrize("seed", range(6))
def test_on_a_link_that_changes_only_what_it_became_too_slow_for_is_missed(seed: int) -> None:
    rng = random.Random(seed)
    rates: list[tuple[float, float]] = []
    """From when on, and bytes/second."""

    def choose(component: int, view: SessionView) -> Iterable[Fetch]:
        level = rng.choice(("medium", "high", "original"))
        yield Fetch(component, level, rng.randrange(3), timer=rng.uniform(2.0, 20.0))

    def change(pair: Pair) -> None:
        loop = asyncio.get_running_loop()
        rates.append((loop.time(), RATE * rng.uniform(0.3, 1.5) if rates else RATE))
        rate_becomes(rates[-1][1])(pair)
        loop.call_later(rng.uniform(3.0, 8.0), change, pair)

    policy = Wanting(choose)
    load(policy, then=change)
    assert set(policy.heard) == set(policy.wanted), "each came to an end"
    kept = sum(isinstance(outcome, FetchInTime) for _, outcome in policy.heard.values())
    assert kept > 2
    for component, (at, outcome) in policy.heard.items():
        if isinstance(outcome, TimerExpired) and not outcome.refused:
            said, _ = policy.wanted[component]
            before = [rate for since, rate in rates if since <= said][-1]
            later = [rate for since, rate in rates if said < since <= at]
            assert later and min(later) < before, (component, outcome)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_urgent_never_loses_to_what_is_less_so(seed: int) -> None:
    def outcomes(*, with_others: bool) -> dict[int, bool]:
        """Says of each urgent one whether it was in time."""
        rng = random.Random(seed)

        def choose(component: int, view: SessionView) -> Iterable[Fetch]:
            urgent, timer = rng.random() < 0.3, rng.uniform(1.0, 12.0)
            if urgent:
                yield Fetch(component, priority=2, timer=timer, protects="peers")
            elif with_others:
                yield Fetch(component, timer=timer)

        policy = Wanting(choose)
        load(policy)
        return {
            component: isinstance(policy.heard[component][1], FetchInTime)
            for component, (_, fetch) in policy.wanted.items()
            if fetch.priority == 2
        }

    alone, among_others = outcomes(with_others=False), outcomes(with_others=True)
    assert alone.keys() == among_others.keys() and any(alone.values())
    assert [one for one in alone if alone[one] and not among_others[one]] == []


def fade(pair: Pair) -> None:
    rate_becomes(RATE / 8)(pair)
