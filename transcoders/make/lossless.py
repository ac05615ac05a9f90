"""PNGs cross the link as lossless WebP: the same pixels in half to nine tenths of the bytes.

Every pixel and its alpha are compared with the origin's before the file is used, and what else
decides how a picture is shown must be known (transcoders/formats/png.py); any doubt keeps the PNG.
15 PNGs of web pages, WebP's method 4 and quality 75: .21 to .91 of the bytes, median .58, in 60 ns
a pixel, screenshots, to 430 ns, photos. Method 6 and quality 100 would save 4 % more in thirty
times the time.

Knows pixels; does not know coarser levels, or who asked.
"""

from __future__ import annotations

from typing import Final

from PIL import Image

from transcoders.formats import png
from transcoders.formats.pixels import encode, open_still, opened, plain, profile
from transcoders.formats.sniff import Format, dimensions
from transcoders.picture import Picture, Unfit
from wire.skeleton import Level

WORTH: Final = 0.93
"""Share of the PNG's bytes above which it stays as it is."""
MAX_SIDE: Final = 16383
"""Pixels: the format's limit (RFC 9649, section 2.6)."""
EFFORT: Final = ((1_000_000, 4, 75), (2_000_000, 3, 50), (8_000_000, 2, 20))
"""Up to so many pixels WebP's method and quality: half a second of a processor for a photo, 1.3 s
in the last row. What is larger stays as it is."""


def denser(data: bytes) -> Picture:
    """A PNG's pixels as lossless WebP. Raises Unfit, or what Pillow raises."""
    made = webp(data)
    width, height = dimensions(data, Format.PNG) or (0, 0)
    level = Level("original", 0, len(made), Format.WEBP.value)
    return Picture(made, (level,), width, height, lossless=True, identical=False)


def webp(data: bytes) -> bytes:
    """A WebP that is shown just as this PNG is, in fewer bytes. Made again it is the same.

    Raises Unfit where there is none, or what Pillow raises.
    """
    chunks = png.inspect(data)
    pixels = chunks.width * chunks.height
    how = next((row[1:] for row in EFFORT if pixels <= row[0]), None)
    if how is None or max(chunks.width, chunks.height) > MAX_SIDE:
        raise Unfit(f"{chunks.width} x {chunks.height} pixels")
    image = open_still(data, Format.PNG, max_pixels=pixels)
    icc = profile(image)
    if chunks.profiled and not png.sound_profile(icc):
        raise Unfit("a profile that some decoders would not apply")
    image.load()
    _check_palette(image, chunks.colours)
    shown = plain(image)
    made = encode(
        shown,
        "WEBP",
        lossless=True,
        exact=True,
        method=how[0],
        quality=how[1],
        icc_profile=icc if chunks.profiled else b"",
        exif=b"",
        xmp=b"",
    )
    if len(made) > WORTH * len(data):
        raise Unfit(f"{len(made)} bytes from {len(data)}")
    check_same(made, shown)
    return made


def _check_palette(image: Image.Image, colours: int) -> None:
    """Raises Unfit for a pixel of no colour: decoders differ in what they show."""
    if image.mode == "P":
        _, last = image.getextrema()
        if not isinstance(last, int) or last >= colours:
            raise Unfit("a colour that its palette has not")


def check_same(made: bytes, want: Image.Image) -> None:
    """Raises Unfit unless a WebP has just these pixels."""
    with opened(made, Format.WEBP) as found:
        same = found.size == want.size and found.convert(want.mode).tobytes() == want.tobytes()
        if not same or (found.mode == "RGBA" and want.mode == "RGB"):
            raise Unfit("it did not come out as it was")
