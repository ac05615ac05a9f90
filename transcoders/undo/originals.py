"""Makes the origin's very bytes again on the device, by the recipe that the remote has sent."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from transcoders.exact.coder import Undone
from transcoders.exact.jpeg_writer import JpegWriter
from transcoders.exact.originals import SLACK, webp_pixels, written_by
from transcoders.exact.png_writer import PngWriter
from transcoders.exact.recipe import Otherwise, Recipe
from transcoders.formats.sniff import Format
from transcoders.picture import Unfit
from transcoders.work.workers import Busy, FilterFailed, Slot, Workers

MAX_WAITING: Final = 256
"""Pictures in line on the device: all of a page that has just been finished."""


class OriginalDecoder:
    """The local proxy's half: a bounded number at a time."""

    def __init__(self, jpegtran: str | None, *, workers: int = 2, timeout: float = 20.0) -> None:
        """`timeout`: seconds for one picture, waiting in line included."""
        self._jpegtran = jpegtran
        self._workers = Workers(workers=workers, waiting=MAX_WAITING)
        self._timeout = timeout
        self.otherwise: set[Format] = set()
        """What this device's zlib or jpegtran has written otherwise than the remote proxy's."""

    async def original(self, form: bytes, recipe: bytes) -> bytes:
        """The origin's bytes, by the form that is here. Raises Undone."""
        try:
            async with asyncio.timeout(self._timeout), self._workers.slot() as slot:
                told = await slot.call(partial(Recipe.decoded, recipe))
                if told.png is not None:
                    return await slot.call(partial(_png, told, told.png, form))
                assert told.jpeg is not None
                return await self._jpeg(told, told.jpeg, form, slot)
        except (Unfit, FilterFailed, Busy, TimeoutError, OSError) as error:
            if isinstance(error, Otherwise):
                self.otherwise.add(Format.JPEG if told.png is None else Format.PNG)
            raise Undone(str(error) or type(error).__name__) from error

    async def _jpeg(self, told: Recipe, writer: JpegWriter, form: bytes, slot: Slot) -> bytes:
        if self._jpegtran is None:
            raise Unfit("jpegtran is not installed")
        limit = 2 * max(told.size, len(form)) + SLACK
        written = await written_by(self._jpegtran, form, writer, slot, limit=limit)
        return await slot.call(lambda: told.check(writer.jpeg(written, size=told.size)))

    async def close(self) -> None:
        """Take no more. What waits ends as Undone."""
        await self._workers.close()


def _png(told: Recipe, writer: PngWriter, form: bytes) -> bytes:
    try:
        pixels = webp_pixels(form)
    except Exception as error:  # Pillow raises a dozen kinds, SyntaxError among them
        raise Unfit(f"no WebP: {error}") from error
    return told.check(writer.png(pixels))
