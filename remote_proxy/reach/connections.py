"""Whose turn it is to use a connection: one device's requests, by server and in all.

HTTP/1.1 carries one answer at a time over a connection, so there are as many connections as answers
under way, and a server gets a bounded number of them. What stays open does not count among those:
streams of events, answers that wait for the slow link, servers that do not answer. Twelve of them
would else be the end of the site for this device. In all they count to their end. What is looked up
counts nowhere: a page of dead names would else hold every connection that there may be. Who waits
goes in order, and fails with a reason once nothing has moved for a while.

Must not know HTTP or sockets.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from dataclasses import dataclass, field
from itertools import count
from typing import Final, TypeVar

from remote_proxy.reach.failures import Failure, OriginError
from remote_proxy.reach.limits import in_words

UNANSWERED: Final = 20.0
"""Seconds after which a request that has no answer counts no more: a long poll, a dead server."""
STAYS: Final = 5.0
"""Seconds after which an answer that has begun counts no more: parts of pages are here by then."""

Server = tuple[str, str, int]
"""Scheme, host and port."""
T = TypeVar("T")


@dataclass(slots=True)
class _Line:
    """The waiting line for connections to one server."""

    counted: int = 0
    waiting: deque[tuple[int, asyncio.Future[None]]] = field(default_factory=deque)
    moved: float = 0.0
    """When one of it had its turn."""


class Turn:
    """One request's use of a connection."""

    def __init__(self, connections: Connections, server: Server) -> None:
        self._connections = connections
        self._server = server
        self._counted = True
        self._left = False
        self._gone = False
        """Whoever had it has left for good."""
        self._timer = self._count_until(UNANSWERED)

    async def behind(self, work: Awaitable[T]) -> T:
        """What comes of work that needs no connection: others have this turn until it is done.

        Raises OriginError where the next one takes too long, and what the work raises.
        """
        self._give_up()
        found = await work
        if not self._gone:
            await self._connections.wait_for_turn(self._server)
            self._counted, self._left = True, False
            self._timer = self._count_until(UNANSWERED)
            if self._gone:
                self._give_up()
        return found

    def answered(self, *, stays: bool) -> None:
        """The head of the answer is here. `stays`: what follows has no end that anybody waits
        for."""
        self._timer.cancel()
        if stays:
            self._count_no_more()
        elif self._counted and not self._left:
            self._timer = self._count_until(STAYS)

    def leave(self) -> None:
        """The connection is free, or gone. Harmless when repeated."""
        self._gone = True
        self._give_up()

    def _give_up(self) -> None:
        if self._left:
            return
        self._left = True
        self._timer.cancel()
        self._connections.freed(self._server, counted=self._counted, left=True)

    def _count_until(self, seconds: float) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(seconds, self._count_no_more)

    def _count_no_more(self) -> None:
        if self._counted and not self._left:
            self._counted = False
            self._connections.freed(self._server, counted=True, left=False)


class Connections:
    """The connections to origins that one device holds."""

    def __init__(self, *, per_server: int, total: int, patience: float) -> None:
        """0: no limit. `patience`: seconds without a turn for anybody in its line, after which who
        waits fails."""
        self._per_server = per_server
        self._total = total
        self._patience = patience
        self._used = 0
        self._lines: dict[Server, _Line] = {}
        self._serial = count()

    @property
    def idle(self) -> bool:
        """Nothing is under way, nobody waits, and nothing is remembered of any server."""
        return not self._used and not self._lines

    async def turn(self, server: Server) -> Turn:
        """A turn, once it is its own. Raises OriginError where that takes too long."""
        await self.wait_for_turn(server)
        return Turn(self, server)

    async def wait_for_turn(self, server: Server) -> None:
        """Until one more may use a connection; it counts from then on. Raises as `turn` does."""
        line = self._lines.setdefault(server, _Line())
        if line.waiting or not self._room(line):
            await self._wait(server, line)
        else:
            self._take(line)

    def freed(self, server: Server, *, counted: bool, left: bool) -> None:
        """One of the server's counts no more (`counted`: it did), or has `left` altogether."""
        line = self._lines.get(server)
        if line is not None and counted:
            line.counted -= 1
        self._used -= left
        self._serve()
        self._tidy(server)

    async def _wait(self, server: Server, line: _Line) -> None:
        loop = asyncio.get_running_loop()
        mine: asyncio.Future[None] = loop.create_future()
        entry = (next(self._serial), mine)
        line.waiting.append(entry)
        asked = loop.time()
        try:
            while not mine.done():
                left = max(asked, line.moved) + self._patience - loop.time()
                if left <= 0:
                    raise self._refusal(server, line)
                await asyncio.wait((mine,), timeout=left)
        except BaseException:
            if mine.done():  # it was given at the same moment
                self.freed(server, counted=True, left=True)
            else:
                line.waiting.remove(entry)
                self._tidy(server)
            raise

    def _room(self, line: _Line) -> bool:
        return not (self._total and self._used >= self._total) and not (
            self._per_server and line.counted >= self._per_server
        )

    def _take(self, line: _Line) -> None:
        line.counted += 1
        self._used += 1
        line.moved = asyncio.get_running_loop().time()

    def _serve(self) -> None:
        """Give turns to those who have waited longest of those for whom there is room."""
        while True:
            ready = [one for one in self._lines.values() if one.waiting and self._room(one)]
            if not ready:
                return
            line = min(ready, key=lambda one: one.waiting[0][0])
            _, turn = line.waiting.popleft()
            self._take(line)
            turn.set_result(None)

    def _tidy(self, server: Server) -> None:
        line = self._lines.get(server)
        if line is not None and not line.counted and not line.waiting:
            del self._lines[server]

    def _refusal(self, server: Server, line: _Line) -> OriginError:
        host, waited = server[1], in_words(self._patience)
        if self._per_server and line.counted >= self._per_server:
            what = (
                f"{line.counted} of this device's requests to {host} are under way, which is its "
                "limit for one server (remote.max_connections_per_host)"
            )
        else:
            what = (
                f"this device has {self._used} connections open, which is its limit "
                f"(remote.max_connections), and {host} would need one more"
            )
        return OriginError(
            Failure.BUSY,
            f"{what}. None has ended for {waited}; it may ask again when one has.",
        )
