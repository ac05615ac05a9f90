"""Keeps what has crossed interfaces with a budget, from run to run.

A file that can't be had never harms the proxy: what has crossed is counted on, and written when it
can be. What crosses in the last seconds before a machine loses power is lost. Between budgets,
which count, and local_proxy/kept/store.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, Protocol

import structlog

from local_proxy.kept.sqlite_file import Unavailable
from local_proxy.kept.store import LocalStore
from local_proxy.kept.threads import STORE

PERIOD: Final = 20.0
"""Seconds between two batches."""
_log = structlog.get_logger("sluice.local")


class SpentBudget(Protocol):
    """What one interface has carried of its budget (transport/paths/budget.py)."""

    month: str
    spent: int


class Spending:
    """All of one local proxy."""

    def __init__(self, store: LocalStore | None, budgets: Mapping[str, SpentBudget]) -> None:
        """`store` None: nothing is kept."""
        self._store = store
        self._budgets = budgets
        self._written: dict[str, tuple[str, int]] = {}
        self._told = False

    async def recall(self) -> None:
        """Count on from what crossed in earlier runs."""
        if self._store is None or not self._budgets:
            return
        try:
            self._written = await STORE.run(self._store.spent)
        except Unavailable as error:
            _log.warning("what crossed metered interfaces can't be read", why=str(error))
            return
        for name, (month, spent) in self._written.items():
            budget = self._budgets.get(name)
            if budget is not None and month >= budget.month:
                budget.month, budget.spent = month, budget.spent + spent

    async def run(self) -> None:
        """Write now and then, until cancelled; returns at once where nothing is to be kept."""
        while self._store is not None and self._budgets:
            await asyncio.sleep(PERIOD)
            await self.flush()

    async def flush(self) -> None:
        """Write what has changed."""
        now = {name: (one.month, one.spent) for name, one in self._budgets.items()}
        rows = [(name, *now[name]) for name in now if now[name] != self._written.get(name)]
        if self._store is None or not rows:
            return
        try:
            await STORE.run(self._store.spend, rows)
            self._written, self._told = now, False
        except Unavailable as error:
            if not self._told:
                _log.warning("what crossed metered interfaces can't be written", why=str(error))
            self._told = True
