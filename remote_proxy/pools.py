"""Connections to origins, kept apart by device.

A device that takes all of its connections takes none of another's; and an origin that ties a login
to a connection (NTLM, RFC 4559) never meets one device on another's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import aiohttp


class Pools:
    """aiohttp's sessions by device, opened when first needed."""

    def __init__(self, open_one: Callable[[bool], aiohttp.ClientSession]) -> None:
        """`open_one` gets whether its connections may be used again."""
        self._open_one = open_one
        self._open: dict[tuple[str, bool], aiohttp.ClientSession] = {}
        self._holders: Counter[str] = Counter()

    def session(self, device: str, *, reuse: bool) -> aiohttp.ClientSession:
        """The session for one sort of a device's requests."""
        key = (device, reuse)
        if key not in self._open:
            self._open[key] = self._open_one(reuse)
        return self._open[key]

    def hold(self, device: str) -> None:
        """The device has one link more."""
        self._holders[device] += 1

    async def release(self, device: str) -> None:
        """The device has one link less; with its last one its connections close."""
        self._holders[device] -= 1
        if self._holders[device] > 0:
            return
        del self._holders[device]
        for reuse in (True, False):
            session = self._open.pop((device, reuse), None)
            if session is not None:
                await session.close()

    async def close(self) -> None:
        """Close them all."""
        while self._open:
            await self._open.popitem()[1].close()
