"""PNGs written chunk by chunk, so that a test knows their pixels without any decoder."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
DEPTHS = {0: (1, 2, 4, 8), 2: (8,), 3: (1, 2, 4, 8), 4: (8,), 6: (8,)}
"""By colour type; 16 bits apart."""
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2))
_PASSES = (*_ADAM7, (0, 1, 1, 2))

Sample = tuple[int, ...]


def chunk(kind: bytes, body: bytes = b"") -> bytes:
    """With its length and checksum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


@dataclass
class Png:
    """A picture by its samples, row by row."""

    width: int
    height: int
    colour: int
    depth: int
    samples: Sequence[Sample]
    palette: Sequence[tuple[int, int, int]] = ()
    clear: bytes | None = None
    """Content of tRNS."""
    interlaced: bool = False
    filters: Sequence[int] = (0,)
    """Of the rows, over and over."""
    extra: Sequence[bytes] = field(default_factory=tuple)
    """Chunks before the palette."""

    def file(self, *, level: int = 0) -> bytes:
        """`level` 0: stored, not deflated, any other file is smaller."""
        header = struct.pack(
            ">IIBBBBB", self.width, self.height, self.depth, self.colour, 0, 0, self.interlaced
        )
        chunks = [chunk(b"IHDR", header), *self.extra]
        if self.palette:
            chunks.append(chunk(b"PLTE", b"".join(bytes(colour) for colour in self.palette)))
        if self.clear is not None:
            chunks.append(chunk(b"tRNS", self.clear))
        pixels = zlib.compress(b"".join(self.rows()), level)
        return SIGNATURE + b"".join((*chunks, chunk(b"IDAT", pixels), chunk(b"IEND")))

    def shown(self) -> list[tuple[int, int, int, int]]:
        """Red, green, blue and alpha of each pixel."""
        return [self._shown(sample) for sample in self.samples]

    def _shown(self, sample: Sample) -> tuple[int, int, int, int]:
        if self.colour == 3:
            (index,) = sample
            alpha = self.clear[index] if self.clear and index < len(self.clear) else 255
            return (*self.palette[index], alpha)
        scale = 255 // ((1 << self.depth) - 1)
        values = tuple(value * scale for value in sample)
        if self.colour in (4, 6):
            *colour, alpha = values
        else:
            colour, alpha = list(values), 255
            if self.clear is not None and self.clear == struct.pack(f">{len(sample)}H", *sample):
                alpha = 0
        red, green, blue = colour * 3 if len(colour) == 1 else colour
        return red, green, blue, alpha

    def rows(self) -> Iterable[bytes]:
        passes = _PASSES if self.interlaced else ((0, 0, 1, 1),)
        count = 0
        for left, top, right, down in passes:
            columns = range(left, self.width, right)
            before = b""
            for y in range(top, self.height, down) if columns else ():
                row = self._packed([self.samples[y * self.width + x] for x in columns])
                how = self.filters[count % len(self.filters)]
                yield bytes((how,)) + self._filtered(how, row, before or bytes(len(row)))
                before, count = row, count + 1

    def _packed(self, samples: Sequence[Sample]) -> bytes:
        values = [value for sample in samples for value in sample]
        bits = "".join(f"{value:0{self.depth}b}" for value in values)
        bits += "0" * (-len(bits) % 8)
        return int(bits, 2).to_bytes(len(bits) // 8, "big")

    def _filtered(self, how: int, row: bytes, above: bytes) -> bytes:
        """PNG, third edition, 9.2."""
        step = max(1, CHANNELS[self.colour] * self.depth // 8)
        made = bytearray()
        for at, value in enumerate(row):
            a, c = (row[at - step], above[at - step]) if at >= step else (0, 0)
            b = above[at]
            made.append((value - (0, a, b, (a + b) // 2, _paeth(a, b, c))[how]) % 256)
        return bytes(made)


def _paeth(a: int, b: int, c: int) -> int:
    p = a + b - c
    return min(((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c)))[2]
