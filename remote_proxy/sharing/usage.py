"""Counts a device's day at all remotes that share a store, so that none of them is a new allowance.

Each says what has passed through it, and hears what has through the others. The day is the store's:
it begins with the first byte anywhere. A store that forgets, or is away, leaves each remote with
its own count, which it says again.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Final, Protocol

from remote_proxy.reach.limits import DAY, Devices
from remote_proxy.store.store import name

EVERY: Final = 1.0
"""Seconds between two looks: by what passes in two of these a limit can be exceeded."""


class SharedCounts(Protocol):
    """Where remotes tell each other what they have counted."""

    async def tell(
        self, key: bytes, who: str, count: int, *, seconds: float
    ) -> tuple[dict[str, int], float] | None: ...


class SharedUsage:
    """One remote's part of it."""

    def __init__(
        self,
        devices: Devices,
        counts: SharedCounts,
        *,
        whose: bytes = b"",
        now: Callable[[], float] | None = None,
    ) -> None:
        """`whose`: tells these remotes' devices from those of others with the same names in one
        store. `now`: seconds as whoever counts has them; the loop's unless given."""
        self._whose = whose
        self._devices = devices
        self._counts = counts
        self._now = now or asyncio.get_running_loop().time
        self._own = secrets.token_hex(8)
        """This process, among others and those before it."""
        self._told: dict[str, int] = {}

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        """Say what is new, and hear of devices that are here."""
        for device, usage in self._devices.each():
            now = self._now()  # so that its day ends here no later than at the store
            moved = usage.moved(now=now)
            if usage.idle and self._told.get(device, 0) == moved:
                continue
            key = name("usage 1", self._whose, device)
            found = await self._counts.tell(key, self._own, moved, seconds=DAY)
            if found is None:
                return
            self._told[device] = moved
            counts, left = found
            others = sum(count for one, count in counts.items() if one != self._own)
            if counts and left:
                usage.elsewhere(others, left=left, now=now)
        known = {device for device, _ in self._devices.each()}
        self._told = {device: moved for device, moved in self._told.items() if device in known}
