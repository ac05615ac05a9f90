"""Sorts a JPEG's metadata: what display needs stays in front, ballast is dropped.

Metadata stands before the first scan, so all of it delays the coarse picture; it was up to a
third of some files. Kept in any case: the JFIF and Adobe headers (colour transform), the ICC
profile, and of EXIF what browsers act on: orientation, and the resolution that can change a
picture's natural size; the author's name and copyright stay too. Sources: T.81 annex B,
ICC.1:2022 annex B.4, Exif 2.32 (CIPA DC-008), section 4.6.

Knows segments; does not know scans or levels.
"""

from __future__ import annotations

from typing import Final

from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from transcoders.formats.scans import Jpeg, MarkerSegment

SMALL: Final = 1024
"""Bytes: EXIF up to this size, and other metadata up to this sum, is left as it is."""

_APP1: Final = 0xE1
_COMMENT: Final = 0xFE
_EXIF: Final = b"Exif\0\0"
_DISPLAY: Final = (
    (0xE0, b"JFIF\0"),
    (0xE2, b"ICC_PROFILE\0"),
    (0xEE, b"Adobe"),
)
_EXIF_SUB_IFD: Final = 0x8769
_KEPT: Final = frozenset(
    {0x0112, 0x011A, 0x011B, 0x0128}  # Orientation, XResolution, YResolution, ResolutionUnit
    | {0x013B, 0x8298}  # Artist, Copyright
)
_KEPT_SUB: Final = frozenset({0xA002, 0xA003})  # PixelXDimension, PixelYDimension
_ORIENTATION: Final = 0x0112
_X_RESOLUTION: Final = 0x011A
_Y_RESOLUTION: Final = 0x011B
_RESOLUTION_UNIT: Final = 0x0128
_INCH: Final = 2
_DOTS: Final = 72
"""An inch has so many CSS pixels here: what a picture has at its natural size."""


def compound(data: bytes, jpeg: Jpeg) -> bool:
    """Whether the file holds more than this one picture: a gain map, a preview, a video.

    Such parts are found by offsets into the file (CIPA DC-007), so its bytes must not move.
    """
    if data[jpeg.end :].strip(b"\0\r\n"):
        return True
    return any(
        segment.marker == 0xE2 and _starts(data, segment, b"MPF\0") for segment in jpeg.segments
    )


def exif_of(data: bytes, jpeg: Jpeg) -> bytes:
    """The EXIF block with its header; empty if there is none."""
    for segment in jpeg.segments:
        if segment.marker == _APP1 and _starts(data, segment, _EXIF):
            return data[segment.start + 4 : segment.end]
    return b""


def orientation(exif: bytes) -> int:
    """EXIF orientation, 1 (upright) to 8; 1 if absent or not understood."""
    value = _load(exif).get(_ORIENTATION, 1)
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def sets_natural_size(exif: bytes, width: int, height: int) -> bool:
    """Whether browsers may show the picture at another size than its pixels'.

    They do where EXIF's own dimensions differ from the stored ones and agree with its resolution.
    """
    sub = _load(exif).get_ifd(_EXIF_SUB_IFD)
    return any(sub.get(tag, size) != size for tag, size in ((0xA002, width), (0xA003, height)))


def natural_size(stored: tuple[int, int], natural: tuple[int, int]) -> bytes:
    """EXIF by which browsers show a JPEG of `stored` pixels as if it had `natural` ones, for
    scripts and layout too (HTML, "density-corrected natural width and height")."""
    exif = Image.Exif()
    exif[_X_RESOLUTION] = IFDRational(_DOTS * stored[0], natural[0])
    exif[_Y_RESOLUTION] = IFDRational(_DOTS * stored[1], natural[1])
    exif[_RESOLUTION_UNIT] = _INCH
    sub = exif.get_ifd(_EXIF_SUB_IFD)
    sub[0xA002], sub[0xA003] = natural
    return exif.tobytes()


def reduced(exif: bytes) -> bytes:
    """The EXIF block with only what display and credit need; empty if that is nothing."""
    loaded = _load(exif)
    kept = Image.Exif()
    for tag in sorted(_KEPT & set(loaded)):
        kept[tag] = loaded[tag]
    sub = loaded.get_ifd(_EXIF_SUB_IFD)
    for tag in sorted(_KEPT_SUB & set(sub)):
        kept.get_ifd(_EXIF_SUB_IFD)[tag] = sub[tag]
    return kept.tobytes() if len(kept) else b""


def slim(data: bytes, jpeg: Jpeg) -> bytes:
    """The file without ballast: the same pixels, shown the same way, and the coarse part sooner."""
    ballast = [segment for segment in jpeg.segments if _is_ballast(data, segment)]
    if sum(segment.end - segment.start for segment in ballast) <= SMALL:
        ballast = []
    pieces = [data[:2]]
    seen_exif = False
    for segment in jpeg.segments:
        if segment in ballast:
            continue
        if segment.marker == _APP1 and _starts(data, segment, _EXIF):
            if not seen_exif:
                pieces.append(_small_exif(data, segment))
            seen_exif = True
            continue
        pieces.append(data[segment.start : segment.end])
    pieces.append(data[jpeg.segments[-1].end : jpeg.end] if jpeg.segments else data[2 : jpeg.end])
    return b"".join(pieces)


def _starts(data: bytes, segment: MarkerSegment, tag: bytes) -> bool:
    return data.startswith(tag, segment.start + 4)


def _is_ballast(data: bytes, segment: MarkerSegment) -> bool:
    if segment.marker == _COMMENT:
        return True
    if not 0xE0 <= segment.marker <= 0xEF or _starts(data, segment, _EXIF):
        return False
    return not any(
        segment.marker == marker and _starts(data, segment, tag) for marker, tag in _DISPLAY
    )


def _small_exif(data: bytes, segment: MarkerSegment) -> bytes:
    """The segment itself where it is small or not understood, else a reduced one."""
    whole = data[segment.start : segment.end]
    if len(whole) <= SMALL:
        return whole
    try:
        exif = reduced(whole[4:])
    except Exception:  # Pillow raises a dozen kinds; whatever it was, the block stays as it is
        return whole
    if not exif:
        return b""
    return b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif


def _load(exif: bytes) -> Image.Exif:
    loaded = Image.Exif()
    if exif:
        loaded.load(exif)
    return loaded
