"""Modal and CallbackPriorities, and fetches that expire early."""

from __future__ import annotations

from collections.abc import Iterable

from policies.api import (
    BandwidthChanged,
    Command,
    Defer,
    DocumentOpened,
    Event,
    Fetch,
    Kind,
    PointerOn,
    Progress,
    Resume,
    Rule,
    SessionOpened,
    SessionView,
    SetPlan,
    SetTimer,
    SkeletonGrew,
    TimerExpired,
    Use,
)
from policies.builtin.callback_priorities import CallbackPriorities
from policies.builtin.default import Default
from policies.builtin.modal import POLL, Modal
from policies.host.chain import HostStep, PolicyHost, react
from policies.host.loader import load
from policies.testing import Estimate, Player, replay
from wire.skeleton import Part

FOUND = SkeletonGrew(1, (Part(2, "http://site/2.jpg", Kind.IMAGE, Use.ELEMENT, 0),))


def plan(level: str) -> SetPlan:
    return SetPlan((Rule(kind=Kind.IMAGE, level=level),)) if level else SetPlan(())


def test_modal_changes_modes_with_the_bandwidth_and_does_not_flutter() -> None:
    rates = [10_000, 25_000, 17_000, 15_000, 100_000, 2_000, 2_900]
    events = [(1.0 + n, Estimate(rate=rate)) for n, rate in enumerate(rates)]
    result = replay(Modal(), [(0.0, SessionOpened()), *events])
    assert result.sent == [
        (0.0, plan("low")),  # not measured yet
        (2.0, plan("medium")),
        (4.0, plan("low")),  # 17,000 was within the play
        (5.0, plan("")),
        (6.0, plan("none")),
    ]


def polled(component: int) -> SetPlan:
    rule = Rule(kind=Kind.IMAGE, components=(component,), level="low")
    return SetPlan((*plan("none").rules, rule))


def test_while_modal_holds_pictures_back_one_comes_now_and_then() -> None:
    """Nothing else may be under way that would tell that the link has recovered (ATP, 4.2)."""
    parts = tuple(
        Part(number, f"http://site/{number}.jpg", Kind.IMAGE, Use.ELEMENT, number)
        for number in (2, 4)
    )
    events = [
        (0.0, SessionOpened()),
        (1.0, Estimate(rate=2_000)),
        (20.0, DocumentOpened(1, "http://site/1")),
        (20.0, SkeletonGrew(1, parts)),
        (32.0, Progress(2, 1_000, level="low")),
        (38.0, Progress(4, 1_000, level="low")),
        (100.0, Estimate(rate=5_000)),
    ]
    result = replay(Modal(), events)
    assert result.sent == [
        (0.0, plan("low")),
        (1.0, plan("none")),
        (25.0, polled(2)),
        (35.0, polled(4)),  # not at 30: the one before was not here yet
        (100.0, plan("low")),
    ]


def test_in_other_modes_and_at_rest_modal_sets_no_timer() -> None:
    policy = Modal()
    view = SessionView()
    assert not any(isinstance(one, SetTimer) for one in policy.react(FOUND, view))
    poor = list(policy.react(BandwidthChanged(1_000), view))
    assert SetTimer("poll", after=POLL) in poor
    assert list(policy.react(TimerExpired("poll"), view)) == []
    assert list(policy.react(FOUND, view)) == [SetTimer("poll", after=POLL)]
    assert list(policy.react(FOUND, view)) == [], "it runs already"


def test_pictures_that_can_not_be_good_in_time_stay_coarse() -> None:
    policy = CallbackPriorities()
    player = Player(policy)
    player.play(SessionOpened(), now=0.0)
    player.play(DocumentOpened(1, "http://site/1"), now=0.0)
    assert Fetch(2, "medium", timer=8.0) in player.play(FOUND, now=0.5)
    early = TimerExpired("fetch:2", early=True)
    assert list(policy.react(early, player.result.view)) == [Resume(2)]
    assert player.play(Progress(2, 900, "low"), now=2.0) == [Defer(2)]
    assert player.result.view.deferred == {2}
    assert player.play(PointerOn(2), now=3.0) == [Resume(2), Fetch(2, priority=1)]
    assert player.result.view.deferred == frozenset()
    assert player.play(TimerExpired("fetch:2"), now=8.5) == [Defer(2)]
    player.play(PointerOn(None), now=9.0)
    assert Resume(2) in player.play(PointerOn(2), now=9.0)


class Answers:
    """Fetches all there is with a timer, and says `verdict` when one expires."""

    name = "answers"

    def __init__(self, *verdict: Command) -> None:
        self.verdict = verdict
        self.heard: list[Event] = []

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SkeletonGrew):
            yield Fetch(2, "medium", timer=5.0)
        if isinstance(event, TimerExpired):
            self.heard.append(event)
            yield from self.verdict


def expire(host: PolicyHost, component: int) -> list[Command]:
    """What is sent when the remote has suspended it."""

    def follow(step: HostStep) -> list[Command]:
        sent = list(step.commands)
        for turn in step.turns:
            commands = react(turn, host.view(now=1.0))
            sent += follow(host.reacted(turn, commands, seconds=0.0, now=1.0))
        return sent

    return follow(host.missed(component))


def opened(policy: Answers) -> PolicyHost:
    host = PolicyHost([policy], fallback=Default)
    for event in (SessionOpened(), DocumentOpened(1, "http://site/1"), FOUND):
        for turn in host.hear(event, now=0.0).turns:
            host.reacted(turn, react(turn, host.view(now=0.0)), seconds=0.0, now=0.0)
    return host


def test_an_early_expiry_is_heard_once_and_by_whom_it_concerns() -> None:
    policy = Answers(Defer(2))
    host = opened(policy)
    assert host.next_timer() == 5.0
    assert expire(host, 2) == [Defer(2)]
    assert policy.heard == [TimerExpired("fetch:2", early=True)]
    assert host.next_timer() is None
    assert expire(host, 2) == [Resume(2)]  # nobody waits for it: it must not stay suspended
    assert len(policy.heard) == 1


def test_who_says_nothing_of_an_expired_fetch_lets_it_go_on() -> None:
    assert expire(opened(Answers()), 2) == [Resume(2)]
    assert expire(opened(Answers(Resume(2))), 2) == [Resume(2)]
    again = Fetch(2, "medium", timer=9.0)
    assert expire(opened(Answers(again)), 2) == [again]


def test_both_are_found_by_name() -> None:
    assert load("modal").name == "modal"
    assert load("callback_priorities").name == "callback_priorities"
