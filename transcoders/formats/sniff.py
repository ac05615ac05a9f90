"""Recognises a picture by its first bytes; the declared type only has to agree that it is one.

Servers mislabel pictures, browsers go by the bytes (WHATWG MIME Sniffing, section 6.1), so do we.
Knows file headers; does not decode and does not know what is done with the answer.
"""

from __future__ import annotations

import struct
from enum import StrEnum
from typing import Final

from transcoders.formats import avif
from transcoders.formats.avif import is_avif

HEAD: Final = 64
"""Bytes that suffice for every answer here except a still picture's `animated` and the size of an
AVIF, which is behind all else that it says of itself."""


class Format(StrEnum):
    """Still picture formats that a transcoder knows; the value is the media type."""

    JPEG = "image/jpeg"
    PNG = "image/png"
    WEBP = "image/webp"
    GIF = "image/gif"
    AVIF = "image/avif"


_DECLARED: Final = frozenset(
    {"image/jpeg", "image/jpg", "image/pjpeg", "image/png", "image/x-png", "image/apng"}
    | {"image/webp", "image/gif", "image/avif", "image/bmp"}
)
"""Types under which a browser renders any of the formats above as a picture, whichever it is.
`image/svg+xml` is not among them: it is an XML type, which is never sniffed."""

_PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_WEBP_ANIMATED: Final = 0x02
_WEBP_EXTENDED_SIZE: Final = struct.Struct("<I")


def sniff(head: bytes) -> Format | None:
    """The format that these first bytes begin, None if none of ours."""
    if head.startswith(b"\xff\xd8\xff"):
        return Format.JPEG
    if head.startswith(_PNG_SIGNATURE):
        return Format.PNG
    if head.startswith((b"GIF87a", b"GIF89a")):
        return Format.GIF
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return Format.WEBP
    return Format.AVIF if is_avif(head) else None


def essence(content_type: str) -> str:
    """The media type without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def declared_picture(content_type: str) -> bool:
    """Whether a browser would take the declared type for a picture it renders."""
    return essence(content_type) in _DECLARED


def dimensions(data: bytes, kind: Format) -> tuple[int, int] | None:
    """Width and height in pixels that the header claims; None: not there, or a JPEG.

    A JPEG's are in its frame header, anywhere in the file: scans.py reads them.
    """
    if kind is Format.PNG and data[12:16] == b"IHDR" and len(data) >= 24:
        width, height = struct.unpack_from(">II", data, 16)
        return width, height
    if kind is Format.GIF and len(data) >= 10:
        width, height = struct.unpack_from("<HH", data, 6)
        return width, height
    if kind is Format.WEBP and len(data) >= 30:
        return _webp_dimensions(data)
    if kind is Format.AVIF:
        return avif.dimensions(data)
    return None


def _webp_dimensions(data: bytes) -> tuple[int, int] | None:
    """RFC 9649, sections 2.5 to 2.7."""
    chunk = data[12:16]
    if chunk == b"VP8X":
        (width,) = _WEBP_EXTENDED_SIZE.unpack(data[24:27] + b"\0")
        (height,) = _WEBP_EXTENDED_SIZE.unpack(data[27:30] + b"\0")
        return width + 1, height + 1
    if chunk == b"VP8L":
        (bits,) = _WEBP_EXTENDED_SIZE.unpack_from(data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


def animated(data: bytes, kind: Format) -> bool:
    """Whether the header announces an animation. A GIF does not: ask its decoder.

    With only the head of a PNG the answer may be a wrong no.
    """
    if kind is Format.PNG:
        # APNG: `acTL` comes before the first `IDAT` (PNG, third edition, 11.3.6.1).
        pixels = data.find(b"IDAT")
        return data.find(b"acTL", 0, pixels if pixels >= 0 else len(data)) >= 0
    if kind is Format.WEBP:
        return data[12:16] == b"VP8X" and len(data) > 20 and bool(data[20] & _WEBP_ANIMATED)
    return False
