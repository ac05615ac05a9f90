"""Where an animation's first frame ends in its file: what stands for it until all of it is here.

Sources: GIF89a, sections 15 to 27; RFC 9649, 2.7.1; PNG, third edition, 4.8 and 11.3.6. Knows file
structure; decodes nothing.
"""

from __future__ import annotations

import struct
from typing import Final

from transcoders.formats.sniff import Format
from transcoders.picture import Unfit

_GIF_HEADER: Final = 13
_GIF_IMAGE: Final = 10
_IMAGE, _EXTENSION = 0x2C, 0x21
_TABLE: Final = 0x80
"""Bit of a GIF's flags: colours follow."""
MAX_BLOCKS: Final = 20_000
"""Of one file before its first frame is over: 5 MB of a GIF's, read in some milliseconds."""


def first_frame(data: bytes, kind: Format) -> int:
    """How many of the bytes show its first frame. Raises Unfit where that can't be told."""
    try:
        match kind:
            case Format.GIF:
                return _of_gif(data)
            case Format.WEBP:
                return _of_webp(data)
            case Format.PNG:
                return _of_png(data)
    except (IndexError, struct.error):
        pass
    raise Unfit("no first frame in it")


def _of_gif(data: bytes) -> int:
    """Blocks, those of data within other ones included: an empty one of these ends the other."""
    at, inside, image = _GIF_HEADER + _colours(data[10]), False, False
    for _ in range(MAX_BLOCKS):
        kind = data[at]
        if inside:
            at, inside = at + 1 + kind, kind > 0
            if image and not inside:
                return _within(data, at)
        elif kind == _IMAGE:
            at, inside, image = at + _GIF_IMAGE + _colours(data[at + 9]) + 1, True, True
        elif kind == _EXTENSION:
            at, inside = at + 2, True
        else:
            break
    raise Unfit("a GIF without a frame")


def _colours(flags: int) -> int:
    """Bytes of the table of colours that these flags announce."""
    return 3 << (flags & 7) + 1 if flags & _TABLE else 0


def _of_webp(data: bytes) -> int:
    at = 12
    for _ in range(MAX_BLOCKS):
        kind, length = struct.unpack_from("<4sI", data, at)
        at += 8 + length + length % 2
        if kind == b"ANMF":
            return _within(data, at)
    raise Unfit("a WebP without a frame")


def _of_png(data: bytes) -> int:
    """The default image must be the first frame: a browser shows no other one of those."""
    at, framed, pixels = 8, False, False
    for _ in range(MAX_BLOCKS):
        length, kind = struct.unpack_from(">I4s", data, at)
        if pixels and kind != b"IDAT":
            return at
        if kind == b"IDAT" and not framed:
            raise Unfit("its default image is no frame")
        framed, pixels = framed or kind == b"fcTL", kind == b"IDAT"
        at = _within(data, at + 12 + length)
    raise Unfit("a PNG without a frame")


def _within(data: bytes, end: int) -> int:
    """The same. Raises Unfit if the file ends before."""
    if end > len(data):
        raise Unfit("it ends within its first frame")
    return end
