"""Hostile pictures end as sound ones or None: never an error, never a long wait."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import stat
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops

from transcoders.formats.scans import parse
from transcoders.make.registry import Picture, PictureOptions, Transcoders, TranscoderStatistics

JPEGTRAN = shutil.which("jpegtran")


def transcode(
    data: bytes,
    *,
    jpegtran: str | None = None,
    timeout: float = 120.0,
    options: PictureOptions | None = None,
) -> tuple[Picture | None, TranscoderStatistics]:
    async def run() -> tuple[Picture | None, TranscoderStatistics]:
        transcoders = Transcoders(jpegtran=jpegtran, timeout=timeout)
        try:
            picture = await transcoders.picture(data, "image/png", options)
            return picture, transcoders.statistics()
        finally:
            await transcoders.close()

    return asyncio.run(run())


def left_alone(data: bytes, *, jpegtran: str | None = None) -> bool:
    picture, _ = transcode(data, jpegtran=jpegtran)
    return picture is None


def script(folder: Path, text: str) -> str:
    """A program to stand where jpegtran should: what a broken installation does."""
    path = folder / "jpegtran"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def png(width: int, height: int, *chunks: tuple[bytes, bytes]) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [chunk(b"IHDR", header), *(chunk(*each) for each in chunks), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("kind", ["baseline.jpg", "progressive.jpg", "photo.png", "alpha.webp"])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_truncated_files_are_left_alone(
    kind: str, share: float, pictures: dict[str, bytes]
) -> None:
    whole = pictures[kind]
    assert left_alone(whole[: int(share * len(whole))], jpegtran=JPEGTRAN)


def test_a_progressive_bomb_is_left_alone_at_once(pictures: dict[str, bytes]) -> None:
    data = pictures["progressive.jpg"]
    last = parse(data).scans[-1]
    bomb = data[: last.end] + data[last.start : last.end] * 600 + data[last.end :]
    began = time.process_time()
    assert left_alone(bomb, jpegtran=JPEGTRAN)
    assert left_alone(bomb)
    assert time.process_time() - began < 2


def test_pictures_with_too_many_pixels_are_not_decoded(pictures: dict[str, bytes]) -> None:
    pixels = zlib.compress(bytes(30001) * 300)
    huge = png(30000, 30000, (b"IDAT", pixels), (b"tEXt", b"k\0" + bytes(9000)))
    assert left_alone(huge)
    assert not Transcoders(jpegtran=None).wants("image/png", huge[:32], len(huge))
    data = pictures["baseline.jpg"]
    at = data.index(b"\xff\xc0") + 5
    claimed = data[:at] + b"\xff\xff\xff\xff" + data[at + 4 :]
    assert left_alone(claimed, jpegtran=JPEGTRAN)
    assert left_alone(claimed)


def test_a_png_text_bomb_is_left_alone() -> None:
    text = b"k\0\0" + zlib.compress(bytes(200_000_000), 9)
    pixels = zlib.compress((b"\0" + bytes(range(240)) * 2) * 160)
    assert left_alone(png(160, 160, (b"zTXt", text), (b"IDAT", pixels)))


def test_metadata_does_not_delay_the_low_level(pictures: dict[str, bytes]) -> None:
    data = pictures["baseline.jpg"]
    ballast = b"\xff\xe1\xff\xffhttp://ns.adobe.com/xap/1.0/\0" + b"x" * 65504
    heavy = data[:2] + ballast * 50 + data[2:]
    if JPEGTRAN is not None:
        picture, _ = transcode(heavy, jpegtran=JPEGTRAN)
        assert picture is not None
        assert len(picture.data) < 1.02 * len(data)
    picture, _ = transcode(heavy)
    assert picture is not None
    assert picture.levels[0].end < 0.12 * len(heavy)


def test_animations_keep_every_byte(pictures: dict[str, bytes], save: Callable[..., bytes]) -> None:
    photo = Image.open(io.BytesIO(pictures["photo.png"]))
    frames = [photo.rotate(angle) for angle in (5, 10)]
    for name in ("GIF", "PNG", "WEBP", "AVIF"):
        moving = save(photo, name, save_all=True, append_images=frames)
        assert len(moving) > 8192
        picture, _ = transcode(moving)
        if name == "AVIF":  # its frames are not where they can be counted before it is decoded
            assert picture is None
            continue
        assert picture is not None
        assert picture.identical and picture.data.endswith(moving)


def test_what_browsers_do_not_show_is_left_alone(pictures: dict[str, bytes]) -> None:
    data = pictures["baseline.jpg"]
    arithmetic = data.replace(b"\xff\xc0\x00\x11", b"\xff\xc9\x00\x11")
    assert arithmetic != data
    assert left_alone(arithmetic, jpegtran=JPEGTRAN)
    assert left_alone(b"<svg xmlns='http://www.w3.org/2000/svg'>" + b" " * 9000 + b"</svg>")


def test_a_file_of_several_pictures_keeps_every_byte(pictures: dict[str, bytes]) -> None:
    two = pictures["progressive.jpg"] + pictures["baseline.jpg"]  # as a gain map follows
    picture, _ = transcode(two, jpegtran=JPEGTRAN)
    assert picture is not None
    assert picture.data == two
    assert picture.identical
    two = pictures["baseline.jpg"] + pictures["progressive.jpg"]
    picture, _ = transcode(two, jpegtran=JPEGTRAN)
    assert picture is not None
    assert picture.data.endswith(two)
    assert picture.identical


def test_a_version_is_not_made_where_exif_sets_the_natural_size(
    pictures: dict[str, bytes], save: Callable[..., bytes]
) -> None:
    exif = Image.Exif()
    exif.get_ifd(0x8769).update({0xA002: 200, 0xA003: 133})
    photo = Image.open(io.BytesIO(pictures["photo.png"]))
    data = save(photo, "JPEG", quality=90, exif=exif)
    assert left_alone(data)
    turned = Image.Exif()
    turned[0x0112] = 6
    assert left_alone(save(photo, "PNG", exif=turned))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("cat > /dev/null; exit 3", "unfit"),
        ("exec head -c 100", "unfit"),
        ("exec yes", "unfit"),
        ("cat > /dev/null; echo not a picture", "unfit"),
    ],
)
def test_a_broken_jpegtran_does_no_harm(
    text: str, reason: str, tmp_path: Path, pictures: dict[str, bytes]
) -> None:
    picture, statistics = transcode(pictures["baseline.jpg"], jpegtran=script(tmp_path, text))
    assert picture is None
    assert statistics.left_alone == {reason: 1}


def test_a_missing_jpegtran_does_no_harm(pictures: dict[str, bytes]) -> None:
    assert left_alone(pictures["baseline.jpg"], jpegtran="/no/such/jpegtran")


def test_another_picture_from_jpegtran_is_refused(
    tmp_path: Path, pictures: dict[str, bytes]
) -> None:
    (tmp_path / "other.jpg").write_bytes(pictures["icc-exif-iptc.jpg"])
    fake = script(tmp_path, f"cat > /dev/null; exec cat {tmp_path / 'other.jpg'}")
    assert left_alone(pictures["baseline.jpg"], jpegtran=fake)


def test_a_jpegtran_that_hangs_is_killed(tmp_path: Path, pictures: dict[str, bytes]) -> None:
    fake = script(tmp_path, f"echo $$ > {tmp_path / 'pid'}; exec sleep 600")
    picture, statistics = transcode(pictures["baseline.jpg"], jpegtran=fake, timeout=0.5)
    assert picture is None
    assert statistics.left_alone == {"late": 1}
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


SEEDS = ["baseline.jpg", "progressive.jpg", "turned.jpg", "palette.png", "alpha.webp", "still.gif"]
SEEDS += ["alpha.avif"]
CHANGES = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=8
)


@given(name=st.sampled_from(SEEDS), changes=CHANGES, head=st.booleans(), tool=st.booleans())
@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_mutations_never_raise_and_never_change_pixels(
    name: str,
    changes: list[tuple[float, int]],
    head: bool,
    tool: bool,
    pictures: dict[str, bytes],
) -> None:
    data = bytearray(pictures[name])
    for where, value in changes:
        data[int(where * (700 if head else len(data)))] = value
    original = bytes(data)
    picture, _ = transcode(original, jpegtran=JPEGTRAN if tool else None)
    if picture is None:
        return
    last = picture.levels[-1]
    assert last.end == len(picture.data)
    shown = picture.data[last.start :]
    if shown != original:
        before, after = Image.open(io.BytesIO(original)), Image.open(io.BytesIO(shown))
        assert ImageChops.difference(before, after).getbbox() is None


@given(st.binary(max_size=200), st.sampled_from(["image/png", "image/jpeg; q=1", "", "text/html"]))
@settings(deadline=None)
def test_wants_takes_any_head(head: bytes, content_type: str) -> None:
    transcoders = Transcoders(jpegtran=None)
    assert transcoders.wants(content_type, head, None) in (True, False)
    magic = b"RIFF\0\0\0\0WEBPVP8 " + head
    assert transcoders.wants(content_type, magic, None) in (True, False)
