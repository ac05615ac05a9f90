"""A body that is taken from its origin as fast as it comes, to be kept, and read meanwhile.

Whoever waits for the same bytes does not wait for the slow link of the device that asked first.
Bounded: a body that grows beyond what is kept goes on as any other, no faster than it is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Final

from remote_proxy.origin.response import CHUNK

MAX_BODY: Final = 8 << 20
"""Bytes of a body that is kept."""


class PullingRoom:
    """Bytes that all bodies that are being pulled may take together."""

    def __init__(self, limit: int = 64 << 20) -> None:
        self._left = limit

    def take(self, amount: int) -> bool:
        if amount > self._left:
            return False
        self._left -= amount
        return True

    def give(self, amount: int) -> None:
        self._left += amount


class PulledBody:
    """One body, from `run` to its end or to `close`."""

    def __init__(
        self,
        body: AsyncIterator[bytes],
        room: PullingRoom,
        *,
        settled: Callable[[bytes | None], None],
        wanted: Callable[[], bool],
    ) -> None:
        """`settled` is told all of it once that is here; None: it is not to be kept. `wanted`:
        whether others wait for it, so that it comes though its reader has left."""
        self._body = body
        self._room = room
        self._settled: Callable[[bytes | None], None] | None = settled
        self._wanted = wanted
        self._data = bytearray()
        self._gone = 0
        """Bytes that were read and are not in `_data` any more."""
        self._taken = 0
        """Of the room."""
        self._error: BaseException | None = None
        self._ended = False
        self._closed = False
        self._came = asyncio.Event()
        self._read = asyncio.Event()

    async def run(self) -> None:
        """Take it from its origin. Errors come to whoever reads."""
        try:
            async for chunk in self._body:
                self._data += chunk
                self._keep(len(chunk))
                self._came.set()
                while self._settled is None and self._data and not self._closed:
                    self._read.clear()
                    await self._read.wait()
                if self._closed and not self._wanted():
                    self._settle(None)
                    return
        except BaseException as error:
            self._error = error
            self._settle(None)
            if not isinstance(error, Exception):
                raise
        else:
            self._settle(bytes(self._data))
        finally:
            self._ended = True
            self._came.set()

    async def read(self) -> AsyncGenerator[bytes, None]:
        """All of it, as it comes, once. Raises what its origin's body raises."""
        at = 0
        try:
            while True:
                chunk = bytes(self._data[at - self._gone : at - self._gone + CHUNK])
                at += len(chunk)
                if self._settled is None and chunk and not self._ended:
                    del self._data[: at - self._gone]
                    self._gone = at
                if chunk:
                    yield chunk
                    self._read.set()
                    continue
                if self._ended:
                    break
                self._came.clear()
                await self._came.wait()
            if self._error is not None:
                raise self._error
        finally:
            self._read.set()

    def close(self) -> bool:
        """Its reader has left: it comes to its end only for others who wait for it. Whether any do;
        else `run` may be cancelled, for its origin may be silent."""
        self._closed = True
        self._read.set()
        return self._wanted()

    def _keep(self, more: int) -> None:
        """Room for what has come; else it is not kept."""
        if self._settled is None:
            return
        if len(self._data) > MAX_BODY or not self._room.take(more):
            self._settle(None)
        else:
            self._taken += more

    def _settle(self, data: bytes | None) -> None:
        settled, self._settled = self._settled, None
        self._room.give(self._taken)
        self._taken = 0
        if settled is not None:
            settled(data)
