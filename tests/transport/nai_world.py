"""Two NAI ends over an emulated line, and a sender without any I/O to step by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from admission.admission import Protects
from emulation.memory.carrier import CarrierModel, MemoryCarrier, memory_carriers
from emulation.memory.virtual_time import run
from transport.nai.atp import AtpSender
from transport.nai.endpoint import NaiConnection, NewEstimator, improved
from transport.nai.estimators.estimator import NaiEstimate
from transport.nai.receiving.receiver import Received


class Known:
    """An estimator that is told the rate and lets everything go."""

    follows_use = False

    def __init__(self, rate: float) -> None:
        self._estimate = NaiEstimate(rate, rate, 0.0)
        self._news = False

    @property
    def estimate(self) -> NaiEstimate:
        return self._estimate

    def tell(self, rate: float) -> None:
        self._estimate, self._news = NaiEstimate(rate, rate, 0.0), True

    def observe(self, now: float, *, departed: int, backlog: int, latency: float) -> bool:
        news, self._news = self._news, False
        return news

    def sent(self, now: float, size: int) -> None: ...

    def ready_at(self, now: float) -> float:
        return now

    def next_time(self, now: float) -> float:
        return now + 1.0

    def refused(self, now: float) -> None: ...

    def wants_poll(self, now: float) -> bool:
        return False

    poll_size = 1000

    def poll_sent(self, now: float, size: int) -> None: ...

    def polled(self, now: float, rate: float) -> None: ...


class Box:
    """A carrier that takes as many segments as it is allowed to, and keeps them."""

    capacity = 100_000
    latency = 0.0

    def __init__(self, segment: int = 1000) -> None:
        self.segment = segment
        self.allowed = 0
        self.segments: list[bytes] = []

    def start(self, reader: object) -> None: ...

    def room(self, now: float) -> int:
        return self.allowed * self.segment

    def takes(self, length: int) -> int:
        return length

    def send(self, payload: bytes, now: float) -> None:
        assert 0 < len(payload) <= self.segment
        self.allowed -= 1
        self.segments.append(payload)

    def backlog(self, now: float) -> int:
        return 0

    def reading(self, wanted: bool) -> None: ...

    def close(self) -> None: ...


def sender(
    rate: float = 10_000.0,
    *,
    segment: int = 1000,
    protects: Protects = Protects.ALL,
    standby: bool = False,
) -> tuple[AtpSender, Box, Known]:
    box, known = Box(segment), Known(rate)
    return AtpSender(box, known, protects=protects, standby=standby), box, known


def let(sender: AtpSender, box: Box, segments: int, *, now: float) -> list[bytes]:
    """The carrier takes so many segments; those that were sent."""
    before = len(box.segments)
    box.allowed = segments
    sender.turn(now)
    box.allowed = 0
    return box.segments[before:]


class World:
    """A connection each end; what has arrived at the far one."""

    def __init__(self, model: CarrierModel, estimator: NewEstimator, protects: Protects) -> None:
        self.carrier, self.far_carrier = memory_carriers(model)
        self.near = NaiConnection(self.carrier, estimator=estimator, protects=protects)
        self.far = NaiConnection(self.far_carrier)
        self.arrived: list[tuple[float, Received]] = []
        self.error: Exception | None = None

    async def read(self) -> None:
        try:
            async for message in self.far.messages():
                self.arrived.append((self.far.now, message))
        except Exception as error:
            self.error = error


def in_world(
    scenario: Callable[[World], Awaitable[Any]],
    model: CarrierModel | None = None,
    *,
    estimator: NewEstimator = improved,
    protects: Protects = Protects.ALL,
) -> World:
    """Run it in virtual time; everything that was sent arrives before the end."""

    async def main() -> World:
        world = World(model or CarrierModel(), estimator, protects)
        reading = asyncio.create_task(world.read())
        await scenario(world)
        await asyncio.sleep(5.0)
        async with world.near, world.far:
            pass
        await reading
        return world

    return run(main())


__all__ = ["Box", "CarrierModel", "Known", "MemoryCarrier", "World", "in_world", "let", "sender"]
