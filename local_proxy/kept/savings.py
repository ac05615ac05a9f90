"""Savings by day and site, gathered in memory and written now and then, off the event loop.

A file that can't be had never harms the proxy: sums wait, within bounds, for the next time. Between
local_proxy/status/overview.py, which knows what was carried, and local_proxy/kept/store.py, which
keeps it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import date
from typing import Final

import msgspec
import structlog

from local_proxy.kept.sqlite_file import Unavailable
from local_proxy.kept.store import OTHERS, LocalStore, Sum
from local_proxy.kept.threads import STORE

PERIOD: Final = 20.0
"""Seconds between two batches."""
MAX_PENDING: Final = 1000
"""Sites by day whose sums wait; of more, the sum counts as one."""
_log = structlog.get_logger("sluice.local")


class Day(msgspec.Struct, frozen=True):
    """Sums of one day (ISO 8601, as the device has it)."""

    day: str
    origin_bytes: int
    link_bytes: int
    requests: int
    pictures: int


class SiteSum(msgspec.Struct, frozen=True):
    """Sums of one site; "" stands for all the smallest."""

    site: str
    origin_bytes: int
    link_bytes: int
    requests: int
    pictures: int


class SavingsReport(msgspec.Struct, frozen=True):
    """The form of /savings.json."""

    kept: bool
    """Whether anything is written at all."""
    days: list[Day] = []
    sites: list[SiteSum] = []
    problem: str = ""
    """Why nothing can be told now."""


class Savings:
    """For one local proxy."""

    def __init__(self, store: LocalStore | None, *, today: Callable[[], date] = date.today) -> None:
        """`store` None: nothing is kept."""
        self._store = store
        self._today = today
        self._pending: dict[tuple[str, str], Sum] = {}
        self._added = asyncio.Event()
        self._turn = asyncio.Lock()
        self._told = False

    @property
    def waiting(self) -> int:
        """Sums not written yet."""
        return len(self._pending)

    def add(self, site: str, delivered: Sum) -> None:
        """Something of this site came whole."""
        if self._store is None:
            return
        key = (self._today().isoformat(), site)
        if key not in self._pending and len(self._pending) >= MAX_PENDING:
            key = (key[0], OTHERS)
        self._pending[key] = self._pending.get(key, Sum()) + delivered
        self._added.set()

    async def run(self) -> None:
        """Write now and then, until cancelled."""
        while True:
            await self._added.wait()
            await asyncio.sleep(PERIOD)
            self._added.clear()
            await self.flush()
            if self._pending:
                self._added.set()  # what could not be written is tried again

    async def flush(self) -> None:
        """Write what waits; what can't be written waits on."""
        async with self._turn:
            if self._store is None or not self._pending:
                return
            pending, self._pending = self._pending, {}
            rows = [(day, site, sums) for (day, site), sums in pending.items()]
            try:
                await STORE.run(self._store.add, rows)
                self._told = False
            except Unavailable as error:
                for key, sums in pending.items():
                    self._pending[key] = self._pending.get(key, Sum()) + sums
                if not self._told:
                    _log.warning("savings can't be written for now", why=str(error))
                self._told = True

    async def report(self, *, day: str | None = None) -> SavingsReport:
        """All days; the sites of all of them, or of one."""
        await self.flush()
        if self._store is None:
            return SavingsReport(kept=False)
        try:
            days = await STORE.run(self._store.days)
            sites = await STORE.run(lambda s: s.sites(day=day), self._store)
        except Unavailable as error:
            return SavingsReport(kept=True, problem=str(error))
        return SavingsReport(
            kept=True,
            days=[Day(name, *_numbers(sums)) for name, sums in days],
            sites=[SiteSum(name, *_numbers(sums)) for name, sums in sites],
        )

    async def erase(self) -> None:
        """Forget everything. Raises Unavailable."""
        async with self._turn:
            self._pending.clear()
            if self._store is not None:
                await STORE.run(self._store.erase)


def _numbers(sums: Sum) -> tuple[int, int, int, int]:
    return sums.origin_bytes, sums.link_bytes, sums.requests, sums.pictures
