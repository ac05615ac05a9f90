"""Dimensions of pictures from their first bytes."""

from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from remote_proxy.import_drivers.image import ImageSize, image_size


def encoded(form: str, mode: str = "RGB", **options: object) -> bytes:
    out = io.BytesIO()
    Image.new(mode, (123, 45), 7).save(out, form, **options)
    return out.getvalue()


def box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(content), kind) + content


def ispe(width: int, height: int) -> bytes:
    return box(b"ispe", struct.pack(">III", 0, width, height))


AVIF = box(b"ftyp", b"avif\0\0\0\0avifmif1") + box(
    b"meta",
    bytes(4) + box(b"hdlr", bytes(20)) + box(
        b"iprp", box(b"ipco", ispe(10, 10) + box(b"pixi", bytes(8)) + ispe(123, 45))
    ),
)  # fmt: skip
EXIF = b"\xff\xe1" + struct.pack(">H", 5002) + b"Exif\0\0" + b"\xff\xc0" * 2497

JPEG = encoded("JPEG")
PICTURES = [
    (encoded("PNG"), ImageSize("image/png", 123, 45)),
    (encoded("PNG", "RGBA"), ImageSize("image/png", 123, 45, alpha=True)),
    (encoded("GIF", "P"), ImageSize("image/gif", 123, 45)),
    (JPEG, ImageSize("image/jpeg", 123, 45)),
    (JPEG[:2] + EXIF + JPEG[2:], ImageSize("image/jpeg", 123, 45)),
    (encoded("JPEG", progressive=True), ImageSize("image/jpeg", 123, 45, progressive=True)),
    (encoded("WEBP"), ImageSize("image/webp", 123, 45)),
    (encoded("WEBP", lossless=True), ImageSize("image/webp", 123, 45)),
    (encoded("WEBP", "RGBA", lossless=True), ImageSize("image/webp", 123, 45, alpha=True)),
    (AVIF, ImageSize("image/avif", 123, 45)),
]


@pytest.mark.parametrize(("data", "expected"), PICTURES)
def test_headers(data: bytes, expected: ImageSize) -> None:
    assert image_size(data) == expected


@pytest.mark.parametrize("data", [data for data, _ in PICTURES])
def test_too_few_bytes_say_nothing_and_never_the_wrong_thing(data: bytes) -> None:
    whole = image_size(data)
    for cut in range(0, len(data), 1 if len(data) < 2000 else 37):
        assert image_size(data[:cut]) in (None, whole)
    assert image_size(data[:8]) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"<svg width=1>", b"\xff\xd8\xff\xd9", b"\xff\xd8\xff\xe0\x00\x00" * 9, bytes(100),
     b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(16), box(b"ftyp", b"heic") + AVIF[24:],
     box(b"ftyp", b"avif") + box(b"meta", b"\0\0\0\0\xff\xff\xff\xffiprp")],
)  # fmt: skip
def test_no_picture(data: bytes) -> None:
    assert image_size(data) is None


@given(
    start=st.sampled_from([data[:40] for data, _ in PICTURES] + [b""]), rest=st.binary(max_size=80)
)
def test_no_bytes_raise(start: bytes, rest: bytes) -> None:
    size = image_size(start + rest)
    assert size is None or (size.width > 0 and size.height > 0)
