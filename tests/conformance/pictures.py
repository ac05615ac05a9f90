"""Pictures of the conformance suite, made here: small ones of one colour, and a photo to adapt."""

from __future__ import annotations

import io
import random
from typing import NamedTuple

from PIL import Image


class Picture(NamedTuple):
    data: bytes
    kind: str


def _made(kind: str, size: tuple[int, int], color: tuple[int, int, int], **how: object) -> Picture:
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, kind, **how)
    return Picture(out.getvalue(), f"image/{kind.lower()}")


def _photo(size: tuple[int, int], kind: str, **how: object) -> Picture:
    noise = random.Random(7)
    image = Image.frombytes("RGB", (64, 48), noise.randbytes(64 * 48 * 3))
    out = io.BytesIO()
    image.resize(size, Image.Resampling.BICUBIC).save(out, kind, **how)
    return Picture(out.getvalue(), f"image/{kind.lower()}")


def _turned() -> Picture:
    exif = Image.Exif()
    exif[0x0112] = 6  # orientation: turned by a quarter (EXIF 2.3, 4.6.4)
    out = io.BytesIO()
    Image.new("RGB", (40, 20), (10, 200, 30)).save(out, "JPEG", exif=exif)
    return Picture(out.getvalue(), "image/jpeg")


def _moving() -> Picture:
    frames = [Image.new("RGB", (30, 20), color) for color in ((255, 0, 0), (0, 0, 255))]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], duration=50, loop=0)
    return Picture(out.getvalue(), "image/gif")


SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="33" height="22">'
    b'<rect width="33" height="22" fill="#0a0"/></svg>'
)
PICTURES = {
    "red.png": _made("PNG", (12, 8), (255, 0, 0)),
    "green.png": _made("PNG", (24, 16), (0, 255, 0)),
    "blue.gif": _made("GIF", (20, 10), (0, 0, 255)),
    "grey.webp": _made("WEBP", (16, 16), (128, 128, 128), lossless=True),
    "moving.gif": _moving(),
    "turned.jpg": _turned(),
    "photo.jpg": _photo((640, 480), "JPEG", quality=88),
    "photo.png": _photo((320, 240), "PNG"),
    "drawing.svg": Picture(SVG, "image/svg+xml"),
    "broken.png": Picture(b"\x89PNG\r\n\x1a\nnothing more", "image/png"),
    "cut.jpg": Picture(_photo((640, 480), "JPEG", quality=88).data[:9000], "image/jpeg"),
}
"""By the name that the origin has them under."""
