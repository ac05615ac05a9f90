"""No policy can hurt the session: it raises, stalls, never ends, answers nonsense.

Real threads and the real loop; the budgets are shortened, and nothing sleeps for an outcome.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable

import pytest

from local_proxy.policy.worker import PolicyWorker
from policies.api import (
    ROOT,
    Command,
    Defer,
    DocumentOpened,
    Event,
    Fetch,
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
    WatchBandwidth,
)
from tests.local_proxy.policy_session import SKELETON, Scripted, drip, quiet, run, session


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
            async with asyncio.timeout(60):
                while s.runtime.statistics()[0].on:
                    await asyncio.sleep(0)
                    turns_of_the_loop += 1
            assert turns_of_the_loop > 0
            assert why in s.runtime.statistics()[0].why_off
            await asyncio.wait_for(s.runtime.idle(), 60)
            assert bystander.heard == [SessionOpened()]
            assert s.sent == []  # a reaction is taken whole or not at all

    run(check)


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="threads have no clocks")
def test_time_that_others_have_the_processors_does_not_count_but_not_for_ever() -> None:
    """A thread that waits for a lock stands still as one does that waits for a processor."""
    release, over = threading.Event(), threading.Event()

    def starved(event: Event, view: SessionView) -> Iterable[Command]:
        if event == SessionOpened():
            release.wait(60)
        else:
            over.wait(60)
        return ()

    async def check() -> None:
        async with session(Scripted(starved, "starved"), off_after=0.1) as s:
            s.runtime.hear(SessionOpened())
            await asyncio.sleep(0.4)
            assert s.runtime.statistics()[0].on
            release.set()
            await s.runtime.idle()
            assert s.runtime.statistics()[0].reactions == 1
            s.runtime.hear(DocumentOpened(1, "http://site/"))
            async with asyncio.timeout(60):
                while s.runtime.statistics()[0].on:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            assert "took more than" in s.runtime.statistics()[0].why_off
        over.set()

    run(check)


def test_a_worker_knows_the_time_of_the_job_under_way_alone() -> None:
    worker, spun, go_on = PolicyWorker(), threading.Event(), threading.Event()

    def spins() -> None:
        until = time.thread_time() + 0.05
        while time.thread_time() < until:
            pass
        spun.set()
        go_on.wait(60)

    worker.submit(spins)
    assert spun.wait(60)
    assert worker.spent() >= 0.05
    go_on.set()
    worker.stop()
    assert worker.join(60)
    assert worker.spent() == 0.0, "none is under way"


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


def test_who_catches_what_is_to_end_it_is_told_again() -> None:
    ended = threading.Event()

    def stubborn(event: Event, view: SessionView) -> Iterable[Command]:
        caught = 0
        try:
            while True:
                try:
                    while True:
                        pass
                except BaseException:
                    caught += 1
                    if caught == 3:
                        raise
        finally:
            ended.set()

    async def check() -> None:
        async with session(Scripted(stubborn, "stubborn"), off_after=0.1) as s:
            s.runtime.hear(SessionOpened())
            async with asyncio.timeout(60):
                while not ended.is_set():  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            assert not s.runtime.statistics()[0].on

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


def test_a_policy_that_can_not_keep_up_goes_before_memory_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("local_proxy.policy.runtime.MAX_WAITING", 100)
    release = threading.Event()

    def slow(event: Event, view: SessionView) -> Iterable[Command]:
        release.wait(10)
        return ()

    async def check() -> None:
        async with session(Scripted(slow, "slow")) as s:
            for document in range(1, 400, 2):
                s.runtime.hear(DocumentOpened(document, "http://site/"))
            release.set()
            await asyncio.wait_for(s.runtime.idle(), 60)
            slow_one, fallback = s.runtime.statistics()
            assert "can't keep up" in slow_one.why_off
            assert slow_one.waiting == 0
            assert fallback.name == "default"

    run(check)
