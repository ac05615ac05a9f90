"""Bytes of one component for one reader: a request's body, either direction of a tunnel."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from wire.credit import CreditWindows, ReceiveCredit
from wire.errors import PeerError


class StreamCut(Exception):
    """The sender gave the component up before its end."""


class Incoming:
    """A bounded queue of bytes: what the reader has not taken, the sender has no credit for."""

    def __init__(
        self, give_credit: Callable[[int], None], windows: CreditWindows | None = None
    ) -> None:
        """`windows`: its link's."""
        self._give_credit = give_credit
        self._windows = windows
        self._credit = ReceiveCredit()
        self._chunks: deque[bytes] = deque()
        self._ended = False
        self._cut = False
        self._changed = asyncio.Event()

    def arrive(self, data: bytes, *, last: bool) -> None:
        """Bytes from the link. Raises PeerError beyond the credit given or after the end."""
        if self._ended:
            raise PeerError("bytes of a component after the last ones")
        self._credit.arrive(len(data))
        if data:
            self._chunks.append(data)
        self._ended = last
        self._changed.set()

    def cut(self) -> None:
        """No more will come; the reader must not take what came for the whole."""
        self._cut = True
        self._changed.set()

    async def read(self) -> AsyncIterator[bytes]:
        """The bytes as they come. Raises StreamCut if they end early."""
        while True:
            if self._cut:
                raise StreamCut("the sender gave up before the end")
            if self._chunks:
                chunk = self._chunks.popleft()
                yield chunk
                if more := self._credit.consume(len(chunk), self._windows):
                    self._give_credit(more)
            elif self._ended:
                return
            else:
                self._changed.clear()
                await self._changed.wait()
