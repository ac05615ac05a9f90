"""A store in this process's memory, for its own devices alone."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from remote_proxy.store.store import MAX_VALUE, StoreStatistics

_OVERHEAD: Final = 256
"""Bytes that an entry takes besides its own."""
_CLAIMS: Final = 256
"""Claims from which on those that are over are looked for."""


class MemoryStore:
    """Keeps what was used last, up to `limit` bytes."""

    def __init__(self, limit: int, *, now: Callable[[], float] = time.monotonic) -> None:
        """`now`: seconds, which only go on."""
        self._limit = limit
        self._now = now
        self._values: OrderedDict[bytes, tuple[bytes, float]] = OrderedDict()
        self._claims: dict[bytes, float] = {}
        self._found = self._missed = 0
        self.used = 0
        """Bytes that are kept."""

    async def get(self, key: bytes) -> bytes | None:
        value, until = self._values.get(key, (b"", 0.0))
        if until <= self._now():
            self._drop(key)
            self._missed += 1
            return None
        self._values.move_to_end(key)
        self._found += 1
        return value

    async def put(self, key: bytes, value: bytes, *, seconds: float) -> None:
        self._drop(key)
        if len(value) > min(MAX_VALUE, self._limit) or seconds <= 0:
            return
        self._values[key] = (value, self._now() + seconds)
        self.used += len(value) + _OVERHEAD
        while self.used > self._limit:
            self._drop(next(iter(self._values)))

    async def forget(self, key: bytes) -> None:
        self._drop(key)

    async def claim(self, key: bytes, *, seconds: float) -> bool:
        if await self.claimed(key):
            return False
        now = self._now()
        if len(self._claims) >= _CLAIMS:
            self._claims = {one: until for one, until in self._claims.items() if until > now}
        self._claims[key] = now + seconds
        return True

    async def release(self, key: bytes) -> None:
        self._claims.pop(key, None)

    async def claimed(self, key: bytes) -> bool:
        return self._claims.get(key, 0.0) > self._now()

    async def close(self) -> None:
        self._values.clear()
        self.used = 0

    def statistics(self) -> StoreStatistics:
        return StoreStatistics("memory", True, self._found, self._missed, 0)

    def _drop(self, key: bytes) -> None:
        dropped = self._values.pop(key, None)
        if dropped is not None:
            self.used -= len(dropped[0]) + _OVERHEAD
