"""Shows sketches in full size, on the device (make/sketch.py says what they are and why).

Knows pixels; does not know who asks."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from functools import partial
from typing import Final

from PIL import Image

from transcoders.formats import metadata
from transcoders.formats.pixels import encode, open_still
from transcoders.formats.sniff import Format
from transcoders.picture import Unfit
from transcoders.work.workers import Workers

MAX_PIXELS: Final = 8_000_000
"""Of the enlarged picture: 24 MB on the device while it is made, 0.2 s of a phone's processor."""
MAX_LARGE: Final = 25_000_000
"""The same of a camera's, one at a time: 75 MB, for browsers that are not shown a small JPEG."""
MAX_BYTES: Final = 65_536
"""Of a sketch, on the device."""
MAX_WAITING: Final = 64
"""Sketches in line on the device. One takes 5 ms for a web photo."""
_QUALITY: Final = 80
"""Of the enlarged JPEG, which never crosses the link."""
_SMALL_QUALITY: Final = 90
"""Of the small one, with all of its colours: one pixel of it is nine of the picture's."""
_AT_ONCE: Final = 65_536
"""Pixels of a small one that is made without a thread, which would wait for its turn longer than
it takes."""


def enlarged(sketch: bytes, width: int, height: int) -> bytes:
    """A JPEG of that many pixels. Raises Unfit, or what Pillow raises."""
    image = _opened(sketch, width, height)
    pixels = image.convert("RGB").resize((width, height), Image.Resampling.BICUBIC)
    return encode(pixels, "JPEG", quality=_QUALITY)


def stretched(sketch: bytes, width: int, height: int) -> bytes:
    """A small JPEG that browsers show in that size. Raises Unfit, or what Pillow raises."""
    return _stretched(_opened(sketch, width, height), width, height)


def _opened(sketch: bytes, width: int, height: int) -> Image.Image:
    if len(sketch) > MAX_BYTES or min(width, height) < 1 or width * height > MAX_LARGE:
        raise Unfit(f"no sketch of a picture: {len(sketch)} bytes for {width} x {height} pixels")
    return open_still(sketch, Format.WEBP, max_pixels=min(width * height, MAX_PIXELS))


def _stretched(image: Image.Image, width: int, height: int) -> bytes:
    exif = metadata.natural_size(image.size, (width, height))
    pixels = image.convert("RGB")
    return encode(pixels, "JPEG", quality=_SMALL_QUALITY, subsampling=0, exif=exif)


class Enlarger:
    """The local proxy's half: sketches as files, a bounded number at a time."""

    def __init__(self, *, workers: int = 2, timeout: float = 5.0) -> None:
        """`timeout`: seconds for one sketch, waiting in line included."""
        self._workers = Workers(workers=workers, waiting=MAX_WAITING)
        self._large = asyncio.Lock()
        self._timeout = timeout

    async def enlarge(
        self, sketch: bytes, width: int, height: int, *, small: bool = False
    ) -> bytes:
        """As `enlarged`, or `stretched` where that will do. Raises Busy, TimeoutError too."""
        if small:
            image = _opened(sketch, width, height)
            if image.width * image.height <= _AT_ONCE:
                return _stretched(image, width, height)
        make = partial(stretched if small else enlarged, sketch, width, height)
        alone = self._large if not small and width * height > MAX_PIXELS else nullcontext()
        async with asyncio.timeout(self._timeout), alone, self._workers.slot() as slot:
            return await slot.call(make)

    async def close(self) -> None:
        """Take no more. What waits ends as Busy."""
        await self._workers.close()
