"""Links over several paths, in virtual time: what they carry after rests, and what they tell."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from emulation.lines.profiles import Profile
from emulation.memory.memory_paths import MemoryPaths
from tests.transport.test_multipath import QUICK, SLOW, run
from transport.link.interface import LinkError
from transport.stream.stream_link import StreamLink
from wire.frames import Control, Data

SIZE = 1_500_000
GOODPUT = 0.945
"""Of a path's rate; the rest are headers."""


class Bulk:
    """Sends so many bytes of one component, and counts what comes."""

    def __init__(self) -> None:
        self.quantum = 1_024
        self.left = self.got = 0
        self.closed: list[LinkError | None] = []
        self._more = asyncio.Event()

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        size = min(self.quantum, self.left)
        self.left -= size
        return Data(3, bytes(size)) if size else None

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        self.got += sum(len(one.payload) for one in frames if isinstance(one, Data))
        self._more.set()

    def link_closed(self, error: LinkError | None) -> None:
        self.closed.append(error)

    async def has(self, size: int) -> None:
        while self.got < size:
            self._more.clear()
            await self._more.wait()


@pytest.mark.parametrize("paths", [[QUICK], [QUICK, SLOW]])
def test_each_load_after_a_rest_fills_the_paths_and_the_rate_that_is_told_is_true(
    paths: list[Profile],
) -> None:
    goodput = GOODPUT * sum(one.rate_down for one in paths)

    async def scenario() -> None:
        world, loop = MemoryPaths(paths), asyncio.get_running_loop()
        near, far = StreamLink(world.device), StreamLink(world.remote)
        device, remote = Bulk(), Bulk()
        near.start(device, device)
        far.start(remote, remote)
        for load in range(4 * len(paths)):
            await asyncio.sleep(2)
            began = loop.time()
            remote.left = SIZE
            far.wake()
            await device.has((load + 1) * SIZE)
            took = loop.time() - began
            statistics = far.statistics()
            estimate = statistics.outgoing
            assert estimate is not None
            assert estimate.source == "requests"
            remote.quantum = statistics.chunks.quantum(estimate.rate)
            # The slow path has to search, and then to shrink its queue, which takes some seconds.
            if load or len(paths) == 1:
                assert took < 1.12 * SIZE / goodput
                assert estimate.rate == pytest.approx(goodput, rel=0.06 if len(paths) == 1 else 0.1)
        assert not device.closed + remote.closed
        assert [path.quickest for path in near.statistics().paths] == [True, False][: len(paths)]
        near.close()
        await asyncio.sleep(5)
        assert device.closed == [None]

    run(scenario)
