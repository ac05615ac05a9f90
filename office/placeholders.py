"""Pictures and slides that stand in for those that are not here yet.

An office program forgets which part of the file a picture came from. So every stand-in has a colour
of its own, a light grey that tells its number, and whoever walks the open document reads it back.
Pure.

Source: PNG (ISO/IEC 15948), 11.3.5.3 (pHYs); ECMA-376 part 1, 19.3.1.38 (sld), part 2, 9 (rels).
"""

from __future__ import annotations

import struct
import zlib
from typing import Final
from xml.sax.saxutils import quoteattr

SIDE: Final = 32
"""Pixels: few, since they are read back, and not fewer, so that `pHYs` can tell a size to 1 %."""
MARKS: Final = 1 << 12
"""Numbers there are, 0 among them, which is nobody's."""
_LIGHTEST: Final = 224
"""Of 255: a grey of 16 shades per colour from here on up looks like one grey to people."""
_DPI: Final = 96
"""What a picture without a density of its own is taken to have."""
_UNKNOWN: Final = 960
"""Pixels that a picture is taken to have: cut-outs are lengths, and rounded."""
_SLIDE: Final = (
    b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    b'<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main">'
    b'<p:cSld><p:spTree><p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/>'
    b"</p:nvGrpSpPr><p:grpSpPr/></p:spTree></p:cSld></p:sld>"
)


def colour(mark: int) -> tuple[int, int, int]:
    """Red, green, blue, of 255."""
    return (
        _LIGHTEST + (mark >> 8 & 15),
        _LIGHTEST + (mark >> 4 & 15),
        _LIGHTEST + (mark & 15),
    )


def picture(mark: int, *, width: int = 0, height: int = 0) -> bytes:
    """A PNG in the colour of `mark` that claims the extent on paper of one of these pixels.

    Office programs reckon cut-outs and tiles from that extent. 0: not known.
    """
    row = b"\0" + bytes(colour(mark)) * SIDE
    chunks = (
        _chunk(b"IHDR", struct.pack(">2L5B", SIDE, SIDE, 8, 2, 0, 0, 0)),
        _chunk(b"pHYs", struct.pack(">2LB", _density(width), _density(height), 1)),
        _chunk(b"IDAT", zlib.compress(row * SIDE, 9)),
        _chunk(b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def slide() -> bytes:
    """A slide with nothing on it but what its layout brings."""
    return _SLIDE


def slide_relations(layout: str) -> bytes:
    """Its relations: that layout, a file name in `slideLayouts`."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/slideLayout"
    target = quoteattr(f"../slideLayouts/{layout}")
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{kind}" Target={target}/></Relationships>'
    ).encode()


def _density(pixels: int) -> int:
    """Pixels per metre at which SIDE is as long as `pixels` at 96 dpi."""
    return max(1, round(SIDE / ((pixels or _UNKNOWN) / _DPI * 0.0254)))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))
