"""Reads from a PNG's chunks whether its pixels in another file look the same.

A list of what is known to change nothing, so that what nobody thought of keeps the file as it is.
In Chromium 156 pHYs changes neither pixels nor natural size; bKGD, sBIT, cHRM alone and a gAMA of
1/2.2 alone change no pixel; eXIf turns the picture; gAMA beside cHRM changes colours.
Source: PNG, third edition, sections 5 and 11; ICC.1:2022, section 7.2.

Knows chunks; does not decode, and does not know what the answer is for.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from typing import Final

from transcoders.formats import metadata
from transcoders.picture import Unfit

_SIGNATURE: Final = 8
_HEADER: Final = struct.Struct(">IIBBBBB")
_IGNORED: Final = frozenset(
    (
        *(b"tEXt", b"zTXt", b"iTXt", b"tIME"),
        *(b"pHYs", b"oFFs", b"bKGD", b"sBIT", b"hIST", b"sPLT"),
        *(b"vpAg", b"iDOT", b"prVW", b"mkBF", b"mkTS", b"mkBS", b"mkBT"),  # programs' own
    )
)
_SHOWN: Final = frozenset(
    (b"PLTE", b"tRNS", b"IDAT", b"IEND", b"sRGB", b"gAMA", b"cHRM", b"iCCP", b"eXIf")
)
"""Chunks that are understood here. A second one of a kind, IDAT apart, is read in two ways."""
MAX_CHUNKS: Final = 10_000
"""Of a file of 8 MB in pieces of 8 KB, ten times over."""
_SRGB_GAMMA: Final = 45455
"""Of gAMA, 1/2.2: as if it were not there, as long as no cHRM is."""
_GREY, _PALETTE = 0, 3
_COLOURED: Final = frozenset((2, 3, 6))
"""Colour types that may have an RGB profile."""


@dataclass(frozen=True, slots=True)
class PlainPng:
    """A PNG that holds nothing but what is understood."""

    width: int
    height: int
    colours: int
    """In the palette; 0: there is none."""
    profiled: bool
    """It has an ICC profile."""


@dataclass(slots=True)
class _Header:
    width: int
    height: int
    depth: int
    colour: int
    found: dict[bytes, bytes] = field(default_factory=dict)
    """Of each chunk what it holds; IDAT's is left out."""


def inspect(data: bytes) -> PlainPng:
    """Read a whole file. Raises Unfit where another file might not be shown as this one is."""
    header = _read(data)
    if header.depth == 16:
        raise Unfit("16 bits of a channel, which the other file has not")
    _check_colours(header)
    _check_exif(header)
    _check_transparency(header)
    return PlainPng(
        header.width,
        header.height,
        len(header.found.get(b"PLTE", b"")) // 3 if header.colour == _PALETTE else 0,
        b"iCCP" in header.found,
    )


def sound_profile(icc: bytes) -> bool:
    """Whether an RGB profile is one that a PNG decoder takes just as any other: libpng looks
    closer than others do (png_icc_check_header), and what it refuses is not applied."""
    if len(icc) < 132 or len(icc) % 4 or struct.unpack_from(">I", icc)[0] != len(icc):
        return False
    kind, space, connection = icc[12:16], icc[16:20], icc[20:24]
    if (kind, space, icc[36:40]) != (b"mntr", b"RGB ", b"acsp"):
        return False
    if connection not in (b"XYZ ", b"Lab ") or struct.unpack_from(">I", icc, 64)[0] > 3:
        return False
    (tags,) = struct.unpack_from(">I", icc, 128)
    if tags > 100 or len(icc) < 132 + 12 * tags:
        return False
    places = (struct.unpack_from(">II", icc, 136 + 12 * tag) for tag in range(tags))
    return all(start + size <= len(icc) for start, size in places)


def _read(data: bytes) -> _Header:
    """All chunks, each with the checksum that it should have, in an order that is allowed."""
    kind, body, at = _chunk(data, _SIGNATURE)
    if kind != b"IHDR" or len(body) != _HEADER.size:
        raise Unfit("a PNG without its header")
    width, height, depth, colour, *methods = _HEADER.unpack(body)
    if methods[:2] != [0, 0] or methods[2] > 1:
        raise Unfit("a PNG of another method")
    header = _Header(width, height, depth, colour)
    pixels = last = b""
    for _ in range(MAX_CHUNKS):
        kind, body, at = _chunk(data, at)
        if kind == b"IEND":
            break
        if kind == b"IDAT":
            if pixels and last != b"IDAT":
                raise Unfit("its pixels are in two places")
            pixels = kind
        elif kind in _SHOWN:
            if kind in header.found or pixels:
                raise Unfit(f"a chunk where it should not be: {kind!r}")
            header.found[kind] = body
        elif kind not in _IGNORED:
            raise Unfit(f"a chunk of unknown effect: {kind!r}")
        last = kind
    if kind != b"IEND" or at != len(data) or not pixels:
        raise Unfit("a PNG that does not end where it should")
    return header


def _chunk(data: bytes, at: int) -> tuple[bytes, bytes, int]:
    """Type and content of the chunk there, and where the next one begins. Raises Unfit."""
    if at + 12 > len(data):
        raise Unfit("a truncated PNG")
    (size,) = struct.unpack_from(">I", data, at)
    end = at + 12 + size
    if end > len(data):
        raise Unfit("a truncated PNG")
    if zlib.crc32(memoryview(data)[at + 4 : end - 4]) != struct.unpack_from(">I", data, end - 4)[0]:
        raise Unfit("a chunk with a wrong checksum")
    return data[at + 4 : at + 8], data[at + 8 : end - 4], end


def _check_colours(header: _Header) -> None:
    """Raises Unfit unless its colours are sRGB's or a profile says what they are."""
    found = header.found
    if header.colour not in _COLOURED and b"iCCP" in found:
        raise Unfit("a profile of grey")
    if b"sRGB" in found or b"iCCP" in found:
        return
    if b"cHRM" in found or found.get(b"gAMA", b"") not in (b"", struct.pack(">I", _SRGB_GAMMA)):
        raise Unfit("colours that only gAMA and cHRM tell of")


def _check_exif(header: _Header) -> None:
    """Raises Unfit where EXIF, which browsers honour in PNG too, could turn or scale it."""
    exif = header.found.get(b"eXIf", b"")
    if metadata.orientation(exif) != 1 or metadata.sets_natural_size(
        exif, header.width, header.height
    ):
        raise Unfit("turned or scaled by EXIF")


def _check_transparency(header: _Header) -> None:
    """Raises Unfit where decoders differ in what a palette or tRNS means."""
    palette = len(header.found.get(b"PLTE", b""))
    if palette % 3 or palette > 768 or (header.colour == _PALETTE and not palette):
        raise Unfit("a damaged palette")
    clear = header.found.get(b"tRNS")
    if clear is None:
        return
    if header.colour == _PALETTE:
        sound = 0 < len(clear) <= palette // 3
    elif header.colour == _GREY:
        # Of less than 8 bits, Pillow scales the pixels and not the colour that shows through.
        sound = header.depth == 8 and len(clear) == 2 and clear[0] == 0
    else:
        sound = header.colour == 2 and len(clear) == 6 and not any(clear[::2])
    if not sound:
        raise Unfit("damaged transparency")
