"""Texts before pictures where it is the remote itself that is short of time.

The tree sees to it that texts cross a link first. Where many pages come at once the event loop is
what everything waits for, and there a text would have its turn among a thousand steps of pictures.
So while the loop is late and texts are under way, pictures wait before they are asked for, and
before they are made denser. On a loop that is in time nobody waits.

Knows neither texts nor pictures. Times in seconds.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final

LATE: Final = 0.02
"""Seconds that one round of the loop takes where it is late: a text needs some ten of them."""
LOOK: Final = 0.02
"""Between two looks at the loop, while somebody waits."""
SOON: Final = 0.005
"""The same where the last look has found it in time."""
AT_ONCE: Final = 8
"""Who may go on after a look that found the loop in time, or no text under way, and who may come in
one round of the loop without waiting. Each takes .6 ms to be asked for, and a page of 120 pictures
had its text .05 s later by them."""
MOST: Final = 15.0
"""Nobody waits longer."""


class Rush:
    """Lets texts go first on one event loop. Devices that wait take turns, however many pictures
    each of them has."""

    def __init__(self) -> None:
        self._texts = 0
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """By device; whose turn is next comes first, and none is empty."""
        self._going = 0
        """How many have come in this round of the loop, and did not wait."""
        self._watching: asyncio.Task[None] | None = None
        self.waited = 0
        """How many have had to wait."""

    def begins(self) -> Callable[[], None]:
        """A text is under way until that is called, once."""
        self._texts += 1
        return self._ends

    def _ends(self) -> None:
        self._texts -= 1

    async def over(self, whose: str) -> None:
        """Until there is time for what is not text; at once where there is."""
        if not self._texts:
            return
        loop = asyncio.get_running_loop()
        if not self._waiting and self._going < AT_ONCE:
            began = loop.time()
            self._going += 1
            try:
                await asyncio.sleep(0)
            finally:
                self._going -= 1
            if loop.time() - began < LATE:
                return
        self.waited += 1
        waiting = loop.create_future()
        most = loop.call_later(MOST, _go_on, waiting)
        self._waiting.setdefault(whose, deque()).append(waiting)
        if self._watching is None:
            self._watching = loop.create_task(self._watch(), name="rush")
        try:
            await waiting
        finally:
            most.cancel()

    async def close(self) -> None:
        """Whoever waits goes on."""
        while self._waiting:
            self._next()
        if self._watching is not None:
            await self._watching

    async def _watch(self) -> None:
        """While somebody waits: let some go on whenever there is time."""
        clock, pause = asyncio.get_running_loop().time, SOON
        while self._waiting:
            began = clock()
            await asyncio.sleep(pause)
            late = clock() - began - pause >= LATE
            pause = LOOK if late else SOON
            if self._texts and late:
                continue
            going = 0
            while self._waiting and going < AT_ONCE:
                going += self._next()
        self._watching = None

    def _next(self) -> bool:
        """Whoever's turn it is goes on; whether he had still to wait."""
        whose, line = self._waiting.popitem(last=False)
        goes = _go_on(line.popleft())
        if line:
            self._waiting[whose] = line
        return goes


def _go_on(waiting: asyncio.Future[None]) -> bool:
    """Whether it had still to wait."""
    if waiting.done():
        return False
    waiting.set_result(None)
    return True
