"""Keeps what devices were sent where the other remotes of the same identity and store find it.

A device that goes on at another remote, or at another process of one, is sent what has changed
since its last visit there too. Each text is sealed with a key of its device, and lies under a name
that follows from device and text, so nobody but these remotes can tell whose it is, or what.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection, Coroutine, Iterable
from typing import Any, Final

from coding.dictionary import Dictionary
from coding.stored_text import restored, stored
from pairing.identity import Identity
from pairing.sealing import NONCE, IdentitySeal, seal_of
from remote_proxy.store.store import Store, name

KEPT: Final = 30 * 86_400.0
"""Seconds; whoever comes back later than that has his device's copy for nothing."""
MAX_WRITING: Final = 64
"""Texts on their way into the store; more are not kept there."""
_PURPOSE: Final = b"sluice texts of a device 1"


class SharedTexts:
    """One remote's part of it."""

    def __init__(self, store: Store, identity: Identity) -> None:
        self._store = store
        self._pin = identity.pin
        self._seal = seal_of(identity, _PURPOSE)
        self._writing: set[asyncio.Task[None]] = set()

    def keep(self, device: str, text: Dictionary) -> None:
        """Put it there, while others go on. `device`: SHA-256 of its certificate."""
        if len(self._writing) >= MAX_WRITING:
            return
        data = self._of(device).seal(stored(text), secrets.token_bytes(NONCE))
        self._write(self._store.put(self._place(device, text.name), data, seconds=KEPT))

    def forget(self, device: str, names: Iterable[bytes]) -> None:
        """Take those away, however many."""
        self._write(self._take_away([self._place(device, one) for one in names]))

    async def _take_away(self, places: Iterable[bytes]) -> None:
        for place in places:
            await self._store.forget(place)

    async def find(self, device: str, names: Collection[bytes]) -> list[Dictionary]:
        """Look for those; the ones that are there come back."""
        seal = self._of(device)
        found = await asyncio.gather(*(self._store.get(self._place(device, one)) for one in names))
        texts = (
            restored(said, name=one)
            for one, data in zip(names, found, strict=True)
            if data is not None and (said := seal.open(data)) is not None
        )
        return [text for text in texts if text is not None]

    async def close(self) -> None:
        """End what is under way."""
        for task in list(self._writing):
            task.cancel()
        await asyncio.gather(*self._writing, return_exceptions=True)

    def _of(self, device: str) -> IdentitySeal:
        return self._seal.part(device.encode())

    def _place(self, device: str, text: bytes) -> bytes:
        return name("text 1", self._pin, device, text)

    def _write(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
