"""Reads texts ahead of their coding, where somebody waits to know what is in them.

Dense coding takes a second a megabyte, and a text stops where the link can't take more of it. The
bound holds for all texts of a session together; each may always have one piece. Must not know: what
is looked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress
from typing import Final

LIMIT: Final = 4 << 20
"""Bytes that are read and not coded yet."""


class ReadAhead:
    """The texts of one session."""

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit
        self.held = 0
        """Bytes."""
        self._drained = asyncio.Event()

    async def stream(
        self, body: AsyncIterator[bytes], look: Callable[[bytes], None], over: Callable[[], None]
    ) -> AsyncGenerator[bytes, None]:
        """The body, at its reader's pace; `look` has each piece as soon as it is there, and `over`
        is called at its end. Raises what the body raises, behind what has come of it."""
        waiting: asyncio.Queue[bytes | None] = asyncio.Queue()

        async def fill() -> None:
            async for piece in body:
                look(piece)
                waiting.put_nowait(piece)
                self.held += len(piece)
                while self.held >= self._limit and waiting.qsize():
                    self._drained.clear()
                    await self._drained.wait()
            over()

        filling = asyncio.ensure_future(fill())
        filling.add_done_callback(lambda _: waiting.put_nowait(None))
        try:
            while (piece := await waiting.get()) is not None:
                self._leave(piece)
                yield piece
            await filling
        finally:
            filling.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await filling
            while waiting.qsize():
                self._leave(waiting.get_nowait() or b"")

    def _leave(self, piece: bytes) -> None:
        self.held -= len(piece)
        self._drained.set()
