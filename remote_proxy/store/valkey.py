"""A store in Valkey or Redis, for all remotes that know its address.

redis-py talks to it. A server that does not answer is not asked again for a moment, so that nobody
waits for it twice; when it is back it is used again. Sources: redis.io's SET (NX, PX), and
`maxmemory-policy allkeys-lru`, by which it forgets (docs/fleet.md).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, Final, TypeVar

import structlog

from redaction import without_queries
from remote_proxy.store.store import MAX_VALUE, StoreStatistics

PATIENCE: Final = 0.5
"""Seconds for one question. A store is near: it answers in a thousandth of that."""
REST: Final = 2.0
"""Seconds for which one that did not answer is left alone."""
CONNECTIONS: Final = 16
_PREFIX: Final = b"sluice:"
_CLAIM: Final = b"sluice:claim:"
_COUNT: Final = b"sluice:count:"
_DIGITS: Final = 20
"""Of a count that can be one."""
_log = structlog.get_logger("sluice.remote")
T = TypeVar("T")


class NoSuchStore(Exception):
    """The address can't be one, or what talks to it is not installed."""


class ValkeyStore:
    """One server, whoever else uses it."""

    def __init__(self, url: str, *, now: Callable[[], float] = time.monotonic) -> None:
        """`url`: redis://, rediss:// (TLS) or unix://, with user and password. Raises NoSuchStore.

        It need not be there yet. `now`: seconds, which only go on.
        """
        redis: Any = import_module("redis.asyncio")  # memory that only who has a store needs
        self._failures: tuple[type[Exception], ...] = (redis.RedisError, OSError, TimeoutError)
        try:
            pool = redis.BlockingConnectionPool.from_url(
                url,
                max_connections=CONNECTIONS,
                timeout=PATIENCE,
                socket_timeout=PATIENCE,
                socket_connect_timeout=PATIENCE,
                health_check_interval=0,
                retry_on_error=[],
            )
        except ValueError as error:
            raise NoSuchStore(f"remote.store: {error}") from error
        self._client = redis.Redis(connection_pool=pool)
        self._where = without_queries(url)
        self._now = now
        self._until = 0.0
        self._answers = True
        self._found = self._missed = self._failed = 0

    async def get(self, key: bytes) -> bytes | None:
        found = await self._ask(lambda: self._client.get(_PREFIX + key), None)
        if not isinstance(found, bytes):
            self._missed += 1
            return None
        self._found += 1
        return found

    async def put(self, key: bytes, value: bytes, *, seconds: float) -> None:
        if len(value) > MAX_VALUE or seconds <= 0:
            await self.forget(key)
            return
        kept = max(1, int(1000 * seconds))
        await self._ask(lambda: self._client.set(_PREFIX + key, value, px=kept), None)

    async def forget(self, key: bytes) -> None:
        await self._ask(lambda: self._client.delete(_PREFIX + key), 0)

    async def claim(self, key: bytes, *, seconds: float) -> bool:
        kept = max(1, int(1000 * seconds))
        asked = lambda: self._client.set(_CLAIM + key, b"1", nx=True, px=kept)  # noqa: E731
        return bool(await self._ask(asked, True))

    async def release(self, key: bytes) -> None:
        await self._ask(lambda: self._client.delete(_CLAIM + key), 0)

    async def claimed(self, key: bytes) -> bool:
        return bool(await self._ask(lambda: self._client.exists(_CLAIM + key), 0))

    async def tell(
        self, key: bytes, who: str, count: int, *, seconds: float
    ) -> tuple[dict[str, int], float] | None:
        """What each has counted under that name, and the seconds until all of it is forgotten,
        `seconds` after the first; None: nobody knows. Whoever has counted nothing only asks."""

        async def asked() -> list[Any]:
            pipe = self._client.pipeline(transaction=True)
            if count:
                pipe.hset(_COUNT + key, who, count)
                pipe.pexpire(_COUNT + key, int(1000 * seconds), nx=True)
            pipe.hgetall(_COUNT + key)
            pipe.pttl(_COUNT + key)
            found: list[Any] = await pipe.execute()
            return found

        found: list[Any] = await self._ask(asked, [])
        if not found:
            return None
        counts = {
            one.decode("ascii", "replace"): int(said)
            for one, said in found[-2].items()
            if said.isdigit() and len(said) < _DIGITS
        }
        return counts, max(0.0, found[-1] / 1000)

    async def close(self) -> None:
        await self._client.aclose(close_connection_pool=True)

    def statistics(self) -> StoreStatistics:
        return StoreStatistics("valkey", self._answers, self._found, self._missed, self._failed)

    async def _ask(self, question: Callable[[], Awaitable[T]], otherwise: T) -> T:
        if self._now() < self._until:
            return otherwise
        try:
            answer = await question()
        except self._failures as error:
            self._failed += 1
            self._until = self._now() + REST
            if self._answers:
                self._answers = False
                _log.warning("the store does not answer", store=self._where, why=str(error))
            return otherwise
        if not self._answers:
            self._answers = True
            _log.info("the store answers again", store=self._where)
        return answer
