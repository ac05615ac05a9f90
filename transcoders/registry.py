"""Which transcoder a picture goes to, and the promise that none of them does any harm.

    Transcoders.picture(bytes) -> levels, or None: send the bytes as they are.

None is the answer to damage, attacks, overload, a missing tool and a slow machine alike; only a
caller's own mistake raises. Knows formats, limits and time; the work is in the modules it names.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

from transcoders import jpeg, still
from transcoders.arithmetic import ArithmeticEncoder
from transcoders.picture import Picture, PictureOptions, Unfit, up_to
from transcoders.reencode import Encoded, reencode
from transcoders.sketch import sketched
from transcoders.sniff import Format, animated, declared_picture, dimensions, sniff
from transcoders.thumbnail import thumbnail
from transcoders.workers import Busy, Slot, Workers
from wire.skeleton import Level

__all__ = ["Picture", "PictureOptions", "TranscoderStatistics", "Transcoders"]

MAX_BYTES: Final = 8 << 20
MAX_PIXELS: Final = 25_000_000
"""A larger camera picture than any page shows; jpegtran holds up to 6 bytes of each, twice that
with tables: 150 MB."""
MAX_WAITING: Final = 64
"""Pictures in line. At 10 ms to 100 ms each, one further back would wait until its time is up."""


@dataclass(frozen=True, slots=True)
class TranscoderStatistics:
    """An immutable snapshot of what became of the pictures."""

    pictures: int
    """Pictures that got levels."""
    left_alone: Mapping[str, int]
    """Why the others did not: "unfit", "failed", "late", "busy"."""
    waiting: int
    bytes_in: int
    bytes_out: int
    """Bytes of `pictures` before and after."""


class Transcoders:
    """All picture transcoders behind one door; one object a proxy, used from one event loop."""

    def __init__(
        self,
        *,
        workers: int = 2,
        jpegtran: str | None = shutil.which("jpegtran"),
        timeout: float = 10.0,
        max_pixels: int = MAX_PIXELS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """`timeout`: seconds, waiting in line included. `jpegtran`: its path; None: do without."""
        self._workers = Workers(workers=workers, waiting=MAX_WAITING)
        self._rearranger = jpeg.Rearranger(jpegtran) if jpegtran else None
        self._arithmetic = ArithmeticEncoder(jpegtran) if jpegtran else None
        self._timeout = timeout
        self._max_pixels = max_pixels
        self._max_bytes = max_bytes
        self._left_alone: Counter[str] = Counter()
        self._pictures = self._bytes_in = self._bytes_out = 0

    def wants(
        self, content_type: str, head: bytes, length: int | None, *, min_bytes: int = 4096
    ) -> bool:
        """Whether it is worth while to gather the whole body. Costs microseconds.

        `head`: the first bytes, sniff.HEAD of them suffice; `length`: the body's if known.
        """
        if not declared_picture(content_type):
            return False
        if length is not None and not min_bytes <= length <= self._max_bytes:
            return False
        kind = sniff(head)
        if kind is None or animated(head, kind):
            return False
        size = dimensions(head, kind)
        return size is None or 0 < size[0] * size[1] <= self._max_pixels

    async def picture(
        self, data: bytes, content_type: str, options: PictureOptions | None = None
    ) -> Picture | None:
        """The picture with fidelity levels; None: send `data` as it is.

        Takes at most `timeout` seconds and never raises for what is in `data`.
        """
        options = options or PictureOptions()
        if not self.wants(content_type, data, len(data), min_bytes=options.min_bytes):
            return None
        try:
            async with asyncio.timeout(self._timeout):
                made = await self._make(data, options)
        except Exception as error:  # Pillow raises a dozen kinds, SyntaxError among them
            self._left_alone[_reason(error)] += 1
            return None
        self._pictures += 1
        self._bytes_in += len(data)
        self._bytes_out += len(made.data)
        return made

    async def thumbnail(self, data: bytes) -> bytes | None:
        """A small coarse version of a picture in a document; None: do without. Never raises."""
        if len(data) > self._max_bytes:
            return None
        job = partial(thumbnail, data, max_pixels=self._max_pixels)
        try:
            async with asyncio.timeout(self._timeout), self._workers.slot() as slot:
                return await slot.call(job)
        except Exception as error:  # Pillow raises a dozen kinds, SyntaxError among them
            self._left_alone[_reason(error)] += 1
            return None

    def statistics(self) -> TranscoderStatistics:
        return TranscoderStatistics(
            pictures=self._pictures,
            left_alone=MappingProxyType(dict(self._left_alone)),
            waiting=self._workers.waiting,
            bytes_in=self._bytes_in,
            bytes_out=self._bytes_out,
        )

    async def close(self) -> None:
        """Take no more pictures. Those under way end as "busy" or run to their end."""
        await self._workers.close()
        if self._rearranger is not None:
            self._rearranger.close()
        if self._arithmetic is not None:
            self._arithmetic.close()

    async def _make(self, data: bytes, options: PictureOptions) -> Picture:
        kind = sniff(data)
        assert kind is not None
        async with self._workers.slot() as slot:
            if options.quality is not None or options.layout is not None:
                try:
                    made = await self._smaller(data, kind, options, slot)
                except Unfit:  # the lossless way is open still
                    made = await self._lossless(data, kind, options, slot)
            else:
                made = await self._lossless(data, kind, options, slot)
            if options.arithmetic and self._arithmetic is not None:
                made = await self._arithmetic.coded(made, slot)
            if options.sketch:
                with contextlib.suppress(Exception):  # Pillow raises a dozen kinds
                    made = await slot.call(partial(sketched, made, data, kind))
            return up_to(made, options.stop)

    async def _lossless(
        self, data: bytes, kind: Format, options: PictureOptions, slot: Slot
    ) -> Picture:
        """The origin's pixels with levels in front of them. Raises Unfit."""
        if kind is Format.JPEG:
            return await self._jpeg(data, slot, avif=options.avif)
        limit = self._max_pixels
        if kind is Format.PNG and options.webp:
            with contextlib.suppress(Exception):  # Pillow raises a dozen kinds
                denser = partial(still.denser, data, max_pixels=limit, avif=options.avif)
                return await slot.call(denser)
        job = partial(still.versions, data, kind, max_pixels=limit, avif=options.avif)
        return await slot.call(job)

    async def _jpeg(self, data: bytes, slot: Slot, *, avif: bool) -> Picture:
        limit = self._max_pixels
        source = await slot.call(partial(jpeg.inspect, data, max_pixels=limit))
        if self._rearranger is not None and (source.slim or source.jpeg.progressive):
            return await jpeg.rearranged(data, source, self._rearranger, slot)
        if source.jpeg.progressive:
            return jpeg.in_place(data, source)
        job = partial(still.jpeg_versions, data, source.jpeg, max_pixels=limit, avif=avif)
        return await slot.call(job)

    async def _smaller(
        self, data: bytes, kind: Format, options: PictureOptions, slot: Slot
    ) -> Picture:
        """Other pixels in fewer bytes, with levels where it has any; its finest is `high`."""
        limit = self._max_pixels
        made = await slot.call(partial(reencode, data, kind, options, max_pixels=limit))
        if made.kind is Format.JPEG:
            try:
                source = await slot.call(partial(jpeg.inspect, made.data, max_pixels=limit))
                if self._rearranger is None:
                    return jpeg.in_place(made.data, source, final="high")
                return await jpeg.rearranged(
                    made.data, source, self._rearranger, slot, final="high"
                )
            except Unfit:
                pass  # too small for levels, and smaller than the original all the same
        return _single(made)


def _reason(error: Exception) -> str:
    match error:
        case Unfit():
            return "unfit"
        case Busy():
            return "busy"
        case TimeoutError():
            return "late"
    return "failed"


def _single(made: Encoded) -> Picture:
    level = Level("high", 0, len(made.data), made.kind.value)
    return Picture(made.data, (level,), made.width, made.height, lossless=False, identical=False)
