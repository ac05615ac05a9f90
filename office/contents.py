"""An entry's bytes out of the raw range of a zip, checked, and never more than it said.

Pure. Source: APPNOTE.TXT 6.3.10, section 4.3.7 (local header).
"""

from __future__ import annotations

import zlib
from typing import Final

from office.errors import Unreadable
from office.extents import Range
from office.zip_directory import LOCAL, STORED, Directory, ZipEntry

MAX_PART: Final = 32 << 20
"""Bytes of one part that anybody here parses."""
MAX_RATIO: Final = 200
"""Bytes outside to those in the zip, of the whole file. Of 1,036 real documents the highest was 70;
what is made to fill memory has a thousand."""
_RAW_DEFLATE: Final = -15


def check_ratio(directory: Directory) -> None:
    """Raises Unreadable for a file that would be out of proportion once it is unpacked."""
    size = sum(entry.size for entry in directory.entries)
    if size > MAX_RATIO * directory.length:
        raise Unreadable(f"it would unpack to {size} bytes")


def extent(entry: ZipEntry, raw: bytes) -> Range | None:
    """Where in its range an entry's own bytes are, as they are in the zip; None: nowhere."""
    if len(raw) < LOCAL.size or raw[:4] != b"PK\x03\x04":
        return None
    fields = LOCAL.unpack_from(raw)
    begin = LOCAL.size + fields[9] + fields[10]
    return begin, begin + entry.compressed


def beginning(entry: ZipEntry, raw: bytes, size: int) -> bytes:
    """The first `size` bytes of an entry, or fewer, from the beginning of its range. Unchecked."""
    place = extent(entry, raw)
    if place is None:
        return b""
    data = raw[slice(*place)]
    if entry.method == STORED:
        return data[:size]
    try:
        return zlib.decompressobj(_RAW_DEFLATE).decompress(data, size)
    except zlib.error:
        return b""


def unpacked(entry: ZipEntry, raw: bytes) -> bytes:
    """The bytes of an entry from its raw range. Raises Unreadable if they are not what it says."""
    place = extent(entry, raw)
    if place is None:
        raise Unreadable(f"{entry.name!r} has no header of its own")
    if entry.size > MAX_PART:
        raise Unreadable(f"{entry.name!r} has {entry.size} bytes")
    data = raw[slice(*place)]
    if entry.method != STORED:
        inflate = zlib.decompressobj(_RAW_DEFLATE)
        try:
            data = inflate.decompress(data, entry.size + 1)
        except zlib.error as error:
            raise Unreadable(f"{entry.name!r} is damaged: {error}") from None
    if len(data) != entry.size or zlib.crc32(data) != entry.crc:
        raise Unreadable(f"{entry.name!r} is damaged")
    return data
