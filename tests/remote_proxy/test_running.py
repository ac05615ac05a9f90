"""Tests of a session's deliveries: under way until they end, however they end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from emulation.memory import virtual_time
from remote_proxy.jobs.job import Job
from remote_proxy.running import SWEEP, Deliveries
from wire.messages import Request


def job(component: int, document: int = 1) -> Job:
    message = Request(component, document, "GET", "http://site.example/", b"")
    return Job.requested(message, [], None)


class Doing:
    """What brings a component: as the test says."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work

    async def run(self) -> None:
        await self._work()


class World:
    """Deliveries of which each does what the test says."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self.work = work
        self.failed: list[int] = []
        self.swept: list[set[int]] = []
        self.ended = 0
        self.deliveries = Deliveries(
            lambda job: Doing(self.work),
            failed=self.failed.append,
            sweep=self.swept.append,
            sending=lambda: [99],
        )

    def begin(self, component: int, document: int = 1) -> None:
        self.deliveries.begin(job(component, document), self.end)

    def end(self) -> None:
        self.ended += 1


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


async def at_once() -> None:
    pass


async def wrongly() -> None:
    raise RuntimeError("a defect")


def test_one_is_under_way_until_it_has_ended() -> None:
    async def whole() -> None:
        world = World(at_once)
        async with asyncio.TaskGroup() as world.deliveries.tasks:
            world.begin(1)
            assert 1 in world.deliveries and len(world.deliveries) == 1
        assert 1 not in world.deliveries
        assert (world.ended, world.failed) == (1, [])

    virtual_time.run(whole())


def test_a_defect_in_one_leaves_the_others_alone() -> None:
    async def whole() -> None:
        world = World(wrongly)
        async with asyncio.TaskGroup() as world.deliveries.tasks:
            world.begin(1)
            world.work = at_once
            world.begin(3)
        assert (world.ended, world.failed) == (2, [1])

    virtual_time.run(whole())


def test_a_cancelled_one_is_gone_at_once_and_counted_when_it_ends() -> None:
    async def whole() -> None:
        world = World(forever)
        async with asyncio.TaskGroup() as world.deliveries.tasks:
            world.begin(1)
            world.begin(3)
            world.deliveries.cancel(1)
            world.deliveries.cancel(5)  # never begun
            assert 1 not in world.deliveries and 3 in world.deliveries
            world.deliveries.cancel_all()
        assert (world.ended, world.failed) == (2, [])

    virtual_time.run(whole())


def test_a_document_knows_its_components_until_it_is_closed() -> None:
    async def whole() -> None:
        world = World(at_once)
        async with asyncio.TaskGroup() as world.deliveries.tasks:
            world.begin(1, document=1)
            world.begin(3, document=1)
            world.begin(5, document=5)
            world.deliveries.adopt(1, 2)
        assert world.deliveries.documents == {1: 3, 5: 1}
        assert world.deliveries.close_document(1) == {1, 2, 3}
        assert world.deliveries.close_document(1) == set()
        assert world.deliveries.documents == {5: 1}

    virtual_time.run(whole())


def test_what_was_delivered_is_forgotten_now_and_then_in_open_documents_too() -> None:
    async def whole() -> None:
        world = World(at_once)
        async with asyncio.TaskGroup() as world.deliveries.tasks:
            for number in range(SWEEP - 1):
                world.begin(2 * number + 1)
            world.deliveries.adopt(1, 99)
        assert world.swept == []
        async with asyncio.TaskGroup() as world.deliveries.tasks:
            world.begin(2 * SWEEP + 1)
        assert world.swept == [{99}]
        assert world.deliveries.close_document(1) == {99, 2 * SWEEP + 1}

    virtual_time.run(whole())
