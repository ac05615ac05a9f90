"""One entry of a zip, out of its raw bytes and into raw bytes.

Sizes are told by whoever made the file, so nothing is unpacked past what the directory announces.
Must not know: what entries mean. Pure.

Source: APPNOTE.TXT 6.3.10, section 4.3.7 (local header).
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from office.errors import Unreadable
from office.zip_directory import LOCAL, STORED, UTF_8, Entry

_NAMES: Final = struct.Struct("<26x2H")
"""Lengths of the name and of the extra field in a local header."""
_VERSION: Final = 20
"""To extract: what deflate and folders ask for (4.4.3.2)."""
MIDNIGHT_1980: Final = (0, 0x21)
"""MS-DOS time and date."""


def content(entry: Entry, raw: bytes) -> bytes:
    """What is in an entry; `raw` is its range of the file.

    Raises Unreadable where it isn't what the directory announces.
    """
    if raw[:4] != b"PK\x03\x04" or len(raw) < LOCAL.size:
        raise Unreadable(f"{entry.name!r} is not where the directory says")
    name, extra = _NAMES.unpack_from(raw)
    begin = LOCAL.size + name + extra
    packed = raw[begin : begin + entry.compressed]
    if entry.method == STORED:
        unpacked = packed
    else:
        try:
            unpacked = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, entry.size + 1)
        except zlib.error as error:
            raise Unreadable(f"{entry.name!r} is damaged: {error}") from error
    if len(unpacked) != entry.size or zlib.crc32(unpacked) != entry.crc:
        raise Unreadable(f"{entry.name!r} is damaged")
    return unpacked


def stored(name: bytes, flags: int, data: bytes) -> bytes:
    """A local header and `data` behind it as it is; of the flags only the name's coding is kept."""
    header = LOCAL.pack(
        b"PK\x03\x04", _VERSION, flags & UTF_8, STORED, *MIDNIGHT_1980,
        zlib.crc32(data), len(data), len(data), len(name), 0,
    )  # fmt: skip
    return header + name + data
