"""Makes and undoes exact forms in threads and, for JPEGs, with jpegtran.

Arithmetic coding takes a tenth less than Huffman's, and most JPEGs can be had back to the byte,
since most were written with one of three sets of tables: the standard's, the best, or the best of
the usual progressive scans.

Must not know documents.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

import msgspec

from transcoders.exact.form import MAX_BYTES, BodyKind, Form, Header, opened, packed
from transcoders.picture import Unfit
from transcoders.work.workers import Busy, FilterFailed, Slot, Workers

WORTH: Final = 0.98
"""Share of the bytes above which it is not worth the device's time."""
LEAST: Final = 8192
"""Bytes from which it may be."""
MAX_WAITING: Final = 1024
"""Forms in line on the device; a link that is slow enough for them brings a few a second."""
MEMORY_KB: Final = 80_000
"""What jpegtran may take for coefficients."""
_HOW: Final = ((), ("-optimize",), ("-progressive",))


class Undone(Exception):
    """A form could not be made what it was: damage, overload, other tools than the sender's."""


class ExactEncoder:
    """The remote proxy's half."""

    def __init__(self, jpegtran: str | None) -> None:
        """`jpegtran`: its path; None: JPEGs have no form."""
        self._jpegtran = jpegtran

    async def form(
        self, data: bytes, slot: Slot, *, start: int, length: int, deflated: bool, scans: bool
    ) -> bytes:
        """The form of a picture in `length` bytes from `start` on, with all around it.

        `scans`: the device has jpegtran. Raises Unfit, FilterFailed.
        """
        if not LEAST <= len(data) <= MAX_BYTES:
            raise Unfit("too little, or too much")
        header, content = await slot.call(
            partial(opened, data, start=start, length=length, deflated=deflated)
        )
        if header.kind is BodyKind.SCANS:
            if self._jpegtran is None or not scans:
                raise Unfit("nobody to code or decode it")
            made = await self._scans(header, content, slot)
        else:
            made = await slot.call(partial(packed, header, content))
            await slot.call(lambda: made.around(made.content()))
        encoded = made.encoded()
        if len(encoded) > WORTH * len(data):
            raise Unfit("nothing to gain")
        return encoded

    async def _scans(self, header: Header, content: bytes, slot: Slot) -> Form:
        """Raises Unfit where jpegtran would not make the same file again."""
        assert self._jpegtran is not None
        command = (self._jpegtran, "-copy", "all", "-arithmetic")
        body = await slot.filter(command, content, limit=len(content))
        for how in range(len(_HOW)):
            if await _huffman(self._jpegtran, body, how, slot, limit=2 * len(content)) == content:
                return Form(msgspec.structs.replace(header, how=how), body)
        raise Unfit("jpegtran makes another file of it")


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
        if self._jpegtran is None or not 0 <= how < len(_HOW):
            raise Unfit("jpegtran is not installed, or of another time")
        return await _huffman(self._jpegtran, form.body, how, slot, limit=limit)

    async def close(self) -> None:
        """Take no more."""
        await self._workers.close()


async def _huffman(jpegtran: str, body: bytes, how: int, slot: Slot, *, limit: int) -> bytes:
    command = (jpegtran, "-maxmemory", str(MEMORY_KB), "-copy", "all", *_HOW[how])
    return await slot.filter(command, body, limit=limit)
