"""A client's byte stream without a socket: the test says what comes, and sees what was written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class MemoryClient:
    """A client of whatever kind: what its ClientStream does, noted."""

    def __init__(self, *pieces: bytes, ended: bool = False) -> None:
        """`pieces`: what has come, each as one read gives it. `ended`: nothing more will."""
        self.pieces = list(pieces)
        self.written = bytearray()
        self.on_leave: Callable[[], object] | None = None
        self.local_address: tuple[str, int] | None = ("127.0.0.1", 8118)
        self.peer_address: tuple[str, int] | None = ("127.0.0.1", 50_000)
        self.ended = ended
        self.lost = False
        self.half_closed = self.closed = self.aborted = False
        self.blocked = asyncio.Event()
        """Clear: writes wait."""
        self.blocked.set()
        self._news = asyncio.Event()

    def feed(self, data: bytes) -> None:
        self.pieces.append(data)
        self._news.set()

    def leave(self) -> None:
        """The client closes its side."""
        self.ended = True
        self._news.set()
        if self.on_leave is not None:
            on_leave, self.on_leave = self.on_leave, None
            on_leave()

    async def read(self) -> bytes:
        while not self.pieces and not self.ended:
            self._news.clear()
            await self._news.wait()
        return self.pieces.pop(0) if self.pieces else b""

    async def write(self, data: bytes) -> None:
        if self.lost:
            raise ConnectionResetError("the client has gone")
        await self.blocked.wait()
        self.written += data

    def end(self, last: bytes = b"") -> None:
        self.written += last
        self.half_closed = True

    def close(self, last: bytes = b"") -> None:
        self.written += last
        self.closed = True

    def abort(self) -> None:
        self.aborted = True
