"""Tests of several paths in memory: what is cut swallows, what is mended carries again."""

from __future__ import annotations

import asyncio

from emulation.lines.profiles import Profile
from emulation.memory.memory_paths import MemoryPaths
from emulation.memory.virtual_time import run

PATH = Profile(name="one", about="", rate_down=50_000.0, rate_up=20_000.0, delay=0.05, queue=30_000)


def test_a_path_that_is_cut_swallows_until_it_is_mended() -> None:
    async def scenario() -> None:
        paths = MemoryPaths([PATH])
        near, far = paths.links()
        await asyncio.sleep(1)
        paths.cut(0)
        far.write(b"lost at first")
        await asyncio.sleep(3)
        assert not near.got
        paths.mend(0)
        await near.has(13)
        assert near.got == b"lost at first"
        paths.close()

    run(scenario())


def test_an_interface_that_leaves_takes_its_path_along_and_the_last_the_connection() -> None:
    async def scenario() -> None:
        paths = MemoryPaths([PATH, PATH])
        near, _ = paths.links()
        await asyncio.sleep(1)
        paths.leave(0)
        await asyncio.sleep(0)
        assert [path.number for path in paths.device.paths] == [1]
        assert near.error is None
        paths.leave(1)
        await near.has(1)
        assert near.error is not None
        paths.close()

    run(scenario())
