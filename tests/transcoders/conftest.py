"""Pictures for these tests: four real ones, the rest made from them in every odd form."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

DATA = Path(__file__).parents[1] / "data" / "transcoders"


def _save(image: Image.Image, name: str, **parameters: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, name, **parameters)
    return file.getvalue()


def _turned() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 6
    return exif


def _deep(photo: Image.Image) -> Image.Image:
    """16-bit grey that spans the whole range."""
    return photo.convert("I").point(lambda value: value * 257 + 0).convert("I;16")


def _faded(photo: Image.Image) -> Image.Image:
    photo = photo.copy()
    photo.putalpha(Image.radial_gradient("L").resize(photo.size))
    return photo


@pytest.fixture(scope="session")
def pictures() -> dict[str, bytes]:
    """Name to file: all of them still, sound, and large enough for levels."""
    found = {path.name: path.read_bytes() for path in DATA.iterdir() if path.name != "NOTICE"}
    photo = Image.open(io.BytesIO(found["baseline.jpg"]))
    photo.load()
    return found | {
        "grey.jpg": _save(photo.convert("L"), "JPEG", quality=90),
        "cmyk.jpg": _save(photo.convert("CMYK"), "JPEG", quality=90),
        "rgb.jpg": _save(photo, "JPEG", quality=90, keep_rgb=True),
        "full-chroma.jpg": _save(photo, "JPEG", quality=90, subsampling=0),
        "restarts.jpg": _save(photo, "JPEG", quality=90, restart_marker_rows=1),
        "turned.jpg": _save(photo, "JPEG", quality=90, exif=_turned()),
        "turned-progressive.jpg": _save(
            photo, "JPEG", quality=90, exif=_turned(), progressive=True
        ),
        "commented.jpg": _save(photo, "JPEG", quality=90, comment=b"ballast " * 4000),
        "photo.png": _save(photo, "PNG"),
        "alpha.png": _save(_faded(photo), "PNG"),
        "palette.png": _save(photo.quantize(64), "PNG"),
        "grey.png": _save(photo.convert("L"), "PNG"),
        "sixteen-bit.png": _save(_deep(photo), "PNG"),
        "lossless.webp": _save(photo, "WEBP", lossless=True),
        "alpha.webp": _save(_faded(photo), "WEBP", lossless=True),
        "photo.avif": _save(photo, "AVIF", quality=80, speed=10),
        "alpha.avif": _save(_faded(photo), "AVIF", quality=80, speed=10),
        "still.gif": _save(photo.quantize(128), "GIF"),
    }


@pytest.fixture(scope="session")
def save() -> Callable[..., bytes]:
    """`save(image, format, **parameters)` -> the file's bytes."""
    return _save


@pytest.fixture(scope="session")
def decode() -> Callable[[bytes], Image.Image]:
    """Decodes a file fully; raises if Pillow finds it damaged."""

    def decoded(data: bytes) -> Image.Image:
        image = Image.open(io.BytesIO(data))
        image.load()
        return image

    return decoded
