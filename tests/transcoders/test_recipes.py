"""Recipes: the origin's very bytes of another form of a picture, or an error and nothing else."""

from __future__ import annotations

import asyncio
import io
import random
import shutil
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.transcoders.png_files import CHANNELS, DEPTHS, Png, chunk
from transcoders.exact.coder import Undone
from transcoders.exact.jpeg_writer import guess
from transcoders.exact.originals import OriginalEncoder, promising
from transcoders.exact.png_filters import filtered
from transcoders.formats.pixels import encode, open_still, plain
from transcoders.formats.scans import parse
from transcoders.formats.sniff import Format, sniff
from transcoders.make.registry import Transcoders
from transcoders.picture import PictureOptions
from transcoders.undo.originals import OriginalDecoder
from transcoders.work.workers import Workers

JPEGTRAN = shutil.which("jpegtran")
needs_jpegtran = pytest.mark.skipif(JPEGTRAN is None, reason="jpegtran is not installed")
END = b"\xff\xd9"


def sent(data: bytes, **more: Any) -> tuple[bytes, bytes | None]:
    """What the remote sends of a file: its last level, and a recipe, if there is one."""

    async def run() -> tuple[bytes, bytes | None]:
        transcoders = Transcoders(jpegtran=JPEGTRAN, timeout=120.0)
        kind = sniff(data)
        assert kind is not None
        how = {"arithmetic": True, "sketch": True, "webp": True, "recipes": True, "scans": True}
        options = PictureOptions(**{**how, **more}, min_bytes=0)
        try:
            picture = await transcoders.picture(data, kind.value, options)
            assert picture is not None
            form = picture.data[picture.levels[-1].start :]
            return form, await transcoders.recipe(data, picture, options)
        finally:
            await transcoders.close()

    return asyncio.run(run())


def original(form: bytes, recipe: bytes, *, jpegtran: str | None = JPEGTRAN) -> bytes:
    async def run() -> bytes:
        decoder = OriginalDecoder(jpegtran)
        try:
            return await decoder.original(form, recipe)
        finally:
            await decoder.close()

    return asyncio.run(run())


def webp(data: bytes) -> bytes:
    """A PNG's pixels as the device has them."""
    shown = plain(open_still(data, Format.PNG, max_pixels=1 << 20))
    return encode(shown, "WEBP", lossless=True, exact=True, method=0)


def recipe_of_png(data: bytes) -> tuple[bytes, bytes]:
    """The WebP and the recipe, whether they take fewer bytes or not."""

    async def run() -> bytes:
        workers = Workers(workers=1, waiting=1)
        async with workers.slot() as slot:
            try:
                return await OriginalEncoder(None).recipe(data, form, slot)
            finally:
                await workers.close()

    form = webp(data)
    return form, asyncio.run(run())


# -- JPEG ------------------------------------------------------------------------------------------

WRITTEN: dict[str, dict[str, Any]] = {
    "standard tables": {},
    "best tables": {"optimize": True},
    "progressive": {"progressive": True},
    "restarts": {"restart_marker_rows": 1},
    "restarts of blocks": {"restart_marker_blocks": 3, "optimize": True},
    "progressive with restarts": {"progressive": True, "restart_marker_blocks": 50},
    "full chroma": {"subsampling": 0},
    "half chroma": {"subsampling": 1, "optimize": True},
    "fine": {"quality": 97},
    "coarse": {"quality": 40, "optimize": True},
    "as it is": {"keep_rgb": True},
    "with a profile": {"icc_profile": random.Random(1).randbytes(3000)},
    "with a comment": {"comment": b"by nobody " * 3000},
    "with metadata": {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0" + random.Random(2).randbytes(9000)},
}


@needs_jpegtran
@pytest.mark.parametrize("arithmetic", [False, True])
@pytest.mark.parametrize("how", WRITTEN)
def test_a_jpeg_is_made_again_however_it_was_written(
    how: str, arithmetic: bool, pictures: dict[str, bytes], save: Callable[..., bytes]
) -> None:
    photo = Image.open(io.BytesIO(pictures["photo.png"])).convert("RGB")
    data = save(photo, "JPEG", **{"quality": 85, **WRITTEN[how]})
    form, recipe = sent(data, arithmetic=arithmetic)
    assert form != data
    assert recipe is not None
    assert original(form, recipe) == data


@needs_jpegtran
@pytest.mark.parametrize("name", ["grey.jpg", "cmyk.jpg", "turned.jpg", "commented.jpg"])
def test_all_sorts_of_jpegs_are(name: str, pictures: dict[str, bytes]) -> None:
    form, recipe = sent(pictures[name])
    assert recipe is not None
    assert original(form, recipe) == pictures[name]


@needs_jpegtran
def test_most_recipes_of_jpegs_are_short(pictures: dict[str, bytes]) -> None:
    _, recipe = sent(pictures["baseline.jpg"])
    assert recipe is not None
    assert len(recipe) < 100


def padded(data: bytes) -> bytes:
    """The file with its last bits, which nobody reads, otherwise."""
    end = parse(data).scans[-1].end
    byte = data[end - 1]
    for bits in range(1, 8):
        changed = byte & ~((1 << bits) - 1)
        if byte & ((1 << bits) - 1) == (1 << bits) - 1 and changed not in (byte, 0xFF):
            return data[: end - 1] + bytes((changed,)) + data[end:]
    raise AssertionError("a file that ends with a whole byte")


@needs_jpegtran
@pytest.mark.parametrize(
    "change",
    [
        padded,
        lambda data: data + b"\0" * 40,  # behind the end
        lambda data: data.replace(b"\xff\xda", b"\xff\xff\xff\xda", 1),  # fill bytes
        lambda data: data[:2] + b"\xff\xe5\0\x06hello"[:8] + data[2:],  # somebody's own segment
        lambda data: data[:2] + b"\xff\xfe\x00\x04ab" * 20 + data[2:],
    ],
    ids=["padding", "trailer", "fill", "segment", "comments"],
)
def test_what_jpegtran_writes_otherwise_is_mended(
    change: Callable[[bytes], bytes], pictures: dict[str, bytes]
) -> None:
    data = change(pictures["baseline.jpg"])
    form, recipe = sent(data)
    assert recipe is not None
    assert original(form, recipe) == data


@needs_jpegtran
def test_the_device_needs_jpegtran_for_it(pictures: dict[str, bytes]) -> None:
    form, recipe = sent(pictures["baseline.jpg"])
    assert recipe is not None
    with pytest.raises(Undone, match="jpegtran"):
        original(form, recipe, jpegtran=None)
    assert sent(pictures["baseline.jpg"], scans=False)[1] is None


def test_restarts_of_each_scan_its_own_promise_nothing(
    pictures: dict[str, bytes], save: Callable[..., bytes]
) -> None:
    photo = Image.open(io.BytesIO(pictures["photo.png"])).convert("RGB")
    assert not promising(save(photo, "JPEG", progressive=True, restart_marker_rows=2))


def test_tables_of_a_program_promise_nothing(pictures: dict[str, bytes]) -> None:
    """All symbols, in another order than the standard's."""
    data = pictures["grey.jpg"]
    assert promising(data)
    (place,) = (s for s in parse(data).segments if s.marker == 0xC4 and data[s.start + 4] == 0x10)
    body = bytearray(data[place.start : place.end])
    body[21], body[22] = body[22], body[21]
    assert guess(data[: place.start] + bytes(body) + data[place.end :]) is None


@needs_jpegtran
@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("sketch", [False, True])
def test_a_jpeg_that_may_be_kept_and_promises_nothing_stays_as_it_is(
    progressive: bool, sketch: bool, pictures: dict[str, bytes]
) -> None:
    data = pictures["progressive.jpg" if progressive else "baseline.jpg"]
    form, recipe = sent(data, kept=True, scans=False, sketch=sketch)
    assert form == data
    assert recipe is None
    assert sent(data, scans=False, sketch=sketch)[0] != data or progressive


# -- PNG -------------------------------------------------------------------------------------------


def chance(colour: int, depth: int, *, interlaced: bool, level: int = 6, seed: int = 1) -> bytes:
    """A small picture of random samples, filtered in all ways."""
    noise = random.Random(seed)
    width, height, most = 13, 11, (1 << depth) - 1
    samples = [
        tuple(noise.randint(0, most) for _ in range(CHANNELS[colour]))
        for _ in range(width * height)
    ]
    palette = [(n * 7 % 256, n % 256, 255 - n % 256) for n in range(most + 1)]
    return Png(
        *(width, height, colour, depth, samples),
        palette=palette if colour == 3 else (),
        interlaced=interlaced,
        filters=(4, 1, 0, 3, 2, 4, 4, 2, 1, 3),
    ).file(level=level)


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize(
    ("colour", "depth"), [(colour, depth) for colour in DEPTHS for depth in DEPTHS[colour]]
)
def test_a_png_of_any_kind_is_made_again(colour: int, depth: int, interlaced: bool) -> None:
    data = chance(colour, depth, interlaced=interlaced)
    assert promising(data)
    form, recipe = recipe_of_png(data)
    assert original(form, recipe, jpegtran=None) == data


@pytest.mark.parametrize("level", range(1, 10))
def test_at_any_level_of_zlib(level: int, pictures: dict[str, bytes]) -> None:
    out = io.BytesIO()
    image = Image.open(io.BytesIO(pictures["photo.png"])).resize((300, 200))
    image.save(out, "PNG", compress_level=level)
    form, recipe = recipe_of_png(out.getvalue())
    assert original(form, recipe) == out.getvalue()


@pytest.mark.parametrize("clear", [b"", b"\x80", b"\x00\x40\xff"])
def test_colours_that_a_palette_has_twice_are_told_apart(clear: bytes) -> None:
    noise = random.Random(3)
    palette = [(1, 2, 3), (9, 9, 9), (1, 2, 3), (9, 9, 9), (5, 5, 5), (1, 2, 3)]
    samples = [(noise.randrange(6),) for _ in range(400)]
    data = Png(20, 20, 3, 4, samples, palette=palette, clear=clear or None).file(level=9)
    form, recipe = recipe_of_png(data)
    assert original(form, recipe) == data


@pytest.mark.parametrize(("colour", "clear"), [(0, b"\0\x03"), (2, b"\0\x03\0\x03\0\x03")])
def test_a_colour_that_shows_through_stays_what_it_is(colour: int, clear: bytes) -> None:
    samples = [(n % 7,) * CHANNELS[colour] for n in range(400)]
    data = Png(20, 20, colour, 8, samples, clear=clear, filters=(2, 4)).file(level=6)
    form, recipe = recipe_of_png(data)
    assert original(form, recipe) == data


def test_chunks_are_what_and_where_they_were(pictures: dict[str, bytes]) -> None:
    data = pictures["photo.png"]
    at = data.index(b"IDAT") - 4
    text = chunk(b"tEXt", b"Comment\0by nobody") + chunk(b"iTXt", b"x" * 5000)
    data = data[:at] + text + data[at:-12] + chunk(b"tIME", bytes(7)) + data[-12:]
    form, recipe = sent(data)
    assert recipe is not None
    assert len(recipe) < 1000
    assert original(form, recipe) == data


def zopflis(data: bytes) -> bytes:
    """The same PNG by a writer that is not zlib: in stored blocks."""
    at = data.index(b"IDAT") - 4
    rows = zlib.decompress(b"".join(part for kind, part in chunks(data) if kind == b"IDAT"))
    stream = b"\x78\x01" + zlib.compress(rows, 0)[2:]
    return data[:at] + chunk(b"IDAT", stream) + chunk(b"IEND")


def chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 8
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        found.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + size]))
        at += 12 + size
    return found


def test_a_png_by_no_zlib_promises_nothing_and_stays_if_it_may_be_kept(
    pictures: dict[str, bytes],
) -> None:
    data = zopflis(pictures["photo.png"])
    assert promising(pictures["photo.png"])
    assert not promising(data)
    assert sent(data, kept=True) == (data, None)
    form, recipe = sent(data)
    assert sniff(form) is Format.WEBP
    assert recipe is None


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n" + bytes(50), b"\xff\xd8\xff" + b"\0"])
def test_what_is_damaged_promises_nothing(data: bytes) -> None:
    assert not promising(data)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_filters_are_those_of_the_standard(draw: st.DataObject) -> None:
    width, height = draw.draw(st.integers(1, 9)), draw.draw(st.integers(1, 5))
    colour = draw.draw(st.sampled_from((0, 2, 4, 6)))
    row = width * CHANNELS[colour]
    raw = draw.draw(st.binary(min_size=row * height, max_size=row * height))
    kinds = draw.draw(st.lists(st.integers(0, 4), min_size=height, max_size=height))
    step = CHANNELS[colour]
    samples = [tuple(raw[at : at + step]) for at in range(0, len(raw), step)]
    expected = b"".join(Png(width, height, colour, 8, samples, filters=kinds).rows())
    assert filtered(raw, width=row, step=step, kinds=bytes(kinds)) == expected


def test_rows_of_many_strips_go_on_where_the_last_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    raw, kinds = random.Random(5).randbytes(3000), bytes(n % 5 for n in range(100))
    whole = filtered(raw, width=30, step=3, kinds=kinds)
    monkeypatch.setattr("transcoders.exact.png_filters.STRIP", 100)
    assert filtered(raw, width=30, step=3, kinds=kinds) == whole
