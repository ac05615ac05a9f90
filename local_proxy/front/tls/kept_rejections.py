"""Keeps, from one run to the next, which clients do not take our certificates.

Between local_proxy/front/tls/rejections.py, which learns, and local_proxy/kept/store.py, which
keeps. `sluice trust`, another process, makes all of it void: before a tunnel is left opaque for
what was learnt, the file is asked whether that has happened. A file that can't be had never harms
the proxy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec
import structlog

from local_proxy.front.tls.rejections import MAX_CLIENTS, Lesson, Rejections
from local_proxy.kept.sqlite_file import Unavailable
from local_proxy.kept.store import LocalStore
from local_proxy.kept.threads import STORE
from local_proxy.kept.wall_clock import wall_clock
from malformed import MALFORMED

PERIOD: Final = 20.0
"""Seconds between two batches."""
LOOK: Final = 1.0
"""Seconds at least between two questions to the file."""
_log = structlog.get_logger("sluice.local")


class Lessons:
    """For one local proxy and its authority."""

    def __init__(
        self,
        rejections: Rejections,
        store: LocalStore | None,
        *,
        authority: str,
        now: Callable[[], float],
        clock: Callable[[], float] = wall_clock,
    ) -> None:
        """`store` None: nothing is kept. `authority` names whose certificates these are.

        `now`: seconds, as `rejections` counts; `clock`: seconds since 1970, across runs.
        """
        self._rejections = rejections
        self._store = store
        self._authority = authority
        self._now = now
        self._clock = clock
        self._forgotten: int | None = None
        """How often the file had forgotten when it was asked last."""
        self._looked_at = float("-inf")
        self._pending: dict[str, tuple[float, Lesson]] = {}
        self._turn = asyncio.Lock()

    async def recall(self) -> None:
        """What earlier runs learnt."""
        if self._store is None:
            return
        try:
            self._forgotten, rows = await STORE.run(self._store.lessons, self._authority)
        except Unavailable as error:
            _log.warning("what was learnt of clients can't be read", why=str(error))
            return
        for client, at, encoded in rows:
            try:
                lesson = msgspec.json.decode(encoded, type=Lesson)
            except MALFORMED:  # it will be learnt again
                continue
            self._rejections.recall(client, lesson, age=self._clock() - at, now=self._now())

    async def run(self) -> None:
        """Write now and then, until cancelled."""
        while True:
            await asyncio.sleep(PERIOD)
            await self.flush()

    async def flush(self) -> None:
        """Write what is new; what can't be written waits on."""
        if self._store is None:
            return
        async with self._turn:
            new = self._rejections.lessons(now=self._now())
            self._pending |= {client: (self._clock(), lesson) for client, lesson in new.items()}
            while len(self._pending) > MAX_CLIENTS:
                del self._pending[next(iter(self._pending))]
            if not self._pending:
                return
            rows = [
                (client, at, msgspec.json.encode(lesson).decode())
                for client, (at, lesson) in self._pending.items()
            ]
            try:
                if self._forgotten is None:
                    self._forgotten = await STORE.run(self._store.forgotten)
                kept = await STORE.run(
                    self._store.learn, self._authority, rows, forgotten=self._forgotten
                )
            except Unavailable as error:
                _log.info("what was learnt of clients can't be written for now", why=str(error))
                return
            self._pending.clear()
        if not kept:
            await self.look()

    async def look(self) -> None:
        """Has somebody had all of it forgotten? Asked no more than once in LOOK seconds."""
        if self._store is None or self._now() - self._looked_at < LOOK:
            return
        self._looked_at = self._now()
        try:
            forgotten = await STORE.run(self._store.forgotten)
        except Unavailable:
            return
        if forgotten != self._forgotten:
            self._forgotten = forgotten
            self._forget()

    async def forget(self) -> None:
        """Try everybody again. Raises Unavailable if it holds for this run alone."""
        self._forget()
        if self._store is not None:
            async with self._turn:
                self._forgotten = await STORE.run(self._store.forget_lessons)

    def _forget(self) -> None:
        self._pending.clear()
        self._rejections.forget()
