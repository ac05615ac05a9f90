"""A tunnel's far end whose first bytes are awaited before anybody reads them."""

from __future__ import annotations

import asyncio

from local_proxy.http.model import Duplex


class Awaited:
    """The same far end (implements local_proxy.http.model.Duplex). Make it within the loop."""

    def __init__(self, far: Duplex) -> None:
        self._far = far
        self.first = asyncio.create_task(far.read())
        """Done when the server has spoken, or ended."""
        self._taken = False

    async def read(self) -> bytes:
        if not self._taken:
            self._taken = True
            return await self.first
        return await self._far.read()

    async def write(self, data: bytes) -> None:
        await self._far.write(data)

    async def end(self) -> None:
        await self._far.end()

    async def close(self) -> None:
        self.first.cancel()
        await asyncio.wait((self.first,))
        await self._far.close()
