"""A coarse version in front of a picture that has no usable prefix (versioning adaptation).

PNG, WebP, AVIF, GIF, and baseline JPEG without jpegtran: a small AVIF of the same width and height,
then the origin's bytes, or a PNG's pixels in a smaller file (transcoders/make/lossless.py). Of an
animation it is the first frame, which stands still until all of it is here. Its size must be the
same, because an <img> without dimensions takes its layout from the picture; so detail is blurred
away before encoding instead of scaled away, which costs almost as few bytes. AVIF where the browser
takes it: screenshots in 5 KB have an SSIM of .82 to .92, as WebP .75 to .77, and it takes no longer
to encode. Both have alpha.

Knows pixels and shares; does not know who asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from PIL import Image, features

from transcoders.formats import metadata
from transcoders.formats.animation import first_frame
from transcoders.formats.pixels import (
    MAX_PROFILE,
    encode,
    moves,
    open_first,
    open_still,
    plain,
    profile,
    turned,
)
from transcoders.formats.scans import Jpeg
from transcoders.formats.sniff import Format
from transcoders.make.low import Low, as_it_is
from transcoders.picture import Picture, Unfit
from wire.skeleton import Level

MIN_BYTES: Final = 8192
"""A version costs what a prefix gets for nothing; below this it is sooner to send the whole."""
MAX_SHARE: Final = 0.12
"""Of the original's bytes, an animation's first frame: what the coarse version may add to the time
until all is fine."""
MOST: Final = 40_960
"""Bytes of a coarse version, unless none is as small: of a screenshot of 5 million pixels 12 % are
150 KB, all of it can be read in that, and eight of them take half a minute at 384 kbit/s. A larger
version comes between this one and all of the picture (transcoders/make/between.py)."""
_STEPS: Final = ((1, 20), (1, 1), (2, 1), (4, 1), (8, 1), (16, 1))
"""Blur (by reducing and enlarging again) and quality, best first. Of 29 pictures in the
corpus as WebP, PNG screenshots need 2 or 4 (SSIM about .85), photos as PNG none, lossy WebP 8."""
_FIRST: Final = 1
"""The step that is tried first: a photo has its bytes or the next better one's, so that one or two
tries do. A try takes 5 to 30 ms."""
_FIRST_LARGE: Final = 3
_LARGE: Final = 3_000_000
"""Pixels from which on that is tried first: as AVIF a try takes .15 s for 5 million of them."""
_LEAST_GROWTH: Final = 1.5
"""By which the best step takes more than the first; 1.56 to 2.24 seen as AVIF."""
_WEBP: Final[Mapping[str, object]] = {"method": 2, "alpha_quality": 20}
"""Method 0 writes alpha at up to twenty times the bytes; 4 takes twice the time for 3 % less."""
MAX_WEBP_SIDE: Final = 16383
"""Pixels: the format's limit (RFC 9649, section 2.6); AVIF is held to it as well."""
_AVIF: Final[Mapping[str, object]] = {
    "speed": 9,
    "subsampling": "4:2:0",
    # Tiles on threads take 44 ms of the processors for 34 (medians of 39 pictures; in all a sixth
    # more) and show less: SSIM .802 for .815, means.
    "max_threads": 1,
    "autotiling": False,
}
AVIF: Final = "image/avif"
_CAN_AVIF: Final = features.check("avif") is True
"""Pillow's own wheels can; a distribution's may not."""


def version(data: bytes, kind: Format, *, max_pixels: int, avif: bool) -> Low:
    """A coarse version of it. Raises Unfit, or what Pillow raises."""
    _worth(data)
    image = open_first(data, kind, max_pixels=max_pixels)
    stands_for = first_frame(data, kind) if moves(image, kind) else len(data)
    size = image.size
    return _coarse(plain(image), profile(image), int(MAX_SHARE * stands_for), size, avif=avif)


def jpeg_versions(data: bytes, jpeg: Jpeg, *, max_pixels: int, avif: bool) -> Picture:
    """The same for a JPEG, turned as its EXIF says. Raises Unfit, or what Pillow raises."""
    _worth(data)
    exif = metadata.exif_of(data, jpeg)
    if metadata.sets_natural_size(exif, jpeg.width, jpeg.height):
        raise Unfit("EXIF may give it a natural size that a version would not have")
    image = open_still(data, Format.JPEG, max_pixels=max_pixels)
    icc = profile(image) if image.mode == "RGB" else b""
    upright = turned(image, metadata.orientation(exif))
    size = jpeg.width, jpeg.height
    low = _coarse(plain(upright), icc, int(MAX_SHARE * len(data)), size, avif=avif)
    return as_it_is(data, low)


def _worth(data: bytes) -> None:
    if len(data) < MIN_BYTES:
        raise Unfit(f"{len(data)} bytes are too few for a version")


def _coarse(
    image: Image.Image, icc: bytes, limit: int, size: tuple[int, int], *, avif: bool
) -> Low:
    """The best version of at most `limit` bytes and MOST, or the smallest one, if that is within
    the limit. Raises Unfit if there is none."""
    icc = icc if len(icc) <= min(MAX_PROFILE, limit // 2) else b""
    if max(image.size) > MAX_WEBP_SIDE:
        raise Unfit(f"{image.width} x {image.height} is too large for a version")
    wanted = min(limit, MOST)
    made = smallest = None
    first = at = _FIRST if image.width * image.height < _LARGE else _FIRST_LARGE
    while 0 <= at < len(_STEPS):
        tried = encoded(image, *_STEPS[at], icc, avif=avif)
        smallest = tried or smallest
        if tried is not None and len(tried) <= wanted:
            made = tried
            if at > first or len(tried) * _LEAST_GROWTH > wanted:
                break
            at -= 1  # a better one may do
        elif at < first:
            break
        else:
            at += 1
    made = made or smallest
    if made is None or len(made) > limit:
        raise Unfit("no coarse version of it is small enough")
    return Low(made, Level("low", 0, len(made), type_of(avif=avif)), *size)


def type_of(*, avif: bool) -> str:
    """The content type of a version for somebody who takes AVIF, or does not."""
    return AVIF if avif and _CAN_AVIF else Format.WEBP.value


def encoded(image: Image.Image, blur: int, quality: int, icc: bytes, *, avif: bool) -> bytes | None:
    """The picture blurred and encoded, as `type_of` says; None: it is too small for that blur."""
    if blur > min(image.size):
        return None
    if blur > 1:
        image = image.reduce(blur).resize(image.size, Image.Resampling.BILINEAR)
    name, how = ("AVIF", _AVIF) if avif and _CAN_AVIF else ("WEBP", _WEBP)
    return encode(image, name, quality=quality, icc_profile=icc, exif=b"", **how)
