"""How a PNG was written, so that its pixels, however they came, can be the very file again.

The pixels are in RGB or RGBA, as a lossless WebP has them. What a PNG has besides: samples of its
own colour type and depth, perhaps interlaced; a filter for each row; zlib's settings; chunks.

Pure. Must not know WebP, components.
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
from PIL import Image

from transcoders.exact.png_filters import filtered
from transcoders.exact.rows import Rows, split
from transcoders.exact.zlib_settings import MAX_PLAIN
from transcoders.formats.pixels import open_still, plain
from transcoders.formats.sniff import Format
from transcoders.picture import Unfit

MAX_INDEXED: Final = 4_000_000
"""Pixels of a picture with a palette: finding their colours takes 60 ns each, on one processor."""
_HEADER: Final = struct.Struct(">IIBBBBB")
_HEADER_AT: Final = 16
_MODES: Final = {0: "L", 2: "RGB", 3: "P", 4: "LA", 6: "RGBA"}
"""Pillow's, by colour type."""
_DEPTHS: Final = {0: (1, 2, 4, 8), 2: (8,), 3: (1, 2, 4, 8), 4: (8,), 6: (8,)}
_ADAM7: Final = (
    *((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2)),
    (0, 1, 1, 2),
)
"""Left, top and the steps to the right and down of the seven passes (PNG, 8.1)."""


class PngWriter(msgspec.Struct, frozen=True, array_like=True):
    """All of a PNG but its pixels."""

    rows: Rows
    filters: bytes
    """Of the rows, deflated."""
    changed: bytes = b""
    """Indices of a palette that has a colour twice: what they differ by (exclusive or) from the
    first of their colours, deflated; empty: in nothing."""

    def png(self, image: Image.Image) -> bytes:
        """The file. Raises Unfit."""
        return self.rows.png(self.plain(image))

    def plain(self, image: Image.Image) -> bytes:
        """The rows before they were deflated. Raises Unfit."""
        head = _Head.of(self.rows.before)
        if image.size != (head.width, head.height) or head.size > MAX_PLAIN:
            raise Unfit("another picture than its PNG")
        samples = head.samples(image, self.changed)
        filters = _inflated(self.filters, sum(height for _, height, _ in head.passes()))
        made, at = [], 0
        for width, height, area in head.passes():
            raw = head.packed(_part(samples, area), width)
            kinds = filters[at : at + height]
            made.append(filtered(raw, width=head.row(width), step=head.step, kinds=kinds))
            at += height
        return b"".join(made)


def writer_of(data: bytes) -> tuple[PngWriter, bytes]:
    """How a PNG was written, and its rows. Raises Unfit, or what Pillow raises.

    Whether its pixels can be the file again has not been tried.
    """
    rows, plain = split(data)
    head = _Head.of(rows.before)
    if len(plain) != head.size:
        raise Unfit("rows of another length than its header says")
    filters, at = bytearray(), 0
    for width, height, _ in head.passes():
        size = head.row(width) + 1
        filters += plain[at : at + size * height : size]
        at += size * height
    changed = head.changed(data) if head.colour == 3 else b""
    return PngWriter(rows, zlib.compress(bytes(filters), 9), changed), plain


@dataclass(frozen=True, slots=True)
class _Head:
    """What the first chunks say of the samples."""

    width: int
    height: int
    depth: int
    colour: int
    interlaced: bool
    palette: bytes
    clear: bytes

    @classmethod
    def of(cls, before: bytes) -> _Head:
        """The header in the chunks before the picture's own. Raises Unfit."""
        try:
            values = _HEADER.unpack_from(before, _HEADER_AT)
        except struct.error as error:
            raise Unfit("a PNG without its header") from error
        width, height, depth, colour, interlaced = *values[:4], values[6]
        if depth not in _DEPTHS.get(colour, ()) or interlaced > 1 or not width * height:
            raise Unfit("samples of another kind")
        found = {b"PLTE": b"", b"tRNS": b""}
        at = 8
        while at + 12 <= len(before):
            (length,) = struct.unpack_from(">I", before, at)
            kind = before[at + 4 : at + 8]
            if kind in found:
                found[kind] = before[at + 8 : at + 8 + length]
            at += 12 + length
        return cls(width, height, depth, colour, bool(interlaced), *found.values())

    @property
    def step(self) -> int:
        """Bytes of a pixel, for filters at least one."""
        return len(_MODES[self.colour])

    @property
    def size(self) -> int:
        """Bytes of all rows with their filters."""
        return sum((self.row(width) + 1) * height for width, height, _ in self.passes())

    def row(self, width: int) -> int:
        """Bytes of a row of so many pixels."""
        return (width * self.step * self.depth + 7) // 8

    def passes(self) -> Iterator[tuple[int, int, tuple[int, int, int, int]]]:
        """Width, height and place of each that has pixels."""
        for left, top, right, down in _ADAM7 if self.interlaced else ((0, 0, 1, 1),):
            width = max(0, -(-(self.width - left) // right))
            height = max(0, -(-(self.height - top) // down))
            if width and height:
                yield width, height, (left, top, right, down)

    def samples(self, image: Image.Image, changed: bytes) -> Image.Image:
        """An image of the PNG's own samples, a byte each. Raises Unfit."""
        if image.mode not in ("RGB", "RGBA"):
            raise Unfit(f"pixels as {image.mode}")
        if self.colour == 3:
            return self._indexed(image, changed)
        if self.colour in (2, 6):
            return image.convert(_MODES[self.colour])
        grey = image.getchannel("R")
        if self.colour == 4:
            alpha = image.convert("RGBA").getchannel("A")
            return Image.merge("LA", (grey, alpha))
        scale = 255 // ((1 << self.depth) - 1)
        return grey if scale == 1 else grey.point([value // scale for value in range(256)])

    def changed(self, data: bytes) -> bytes:
        """PngWriter.changed of a file with a palette. Raises Unfit, or what Pillow raises."""
        image = open_still(data, Format.PNG, max_pixels=MAX_INDEXED)
        if image.mode != "P":
            raise Unfit("a palette that Pillow does not show as one")
        own = image.tobytes()
        same = self._indexed(plain(image), b"").tobytes()
        return b"" if own == same else zlib.compress(_xor(own, same), 6)

    def _indexed(self, image: Image.Image, changed: bytes) -> Image.Image:
        if self.width * self.height > MAX_INDEXED:
            raise Unfit("too many pixels to find their colours")
        numbers: dict[int, int] = {}
        for index in range(len(self.palette) // 3):
            shown = self.clear[index] if index < len(self.clear) else 255
            pixel = (*self.palette[3 * index : 3 * index + 3], shown)
            numbers.setdefault(int.from_bytes(pixel, sys.byteorder), index)
        pixels = memoryview(image.convert("RGBA").tobytes()).cast("I")
        try:
            found = bytes(map(numbers.__getitem__, pixels))
        except (KeyError, ValueError) as error:
            raise Unfit("a colour that its palette has not") from error
        if changed:
            found = _xor(found, _inflated(changed, len(found)))
        return Image.frombytes("L", image.size, found)

    def packed(self, image: Image.Image, width: int) -> bytes:
        """Rows of samples in as many bits as they have."""
        if self.depth == 8:
            return image.tobytes()
        each = 8 // self.depth
        if spare := -width % each:
            wider = Image.new("L", (width + spare, image.height))
            wider.paste(image, (0, 0))
            image = wider
        raw = image.tobytes()
        if raw and max(raw) >> self.depth:
            raise Unfit("samples of more bits than they may have")
        made = 0
        for at in range(each):  # no sample reaches into another's bits, however long the numbers
            made |= int.from_bytes(raw[at::each], "big") << self.depth * (each - 1 - at)
        return made.to_bytes(len(raw) // each, "big")


def _part(image: Image.Image, area: tuple[int, int, int, int]) -> Image.Image:
    """Every so manieth pixel."""
    left, top, right, down = area
    if (right, down) == (1, 1) and not left and not top:
        return image
    width = image.width
    parts = []
    for name in image.getbands():
        raw = image.getchannel(name).tobytes()
        lines = [
            raw[y * width + left : (y + 1) * width : right] for y in range(top, image.height, down)
        ]
        parts.append(Image.frombytes("L", (len(lines[0]), len(lines)), b"".join(lines)))
    return parts[0] if len(parts) == 1 else Image.merge(image.mode, parts)


def _xor(one: bytes, other: bytes) -> bytes:
    made = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return made.to_bytes(len(one), "big")


def _inflated(data: bytes, size: int) -> bytes:
    """Raises Unfit unless it is just so much."""
    inflater = zlib.decompressobj()
    try:
        found = inflater.decompress(data, size + 1)
    except zlib.error as error:
        raise Unfit(str(error)) from error
    if len(found) != size:
        raise Unfit(f"{len(found)} bytes where there should be {size}")
    return found
