"""Makes the bytes of exact forms again, on the device (transcoders/exact)."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from transcoders.exact.coder import HOW, Undone, huffman_coded
from transcoders.exact.form import MAX_BYTES, BodyKind, Form
from transcoders.picture import Unfit
from transcoders.work.workers import Busy, FilterFailed, Slot, Workers

MAX_WAITING: Final = 1024
"""Forms in line on the device; a link that is slow enough for them brings a few a second."""


class ExactDecoder:
    """The local proxy's half: makes the bytes again, one form at a time."""

    def __init__(self, jpegtran: str | None, *, timeout: float = 30.0) -> None:
        """`timeout`: seconds for one form, without waiting in line."""
        self._jpegtran = jpegtran
        self._timeout = timeout
        self._workers = Workers(workers=1, waiting=MAX_WAITING)

    async def undone(self, data: bytes, *, size: int) -> bytes:
        """The `size` bytes that it is the form of. Raises Undone."""
        try:
            async with self._workers.slot() as slot, asyncio.timeout(self._timeout):
                form = await slot.call(partial(Form.decoded, data))
                if form.header.kind is BodyKind.SCANS:
                    content = await self._content(form, slot, limit=size + MAX_BYTES)
                else:
                    content = await slot.call(form.content)
                made = await slot.call(partial(form.around, content))
        except (Unfit, FilterFailed, Busy, TimeoutError) as error:
            raise Undone(str(error) or type(error).__name__) from error
        if len(made) != size:
            raise Undone(f"{len(made)} bytes where {size} are missing")
        return made

    async def _content(self, form: Form, slot: Slot, *, limit: int) -> bytes:
        how = form.header.how
        if self._jpegtran is None or not 0 <= how < len(HOW):
            raise Unfit("jpegtran is not installed, or of another time")
        return await huffman_coded(self._jpegtran, form.body, how, slot, limit=limit)

    async def close(self) -> None:
        """Take no more."""
        await self._workers.close()
