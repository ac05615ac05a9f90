"""A coarse version in front of a picture that has no usable prefix (versioning adaptation).

PNG, WebP, GIF, and baseline JPEG without jpegtran: a small AVIF of the same width and height, then
the origin's bytes, or a PNG's pixels in a smaller file (transcoders/lossless.py). The size must be
the same, because an <img> without dimensions takes its layout from the picture; so detail is
blurred away before encoding instead of scaled away, which costs almost as few bytes. AVIF where the
browser takes it: screenshots in 5 KB have an SSIM of .82 to .92, as WebP .75 to .77, and it takes
no longer to encode. Both have alpha.

Knows pixels and shares; does not know who asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from PIL import Image, features

from transcoders import lossless, metadata
from transcoders.picture import Picture, Unfit
from transcoders.pixels import MAX_PROFILE, encode, open_still, plain, profile, turned
from transcoders.scans import Jpeg
from transcoders.sniff import Format
from wire.skeleton import Level

MIN_BYTES: Final = 8192
"""A version costs what a prefix gets for nothing; below this it is sooner to send the whole."""
MAX_SHARE: Final = 0.12
"""Of the original's bytes: what the coarse version may add to the time until all is fine."""
_STEPS: Final = ((1, 20), (1, 1), (2, 1), (4, 1), (8, 1))
"""Blur (by reducing and enlarging again) and quality, best first. Of 29 pictures in the
corpus as WebP, PNG screenshots need 2 or 4 (SSIM about .85), photos as PNG none, lossy WebP 8."""
_WEBP: Final = {"method": 2, "alpha_quality": 20}
"""Method 0 writes alpha at up to twenty times the bytes; 4 takes twice the time for 3 % less."""
MAX_WEBP_SIDE: Final = 16383
"""Pixels: the format's limit (RFC 9649, section 2.6); AVIF is held to it as well."""
_AVIF: Final = {"speed": 9, "subsampling": "4:2:0"}
AVIF: Final = "image/avif"
_CAN_AVIF: Final = features.check("avif") is True
"""Pillow's own wheels can; a distribution's may not."""


def versions(data: bytes, kind: Format, *, max_pixels: int, avif: bool) -> Picture:
    """The picture with a low version in front. Raises Unfit, or what Pillow raises."""
    _worth(data)
    image = open_still(data, kind, max_pixels=max_pixels)
    low = _coarse(plain(image), profile(image), int(MAX_SHARE * len(data)), avif=avif)
    return _compose(data, kind, image.size, low)


def denser(data: bytes, *, max_pixels: int, avif: bool) -> Picture:
    """A PNG as lossless WebP, with a low version in front where that is of use.

    Both together have no more bytes than the PNG. 15 PNGs, luma SSIM of low, median and 25th
    percentile, and share of both: .876 .81 and .68 at MAX_SHARE; .824 .74 and .66 at 8 %, where
    three have no version; .811 .72 and .63 at 12 % of the WebP, where three have none. Raises Unfit
    where it is better left a PNG, or what Pillow raises.
    """
    whole = lossless.webp(data)
    image = open_still(data, Format.PNG, max_pixels=max_pixels)
    try:
        _worth(whole)
        limit = min(int(MAX_SHARE * len(data)), len(data) - len(whole))
        low = _coarse(plain(image), profile(image), limit, avif=avif)
    except Unfit:
        levels = (Level("original", 0, len(whole), Format.WEBP.value),)
        return Picture(whole, levels, *image.size, lossless=True, identical=False)
    made = _compose(whole, Format.WEBP, image.size, low)
    return replace(made, identical=False)


def jpeg_versions(data: bytes, jpeg: Jpeg, *, max_pixels: int, avif: bool) -> Picture:
    """The same for a JPEG, turned as its EXIF says. Raises Unfit, or what Pillow raises."""
    _worth(data)
    exif = metadata.exif_of(data, jpeg)
    if metadata.sets_natural_size(exif, jpeg.width, jpeg.height):
        raise Unfit("EXIF may give it a natural size that a version would not have")
    image = open_still(data, Format.JPEG, max_pixels=max_pixels)
    icc = profile(image) if image.mode == "RGB" else b""
    upright = turned(image, metadata.orientation(exif))
    low = _coarse(plain(upright), icc, int(MAX_SHARE * len(data)), avif=avif)
    return _compose(data, Format.JPEG, (jpeg.width, jpeg.height), low)


def _worth(data: bytes) -> None:
    if len(data) < MIN_BYTES:
        raise Unfit(f"{len(data)} bytes are too few for a version")


@dataclass(frozen=True, slots=True)
class _Low:
    """A coarse version."""

    data: bytes
    content_type: str


def _coarse(image: Image.Image, icc: bytes, limit: int, *, avif: bool) -> _Low:
    """The best version of at most `limit` bytes. Raises Unfit if there is none."""
    icc = icc if len(icc) <= min(MAX_PROFILE, limit // 2) else b""
    if max(image.size) > MAX_WEBP_SIDE:
        raise Unfit(f"{image.width} x {image.height} is too large for a version")
    avif = avif and _CAN_AVIF
    name, content_type = ("AVIF", AVIF) if avif else ("WEBP", Format.WEBP.value)
    for blur, quality in _STEPS:
        if blur > min(image.size):
            break
        pixels = image
        if blur > 1:
            pixels = image.reduce(blur).resize(image.size, Image.Resampling.BILINEAR)
        how: Mapping[str, object] = _AVIF if avif else _WEBP
        low = encode(pixels, name, quality=quality, icc_profile=icc, exif=b"", **how)
        if len(low) <= limit:
            return _Low(low, content_type)
    raise Unfit("no coarse version of it is small enough")


def _compose(data: bytes, kind: Format, size: tuple[int, int], low: _Low) -> Picture:
    end = len(low.data)
    levels = (
        Level("low", 0, end, low.content_type),
        Level("original", end, end + len(data), kind.value),
    )
    return Picture(low.data + data, levels, *size, lossless=True, identical=True)
