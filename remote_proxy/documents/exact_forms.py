"""Pictures of a document in exact forms (transcoders/exact), where a slow link makes that worth it.

Must not know: components, frames.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from office.contents import extent
from office.extents import Range
from office.parts import Part, PicturePart
from office.zip_directory import STORED
from remote_proxy.documents.document import PackageDocument
from transcoders.exact.coder import LEAST
from transcoders.exact.form import MAX_BYTES
from transcoders.make.registry import Transcoders

SLOW: Final = 100_000.0
"""Bytes/second of a link from which on forms would be made too slowly: 2 to 4 s of a processor for
a deck with 2 to 4 MB of pictures."""
MAX_HELD: Final = 16 << 20
"""Bytes of the pictures of one document whose forms are in memory until the link has taken them."""
AT_A_TIME: Final = 2
PATIENCE: Final = 1.0
"""Seconds until the rate of a link that has just begun must be known; else it counts as fast. Not
waited for where nothing waits for the link."""
_LOOK: Final = 0.05


class ExactForms:
    """The exact forms of one document's pictures."""

    def __init__(
        self,
        document: PackageDocument,
        transcoders: Transcoders,
        *,
        whose: str,
        scans: bool,
        rate: Callable[[], float | None],
        waiting: Callable[[], bool],
    ) -> None:
        """`whose`: the device's name; `scans`: it has jpegtran; `rate`: of the link, bytes/second,
        if known; `waiting`: whether bytes of the document wait for it."""
        self._document = document
        self._transcoders = transcoders
        self._whose = whose
        self._scans = scans
        self._rate = rate
        self._waiting = waiting
        self._held = 0
        self._places = asyncio.Semaphore(AT_A_TIME)

    @staticmethod
    def may_have(part: Part, ranges: tuple[Range, ...]) -> bool:
        """Whether it could have one: a picture all of which is to be sent."""
        whole = isinstance(part, PicturePart) and len(ranges) == 1 and ranges == part.ranges
        return whole and LEAST <= ranges[0][1] - ranges[0][0] <= MAX_BYTES

    @asynccontextmanager
    async def form(self, part: Part) -> AsyncIterator[bytes | None]:
        """The form, counted as held in the block; None: it goes as it is. Its bytes are here."""
        assert isinstance(part, PicturePart)
        ((start, end),) = part.ranges
        if not await self._is_slow() or self._held + end - start > MAX_HELD:
            yield None
            return
        self._held += end - start
        try:
            yield await self._made(part, start, end)
        finally:
            self._held -= end - start

    async def _is_slow(self) -> bool:
        for _ in range(int(PATIENCE / _LOOK)):
            if self._rate() is not None or not self._waiting():
                break
            await asyncio.sleep(_LOOK)
        rate = self._rate()
        return rate is not None and rate <= SLOW

    async def _made(self, part: PicturePart, start: int, end: int) -> bytes | None:
        entry = self._document.directory.by_name[part.media.entry]
        async with self._places:
            data = self._document.gathering.spool.read(start, end)
            place = extent(entry, data)
            if place is None:
                return None
            return await self._transcoders.exact(
                data,
                start=place[0],
                length=place[1] - place[0],
                deflated=entry.method != STORED,
                scans=self._scans,
                whose=self._whose,
            )
