"""Reads what an AVIF says of itself and what its decoder would have to draw, before it is decoded.

A decoder allocates as the AV1 data inside say, and scales the result to what the file says: 1 KB
may be a picture of 256 million pixels that claims to be a thumbnail. So the sequence header of each
picture in the file is read here, where the file says that it lies; a file that says so in any
unusual way is left alone. Knows boxes and headers; does not decode.

Sources: AVIF 1.1; ISO/IEC 14496-12, 8.11 (meta, iloc, iinf); ISO/IEC 23008-12, 6.5 (properties);
AV1 bitstream, 5.3 to 5.5.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from transcoders.picture import Unfit

BRANDS: Final = 64
"""Bytes at the beginning of a file in which the brand is looked for."""
_FULL_BOX: Final = 4
"""Bytes of version and flags."""
_CROPPED_OR_TURNED: Final = frozenset((b"clap", b"irot", b"imir"))
_HIGH_RANGE: Final = frozenset((16, 18))
"""Transfer characteristics of PQ and HLG (ITU-T H.273, 8.2), which eight bits show paler."""
_SEQUENCE_HEADER, _FRAME_HEADER, _FRAME = 1, 3, 6
"""OBU types (AV1, 6.2.2)."""
_MOST_ITEMS: Final = 256


@dataclass(frozen=True, slots=True)
class AvifHeader:
    """One still picture."""

    width: int
    height: int
    coded: int
    """Pixels that its decoder draws, with those of alpha, thumbnails and tiles."""


def is_avif(head: bytes) -> bool:
    """Whether a file of these first bytes is one, and no sequence of pictures."""
    if head[4:8] != b"ftyp" or len(head) < 16:
        return False
    size = min(struct.unpack_from(">I", head)[0], BRANDS)
    brands = [head[8:12], *(head[at : at + 4] for at in range(16, min(size, len(head)) - 3, 4))]
    return b"avif" in brands and b"avis" not in brands


def dimensions(head: bytes) -> tuple[int, int] | None:
    """Width and height that the file claims; None: the first bytes do not tell."""
    sizes = []
    at = head.find(b"ispe")
    while at >= 0 and at + 16 <= len(head):
        sizes.append(struct.unpack_from(">II", head, at + 8))
        at = head.find(b"ispe", at + 16)
    return max(sizes, key=lambda size: size[0] * size[1], default=None)


def inspect(data: bytes) -> AvifHeader:
    """The header of a whole file. Raises Unfit where it is unusual, damaged, cropped or turned."""
    try:
        return _header(memoryview(data))
    except (struct.error, IndexError) as error:
        raise Unfit(f"an AVIF that is cut: {error}") from error


def _header(data: memoryview) -> AvifHeader:
    meta = _one(_boxes(data), b"meta")[_FULL_BOX:]
    boxes = _boxes(meta)
    properties = _boxes(_one(_boxes(_one(boxes, b"iprp")), b"ipco"))
    if _CROPPED_OR_TURNED & properties.keys():
        raise Unfit("an AVIF that is cropped or turned")
    for colour in properties.get(b"colr", []):
        if bytes(colour[:4]) == b"nclx" and struct.unpack_from(">H", colour, 6)[0] in _HIGH_RANGE:
            raise Unfit("an AVIF of high dynamic range")
    sizes = [struct.unpack_from(">II", one, _FULL_BOX) for one in properties.get(b"ispe", [])]
    if not sizes:
        raise Unfit("an AVIF without a size")
    width, height = max(sizes, key=lambda size: size[0] * size[1])
    kinds = dict(_kinds(_one(boxes, b"iinf")))
    places = dict(_places(_one(boxes, b"iloc")))
    coded = 0
    for item, kind in kinds.items():
        if kind == b"av01":
            coded += _drawn(_bytes_of(data, places.get(item, [])))
    return AvifHeader(width, height, coded)


def _boxes(data: memoryview) -> dict[bytes, list[memoryview]]:
    """The contents of the boxes in it, by type. Raises Unfit."""
    found: dict[bytes, list[memoryview]] = {}
    at = 0
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        start = at + 8
        if size == 1:
            (size,) = struct.unpack_from(">Q", data, start)
            start += 8
        end = len(data) if size == 0 else at + size
        if not start <= end <= len(data):
            raise Unfit("an AVIF with a box that has no end")
        found.setdefault(kind, []).append(data[start:end])
        at = end
    return found


def _one(boxes: dict[bytes, list[memoryview]], kind: bytes) -> memoryview:
    found = boxes.get(kind, [])
    if len(found) != 1:
        raise Unfit(f"an AVIF with {len(found)} boxes {kind.decode()}")
    return found[0]


def _kinds(iinf: memoryview) -> Iterator[tuple[int, bytes]]:
    """Type of each item, by id."""
    start = 6 if iinf[0] == 0 else 8
    entries = _boxes(iinf[start:])
    if entries.keys() != {b"infe"} or len(entries[b"infe"]) > _MOST_ITEMS:
        raise Unfit("an AVIF with unusual items")
    for entry in entries[b"infe"]:
        if entry[0] not in (2, 3):
            raise Unfit("an AVIF with items of another version")
        wide = entry[0] == 3
        yield struct.unpack_from(">I2x4s" if wide else ">H2x4s", entry, _FULL_BOX)


def _places(iloc: memoryview) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Offset and length of each piece of an item in the file, by the item's id."""
    version = iloc[0]
    if version > 2:
        raise Unfit("an AVIF with places of another version")
    sizes = struct.unpack_from(">H", iloc, _FULL_BOX)[0]
    offset, length, base, index = (sizes >> shift & 15 for shift in (12, 8, 4, 0))
    if not {offset, length, base, index if version else 0} <= {0, 4, 8}:
        raise Unfit("an AVIF with places of unusual size")
    at = _FULL_BOX + 2

    def number(size: int) -> int:
        nonlocal at
        if at + size > len(iloc):
            raise IndexError("iloc")
        at += size
        return int.from_bytes(iloc[at - size : at])

    for _ in range(min(number(4 if version == 2 else 2), _MOST_ITEMS)):
        item = number(4 if version == 2 else 2)
        method = number(2) & 15 if version else 0
        reference, start = number(2), number(base)
        pieces = []
        for _ in range(number(2)):
            if version and index:
                number(index)
            pieces.append((start + number(offset), number(length)))
        # Others lie in another file, or in the box `idat`: never those that are drawn.
        yield item, pieces if not method and not reference else []


def _bytes_of(data: memoryview, pieces: list[tuple[int, int]]) -> bytes:
    if not pieces or any(start + length > len(data) for start, length in pieces):
        raise Unfit("an AVIF whose data lie elsewhere")
    return b"".join(data[start : start + length] for start, length in pieces)


def _drawn(obus: bytes) -> int:
    """Pixels of all frames in it, each as large as its sequence allows."""
    at = frames = most = 0
    while at < len(obus):
        head = obus[at]
        at += 2 if head & 4 else 1
        size = len(obus) - at
        if head & 2:
            size, at = _leb128(obus, at)
        if head & 0x80 or at + size > len(obus):
            raise Unfit("an AVIF with damaged AV1 data")
        kind = head >> 3 & 15
        if kind == _SEQUENCE_HEADER:
            most = max(most, _most_pixels(obus[at : at + size]))
        frames += kind in (_FRAME_HEADER, _FRAME)
        at += size
    if not most or not frames:
        raise Unfit("an AVIF without a picture")
    return most * frames


def _leb128(data: bytes, at: int) -> tuple[int, int]:
    """AV1, 4.10.5; and where what follows begins."""
    value = 0
    for number in range(8):
        byte = data[at + number]
        value |= (byte & 0x7F) << 7 * number
        if not byte & 0x80:
            return value, at + number + 1
    raise Unfit("an AVIF with a number without an end")


def _most_pixels(header: bytes) -> int:
    """Bounds the pixels of a frame by what a sequence header says (AV1, 5.5.1)."""
    bits, left = int.from_bytes(header), 8 * len(header)

    def take(count: int) -> int:
        nonlocal left
        left -= count
        if left < 0:
            raise IndexError("sequence header")
        return bits >> left & (1 << count) - 1

    take(3 + 1)  # profile, still picture
    if take(1):  # reduced header
        take(5)
    else:
        if take(1):
            raise Unfit("an AVIF that tells times")
        delays = take(1)
        for _ in range(take(5) + 1):
            take(12)
            if take(5) > 7:
                take(1)
            if delays and take(1):
                take(4)
    width, height = take(4) + 1, take(4) + 1
    return (take(width) + 1) * (take(height) + 1)
