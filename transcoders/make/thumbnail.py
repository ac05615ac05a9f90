"""A small coarse version of a picture in a document, which is shown at a size of its own.

Unlike a page's pictures these need not be as wide as the original (transcoders/make/still.py): the
document says how large they are. WebP, which office suites show since 2022 and which has alpha.

Knows pixels and shares; does not know who asked.
"""

from __future__ import annotations

from typing import Final

from PIL import Image

from transcoders.formats.pixels import encode, open_still, opened, plain
from transcoders.formats.sniff import sniff
from transcoders.picture import Unfit

MIN_BYTES: Final = 8192
"""A version costs what the whole is there sooner without."""
MAX_SHARE: Final = 0.012
"""Of the original's bytes: all of them together may delay the last byte by so much."""
LEAST: Final = 800
"""Bytes: of less nobody can tell what it is."""
MOST: Final = 6144
_STEPS: Final = (
    *((480, 30, 20), (320, 30, 20), (240, 20, 0), (160, 20, 0), (100, 15, 0), (64, 10, 0)),
)
"""Longer side in pixels, quality of colours and of alpha, best first. Alpha is a third of a logo's
bytes at any quality above 0."""


def natural_size(head: bytes) -> tuple[int, int]:
    """Pixels, by the first bytes of a picture; (0, 0): these do not say."""
    kind = sniff(head)
    if kind is None:
        return 0, 0
    try:
        with opened(head, kind) as image:
            return image.size
    except Exception:  # Pillow raises a dozen kinds
        return 0, 0


def thumbnail(data: bytes, *, max_pixels: int) -> bytes:
    """A WebP. Raises Unfit where there is none worth its bytes, or what Pillow raises."""
    kind = sniff(data)
    if kind is None or len(data) < MIN_BYTES:
        raise Unfit("of no kind or size that a coarse version is worth it")
    limit = min(max(int(MAX_SHARE * len(data)), LEAST), MOST)
    image = open_still(data, kind, max_pixels=max_pixels)
    image.draft("RGB", (_STEPS[0][0], _STEPS[0][0]))  # a JPEG is decoded at an eighth at least
    image = plain(image)
    for side, quality, alpha in _STEPS:
        image.thumbnail((side, side), Image.Resampling.BOX)
        made = encode(image, "WEBP", quality=quality, alpha_quality=alpha, method=4, exif=b"")
        if len(made) <= limit:
            return made
    raise Unfit("no coarse version of it is small enough")
