"""Which picture it is that a document shows somewhere: told by its pixels.

Stand-ins are SIDE x SIDE pixels of one colour that has a number in it (`office/placeholders.py`
makes them). Pictures that were put in later are known by their extent and a checksum. Must not
know: places, documents.
"""

from __future__ import annotations

import zlib
from typing import Any

SIDE = 32
"""Pixels; as in office/placeholders.py."""
_LIGHTEST = 224
_DIB_HEADER = 14 + 40
"""Bytes in front of the pixels: BITMAPFILEHEADER and BITMAPINFOHEADER."""

Seen = tuple[int, int, int]
"""Width and height in pixels, CRC-32 of the pixels."""


class Marks:
    """Numbers of the pictures that a document lacks, and what stands there for them now."""

    def __init__(self) -> None:
        self._coarse: dict[tuple[int, int], dict[int, int]] = {}

    def shown(self, number: int, graphic: Any) -> None:
        """`graphic` stands for picture `number` from now on, and is not final."""
        width, height = _extent(graphic)
        pixels = zlib.crc32(graphic.getDIB().value)
        self._coarse.setdefault((width, height), {})[pixels] = number

    def number(self, graphic: Any) -> int:
        """The picture that `graphic` stands for; 0: none."""
        if graphic is None:
            return 0
        extent = _extent(graphic)
        if extent != (SIDE, SIDE) and extent not in self._coarse:
            return 0  # nearly all: pixels are costly to ask for
        dib = graphic.getDIB().value
        known = self._coarse.get(extent, {}).get(zlib.crc32(dib), 0)
        return known or (_stand_in(dib) if extent == (SIDE, SIDE) else 0)


def _extent(graphic: Any) -> tuple[int, int]:
    size = graphic.getPropertyValue("SizePixel")
    return size.Width, size.Height


def _stand_in(dib: bytes) -> int:
    """The number in its colour; 0 where it isn't of one such colour."""
    pixels = dib[-SIDE * SIDE * 3 :]
    first = pixels[:3]
    if len(dib) < _DIB_HEADER + len(pixels) or pixels != first * (SIDE * SIDE):
        return 0
    blue, green, red = (part - _LIGHTEST for part in first)
    if min(red, green, blue) < 0:
        return 0
    return red << 8 | green << 4 | blue
