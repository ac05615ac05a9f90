"""How each kind of picture is made into levels: which module does what, on whose workers.

Raises what it meets (Unfit, Busy, FilterFailed, or what Pillow raises); who asks sees to it that
none of that does any harm (registry.py). Knows formats and workers; neither limits nor time.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final

from transcoders.exact.coder import ExactEncoder
from transcoders.exact.originals import OriginalEncoder, promising
from transcoders.formats.sniff import Format, dimensions, sniff
from transcoders.make import jpeg, lossless, still
from transcoders.make.arithmetic import ArithmeticEncoder
from transcoders.make.between import MAX_SHARE as MOST_OF_FINAL
from transcoders.make.between import between, pays
from transcoders.make.low import Low, in_front, origins
from transcoders.make.reencode import Encoded, reencode
from transcoders.make.sketch import MAX_SHARE, draw
from transcoders.make.thumbnail import thumbnail
from transcoders.picture import Picture, PictureOptions, Unfit
from transcoders.work.work_times import WorkTimes
from transcoders.work.workers import FilterFailed, Slot, Workers
from wire.skeleton import Level

MAX_WAITING: Final = 64
"""Finer levels of one owner in line. At 10 ms to 100 ms each, one further back would wait until its
time is up; what is refused goes as the origin's bytes, behind its low level if it has one."""
MAX_LOW: Final = 256
"""Low levels of one owner in line: as many as a page is promised parts. At 5 ms a sketch and 30 ms
a version the last one waits for 1 to 4 s."""
NICE: Final = 5
"""By how much finer levels give way to what is sent now: low levels, texts, the link itself."""
RECIPES_WAITING: Final = 256
"""Pictures whose levels are made and whose recipes are in line: those of some pages at a time."""
YIELDS: Final = 0.2
"""Seconds by which a version gives way to sketches: it takes 30 ms, a sketch 5, and a page has a
dozen of these for each screenshot."""
PATIENCE: Final = 1.0
"""Seconds that a finer level waits for low ones at most. Niceness alone does not do: beside two
threads of finer levels a screenshot's low level took 340 ms on two processors, 49 ms without."""
FIRST: Final = {Format.JPEG.value: 2.5e-7, Format.PNG.value: 1e-6}
"""Seconds a byte that finer levels, or a denser form, take until it is known what they take here:
on a processor of 2024 web photos .2 to .5, screenshots as lossless WebP .4 to 2.7 us."""
SKETCH, VERSION = "sketch", "version"
FIRST_LOW: Final = {SKETCH: 1e-7, VERSION: 8e-8}
"""The same of low levels: processor seconds a byte of a JPEG, a pixel of any other picture, whose
file says little of its size. Eleven photos of 50 KB to 1.3 MB took .4 to .8 where they were drawn
quickly, else 1.0 to 2.5; screenshots .6 to .9."""
SAVES: Final = {Format.JPEG: 0.06, Format.PNG: 0.3}
"""Share of the bytes, about, that a denser form saves: arithmetic coding, lossless WebP."""


class Makers:
    """The workers and their tools; one object a proxy, used from one event loop."""

    def __init__(self, *, workers: int, jpegtran: str | None, max_pixels: int) -> None:
        self._first = Workers(workers=workers, waiting=MAX_LOW, name="low-levels")
        """For low levels: they wait for nothing else."""
        self._workers = Workers(workers=workers, waiting=MAX_WAITING, nice=NICE, name="levels")
        self._recipes = Workers(workers=1, waiting=RECIPES_WAITING, nice=2 * NICE, name="recipes")
        """Apart, for nobody waits for them: levels neither stand in line behind them nor are
        refused for them."""
        self._rearranger = jpeg.Rearranger(jpegtran) if jpegtran else None
        self._arithmetic = ArithmeticEncoder(jpegtran) if jpegtran else None
        self._exact = ExactEncoder(jpegtran)
        self._originals = OriginalEncoder(jpegtran)
        self._max_pixels = max_pixels
        self.times = WorkTimes(FIRST)
        """Of `levels` behind a low level, in a place among the workers."""
        self._low_times = WorkTimes(FIRST_LOW)

    @property
    def waiting(self) -> int:
        """Pictures in line."""
        return self._first.waiting + self._workers.waiting

    async def close(self) -> None:
        """Take no more. Those under way end as "busy" or run to their end."""
        await self._first.close()
        await self._workers.close()
        await self._recipes.close()
        if self._rearranger is not None:
            self._rearranger.close()
        if self._arithmetic is not None:
            self._arithmetic.close()

    async def levels(
        self, low: Low | None, data: bytes, options: PictureOptions, whose: str
    ) -> Picture:
        """The picture with all its levels, behind `low` if that is one."""
        if options.adapted:
            return await self._adapted(data, options, whose)
        return await self._behind(low, data, options, whose)

    async def recipe(self, data: bytes, picture: Picture, whose: str, limit: float) -> bytes | None:
        """By which `data` is made of the picture's last level; None: there is none.

        `limit`: seconds, from when its turn has come.
        """
        async with self._recipes.slot(whose) as slot, asyncio.timeout(limit):
            await self._first.rest(limit=PATIENCE)
            form = picture.data[picture.levels[-1].start :]
            return await self._originals.recipe(data, form, slot)

    async def exact(
        self,
        data: bytes,
        *,
        start: int,
        length: int,
        deflated: bool,
        scans: bool,
        whose: str,
        limit: float,
    ) -> bytes | None:
        """A denser form of bytes with a picture in them (transcoders/exact); None: it has none."""
        async with self._later(whose) as slot, asyncio.timeout(limit):
            return await self._exact.form(
                data, slot, start=start, length=length, deflated=deflated, scans=scans
            )

    async def thumbnail(self, data: bytes, whose: str) -> bytes:
        """A small coarse version of a picture in a document."""
        job = partial(thumbnail, data, max_pixels=self._max_pixels)
        return await self._workers.run(job, whose=whose)

    async def low(self, data: bytes, options: PictureOptions, whose: str) -> Low | None:
        """A JPEG's sketch, a version of any other. Raises Unfit, or what Pillow raises."""
        kind, limit = sniff(data), self._max_pixels
        if kind is Format.JPEG and not options.sketch:
            return None  # a prefix will do
        if kind is Format.JPEG:
            sketch = partial(draw, data, quick=options.quick, large=options.large)
            made, took = await self._first.run(partial(_timed, sketch), whose=whose)
            self._low_times.took(SKETCH, len(data), took)
            return made
        assert kind is not None
        version = partial(still.version, data, kind, max_pixels=limit, avif=options.avif)
        async with self._first.slot(whose, yields=YIELDS) as slot:
            made, took = await slot.call(partial(_timed, version))
        self._low_times.took(VERSION, made.width * made.height, took)
        return made

    def expected_low(self, data: bytes, options: PictureOptions) -> float:
        """Processor seconds that `low` will take, as far as the picture's first bytes tell."""
        kind = sniff(data)
        if kind is Format.JPEG:
            return self._low_times.expected(SKETCH, len(data)) if options.sketch else 0.0
        size = dimensions(data, kind) if kind is not None else None
        return self._low_times.expected(VERSION, size[0] * size[1]) if size is not None else 0.0

    @contextlib.asynccontextmanager
    async def _later(self, whose: str) -> AsyncIterator[Slot]:
        """A place for finer levels, as soon as no low one is being made.

        Each waits for its owner's own low ones, but no longer for others' than a second in all:
        else one whose pictures never end would keep everybody's finer levels from their places.
        """
        loop = asyncio.get_running_loop()
        patient = loop.time() + PATIENCE
        async with self._workers.slot(whose) as slot:
            await self._first.rest(whose, limit=PATIENCE)
            await self._first.rest(limit=max(0.0, patient - loop.time()))
            yield slot

    async def _behind(
        self, low: Low | None, data: bytes, options: PictureOptions, whose: str
    ) -> Picture:
        """The origin's pixels with `low` in front. Raises Unfit, or what Pillow raises."""
        if low is None:
            return await self._lossless(data, options, whose)
        if options.stop == low.level.name:
            return low.alone()
        final = origins(data, low)
        with contextlib.suppress(Unfit):
            final = await self._lossless(data, options, whose)
        share = still.MAX_SHARE * len(data)
        wanted = options.between or share > still.MOST
        if wanted and pays(final, options.stop):  # else it would stand in line for nothing
            limit = MOST_OF_FINAL * len(final.data) if options.between else share
            pixels, most = self._max_pixels, int(limit)
            job = partial(
                between, low, final, data, limit=most, max_pixels=pixels, avif=options.avif
            )
            with contextlib.suppress(Exception):  # Pillow raises a dozen kinds
                async with self._later(whose) as slot:
                    final = await slot.call(job)
        return in_front(low, final)

    async def _lossless(self, data: bytes, options: PictureOptions, whose: str) -> Picture:
        """The origin's pixels, no version in front, in as few bytes as may be.

        Raises Unfit, or what Pillow raises.
        """
        kind = sniff(data)
        if kind is not Format.JPEG and not (kind is Format.PNG and options.webp):
            raise Unfit("nothing is denser")
        async with self._later(whose) as slot:
            began = asyncio.get_running_loop().time()
            try:
                return await self._denser(data, kind, options, slot)
            finally:
                took = asyncio.get_running_loop().time() - began
                self.times.took(kind.value, len(data), took)

    async def _denser(
        self, data: bytes, kind: Format, options: PictureOptions, slot: Slot
    ) -> Picture:
        """As `_lossless` says."""
        own = options.kept and not await self._promising(data, kind, options, slot)
        if kind is Format.PNG:
            if own:
                raise Unfit("its bytes could not be had again")
            return await slot.call(partial(lossless.denser, data))
        if own:
            return await self._own(data, options, slot)
        return await self._jpeg(data, options, slot)

    async def _promising(
        self, data: bytes, kind: Format, options: PictureOptions, slot: Slot
    ) -> bool:
        """Whether the origin's bytes can most likely be had of another form."""
        if not (options.scans if kind is Format.JPEG else options.recipes):
            return False
        return await slot.call(partial(promising, data))

    async def _own(self, data: bytes, options: PictureOptions, slot: Slot) -> Picture:
        """A JPEG's own bytes: its own prefixes if they serve, or behind a version.

        Raises Unfit, or what Pillow raises.
        """
        limit = self._max_pixels
        source = await slot.call(partial(jpeg.inspect, data, max_pixels=limit))
        if source.jpeg.progressive:
            with contextlib.suppress(Unfit):
                return jpeg.in_place(data, source)
        if options.sketch:
            raise Unfit("only its sketch can go in front")
        job = partial(still.jpeg_versions, data, source.jpeg, max_pixels=limit, avif=options.avif)
        return await slot.call(job)

    async def _adapted(self, data: bytes, options: PictureOptions, whose: str) -> Picture:
        """Other pixels in fewer bytes, a sketch in front; as lossless as ever where that is not
        possible. Raises Unfit, or what Pillow raises."""
        try:
            async with self._later(whose) as slot:
                made = await self._smaller(data, options, slot)
                if options.sketch and options.layout is None and len(made.levels) > 1:
                    limit = int(MAX_SHARE * len(made.data))
                    sketch = partial(draw, data, limit=limit, large=options.large)
                    with contextlib.suppress(Exception):  # Pillow raises a dozen kinds
                        made = in_front(await slot.call(sketch), made)
                return made
        except Unfit:
            low = None
            with contextlib.suppress(Exception):
                low = await self.low(data, options, whose)
            return await self._behind(low, data, options, whose)

    async def _jpeg(self, data: bytes, options: PictureOptions, slot: Slot) -> Picture:
        limit = self._max_pixels
        source = await slot.call(partial(jpeg.inspect, data, max_pixels=limit))
        if (made := await self._coded(data, source, options, slot)) is not None:
            return made
        if self._rearranger is not None and (source.slim or source.jpeg.progressive):
            return await jpeg.rearranged(data, source, self._rearranger, slot)
        if source.jpeg.progressive:
            return jpeg.in_place(data, source)
        job = partial(still.jpeg_versions, data, source.jpeg, max_pixels=limit, avif=options.avif)
        return await slot.call(job)

    async def _coded(
        self,
        data: bytes,
        source: jpeg.JpegSource,
        options: PictureOptions,
        slot: Slot,
        *,
        final: str = "original",
    ) -> Picture | None:
        """It arithmetic-coded; None: it can't be, or does not pay."""
        if not options.arithmetic or self._arithmetic is None:
            return None
        with contextlib.suppress(Unfit, FilterFailed):
            return await self._arithmetic.coded(data, source, slot, final=final)
        return None

    async def _smaller(self, data: bytes, options: PictureOptions, slot: Slot) -> Picture:
        """Other pixels in fewer bytes, with levels where it has any; its finest is `high`.

        Raises Unfit, or what Pillow raises.
        """
        kind, limit = sniff(data), self._max_pixels
        assert kind is not None
        made = await slot.call(partial(reencode, data, kind, options, max_pixels=limit))
        if made.kind == Format.JPEG.value:
            try:
                source = await slot.call(partial(jpeg.inspect, made.data, max_pixels=limit))
                coded = await self._coded(made.data, source, options, slot, final="high")
                if coded is not None:
                    return coded
                if self._rearranger is None:
                    return jpeg.in_place(made.data, source, final="high")
                return await jpeg.rearranged(
                    made.data, source, self._rearranger, slot, final="high"
                )
            except Unfit:
                pass  # too small for levels, and smaller than the original all the same
        return _single(made)


def _single(made: Encoded) -> Picture:
    level = Level("high", 0, len(made.data), made.kind)
    return Picture(made.data, (level,), made.width, made.height, lossless=False, identical=False)


def _timed(work: Callable[[], Low]) -> tuple[Low, float]:
    """What it gives, and the processor seconds that it took of this thread."""
    began = time.thread_time()
    made = work()
    return made, time.thread_time() - began
