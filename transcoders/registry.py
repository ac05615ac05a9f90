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
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

from transcoders import jpeg, lossless, still
from transcoders.arithmetic import ArithmeticEncoder
from transcoders.exact.coder import ExactEncoder
from transcoders.low import Low, as_it_is, in_front
from transcoders.picture import Picture, PictureOptions, Unfit, up_to
from transcoders.reencode import Encoded, reencode
from transcoders.sketch import MAX_SHARE, draw
from transcoders.sniff import Format, animated, declared_picture, dimensions, sniff
from transcoders.thumbnail import thumbnail
from transcoders.workers import Busy, FilterFailed, Slot, Workers
from wire.skeleton import Level

__all__ = ["Picture", "PictureOptions", "TranscoderStatistics", "Transcoders"]

MAX_BYTES: Final = 8 << 20
MAX_PIXELS: Final = 25_000_000
"""A larger camera picture than any page shows; jpegtran holds up to 6 bytes of each, twice that
with tables: 150 MB."""
MAX_WAITING: Final = 64
"""Pictures in line. At 10 ms to 100 ms each, one further back would wait until its time is up."""

NICE: Final = 5
"""By how much finer levels give way to what is sent now: low levels, texts, the link itself."""
YIELDS: Final = 0.2
"""Seconds by which a version gives way to sketches: it takes 30 ms, a sketch 5, and a page has a
dozen of these for each screenshot."""
PATIENCE: Final = 1.0
"""Seconds that a finer level waits for low ones at most. Niceness alone does not do: beside two
threads of finer levels a screenshot's low level took 340 ms on two processors, 49 ms without."""


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
        self._first = Workers(workers=workers, waiting=MAX_WAITING)
        """For low levels: they wait for nothing else."""
        self._workers = Workers(workers=workers, waiting=MAX_WAITING, nice=NICE)
        self._rearranger = jpeg.Rearranger(jpegtran) if jpegtran else None
        self._arithmetic = ArithmeticEncoder(jpegtran) if jpegtran else None
        self._exact = ExactEncoder(jpegtran)
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

        Never raises for what is in `data`.
        """
        options = options or PictureOptions()
        low = await self.low(data, content_type, options)
        return await self.finish(data, content_type, options, low)

    async def low(self, data: bytes, content_type: str, options: PictureOptions) -> Low | None:
        """What can be sent while the rest is made, by `finish`, which puts it in front of all.

        None: nothing. Takes at most `timeout` seconds and never raises for what is in `data`.
        """
        if options.adapted or not self._fit(data, content_type, options):
            return None
        try:
            async with asyncio.timeout(self._timeout):
                return await self._low(data, options)
        except Exception:  # Pillow raises a dozen kinds
            return None

    async def finish(
        self, data: bytes, content_type: str, options: PictureOptions, low: Low | None
    ) -> Picture | None:
        """The picture with all its levels; None: send `data` as it is, only if `low` is None.

        Takes at most `timeout` seconds and never raises for what is in `data`.
        """
        if not self._fit(data, content_type, options):
            return None
        try:
            async with asyncio.timeout(self._timeout):
                if options.adapted:
                    made = await self._adapted(data, options)
                else:
                    made = await self._behind(low, data, options)
        except Exception as error:  # SyntaxError among them
            self._left_alone[_reason(error)] += 1
            return as_it_is(data, low) if low is not None else None
        self._pictures += 1
        self._bytes_in += len(data)
        self._bytes_out += len(made.data)
        return up_to(made, options.stop)

    def _fit(self, data: bytes, content_type: str, options: PictureOptions) -> bool:
        return self.wants(content_type, data, len(data), min_bytes=options.min_bytes)

    async def exact(
        self, data: bytes, *, start: int, length: int, deflated: bool, scans: bool
    ) -> bytes | None:
        """A denser form of bytes with a picture in them (transcoders/exact); None: it has none.

        `start`, `length`: where the picture is, `deflated` or not; `scans`: whoever undoes it has
        jpegtran. Never raises for what is in `data`.
        """
        try:
            async with self._later() as slot, asyncio.timeout(self._timeout):
                return await self._exact.form(
                    data, slot, start=start, length=length, deflated=deflated, scans=scans
                )
        except (Unfit, FilterFailed, Busy, TimeoutError):
            return None

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
            waiting=self._first.waiting + self._workers.waiting,
            bytes_in=self._bytes_in,
            bytes_out=self._bytes_out,
        )

    async def close(self) -> None:
        """Take no more pictures. Those under way end as "busy" or run to their end."""
        await self._first.close()
        await self._workers.close()
        if self._rearranger is not None:
            self._rearranger.close()
        if self._arithmetic is not None:
            self._arithmetic.close()

    async def _low(self, data: bytes, options: PictureOptions) -> Low | None:
        """A JPEG's sketch, a version of any other. Raises Unfit, or what Pillow raises."""
        kind, limit = sniff(data), self._max_pixels
        if kind is Format.JPEG and not options.sketch:
            return None  # a prefix will do
        if kind is Format.JPEG:
            async with self._first.slot() as slot:
                return await slot.call(partial(draw, data))
        assert kind is not None
        version = partial(still.version, data, kind, max_pixels=limit, avif=options.avif)
        async with self._first.slot(yields=YIELDS) as slot:
            return await slot.call(version)

    @contextlib.asynccontextmanager
    async def _later(self) -> AsyncIterator[Slot]:
        """A place for finer levels, as soon as no low one is being made."""
        async with self._workers.slot() as slot:
            await self._first.rest(limit=PATIENCE)
            yield slot

    async def _behind(self, low: Low | None, data: bytes, options: PictureOptions) -> Picture:
        """The origin's pixels with `low` in front. Raises Unfit, or what Pillow raises."""
        if low is None:
            return await self._lossless(data, options)
        if options.stop == low.level.name:
            return low.alone()
        with contextlib.suppress(Unfit):
            return in_front(low, await self._lossless(data, options))
        return as_it_is(data, low)

    async def _lossless(self, data: bytes, options: PictureOptions) -> Picture:
        """The origin's pixels, no version in front, in as few bytes as may be.

        Raises Unfit, or what Pillow raises.
        """
        kind = sniff(data)
        if kind is not Format.JPEG and not (kind is Format.PNG and options.webp):
            raise Unfit("nothing is denser")
        async with self._later() as slot:
            if kind is Format.PNG:
                return await slot.call(partial(lossless.denser, data))
            made = await self._jpeg(data, slot, avif=options.avif)
            return await self._coded(made, options, slot)

    async def _coded(self, made: Picture, options: PictureOptions, slot: Slot) -> Picture:
        if not options.arithmetic or self._arithmetic is None:
            return made
        return await self._arithmetic.coded(made, slot)

    async def _adapted(self, data: bytes, options: PictureOptions) -> Picture:
        """Other pixels in fewer bytes, a sketch in front; as lossless as ever where that is not
        possible. Raises Unfit, or what Pillow raises."""
        try:
            async with self._later() as slot:
                made = await self._coded(await self._smaller(data, options, slot), options, slot)
                if options.sketch and options.layout is None and len(made.levels) > 1:
                    sketch = partial(draw, data, limit=int(MAX_SHARE * len(made.data)))
                    with contextlib.suppress(Exception):  # Pillow raises a dozen kinds
                        made = in_front(await slot.call(sketch), made)
                return made
        except Unfit:
            low = None
            with contextlib.suppress(Exception):
                low = await self._low(data, options)
            return await self._behind(low, data, options)

    async def _jpeg(self, data: bytes, slot: Slot, *, avif: bool) -> Picture:
        limit = self._max_pixels
        source = await slot.call(partial(jpeg.inspect, data, max_pixels=limit))
        if self._rearranger is not None and (source.slim or source.jpeg.progressive):
            return await jpeg.rearranged(data, source, self._rearranger, slot)
        if source.jpeg.progressive:
            return jpeg.in_place(data, source)
        job = partial(still.jpeg_versions, data, source.jpeg, max_pixels=limit, avif=avif)
        return await slot.call(job)

    async def _smaller(self, data: bytes, options: PictureOptions, slot: Slot) -> Picture:
        """Other pixels in fewer bytes, with levels where it has any; its finest is `high`.

        Raises Unfit, or what Pillow raises.
        """
        kind, limit = sniff(data), self._max_pixels
        assert kind is not None
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
