"""A document in parts: which bytes of its file each component carries, and what is there already.

The parts are cut from the file as it is, so whoever has them all has the file, byte for byte. Must
not know: formats; what lies in the ranges is for `office` to say. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from wire.errors import PeerError
from wire.skeleton import Kind

Range = tuple[int, int]
"""Offsets, bytes: the first, and the one behind the last."""
MAX_LENGTH: Final = 1 << 31
"""Bytes of a file that anybody may announce in parts."""


class Slice(msgspec.Struct, frozen=True, array_like=True):
    """One component of a file: some ranges of it, one behind the other.

    With Levels it has versions in front, and the ranges are its last level.
    """

    kind: Kind
    ranges: list[int]
    """As `flat` has them."""
    pages: list[int] = []
    """Where it is seen, from 1, as `flat` has ranges; empty: not known, or nowhere."""
    width: int = 0
    """Pixels; 0: not known, or no picture."""
    height: int = 0
    view: int = 0
    """Bytes of a view of the document's texts, which it brings instead of ranges: for who takes
    VIEWS, in office.text_view.records' form, coded as its Head says."""


class Held(msgspec.Struct, frozen=True, array_like=True):
    """What is here of a file that an earlier session was bringing."""

    directory: bytes
    """SHA-256 of the file's directory: if that is another now, so is the file."""
    ranges: list[int]
    """As `flat` has them."""
    coarse: list[int] = []
    """Offsets at which pictures begin whose versions are here."""
    view: bool = False
    """All of the view of its texts is here."""


def flat(ranges: Iterable[Range]) -> list[int]:
    """Ranges as [gap, length, gap, length ...]: small numbers take few bytes."""
    numbers: list[int] = []
    at = 0
    for start, end in ranges:
        numbers += (start - at, end - start)
        at = end
    return numbers


def ranges_of(numbers: Sequence[int], *, length: int) -> list[Range]:
    """The ranges in a file of `length` bytes. Raises PeerError if they leave it or overlap."""
    if len(numbers) % 2:
        raise PeerError("half a range of a file")
    found, at = [], 0
    for gap, size in zip(numbers[::2], numbers[1::2], strict=True):
        if gap < 0 or size <= 0 or at + gap + size > length:
            raise PeerError(f"a range that is not in a file of {length} bytes")
        found.append((at + gap, at + gap + size))
        at += gap + size
    return found
