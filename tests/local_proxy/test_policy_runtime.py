"""No policy can hurt the session: it raises, stalls, never ends, answers nonsense.

Real threads and the real loop; the budgets are shortened, and nothing sleeps for an outcome.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import pytest

from local_proxy.policy_queue import TurnQueue
from local_proxy.policy_runtime import PolicyRuntime
from local_proxy.policy_worker import PolicyWorker
from policies.api import (
    ROOT,
    BandwidthChanged,
    Command,
    Defer,
    DocumentOpened,
    Event,
    Fetch,
    FocusChanged,
    Kind,
    Policy,
    Progress,
    Raise,
    Resume,
    Rule,
    SessionOpened,
    SessionView,
    SetPlan,
    SetScheduler,
    SetTimer,
    SetWeight,
    SkeletonGrew,
    TimerExpired,
    Use,
    WatchBandwidth,
)
from policies.host import Slot, Turn
from wire.skeleton import Part

SKELETON = SkeletonGrew(1, (Part(2, "http://site/a.jpg", Kind.IMAGE, Use.ELEMENT, 0),))


class Scripted:
    """Reacts as the test says."""

    def __init__(
        self, react: Callable[[Event, SessionView], Iterable[Command]], name: str = "scripted"
    ) -> None:
        self.name = name
        self._react = react
        self.heard: list[Event] = []
        self.threads: set[int] = set()

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        self.heard.append(event)
        self.threads.add(threading.get_ident())
        return self._react(event, view)


def quiet(name: str = "quiet") -> Scripted:
    return Scripted(lambda event, view: (), name)


class Session:
    """A runtime and what it sent."""

    def __init__(self, *policies: Policy, off_after: float = 5.0) -> None:
        self.sent: list[Command] = []
        self.arrived = asyncio.Event()
        self.runtime = PolicyRuntime(
            policies, send=self._send, off_after=off_after, warn_after=off_after
        )

    def _send(self, command: Command) -> None:
        self.sent.append(command)
        self.arrived.set()

    async def hear(self, *events: Event) -> None:
        for event in events:
            self.runtime.hear(event)
        await asyncio.wait_for(self.runtime.idle(), 10)


@asynccontextmanager
async def session(*policies: Policy, off_after: float = 5.0) -> AsyncIterator[Session]:
    running = Session(*policies, off_after=off_after)
    try:
        yield running
    finally:
        running.runtime.close()


def run(test: Callable[[], object]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]


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


def test_a_policy_that_raises_is_switched_off_and_undone_and_others_go_on() -> None:
    def faulty(event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield SetPlan((Rule(level="low"),))
        elif isinstance(event, SkeletonGrew):
            yield SetScheduler(ROOT, "fifo")
            yield SetWeight(("browser", "1"), 9.0)
            yield Defer(2)
        else:
            yield SetWeight(("browser", "1"), 2.0)
            if isinstance(event, Progress):
                raise RuntimeError("out of ideas")

    other = Scripted(
        lambda event, view: [SetScheduler(ROOT, "priority")] if event == SessionOpened() else [],
        "other",
    )

    async def check() -> None:
        async with session(other, Scripted(faulty, "faulty")) as s:
            await s.hear(SessionOpened(), DocumentOpened(1, "http://site/"), SKELETON)
            s.sent.clear()
            await s.hear(Progress(2, 100, "low"))
            assert s.sent == [
                SetScheduler(ROOT, "priority"),
                SetWeight(("browser", "1"), 1.0),
                Resume(2),
                SetPlan(()),
            ]
            on, off = s.runtime.statistics()
            assert (on.name, on.on) == ("other", True)
            assert (off.on, off.why_off) == (False, "RuntimeError: out of ideas")
            heard = len(other.heard)
            await s.hear(DocumentOpened(3, "http://site/3"))
            assert len(other.heard) > heard

    run(check)


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), KeyboardInterrupt()])
def test_the_default_takes_over_when_none_is_left(error: BaseException) -> None:
    def faulty(event: Event, view: SessionView) -> Iterable[Command]:
        raise error

    async def check() -> None:
        async with session(Scripted(faulty)) as s:
            await s.hear(DocumentOpened(1, "http://site/"), SKELETON)
            assert [p.on for p in s.runtime.statistics()] == [False, True]
            assert SetScheduler(ROOT, "text_first", {"inner": "wf2q_plus"}) in s.sent
            assert SetScheduler(("browser", "1"), "low_fidelity_first") in s.sent
            assert s.runtime.view.weights["browser", "1"] == pytest.approx(4.0)

    run(check)


def spin(event: Event, view: SessionView) -> Iterable[Command]:
    while True:
        pass


def endless(event: Event, view: SessionView) -> Iterable[Command]:
    while True:
        yield SetScheduler(ROOT, "fifo")


def drip(event: Event, view: SessionView) -> Iterable[Command]:
    gate = threading.Event()
    while True:
        yield SetScheduler(ROOT, "fifo")
        gate.wait(0.02)


@pytest.mark.parametrize(
    ("react", "why"),
    [
        (spin, "took more than 0.1 s over SessionOpened"),
        (drip, "took more than 0.1 s over SessionOpened"),
        (endless, "more than 10000 commands"),
        (lambda event, view: 7, "returned 7, not commands"),
        (lambda event, view: [SetWeight, 3], "which is no command"),
        (lambda event, view: "text", "answered 't', which is no command"),
    ],
)
def test_a_policy_that_stalls_or_answers_nonsense_goes_off_and_the_loop_goes_on(
    react: Callable[[Event, SessionView], Iterable[Command]], why: str
) -> None:
    async def check() -> None:
        bystander = quiet()
        allowed = 0.1 if react in (spin, drip) else 5.0
        async with session(Scripted(react, "bad"), bystander, off_after=allowed) as s:
            s.runtime.hear(SessionOpened())
            turns_of_the_loop = 0
            async with asyncio.timeout(10):
                while s.runtime.statistics()[0].on:
                    await asyncio.sleep(0)
                    turns_of_the_loop += 1
            assert turns_of_the_loop > 0
            assert why in s.runtime.statistics()[0].why_off
            await asyncio.wait_for(s.runtime.idle(), 10)
            assert bystander.heard == [SessionOpened()]
            assert s.sent == []  # a reaction is taken whole or not at all

    run(check)


def test_a_worker_given_up_ends_its_thread_even_in_an_endless_loop() -> None:
    worker = PolicyWorker()
    started = threading.Event()

    def job() -> None:
        started.set()
        while True:
            pass

    worker.submit(job)
    assert started.wait(10)
    worker.abandon()
    assert worker.join(10)


def test_no_reaction_at_all_is_fine() -> None:
    async def check() -> None:
        async with session(Scripted(lambda event, view: None)) as s:  # type: ignore[arg-type,return-value]
            await s.hear(SessionOpened())
            (policy,) = s.runtime.statistics()
            assert (policy.on, policy.reactions, s.sent) == (True, 1, [])

    run(check)


def test_impossible_commands_are_refused_one_by_one() -> None:
    wrong: list[Command] = [
        Raise(99),
        Raise(2, -1),
        SetWeight(("browser", "1"), 0.0),
        SetWeight(("browser", "1"), float("nan")),
        SetWeight(("browser", "7"), 1.0),
        SetWeight(("browser", "1"), "heavy"),  # type: ignore[arg-type]
        SetScheduler(ROOT, "test_first"),
        SetScheduler(("browser", "1", "4"), "fifo"),
        Fetch(2, "lowest"),
        WatchBandwidth(5, 5),
        SetTimer("t", after=1, at=2),
        SetTimer("fetch:2", after=1),
    ]
    policy = Scripted(lambda event, view: [*wrong, Raise(2, 3)] if event == SKELETON else [])

    async def check() -> None:
        async with session(policy) as s:
            await s.hear(DocumentOpened(1, "http://site/"), SKELETON)
            assert s.sent == [Raise(2, 3)]
            (statistics,) = s.runtime.statistics()
            assert (statistics.on, statistics.refused) == (True, len(wrong))

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
            await asyncio.wait_for(s.arrived.wait(), 10)
            assert s.sent == [SetScheduler(ROOT, "edf")]
            assert TimerExpired("stopped") not in policy.heard

    run(check)


def test_events_pile_up_in_order_without_repeating_themselves() -> None:
    slot, other = (Slot(index, quiet(), str(index)) for index in range(2))
    queue = TurnQueue()
    queue.put(Turn(slot, Progress(2, n, "low")) for n in range(1000))
    queue.put([Turn(other, Progress(2, 5, "low")), Turn(slot, FocusChanged(1))])
    queue.put([Turn(slot, DocumentOpened(3, "u")), Turn(slot, FocusChanged(3))])
    queue.put([Turn(slot, TimerExpired("t")), Turn(slot, TimerExpired("t"))])
    assert queue.waiting_for(slot) == 5
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


def test_a_policy_that_can_not_keep_up_goes_before_memory_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("local_proxy.policy_runtime.MAX_WAITING", 100)
    release = threading.Event()

    def slow(event: Event, view: SessionView) -> Iterable[Command]:
        release.wait(10)
        return ()

    async def check() -> None:
        async with session(Scripted(slow, "slow")) as s:
            for document in range(1, 400, 2):
                s.runtime.hear(DocumentOpened(document, "http://site/"))
            release.set()
            await asyncio.wait_for(s.runtime.idle(), 10)
            slow_one, fallback = s.runtime.statistics()
            assert "can't keep up" in slow_one.why_off
            assert slow_one.waiting == 0
            assert fallback.name == "default"

    run(check)


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
