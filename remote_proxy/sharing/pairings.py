"""Keeps the pairings of several remotes alike that have one identity and one store.

Each looks into the store now and then, and when its own files have changed. The files are what
counts: a store that is lost, or lies, takes nothing from them.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import Final

import structlog

from pairing.errors import PairingError
from pairing.exchange import Pairings, exchange_seal, merged, opened, sealed
from pairing.sealing import NONCE
from pairing.store import PairingStore
from remote_proxy.store.store import Store, name

EVERY: Final = 2.0
"""Seconds between two looks: who is paired or revoked at one remote is so at all after these."""
_KEPT: Final = 90 * 86_400.0
"""Seconds; whoever finds nothing puts it there again."""
_log = structlog.get_logger("sluice.remote")


class SharedPairings:
    """One remote's part of it."""

    def __init__(self, pairings: PairingStore, store: Store) -> None:
        """Raises PairingError."""
        identity = pairings.identity()
        self._pairings = pairings
        self._store = store
        self._seal = exchange_seal(identity)
        self._place = name("pairings 1", identity.pin)
        self._seen: tuple[object, bytes | None] | None = None
        """The files and what was in the store, at the last look."""
        self._failed = ""

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.look()
                self._failed = ""
            except (PairingError, OSError) as error:
                if str(error) != self._failed:
                    _log.warning("pairings can't be shared", error=str(error))
                self._failed = str(error)
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        """Take what others know, and tell them what they don't. Raises PairingError."""
        there = await self._store.get(self._place)
        if not self._store.statistics().answers:
            return  # nothing can be told, either
        now = (self._pairings.revision(), there)
        if now == self._seen:
            return
        theirs = opened(there, self._seal) if there is not None else None
        if there is not None and theirs is None:
            _log.warning("the store has pairings that none of our remotes has put there")
        ours = self._pairings.pairings()
        both = merged(ours, theirs or Pairings())
        if both != ours:
            self._pairings.take(both)
        if both != theirs:
            there = sealed(both, self._seal, secrets.token_bytes(NONCE))
            await self._store.put(self._place, there, seconds=_KEPT)
        self._seen = (self._pairings.revision(), there)
