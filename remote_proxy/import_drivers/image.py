"""Dimensions of a picture from its first bytes, before any of it is decoded.

Sources: PNG (RFC 2083, 3.2 and 4.1.1), GIF89a, JPEG (T.81, B.2.2), WebP (RFC 9649), AVIF/HEIF
(ISO 14496-12 boxes, ISO 23008-12 `ispe`). SVG has no size that can be read here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

ENOUGH: Final = 64 << 10
"""Bytes after which it is not worth to wait any longer: thumbnails and profiles precede a JPEG's
frame header, but rarely by more."""

_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""SOF markers of JPEG; the three between them mean tables and extensions."""
_ALONE: Final = frozenset((0x01, 0xFF, *range(0xD0, 0xD8)))
"""Markers without a length; 0xFF is fill."""
_CONTAINERS: Final = (b"meta", b"iprp", b"ipco")


@dataclass(frozen=True, slots=True)
class ImageSize:
    """A picture's own size."""

    content_type: str
    width: int
    """Pixels."""
    height: int
    progressive: bool = False
    """JPEG: coded in scans, each of the whole picture."""
    alpha: bool = False
    """The header says that there is transparency (WebP, PNG with an alpha channel)."""


def image_size(head: bytes) -> ImageSize | None:
    """What the header says; None if it isn't one that is known, or more bytes are needed."""
    try:
        for magic, parse in (
            (b"\x89PNG\r\n\x1a\n", _png), (b"GIF8", _gif), (b"\xff\xd8\xff", _jpeg),
            (b"RIFF", _webp),
        ):  # fmt: skip
            if head.startswith(magic):
                return parse(head)
        return _avif(head) if head[4:8] == b"ftyp" else None
    except (struct.error, IndexError):
        return None


def _png(head: bytes) -> ImageSize | None:
    if head[12:16] != b"IHDR":
        return None
    width, height, _, colour = struct.unpack_from(">IIBB", head, 16)
    return _size("image/png", width, height, alpha=colour in (4, 6))


def _gif(head: bytes) -> ImageSize | None:
    return _size("image/gif", *struct.unpack_from("<HH", head, 6))


def _jpeg(head: bytes) -> ImageSize | None:
    at = 2
    while True:
        if head[at] != 0xFF:
            return None
        marker = head[at + 1]
        if marker in _ALONE:
            at += 1 if marker == 0xFF else 2
            continue
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", head, at + 5)
            return _size("image/jpeg", width, height, progressive=marker in (0xC2, 0xCA))
        if marker in (0xD9, 0xDA):
            return None
        (length,) = struct.unpack_from(">H", head, at + 2)
        if length < 2:
            return None
        at += 2 + length


def _webp(head: bytes) -> ImageSize | None:
    if head[8:12] != b"WEBP":
        return None
    if head[12:16] == b"VP8 ":
        if head[23:26] != b"\x9d\x01\x2a":
            return None
        width, height = struct.unpack_from("<HH", head, 26)
        return _size("image/webp", width & 0x3FFF, height & 0x3FFF)
    if head[12:16] == b"VP8L":
        (bits,) = struct.unpack_from("<I", head, 21)
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        return (
            _size("image/webp", width, height, alpha=bool(bits >> 28 & 1))
            if (head[20] == 0x2F)
            else None
        )
    if head[12:16] == b"VP8X":
        struct.unpack_from("<10x", head, 20)
        width = int.from_bytes(head[24:27], "little") + 1
        height = int.from_bytes(head[27:30], "little") + 1
        return _size("image/webp", width, height, alpha=bool(head[20] & 0x10))
    return None


def _avif(head: bytes) -> ImageSize | None:
    """The largest `ispe` property: thumbnails and alpha planes have smaller or equal ones."""
    end = struct.unpack_from(">I", head)[0]
    brands = head[8:end]
    if b"avif" not in brands and b"avis" not in brands:
        return None
    sizes = _ispe(head, end, len(head), 0)
    if not sizes:
        return None
    width, height = max(sizes, key=lambda size: size[0] * size[1])
    return _size("image/avif", width, height)


def _ispe(head: bytes, at: int, end: int, depth: int) -> list[tuple[int, int]]:
    """Sizes in the boxes from `at` to `end`; empty while a box that may hold one is cut."""
    sizes: list[tuple[int, int]] = []
    while at + 8 <= end:
        length, kind = struct.unpack_from(">I4s", head, at)
        if length < 8:
            break
        if kind in _CONTAINERS and depth < 4:
            if at + length > len(head):
                return []
            inner = at + (12 if kind == b"meta" else 8)
            sizes += _ispe(head, inner, at + length, depth + 1)
        elif kind == b"ispe" and length >= 20:
            width, height = struct.unpack_from(">II", head, at + 12)
            sizes.append((width, height))
        at += length
    return sizes


def _size(
    content_type: str, width: int, height: int, *, progressive: bool = False, alpha: bool = False
) -> ImageSize | None:
    if not width or not height:
        return None
    return ImageSize(content_type, width, height, progressive, alpha)
