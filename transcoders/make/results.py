"""Keeps what was made as bytes, in a store that several processes share.

Under a name that says what was asked of which bytes and who would make it: another version of the
transcoders, or of the libraries below them, finds nothing of this one's. What can't be read counts
as nothing. Times in seconds.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec
import PIL

from malformed import MALFORMED
from transcoders.make.low import Low
from transcoders.picture import Picture, Unfit

VERSION: Final = 1
"""Of what is made of the same wish; another where a transcoder makes something else of it."""
WAIT: Final = 1.0
"""Seconds for which one waits for what another process makes: most take a tenth of that."""
LOOK: Final = 0.02
"""Seconds between two looks whether it is there."""
LASTS: Final = 7 * 86_400.0
"""Seconds for which a result is kept, if the store has room."""


class ResultStore(Protocol):
    """Keeps bytes for other processes too. It loses any of them at any time and raises nothing."""

    async def get(self, key: bytes) -> bytes | None: ...
    async def put(self, key: bytes, value: bytes, *, seconds: float) -> None: ...
    async def claim(self, key: bytes, *, seconds: float) -> bool: ...
    async def release(self, key: bytes) -> None: ...
    async def claimed(self, key: bytes) -> bool: ...


class _Form(msgspec.Struct, array_like=True, frozen=True):
    """A result: one of four, or none, which is one too."""

    took: float
    unfit: str | None = None
    low: Low | None = None
    picture: Picture | None = None
    recipe: bytes | None = None


_READER: Final = msgspec.msgpack.Decoder(_Form)
_WRITER: Final = msgspec.msgpack.Encoder()


@dataclass(frozen=True, slots=True)
class MadeElsewhere:
    """What another process has made."""

    result: Any
    """An Unfit if it can't be made."""
    took: float
    """Seconds that it was in the making."""


class SharedResults:
    """The results of all processes with one store."""

    def __init__(self, store: ResultStore, *, tools: str = "") -> None:
        """`tools`: programs that make some of it: who has others makes something else."""
        self._store = store
        self._tools = tools

    async def find(self, key: Hashable) -> MadeElsewhere | None:
        """What is there of that wish; None: nothing."""
        data = await self._store.get(self._name(key))
        if data is None:
            return None
        try:
            form = _READER.decode(data)
        except MALFORMED:
            return None
        if form.unfit is not None:
            return MadeElsewhere(Unfit(form.unfit), form.took)
        return MadeElsewhere(form.low or form.picture or form.recipe, form.took)

    async def awaited(self, key: Hashable) -> MadeElsewhere | None:
        """The same, but whoever is the first to find nothing is to make it, and `done` says when it
        has; others wait for that, for a moment."""
        if (found := await self.find(key)) is not None:
            return found
        name = self._name(key)
        if await self._store.claim(name, seconds=2 * WAIT):
            if (found := await self.find(key)) is not None:  # whoever was first has ended since
                await self._store.release(name)
            return found
        for _ in range(round(WAIT / LOOK)):
            if not await self._store.claimed(name):
                break
            await asyncio.sleep(LOOK)
        return await self.find(key)

    async def keep(self, key: Hashable, result: Any, took: float) -> None:
        """For whoever wishes the same."""
        match result:
            case Unfit():
                form = _Form(took, unfit=str(result))
            case Low():
                form = _Form(took, low=result)
            case Picture():
                form = _Form(took, picture=result)
            case bytes() | None:
                form = _Form(took, recipe=result)
            case _:
                return
        await self._store.put(self._name(key), _WRITER.encode(form), seconds=LASTS)

    async def done(self, key: Hashable) -> None:
        """It is kept, or will not be."""
        await self._store.release(self._name(key))

    def _name(self, key: Hashable) -> bytes:
        said = f"made {VERSION} {PIL.__version__} {self._tools} {key!r}"
        return hashlib.sha256(said.encode()).digest()
