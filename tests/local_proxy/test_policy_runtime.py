"""Policies hear events, and their commands leave: off the loop, in order, timers and ranges."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

from local_proxy.policy.queue import TurnQueue
from policies.api import (
    ROOT,
    BandwidthChanged,
    Command,
    DocumentOpened,
    Event,
    FocusChanged,
    Kind,
    Progress,
    Rule,
    SessionOpened,
    SessionView,
    SetPlan,
    SetScheduler,
    SetTimer,
    TimerExpired,
    WatchBandwidth,
)
from policies.host.chain import PolicySlot, PolicyTurn
from tests.local_proxy.policy_session import Scripted, drip, quiet, run, session


def test_commands_leave_as_soon_as_a_policy_answers_and_off_the_loop() -> None:
    policy = Scripted(lambda event, view: [SetScheduler(ROOT, "fifo")])

    async def check() -> None:
        async with session(policy) as s:
            await s.hear(SessionOpened(), DocumentOpened(1, "http://site/"))
            assert s.sent == [SetScheduler(ROOT, "fifo")]
            assert policy.heard == [
                SessionOpened(),
                DocumentOpened(1, "http://site/"),
                FocusChanged(1),
            ]
            assert threading.get_ident() not in policy.threads
            assert len(policy.threads) == 1

    run(check)


def test_a_later_policy_sees_and_overrides_what_an_earlier_one_did() -> None:
    first = Scripted(lambda event, view: [SetScheduler(ROOT, "fifo")], "first")
    seen: list[str | None] = []

    def second(event: Event, view: SessionView) -> Iterable[Command]:
        seen.append(view.schedulers.get(ROOT))
        yield SetScheduler(ROOT, "text_first")

    async def check() -> None:
        async with session(first, Scripted(second, "second")) as s:
            await s.hear(SessionOpened())
            assert seen == ["fifo"]
            assert s.runtime.view.schedulers == {ROOT: "text_first"}

    run(check)


def test_no_reaction_at_all_is_fine() -> None:
    async def check() -> None:
        async with session(Scripted(lambda event, view: None)) as s:  # type: ignore[arg-type,return-value]
            await s.hear(SessionOpened())
            (policy,) = s.runtime.statistics()
            assert (policy.on, policy.reactions, s.sent) == (True, 1, [])

    run(check)


def test_a_bandwidth_range_reports_once_and_can_be_set_again_from_within() -> None:
    def watch(event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case SessionOpened():
                yield WatchBandwidth(low=10_000)
            case BandwidthChanged(rate) if rate < 10_000:
                yield WatchBandwidth(high=10_000)

    policy = Scripted(watch)

    async def check() -> None:
        async with session(policy) as s:
            await s.hear(SessionOpened())
            for rate in (20_000, 9_000, 4_000, 9_999, 10_000, 3_000):
                s.runtime.measured(rate)
                await s.runtime.idle()
            rates = [e.rate for e in policy.heard if isinstance(e, BandwidthChanged)]
            assert rates == [9_000, 10_000]
            assert s.runtime.view.bandwidth == 3_000

    run(check)


def test_timers_expire_on_the_loop() -> None:

    def timer(event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case SessionOpened():
                yield SetTimer("stopped", after=0.001)
                yield SetTimer("stopped")
                yield SetTimer("soon", after=0.001)
            case TimerExpired("soon", early=False):
                yield SetScheduler(ROOT, "edf")

    async def check() -> None:
        policy = Scripted(timer)
        async with session(policy) as s:
            s.runtime.hear(SessionOpened())
            await asyncio.wait_for(s.arrived.wait(), 60)
            assert s.sent == [SetScheduler(ROOT, "edf")]
            assert TimerExpired("stopped") not in policy.heard

    run(check)


def test_events_pile_up_in_order_without_repeating_themselves() -> None:
    slot, other = (PolicySlot(index, quiet(), str(index)) for index in range(2))
    queue = TurnQueue()
    queue.put(PolicyTurn(slot, Progress(2, n, "low")) for n in range(1000))
    queue.put([PolicyTurn(other, Progress(2, 5, "low")), PolicyTurn(slot, FocusChanged(1))])
    queue.put([PolicyTurn(slot, DocumentOpened(3, "u")), PolicyTurn(slot, FocusChanged(3))])
    queue.put([PolicyTurn(slot, TimerExpired("t")), PolicyTurn(slot, TimerExpired("t"))])
    assert queue.waiting_for(slot) == 5
    assert queue.done == 999, "the oldest that waits is the thousandth"
    queue.drop(other)
    events = []
    while (turn := queue.take()) is not None:
        events.append(turn.event)
    assert events == [
        Progress(2, 999, "low"),
        DocumentOpened(3, "u"),
        FocusChanged(3),
        TimerExpired("t"),
        TimerExpired("t"),
    ]


def test_a_new_session_hears_all_that_stands() -> None:
    policy = Scripted(
        lambda event, view: (
            [SetScheduler(ROOT, "edf"), SetPlan((Rule(kind=Kind.IMAGE, fetch="ask"),))]
            if event == SessionOpened()
            else []
        )
    )

    async def check() -> None:
        async with session(policy) as s:
            await s.hear(SessionOpened())
            before = list(s.sent)
            s.sent.clear()
            s.runtime.begin_again()
            await s.runtime.idle()
            assert s.sent == before
            assert s.runtime.rules == (Rule(kind=Kind.IMAGE, fetch="ask"),)

    run(check)


def test_closing_in_the_middle_of_a_reaction_sends_nothing_more() -> None:
    async def check() -> None:
        async with session(Scripted(drip)) as s:
            s.runtime.hear(SessionOpened())
            s.runtime.close()
            s.runtime.hear(DocumentOpened(1, "http://site/"))
            await s.runtime.idle()
            assert s.sent == []

    run(check)


def test_who_waits_for_reactions_waits_for_none_to_what_comes_later() -> None:
    entered, gate = threading.Event(), threading.Event()

    def slow(event: Event, view: SessionView) -> Iterable[Command]:
        if event == TimerExpired("later"):
            entered.set()
            gate.wait(60)
        return [SetScheduler(ROOT, "edf")] if isinstance(event, DocumentOpened) else []

    async def check() -> None:
        async with session(Scripted(slow), quiet()) as s:
            await asyncio.wait_for(s.runtime.reacted(), 60)  # nothing was heard
            s.runtime.hear(DocumentOpened(1, "http://site/"))
            reacted = asyncio.ensure_future(s.runtime.reacted())
            await asyncio.sleep(0)
            assert not reacted.done()
            s.runtime.hear(TimerExpired("later"))
            await asyncio.wait_for(reacted, 60)
            assert s.sent == [SetScheduler(ROOT, "edf")]
            later = asyncio.ensure_future(s.runtime.reacted())
            await asyncio.to_thread(entered.wait, 60)
            assert not later.done()
            gate.set()
            await asyncio.wait_for(later, 60)

    run(check)


def test_nobody_waits_for_policies_that_are_over() -> None:
    async def check() -> None:
        async with session(Scripted(drip)) as s:
            s.runtime.hear(SessionOpened())
            reacted = asyncio.ensure_future(s.runtime.reacted())
            await asyncio.sleep(0)
            s.runtime.close()
            await asyncio.wait_for(reacted, 60)
            await asyncio.wait_for(s.runtime.reacted(), 60)

    run(check)
