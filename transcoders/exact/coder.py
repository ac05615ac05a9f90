"""Makes and undoes exact forms in threads and, for JPEGs, with jpegtran.

Arithmetic coding takes a tenth less than Huffman's, and most JPEGs can be had back to the byte,
since most were written with one of three sets of tables: the standard's, the best, or the best of
the usual progressive scans.

Must not know documents.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec

from transcoders.exact.form import MAX_BYTES, BodyKind, Form, Header, opened, packed
from transcoders.picture import Unfit
from transcoders.work.workers import Slot

WORTH: Final = 0.98
"""Share of the bytes above which it is not worth the device's time."""
LEAST: Final = 8192
"""Bytes from which it may be."""
MEMORY_KB: Final = 80_000
"""What jpegtran may take for coefficients."""
HOW: Final = ((), ("-optimize",), ("-progressive",))


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
        for how in range(len(HOW)):
            if (
                await huffman_coded(self._jpegtran, body, how, slot, limit=2 * len(content))
                == content
            ):
                return Form(msgspec.structs.replace(header, how=how), body)
        raise Unfit("jpegtran makes another file of it")


async def huffman_coded(jpegtran: str, body: bytes, how: int, slot: Slot, *, limit: int) -> bytes:
    """What jpegtran makes of an arithmetic-coded body. Raises FilterFailed."""
    command = (jpegtran, "-maxmemory", str(MEMORY_KB), "-copy", "all", *HOW[how])
    return await slot.filter(command, body, limit=limit)
