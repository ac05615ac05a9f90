"""Makes a request like that of the experiment: a page with 25 JPEGs, 1.03 MB in all.

Source: Bolliger and Gross, "Bandwidth monitoring for network-aware applications", section 4.1. The
photographs are the sample site's; those that come a second time are mirrored, so that no two files
are alike. All have the one quality at which they come nearest to the size.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Final

from PIL import Image, ImageOps

from bench.origins.synthetic import PICTURES, SyntheticPage, page_with

COUNT: Final = 25
SIZE: Final = 1_030_000
"""Bytes of all pictures."""
TEXT: Final = 6_000
"""Bytes of HTML around them."""
URL: Final = "http://pictures.test/"
_QUALITIES: Final = (10, 98)


def request(*, count: int = COUNT, size: int = SIZE) -> SyntheticPage:
    """The page. Raises OSError without the sample site's pictures."""
    return page_with(URL, jpegs(count, size), text=TEXT)


def jpegs(count: int, size: int) -> list[bytes]:
    """So many files, no two alike, of about `size` bytes in all."""
    pictures = _photographs(count)
    low, high = _QUALITIES
    while high - low > 1:
        middle = (low + high) // 2
        if sum(map(len, _coded(pictures, middle))) <= size:
            low = middle
        else:
            high = middle
    both = (_coded(pictures, low), _coded(pictures, high))
    return min(both, key=lambda files: abs(sum(map(len, files)) - size))


def _photographs(count: int) -> list[Image.Image]:
    paths = sorted(PICTURES.glob("*.jpg"))
    if not paths:
        raise FileNotFoundError(f"{PICTURES} has no photographs")
    found = []
    for number, path in enumerate(islice(cycle(paths), count)):
        with Image.open(path) as opened:
            picture = opened.convert("RGB")
        rounds = number // len(paths)
        if rounds % 2:
            picture = ImageOps.mirror(picture)
        cut = rounds // 2  # so many pixels less: no two files are alike
        found.append(picture.crop((0, 0, picture.width - cut, picture.height)))
    return found


def _coded(pictures: Sequence[Image.Image], quality: int) -> list[bytes]:
    found = []
    for picture in pictures:
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=quality)
        found.append(out.getvalue())
    return found
