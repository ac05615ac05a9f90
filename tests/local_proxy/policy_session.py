"""A policy runtime with policies that react as the test says, and what it sent."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from local_proxy.policy.runtime import PolicyRuntime
from policies.api import (
    ROOT,
    Command,
    Event,
    Kind,
    Policy,
    SessionView,
    SetScheduler,
    SkeletonGrew,
    Use,
)
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


def drip(event: Event, view: SessionView) -> Iterable[Command]:
    """Commands without an end, slowly."""
    gate = threading.Event()
    while True:
        yield SetScheduler(ROOT, "fifo")
        gate.wait(0.02)


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
        await asyncio.wait_for(self.runtime.idle(), 60)


@asynccontextmanager
async def session(*policies: Policy, off_after: float = 5.0) -> AsyncIterator[Session]:
    running = Session(*policies, off_after=off_after)
    try:
        yield running
    finally:
        running.runtime.close()


def run(test: Callable[[], object]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]
