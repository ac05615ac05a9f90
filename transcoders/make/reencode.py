"""Fewer bytes for fewer pixels or less quality, where a policy asks for that.

Never larger than the origin's bytes, never for what suffers most: flat graphics keep their
format, WebP is compact already, CMYK needs the browser's own colour conversion.

Knows pixels and qualities; does not know levels or the link.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from PIL import Image

from transcoders.formats import metadata
from transcoders.formats.animation import first_frame
from transcoders.formats.pixels import (
    encode,
    moves,
    open_first,
    open_still,
    plain,
    profile,
    turned,
)
from transcoders.formats.scans import DamagedJpeg, parse
from transcoders.formats.sniff import Format
from transcoders.make.alike import alike
from transcoders.picture import PictureOptions, Unfit

QUALITY: Final = 80
"""Where only a layout was asked for."""
FLAT: Final = 4.0
"""Bits of luma entropy: below, PNG is the smaller (right for all of 19 pictures, measured)."""
_FLAT_SHARE: Final = 0.5
"""Of what may be missing of a photo, in flat graphics: there each edge is seen."""
_WORTH: Final = 0.9
"""A picture scaled by more than this, or not smaller by as much, is left as it was."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A picture of other pixels than the origin's."""

    data: bytes
    kind: str
    """Its media type."""
    width: int
    height: int


def reencode(data: bytes, kind: Format, options: PictureOptions, *, max_pixels: int) -> Encoded:
    """A smaller file for the same picture. Raises Unfit, or what Pillow raises."""
    if not options.adapted:
        raise Unfit("not asked for")
    exif = _exif(data, kind)
    image = _opened(data, kind, options, max_pixels=max_pixels)
    if image.mode == "CMYK":
        raise Unfit("CMYK")
    size = _target(image.size, options.layout, turned=metadata.orientation(exif) >= 5)
    encodes = options.similar or (options.quality and kind not in (Format.WEBP, Format.AVIF))
    if size == image.size and not encodes:
        raise Unfit("nothing to save")
    icc = profile(image)
    if kind is Format.JPEG and size != image.size:
        image.draft("RGB", size)
    pixels = plain(image)
    flat = kind in (Format.PNG, Format.GIF) and pixels.convert("L").entropy() < FLAT
    if flat and options.similar is None:
        raise Unfit("flat graphics are smallest as they are")
    if pixels.size != size:
        pixels = pixels.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)
    if options.similar is None:
        made = _encode(pixels, kind, options.quality or QUALITY, icc=icc, exif=exif)
    else:
        least = 1.0 - (1.0 - options.similar) * (_FLAT_SHARE if flat else 1.0)
        made = _alike(pixels, least, avif=options.avif, icc=icc, exif=exif)
    if len(made.data) > _WORTH * len(data):
        raise Unfit(f"{len(made.data)} bytes from {len(data)}")
    return made


def _opened(data: bytes, kind: Format, options: PictureOptions, *, max_pixels: int) -> Image.Image:
    """Not decoded yet; of an animation the first frame, for who pays by the megabyte alone: the
    others would be most of a page. Raises Unfit, or what Pillow raises."""
    if options.similar is None:
        return open_still(data, kind, max_pixels=max_pixels)
    image = open_first(data, kind, max_pixels=max_pixels)
    if moves(image, kind):
        first_frame(data, kind)  # else its first picture is none that is shown
    return image


def _exif(data: bytes, kind: Format) -> bytes:
    """What of EXIF the result must carry: the pixels stay turned as they are stored."""
    if kind is not Format.JPEG:
        return b""
    try:
        return metadata.reduced(metadata.exif_of(data, parse(data)))
    except DamagedJpeg as error:
        raise Unfit(str(error)) from error


def _target(
    size: tuple[int, int], layout: tuple[int, int] | None, *, turned: bool
) -> tuple[int, int]:
    """The size to scale to so that the box is covered; the same size if little is saved."""
    if layout is None:
        return size
    box = layout[::-1] if turned else layout
    scale = max(box[0] / size[0], box[1] / size[1])
    if scale > _WORTH:
        return size
    return max(1, math.ceil(size[0] * scale)), max(1, math.ceil(size[1] * scale))


def _alike(pixels: Image.Image, least: float, *, avif: bool, icc: bytes, exif: bytes) -> Encoded:
    """Upright, for browsers turn no AVIF by EXIF. Raises Unfit."""
    if exif and metadata.sets_natural_size(exif, *pixels.size):
        raise Unfit("EXIF may give it a natural size that it would not have")
    upright = turned(pixels, metadata.orientation(exif))
    data, kind = alike(upright, icc, least=least, avif=avif)
    return Encoded(data, kind, *pixels.size)


def _encode(pixels: Image.Image, kind: Format, quality: int, *, icc: bytes, exif: bytes) -> Encoded:
    carried = {"quality": quality, "icc_profile": icc, "exif": exif}
    if pixels.mode == "RGBA" or kind is Format.WEBP:
        return Encoded(encode(pixels, "WEBP", **carried), Format.WEBP.value, *pixels.size)
    data = encode(pixels, "JPEG", progressive=True, optimize=True, **carried)
    return Encoded(data, Format.JPEG.value, *pixels.size)
