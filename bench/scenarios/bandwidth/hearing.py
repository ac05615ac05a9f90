"""Notes over time what a policy hears of a link, and what the link's line itself carries.

Ten times a second: the rate that the latest `BandwidthChanged` said, which is that of the policies'
view, the line's own rate over the last second, and whether anything was on the line. Knows a
running pair in virtual time; not what is loaded over it, nor which rate is good enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple

from emulation.lines.schedule import Schedule
from emulation.memory.memory import MemoryLink
from policies.api import (
    BandwidthChanged,
    Command,
    Event,
    SessionOpened,
    SessionView,
    WatchBandwidth,
)

EVERY: Final = 0.1
"""Seconds between two samples."""
WINDOW: Final = 1.0
"""Seconds, the last ones, over which the line's own rate is a mean: a step of the trace."""


_SAME: Final = 1e-9
"""Of a rate: anything else is another one."""


class HeardSample(NamedTuple):
    """One moment. Seconds, bytes/second."""

    at: float
    heard: float | None
    """What a policy goes by; None: nothing was said yet."""
    true: float
    """What the line carried at most."""
    busy: bool
    """Something was on the line, or waited in front of it."""


class EveryChange:
    """A policy that hears of every change of the bandwidth, and commands nothing else."""

    name = "every-change"

    def __init__(self) -> None:
        self.told: list[tuple[float, float]] = []
        """Seconds on the loop's clock and bytes/second, the latest last."""

    @property
    def heard(self) -> float | None:
        """Bytes/second, as it was told last; None: nothing was said yet."""
        return self.told[-1][1] if self.told else None

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, BandwidthChanged):
            if view.bandwidth != event.rate:
                raise ValueError(f"the view says {view.bandwidth}, the event {event.rate}")
            self.told.append((view.now, event.rate))
            yield WatchBandwidth(low=event.rate, high=event.rate * (1 + _SAME))
        elif isinstance(event, SessionOpened):
            yield WatchBandwidth(low=1e12)


class Hearing:
    """Takes samples in the background: `async with Hearing(policy, link, schedule) as hearing`."""

    def __init__(self, policy: EveryChange, link: MemoryLink, schedule: Schedule) -> None:
        """`link`: the remote's end; `schedule`: of its line, by the loop's clock."""
        self._policy = policy
        self._link = link
        self._schedule = schedule
        self.samples: list[HeardSample] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Hearing:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        loop, carried = asyncio.get_running_loop(), -1
        while True:
            now, line = loop.time(), self._link.outgoing.statistics()
            busy = line.backlog > 0 or line.carried != carried
            carried = line.carried
            true = self._schedule.carried(now - WINDOW, now) / WINDOW
            self.samples.append(HeardSample(now, self._policy.heard, true, busy))
            await asyncio.sleep(EVERY)
