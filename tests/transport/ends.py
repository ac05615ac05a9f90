"""Ends of links in tests: something to send, and something that keeps what comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from transport.link.interface import LinkError
from wire.frames import Control, Data


class Queue:
    """An outbox: what is put in leaves in order, urgent frames first and also when asked so."""

    def __init__(self, quantum: int = 256) -> None:
        self.quantum = quantum
        self.frames: list[Data | Control] = []
        self.urgent: list[Data | Control] = []
        self.taken = 0

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        queue = self.urgent or ([] if urgent else self.frames)
        if not queue:
            return None
        self.taken += 1
        return queue.pop(0)


class Arrivals:
    """An inbox that keeps everything, and lets a test wait for a number of frames."""

    def __init__(self) -> None:
        self.frames: list[Data | Control] = []
        self.closed: list[LinkError | None] = []
        self._changed = asyncio.Event()

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        assert not self.closed
        assert frames
        self.frames += frames
        self._changed.set()

    def link_closed(self, error: LinkError | None) -> None:
        self.closed.append(error)
        self._changed.set()

    async def wait(self, until: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not until():
                self._changed.clear()
                await self._changed.wait()

    async def count(self, frames: int) -> None:
        await self.wait(lambda: len(self.frames) >= frames)

    async def end(self) -> LinkError | None:
        await self.wait(lambda: bool(self.closed))
        return self.closed[0]
