"""Decoding and encoding with Pillow, within limits, for work that runs on a thread.

Knows formats and modes; does not know levels, shares or policies.
"""

from __future__ import annotations

import io
import os
import tempfile
from typing import IO, Any, Final

import PIL.AvifImagePlugin
import PIL.WebPImagePlugin  # noqa: F401 - these two register themselves, see below
from PIL import Image

from transcoders.formats import avif
from transcoders.formats.sniff import Format, animated, dimensions
from transcoders.picture import Unfit

# Else Pillow loads all fifty formats that it knows as soon as the first picture is here: for 50 ms
# each proxy would do nothing else.
Image.preinit()
_PILLOW_NAMES: Final = {
    Format.JPEG: "JPEG",
    Format.PNG: "PNG",
    Format.WEBP: "WEBP",
    Format.GIF: "GIF",
    Format.AVIF: "AVIF",
}
_ORIENTATION: Final = 0x0112
_TURNS: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""Exif 2.32, 4.6.4, tag 0x0112."""
CODED: Final = 3
"""Times the most pixels of a picture that an AVIF may hold: alpha and thumbnails are pictures, too.
"""
MAX_PROFILE: Final = 4096
"""Bytes of an ICC profile that a coarse version still carries; displays' have 0.5 to 4 KB."""


def opened(data: bytes, kind: Format) -> Image.Image:
    """A picture of that format and no other, not decoded yet. Raises what Pillow raises."""
    return Image.open(io.BytesIO(data), formats=(_PILLOW_NAMES[kind],))


def open_still(data: bytes, kind: Format, *, max_pixels: int) -> Image.Image:
    """A still picture, not decoded yet. Raises Unfit if it is animated, turned or too large."""
    if animated(data, kind):
        raise Unfit("an animation")
    image = open_first(data, kind, max_pixels=max_pixels)
    if moves(image, kind):
        raise Unfit("an animation")
    return image


def open_first(data: bytes, kind: Format, *, max_pixels: int) -> Image.Image:
    """A picture, or the first frame of an animation, not decoded yet. Raises Unfit if it is turned
    or too large."""
    size = dimensions(data, kind)
    if size is not None and size[0] * size[1] > max_pixels:
        raise Unfit(f"{size[0]} x {size[1]} pixels")
    if kind is Format.AVIF and avif.inspect(data).coded > CODED * max_pixels:
        raise Unfit("more pixels inside than it says")
    image = opened(data, kind)
    if image.width * image.height > max_pixels:
        raise Unfit(f"{image.width} x {image.height} pixels")
    if kind is not Format.JPEG and image.getexif().get(_ORIENTATION, 1) != 1:
        raise Unfit("turned by EXIF, which browsers honour in JPEG alike, elsewhere not")
    return image


def moves(image: Image.Image, kind: Format) -> bool:
    """Whether it is an animation; a GIF's second frame is looked for, and no further one."""
    return kind is not Format.JPEG and bool(getattr(image, "is_animated", False))


def turned(image: Image.Image, orientation: int) -> Image.Image:
    """Upright, by EXIF's orientation as browsers read it; Pillow would believe XMP too."""
    turn = _TURNS.get(orientation)
    return image if turn is None else image.transpose(turn)


def plain(image: Image.Image) -> Image.Image:
    """Decoded as RGB, or RGBA where something shows through. Raises what Pillow raises."""
    if image.mode in ("I;16", "I;16B", "I;16L", "I", "F"):
        # `convert` would clip 16-bit grey at 255 instead of scaling it.
        image = image.convert("F").point(lambda value: value * (1 / 257) + 0).convert("L")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        lowest, _ = image.getchannel("A").getextrema()
        if isinstance(lowest, int | float) and lowest < 255:
            return image
    return image.convert("RGB")


def profile(image: Image.Image) -> bytes:
    """The picture's ICC profile if it fits RGB pixels, else empty."""
    icc = image.info.get("icc_profile") or b""
    return icc if isinstance(icc, bytes) and icc[16:20] == b"RGB " else b""


def encode(image: Image.Image, name: str, **parameters: Any) -> bytes:
    """The picture in a format by Pillow's name.

    It is written to a real file descriptor: only then does Pillow let go of the interpreter lock
    while it encodes JPEG, so that two threads are twice as fast as one.
    """
    with _memory_file() as file:
        image.save(file, name, **parameters)
        file.seek(0)
        return file.read()


def _memory_file() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("picture"), "w+b")
    return tempfile.TemporaryFile()
