"""Arithmetic coding on the link: fewer bytes, the same pixels at every level, damage contained."""

from __future__ import annotations

import asyncio
import io
import shutil
import stat
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from transcoders.formats.scans import END, parse
from transcoders.make.arithmetic import levels, scan_script
from transcoders.make.jpeg import inspect
from transcoders.make.registry import Picture, PictureOptions, Transcoders
from transcoders.picture import Unfit
from transcoders.undo.arithmetic import ArithmeticDecoder, Undecodable
from transcoders.work.workers import Workers
from wire.abilities import ARITHMETIC

T = TypeVar("T")
JPEGTRAN = shutil.which("jpegtran")
pytestmark = pytest.mark.skipif(JPEGTRAN is None, reason="jpegtran is not installed")

ROOT = Path(__file__).parents[2]
PHOTO = ROOT / "demo" / "site" / "news" / "img" / "03-space.jpg"
NAMES = [
    *("baseline.jpg", "progressive.jpg", "icc-exif-iptc.jpg", "grey.jpg", "cmyk.jpg", "rgb.jpg"),
    *("full-chroma.jpg", "restarts.jpg", "turned-progressive.jpg", "commented.jpg"),
]


def coded(data: bytes, options: PictureOptions | None = None) -> Picture | None:
    async def run() -> Picture | None:
        transcoders = Transcoders(timeout=120.0)
        try:
            wanted = options or PictureOptions(arithmetic=True)
            return await transcoders.picture(data, "image/jpeg", wanted)
        finally:
            await transcoders.close()

    return asyncio.run(run())


def with_decoder(
    work: Callable[[ArithmeticDecoder], Awaitable[T]],
    jpegtran: str | None = JPEGTRAN,
    timeout: float = 10.0,
) -> T:
    async def run() -> T:
        decoder = ArithmeticDecoder(jpegtran, timeout=timeout)
        try:
            return await work(decoder)
        finally:
            await decoder.close()

    return asyncio.run(run())


async def files(picture: Picture, decoder: ArithmeticDecoder) -> list[bytes]:
    return [
        await decoder.huffman(picture.data[level.start : level.end] + level.suffix)
        for level in picture.levels
    ]


def pixels(data: bytes) -> tuple[str, tuple[int, int], bytes]:
    with Image.open(io.BytesIO(data)) as image:
        return image.mode, image.size, image.tobytes()


async def huffman(data: bytes, script: str, folder: Path) -> bytes:
    """What jpegtran makes of the original by the same script."""
    assert JPEGTRAN is not None
    path = folder / "script"
    path.write_text(script)
    async with Workers(workers=1, waiting=0).slot() as slot:
        command = (JPEGTRAN, "-copy", "all", "-scans", str(path))
        return await slot.filter(command, data, limit=1 << 22)


@pytest.mark.parametrize("name", NAMES)
def test_each_level_looks_as_the_huffman_file_cut_there(
    name: str, pictures: dict[str, bytes], tmp_path: Path
) -> None:
    original = pictures[name]
    picture = coded(original)
    assert picture is not None
    assert (picture.coding, picture.lossless) == (ARITHMETIC, True)
    source = inspect(original, max_pixels=1 << 24)
    luma = source.script == "luma"
    script = scan_script(len(source.jpeg.component_ids), luma_first=luma)
    plain = asyncio.run(huffman(source.slim, script, tmp_path))
    ends = {scan.end for scan in parse(picture.data).scans}
    by_end = dict(zip(sorted(ends), [scan.end for scan in parse(plain).scans], strict=True))

    decoded = with_decoder(lambda decoder: files(picture, decoder))
    for level, file in zip(picture.levels[:-1], decoded[:-1], strict=True):
        assert level.end in ends
        assert pixels(file) == pixels(plain[: by_end[level.end]] + END)
        assert plain.startswith(file.removesuffix(END)), "a prefix of every finer file"
    assert decoded[-1] == plain
    assert pixels(decoded[-1]) == pixels(original)


def test_bytes_and_shares() -> None:
    photos = sorted((ROOT / "demo" / "site").glob("*/img/*.jpg"))
    low = before = after = 0
    for photo in photos[::2]:
        data = photo.read_bytes()
        plain, less = coded(data, PictureOptions()), coded(data)
        assert plain is not None
        assert less is not None
        assert len(less.data) < 0.98 * len(plain.data)
        assert [level.name for level in less.levels] == [level.name for level in plain.levels]
        assert less.levels[0].end < 0.14 * len(less.data)
        low += less.levels[0].end
        before += len(plain.data)
        after += len(less.data)
    assert after < 0.945 * before
    assert low < 0.115 * before


def test_the_same_metadata_as_without(pictures: dict[str, bytes]) -> None:
    picture = coded(pictures["icc-exif-iptc.jpg"])
    plain = coded(pictures["icc-exif-iptc.jpg"], PictureOptions())
    assert picture is not None
    assert plain is not None
    first, *_ = with_decoder(lambda decoder: files(picture, decoder))
    with Image.open(io.BytesIO(first)) as one, Image.open(io.BytesIO(plain.data)) as other:
        assert one.info["icc_profile"] == other.info["icc_profile"]
        assert dict(one.getexif()) == dict(other.getexif())


@pytest.mark.parametrize("name", ["photo.png", "alpha.webp", "screenshot.png", "still.gif"])
def test_versions_are_left_alone(name: str, pictures: dict[str, bytes]) -> None:
    with_option, without = coded(pictures[name]), coded(pictures[name], PictureOptions())
    assert with_option == without


def test_nobody_gets_it_unasked() -> None:
    picture = coded(PHOTO.read_bytes(), PictureOptions())
    assert picture is not None
    assert picture.coding == ""
    assert parse(picture.data).frame == 0xC2


@pytest.mark.parametrize("stop", ["low", "medium", "high"])
def test_a_plan_that_stops_early_gets_a_whole_file(stop: str) -> None:
    picture = coded(PHOTO.read_bytes(), PictureOptions(arithmetic=True, stop=stop))
    assert picture is not None
    assert picture.coding == ARITHMETIC
    assert (picture.levels[-1].name, picture.levels[-1].end) == (stop, len(picture.data))
    *_, last = with_decoder(lambda decoder: files(picture, decoder))
    assert pixels(last)[1] == pixels(PHOTO.read_bytes())[1]


def test_other_pixels_by_a_policy_are_coded_too() -> None:
    picture = coded(PHOTO.read_bytes(), PictureOptions(arithmetic=True, quality=50))
    assert picture is not None
    assert (picture.coding, picture.lossless) == (ARITHMETIC, False)


def test_levels_are_refused_where_no_scan_ends_early() -> None:
    picture = coded(PHOTO.read_bytes())
    assert picture is not None
    scans = parse(picture.data)
    with pytest.raises(Unfit):
        levels(scans.scans[0].end * 3, scans, final="original")


# -- the device ------------------------------------------------------------------------------------


def tool(folder: Path, script: str) -> str:
    path = folder / "jpegtran"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_the_probe_finds_the_tool() -> None:
    assert with_decoder(lambda decoder: decoder.probe())


@pytest.mark.parametrize(
    "script",
    [
        "cat >/dev/null; echo 'Sorry, arithmetic coding is not supported' >&2; exit 1",
        "cat",
        "cat >/dev/null; echo no picture",
        "kill -9 $$",
    ],
)
def test_the_probe_is_not_fooled(script: str, tmp_path: Path) -> None:
    assert not with_decoder(lambda decoder: decoder.probe(), tool(tmp_path, script))


@pytest.mark.parametrize("jpegtran", [None, "/nowhere/jpegtran"])
def test_without_the_tool_nothing_is_said_to_work(jpegtran: str | None) -> None:
    assert not with_decoder(lambda decoder: decoder.probe(), jpegtran)


def test_a_tool_that_hangs_is_given_up(tmp_path: Path) -> None:
    picture = coded(PHOTO.read_bytes())
    assert picture is not None
    hanging = tool(tmp_path, "exec sleep 60")
    with pytest.raises(Undecodable):
        with_decoder(lambda decoder: decoder.huffman(picture.data), hanging, 0.2)


def test_the_probe_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transcoders.make.arithmetic.PATIENCE", 0.2)
    assert not with_decoder(lambda decoder: decoder.probe(), tool(tmp_path, "exec sleep 60"))


def test_a_picture_larger_than_the_device_may_hold_is_refused() -> None:
    picture = coded(PHOTO.read_bytes())
    assert picture is not None
    data = bytearray(picture.data)
    at = data.index(b"\xff\xca") + 5
    data[at : at + 4] = b"\xff\xff\xff\xff"
    with pytest.raises(Undecodable, match="not a picture"):
        with_decoder(lambda decoder: decoder.huffman(bytes(data)))


@cache
def _small() -> bytes:
    """A few KB, arithmetic-coded."""
    file = io.BytesIO()
    with Image.open(PHOTO) as photo:
        photo.resize((160, 120)).save(file, "JPEG", quality=90)
    picture = coded(file.getvalue(), PictureOptions(arithmetic=True, min_bytes=0))
    assert picture is not None
    assert picture.coding == ARITHMETIC
    return picture.data


def _contained(data: bytes) -> None:
    """Either a Huffman-coded picture that can be shown, or a refusal."""
    try:
        output = with_decoder(lambda decoder: decoder.huffman(data))
    except Undecodable:
        return
    assert parse(output).frame == 0xC2
    with Image.open(io.BytesIO(output)) as image:
        image.load()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 16), st.booleans())
def test_cut_anywhere(at: int, ended: bool) -> None:
    data = _small()
    _contained(data[: at % len(data)] + (END if ended else b""))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=8),
    st.sampled_from((600, 1 << 16)),
)
def test_damaged_anywhere(changes: list[tuple[int, int]], within: int) -> None:
    data = bytearray(_small())
    for at, value in changes:
        data[at % min(within, len(data))] = value
    _contained(bytes(data))


@settings(max_examples=20, deadline=None)
@given(st.binary(max_size=64))
def test_any_bytes(data: bytes) -> None:
    _contained(data)


def test_more_than_can_wait_are_refused_and_the_others_served() -> None:
    async def many(decoder: ArithmeticDecoder) -> list[bytes | BaseException]:
        work = [decoder.huffman(_small()) for _ in range(80)]
        return await asyncio.gather(*work, return_exceptions=True)

    results = with_decoder(many)
    served = [one for one in results if isinstance(one, bytes)]
    assert len(served) == 66  # two at work, 64 in line
    assert len(set(served)) == 1
    assert all(isinstance(one, Undecodable) for one in results if not isinstance(one, bytes))
