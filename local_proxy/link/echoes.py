"""How long the remote itself takes to answer: round trips of a session's own words.

TCP's own are those to whatever answers for the remote: a balancer, a tunnel's end, the accelerator
that a satellite's modem has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

NOBODY: Final = 0
"""Token of a ping for whose answer nobody waits."""
_TOKENS: Final = 1 << 16
"""So many may be waited for."""


class Echoes:
    """Answers of one session that somebody waits for."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._token = NOBODY

    async def wait(self, ping: Callable[[int], None]) -> float:
        """Seconds until what `ping` says with a token is answered. Whoever waits sets a limit."""
        loop = asyncio.get_running_loop()
        self._token = self._token % _TOKENS + 1
        token, began = self._token, loop.time()
        self._waiting[token] = loop.create_future()
        try:
            ping(token)
            await self._waiting[token]
        finally:
            del self._waiting[token]
        return loop.time() - began

    def came(self, token: int) -> None:
        """An answer with that token. One that nobody waits for says nothing."""
        waiting = self._waiting.get(token)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)
