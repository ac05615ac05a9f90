"""A zip's central directory: which raw bytes of the file belong to which entry.

The file is cut at its local headers, so that its ranges, in whatever order they come, put together
are the file again, byte for byte. Nothing is decompressed here. Strict: what two readers could take
for two different archives is refused. Must not know: what the entries mean. Pure.

Source: APPNOTE.TXT 6.3.10, sections 4.3.12 (central directory) and 4.3.16 (its end).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from office.errors import NeedsMore, Unreadable

__all__ = ["STORED", "Directory", "NeedsMore", "Unreadable", "ZipEntry", "parse"]

STORED: Final = 0
DEFLATED: Final = 8
ENCRYPTED: Final = 1 << 0 | 1 << 6 | 1 << 13
"""Flags: encrypted, strongly, and with its names hidden."""
UTF_8: Final = 1 << 11
MAX_ENTRIES: Final = 8192
"""Decks of a thousand slides have 4,000; more is nothing that anybody reads."""
MAX_DIRECTORY: Final = 1 << 20
"""Bytes from the central directory to the end of the file."""
MAX_NAME: Final = 255
"""Characters of an entry's name."""
_END: Final = struct.Struct("<4s4H2LH")
_CENTRAL: Final = struct.Struct("<4s6H3L5H2L")
LOCAL: Final = struct.Struct("<4s5H3L2H")
"""Of each entry, in front of its name, its extra field and its bytes (4.3.7)."""
_MAX_END: Final = _END.size + 0xFFFF
"""Bytes: with the longest comment."""
_FULL: Final = (0xFFFF, 0xFFFFFFFF)
"""What a field has whose value is in the zip64 part."""


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """One file in the zip."""

    name: str
    start: int
    """Offset, bytes, of its local header."""
    end: int
    """Where the next entry or the central directory begins: its bytes, what may describe them
    behind, and any gap belong to it."""
    compressed: int
    """Bytes as they are in the zip."""
    size: int
    """Bytes as they are outside."""
    method: int
    flags: int
    crc: int


@dataclass(frozen=True, slots=True)
class Directory:
    """All entries, as the central directory lists them. They and `raw` are the whole file."""

    entries: tuple[ZipEntry, ...]
    start: int
    """Offset, bytes, of the central directory."""
    length: int
    """Bytes of the file."""
    raw: bytes
    """The file from `start` on."""

    def find(self, name: str) -> ZipEntry | None:
        """The entry of that name."""
        return next((entry for entry in self.entries if entry.name == name), None)

    @property
    def by_name(self) -> dict[str, ZipEntry]:
        """All entries; names are unique."""
        return {entry.name: entry for entry in self.entries}


def parse(tail: bytes, *, length: int) -> Directory:
    """The directory of a zip of `length` bytes that ends with `tail`.

    Raises NeedsMore where the tail is too short, Unreadable where the file is to be left alone.
    """
    first = length - len(tail)
    count, size, start, end = _end_of(tail, first)
    if size > MAX_DIRECTORY or length - start > MAX_DIRECTORY:
        raise Unreadable("its central directory is too long")
    if start + size != end:
        raise Unreadable("its central directory is not where it should be")
    if start < first:
        raise NeedsMore(start)
    raw = tail[start - first :]
    entries = _ends(_entries(raw[:size], count), start)
    return Directory(tuple(entries), start, length, bytes(raw))


def _end_of(tail: bytes, first: int) -> tuple[int, int, int, int]:
    """Number of entries, bytes and offset of the central directory, offset of its end record."""
    at = len(tail)
    while (at := tail.rfind(b"PK\x05\x06", 0, at)) >= 0:
        if at + _END.size > len(tail):
            continue
        _, disk, disk_of, here, count, size, start, comment = _END.unpack_from(tail, at)
        if at + _END.size + comment != len(tail):
            continue  # these four bytes are in a comment
        if any(field in _FULL for field in (disk, here, count, size, start)):
            raise Unreadable("it is a zip64")
        if disk or disk_of or here != count:
            raise Unreadable("it is one of several volumes")
        if not 0 < count <= MAX_ENTRIES:
            raise Unreadable(f"it has {count} entries")
        return count, size, start, first + at
    if first and len(tail) < _MAX_END:
        raise NeedsMore(max(0, first + len(tail) - _MAX_END))
    raise Unreadable("it is no zip, or cut off")


def _entries(records: bytes, count: int) -> list[ZipEntry]:
    """As listed; where each ends is not known yet."""
    found: dict[str, ZipEntry] = {}
    at = 0
    for _ in range(count):
        if at + _CENTRAL.size > len(records) or records[at : at + 4] != b"PK\x01\x02":
            raise Unreadable("its central directory is damaged")
        fields = _CENTRAL.unpack_from(records, at)
        _, _, _, flags, method, _, _, crc, compressed, size = fields[:10]
        name_size, extra, comment, disk, _, _, start = fields[10:]
        at += _CENTRAL.size
        name = _name(records[at : at + name_size], flags)
        at += name_size + extra + comment
        if flags & ENCRYPTED:
            raise Unreadable("it is encrypted")
        if method not in (STORED, DEFLATED) or (method == STORED and compressed != size):
            raise Unreadable(f"{name!r} is packed in an unusual way")
        if disk or any(field in _FULL for field in (compressed, size, start)):
            raise Unreadable("it is a zip64, or one of several volumes")
        if name in found:
            raise Unreadable(f"it has {name!r} twice")
        found[name] = ZipEntry(name, start, 0, compressed, size, method, flags, crc)
    if at != len(records):
        raise Unreadable("its central directory is damaged")
    return list(found.values())


def _name(raw: bytes, flags: int) -> str:
    """Raises Unreadable for one that could lead out of the archive, or be read in two ways."""
    try:
        name = raw.decode("utf-8" if flags & UTF_8 else "cp437")
    except UnicodeDecodeError:
        raise Unreadable("a name in it is damaged") from None
    steps = name.removesuffix("/").split("/")
    if not 0 < len(name) <= MAX_NAME or any(step in ("", ".", "..") for step in steps):
        raise Unreadable(f"the name {name[:MAX_NAME]!r} in it leads elsewhere")
    if any(char in '\\:"<>|' or not char.isprintable() for char in name):
        raise Unreadable(f"the name {name!r} in it has characters that it must not have")
    return name


def _ends(entries: list[ZipEntry], directory: int) -> list[ZipEntry]:
    """The entries with the offsets where they end. Raises Unreadable where they overlap."""
    in_order = sorted(entries, key=lambda entry: entry.start)
    starts = [*(entry.start for entry in in_order), directory]
    if starts[0]:
        raise Unreadable("something is in front of its first entry")
    ends = {}
    for entry, (start, end) in zip(in_order, pairwise(starts), strict=True):
        if start + LOCAL.size + len(entry.name) + entry.compressed > end:
            raise Unreadable(f"{entry.name!r} overlaps what follows")
        ends[entry.name] = end
    return [
        ZipEntry(one.name, one.start, ends[one.name], one.compressed, one.size, one.method,
              one.flags, one.crc)
        for one in entries
    ]  # fmt: skip
