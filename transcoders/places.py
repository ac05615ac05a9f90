"""A bounded number of places and a line for them, in which short work may overtake long work.

First come, first served, but that who says it may be overtaken stands where it would stand had it
come later by so much: so it goes on, however much short work comes. Knows nothing of the work.
"""

from __future__ import annotations

import asyncio
import heapq
from itertools import count


class Places:
    """Like asyncio.Semaphore, whose line is first in, first out."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._line: list[tuple[float, int, asyncio.Future[None]]] = []
        self._serial = count()

    def locked(self) -> bool:
        """Whether who comes now has to wait."""
        return self._free == 0

    async def acquire(self, *, yields: float = 0.0) -> None:
        """Returns with a place. `yields`: what comes less than so many seconds later goes first,
        unless it yields, too."""
        if self._free:
            self._free -= 1
            return
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._line, (loop.time() + yields, next(self._serial), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was given one at the same moment
                self.release()
            raise

    def release(self) -> None:
        """The place is free: for the next in line, if there is one."""
        while self._line:
            _, _, turn = heapq.heappop(self._line)
            if not turn.done():  # else it has left
                turn.set_result(None)
                return
        self._free += 1
