"""Which path of several is taken for dead, in virtual time: one that brings something is not."""

from __future__ import annotations

import asyncio

import pytest

from emulation.memory.memory_paths import MemoryPaths
from tests.transport.spp_ends import link
from tests.transport.test_multipath import noise, run

THIN = link(name="thin", rate_down=48_000, rate_up=16_000, delay=0.05, queue=65_536)
LONG = link(name="long", rate_down=128_000, rate_up=32_000, delay=0.3, queue=262_144)


def test_a_path_whose_acknowledgements_wait_behind_data_is_not_doubted() -> None:
    """What began after a rest fills the queue for a quarter of a second, before it is spoken to."""

    async def scenario() -> None:
        world = MemoryPaths([THIN, LONG])
        near, far = world.links()
        for _ in range(20):  # the round trip is well known
            near.write(noise(50))
            await asyncio.sleep(0.3)
        far.write(noise(60_000))
        await asyncio.sleep(0.1)
        near.write(noise(200))
        answers = []
        while len(near.got) < 60_000:
            await asyncio.sleep(0.02)
            answers.append([path.answers for path in world.device.statistics()])
        assert len(answers) > 20
        assert all(one == [True, True] for one in answers)
        assert near.got == noise(60_000)
        world.close()

    run(scenario)


@pytest.mark.parametrize("down", [True, False])
def test_one_that_is_not_heard_any_more_is(down: bool) -> None:
    """Whether it swallows all, or only what goes up: what was asked for comes, then nothing."""

    async def scenario() -> None:
        world = MemoryPaths([THIN, LONG])
        near, far = world.links()
        await asyncio.sleep(6)
        far.write(noise(200_000))
        await asyncio.sleep(0.5)
        world.cut(0, down=down)
        for _ in range(30):
            near.write(noise(200))
            await asyncio.sleep(0.05)
        assert [path.answers for path in world.device.statistics()] == [False, True]
        await far.has(6_000)
        await near.has(200_000)
        assert near.got == noise(200_000)
        world.close()

    run(scenario)
