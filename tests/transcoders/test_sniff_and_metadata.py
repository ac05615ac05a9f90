"""First bytes tell what a picture is, and which of its metadata matters."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from PIL import Image

from transcoders.formats import metadata
from transcoders.formats.scans import parse
from transcoders.formats.sniff import HEAD, Format, animated, dimensions, sniff
from transcoders.make.registry import Transcoders


def kind_of(name: str) -> Format:
    suffix = name.rpartition(".")[2].replace("jpg", "jpeg")
    return Format(f"image/{suffix}")


def test_format_and_size_are_in_the_head(pictures: dict[str, bytes]) -> None:
    for name, data in pictures.items():
        head = data[:HEAD]
        kind = sniff(head)
        assert kind is kind_of(name), name
        if kind is not Format.JPEG:
            told = data if kind is Format.AVIF else head
            assert dimensions(told, kind) == Image.open(io.BytesIO(data)).size, name
        assert not animated(data, kind), name


def test_lossy_webp_has_its_size_elsewhere(
    pictures: dict[str, bytes], save: Callable[..., bytes]
) -> None:
    photo = Image.open(io.BytesIO(pictures["photo.png"]))
    assert dimensions(save(photo, "WEBP", quality=50)[:HEAD], Format.WEBP) == (400, 267)


@pytest.mark.parametrize(
    ("content_type", "head", "length", "expected"),
    [
        ("image/jpeg", b"\xff\xd8\xff\xe0", 50_000, True),
        ("image/png", b"\xff\xd8\xff\xe0", 50_000, True),  # mislabelled; browsers show it
        ("image/jpeg; x=y", b"\xff\xd8\xff\xe0", None, True),
        ("image/jpeg", b"\xff\xd8\xff\xe0", 4095, False),
        ("image/jpeg", b"\xff\xd8\xff\xe0", 9 << 20, False),
        ("text/html", b"\xff\xd8\xff\xe0", 50_000, False),
        ("image/svg+xml", b"\xff\xd8\xff\xe0", 50_000, False),
        ("image/jpeg", b"<html>", 50_000, False),
        ("image/jpeg", b"", None, False),
    ],
)
def test_what_is_worth_gathering(
    content_type: str, head: bytes, length: int | None, expected: bool
) -> None:
    assert Transcoders(jpegtran=None).wants(content_type, head, length) is expected


def test_small_metadata_stays_byte_for_byte(pictures: dict[str, bytes]) -> None:
    data = pictures["icc-exif-iptc.jpg"]
    assert metadata.slim(data, parse(data)) == data


def test_large_exif_is_reduced_to_display_and_credit(
    pictures: dict[str, bytes], save: Callable[..., bytes]
) -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x011A], exif[0x8298], exif[0x010F] = 8, 300.0, "somebody", "maker" * 900
    exif.get_ifd(0x8769)[0xA002] = 400
    photo = Image.open(io.BytesIO(pictures["photo.png"]))
    data = save(photo, "JPEG", quality=90, exif=exif)
    slim = metadata.slim(data, parse(data))
    assert len(data) - len(slim) > 4000
    kept = metadata.exif_of(slim, parse(slim))
    assert metadata.orientation(kept) == 8
    after = Image.open(io.BytesIO(slim)).getexif()
    assert after[0x8298] == "somebody"
    assert after[0x011A] == 300
    assert after.get_ifd(0x8769)[0xA002] == 400
    assert 0x010F not in after


def test_exif_that_is_not_understood_stays(pictures: dict[str, bytes]) -> None:
    data = pictures["baseline.jpg"]
    body = b"Exif\0\0not TIFF" + b"?" * 3000
    strange = b"\xff\xe1" + (len(body) + 2).to_bytes(2, "big") + body
    data = data[:2] + strange + data[2:]
    assert metadata.slim(data, parse(data)) == data
