"""Connections to origins, kept apart by device.

A device that takes all of its connections takes none of another's; and an origin that ties a login
to a connection (NTLM, RFC 4559) never meets one device on another's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import aiohttp

from remote_proxy.reach.connections import Connections

Opener = Callable[[str, Connections, bool], aiohttp.ClientSession]


class Pools:
    """aiohttp's sessions by device, opened when first needed."""

    def __init__(self, open_one: Opener, connections: Callable[[], Connections]) -> None:
        """`open_one` gets the device, its connections, and whether they may be used again."""
        self._open_one = open_one
        self._new_connections = connections
        self._connections: dict[str, Connections] = {}
        self._open: dict[tuple[str, bool], aiohttp.ClientSession] = {}
        self._holders: Counter[str] = Counter()

    def session(self, device: str, *, reuse: bool) -> aiohttp.ClientSession:
        """The session for one sort of a device's requests."""
        key = (device, reuse)
        if key not in self._open:
            if device not in self._connections:
                self._connections[device] = self._new_connections()
            self._open[key] = self._open_one(device, self._connections[device], reuse)
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
        if device not in self._holders:  # else it has come back meanwhile
            self._connections.pop(device, None)

    async def close(self) -> None:
        """Close them all."""
        while self._open:
            await self._open.popitem()[1].close()
