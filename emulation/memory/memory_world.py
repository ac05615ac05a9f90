"""Two ends in one process, for virtual time: links instead of sockets.

async with emulate(profile("384k"), backend="memory") as world:
    near, far = world.links()
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, NoReturn

from emulation.memory.memory import LinkModel, MemoryLink, memory_links
from emulation.relay.relay_settings import Address
from emulation.worlds.cables import Cable, NoBackend, WorldStatistics
from emulation.worlds.hosts import HERE, EmulatedHost


class MemoryWorld:
    """Implements emulation.worlds.cables.World, but for what needs sockets."""

    backend: Final = "memory"
    near: Final = HERE
    far: Final = HERE

    def __init__(self, cables: Sequence[Cable], *, seed: int) -> None:
        self.cables = cables
        self.hosts: Mapping[str, EmulatedHost] = {
            end: HERE for one in cables for end in (one.near, one.far)
        }
        self._model = LinkModel.of(cables[0].profile, seed=seed)
        self._near, self._far = memory_links(self._model)

    def links(self) -> tuple[MemoryLink, MemoryLink]:
        """The near and the far end."""
        return self._near, self._far

    async def reach(self, address: Address) -> NoReturn:
        raise NoBackend("nothing listens in memory: use `links`")

    def set_rate(
        self, *, up: float | None = None, down: float | None = None, path: int = 0
    ) -> None:
        for rate, end in ((up, self._near), (down, self._far)):
            if rate is not None:
                end.outgoing.set_rate(rate)

    def rewind(self) -> None:
        self._near.outgoing.rewind()
        self._far.outgoing.rewind()

    def statistics(self, path: int | None = None) -> WorldStatistics:
        up, down = self._near.outgoing.statistics(), self._far.outgoing.statistics()
        return WorldStatistics(
            bytes_up=up.carried,
            bytes_down=down.carried,
            connections=1,
            dropped_up=up.dropped_packets,
            dropped_down=down.dropped_packets,
            lost_up=up.lost,
            lost_down=down.lost,
            queued_up=up.backlog,
            queued_down=down.backlog,
            peak_queued_up=up.peak_backlog,
            peak_queued_down=down.peak_backlog,
        )


@asynccontextmanager
async def opened(cables: Sequence[Cable], *, seed: int) -> AsyncIterator[MemoryWorld]:
    """The backend. Raises NoBackend for more than one path."""
    if len(cables) > 1:
        raise NoBackend("in memory there is one path")
    yield MemoryWorld(cables, seed=seed)
