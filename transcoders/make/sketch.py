"""A sketch: a photo at a third of its width, to be enlarged on the device (versioning).

It replaces the prefix of a JPEG as the low level: in a third of its bytes it shows as much. Luma
SSIM, median and 10th percentile, where prefixes are arithmetic-coded (`python -m bench transcode`):

                                       prefix                    sketch
    20 sample JPEGs             3,436 bytes, .720 .623    1,250 bytes, .733 .623
    113 of web pages, cameras   4,997 bytes, .728 .635    1,904 bytes, .758 .648

One takes 7 ms to make. Versions (transcoders/make/still.py) stay: WebP would need three quarters of
their bytes to show as much, and screenshots never would. An <img> without dimensions takes its
layout from the picture, so what shows a sketch must be as large: a small JPEG whose EXIF says so,
.4 ms and a ninth of the pixels for the browser to decode; or, for one that heeds no EXIF, one of
full size, 1.7 ms. It has no colour profile: half of the bytes would be that, and converting pixels
as a stranger's profile says is no cheap risk. A wide-gamut photo is paler until its medium level.

Knows pixels and shares; does not know who asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PIL import Image

from transcoders.formats import metadata
from transcoders.formats.pixels import encode, open_still, plain, turned
from transcoders.formats.scans import Jpeg
from transcoders.formats.sniff import Format
from transcoders.make.jpeg import inspect
from transcoders.make.low import Low
from transcoders.picture import Unfit
from transcoders.undo.sketch import MAX_BYTES, MAX_LARGE, MAX_PIXELS
from wire.skeleton import Level

MAX_SHARE: Final = 0.06
"""Of the picture's bytes: what a sketch may add to the time until all is fine. Arithmetic coding
saves as much, so that a photo still takes no more bytes than its origin's file."""
_STEPS: Final = ((3, 15), (3, 5), (4, 5), (6, 5), (8, 5))
"""By how much it is reduced, and WebP's quality; best first."""
_LARGE_STEPS: Final = ((6, 15), (6, 5), (8, 5), (12, 5), (16, 5))
"""The same of a camera's picture, of which a page shows no such width."""
MAX_LARGE_BYTES: Final = 16_384
"""Of a camera's picture, whose share would be a hundred KB or two."""
_DECODED: Final = 2 / 3
"""Of a photo's width, that it is decoded to at least: twice a sketch's."""
_QUICK_DECODED: Final = 1 / 2
"""The same where it is wanted soon: it shows a hundredth less of SSIM, but decoding and scaling
take half the time, 62 ms of 126 for 6 megapixels."""
_DENSE: Final = 6
_QUICK: Final = 2
"""Methods of WebP: 51 ms of that, and 13 for an eighth more bytes."""
_SIDEWAYS: Final = 5
"""EXIF orientations from which on width and height are swapped."""


def draw(data: bytes, *, limit: int | None = None, quick: bool = False, large: bool = False) -> Low:
    """A JPEG's sketch, of at most MAX_SHARE of its bytes, or `limit`. `quick`: in half the time;
    `large`: also of more than MAX_PIXELS.

    Raises Unfit where there is none, or what Pillow raises.
    """
    source = inspect(data, max_pixels=MAX_LARGE if large else MAX_PIXELS).jpeg
    camera = source.width * source.height > MAX_PIXELS
    steps, most = (_LARGE_STEPS, MAX_LARGE_BYTES) if camera else (_STEPS, MAX_BYTES)
    finest = (_QUICK_DECODED if quick else _DECODED) * _STEPS[0][0] / steps[0][0]
    image, full = _upright(data, source, finest)
    allowed = int(MAX_SHARE * len(data)) if limit is None else limit
    made = _smallest(image, full, steps, min(allowed, most), _QUICK if quick else _DENSE)
    if made is None:
        raise Unfit("no sketch of it is small enough")
    level = Level("low", 0, len(made), Format.JPEG.value, b"", *full)
    return Low(made, level, source.width, source.height)


def _upright(data: bytes, source: Jpeg, finest: float) -> tuple[Image.Image, tuple[int, int]]:
    """A JPEG's pixels, no finer than a sketch needs, turned as EXIF says; and the full size.

    Raises Unfit, or what Pillow raises.
    """
    image = open_still(data, Format.JPEG, max_pixels=source.width * source.height)
    size = image.size
    exif = metadata.exif_of(data, source)
    if metadata.sets_natural_size(exif, *size):
        raise Unfit("EXIF may give it a natural size that a sketch would not have")
    # libjpeg then reduces while it decodes, to no less than this.
    image.draft(image.mode, (max(1, int(size[0] * finest)), max(1, int(size[1] * finest))))
    orientation = metadata.orientation(exif)
    return plain(turned(image, orientation)), size[::-1] if orientation >= _SIDEWAYS else size


def _smallest(
    image: Image.Image,
    full: tuple[int, int],
    steps: Sequence[tuple[int, int]],
    limit: int,
    method: int,
) -> bytes | None:
    """The best sketch of at most `limit` bytes, by that method of WebP; None: there is none."""
    for reduction, quality in steps:
        size = (max(1, full[0] // reduction), max(1, full[1] // reduction))
        small = image.resize(size, Image.Resampling.LANCZOS)
        made = encode(small, "WEBP", quality=quality, method=method, exif=b"", icc_profile=b"")
        if len(made) <= limit:
            return made
    return None
