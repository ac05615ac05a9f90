"""Sketches: the low level of a photo in a third of its bytes, and the file that a device makes."""

from __future__ import annotations

import asyncio
import io
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageOps, ImageStat

from bench.pages.lows import CODED, PLAIN, SKETCH, compared, lows
from transcoders.formats.scans import parse
from transcoders.make.registry import Transcoders
from transcoders.make.sketch import MAX_LARGE_BYTES, MAX_SHARE, draw
from transcoders.picture import Picture, PictureOptions, Unfit
from transcoders.undo.sketch import (
    MAX_BYTES,
    MAX_LARGE,
    MAX_PIXELS,
    MAX_WAITING,
    Enlarger,
    enlarged,
    stretched,
)
from transcoders.work.workers import Busy
from wire.skeleton import Level

JPEGTRAN = shutil.which("jpegtran")
pytestmark = pytest.mark.skipif(JPEGTRAN is None, reason="jpegtran is not installed")
ORIENTATION = 0x0112
NEWS = Path(__file__).parents[2] / "demo" / "site" / "news" / "img"


def transcode(data: bytes, **options: Any) -> Picture:
    async def run() -> Picture | None:
        transcoders = Transcoders(jpegtran=JPEGTRAN, timeout=120.0)
        try:
            return await transcoders.picture(data, "image/jpeg", PictureOptions(**options))
        finally:
            await transcoders.close()

    made = asyncio.run(run())
    assert made is not None
    return made


def bytes_of(picture: Picture, level: Level) -> bytes:
    return picture.data[level.start : level.end] + level.suffix


def shown(data: bytes) -> Image.Image:
    return ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")


def enlarged_of(picture: Picture) -> bytes:
    low = picture.levels[0]
    assert low.sketch
    return enlarged(bytes_of(picture, low), low.width, low.height)


def difference(one: Image.Image, other: Image.Image) -> float:
    return max(ImageStat.Stat(ImageChops.difference(one, other)).mean)


PHOTOS = [
    "baseline.jpg",
    "progressive.jpg",
    "icc-exif-iptc.jpg",
    "grey.jpg",
    "cmyk.jpg",
    "rgb.jpg",
    "full-chroma.jpg",
    "restarts.jpg",
    "turned.jpg",
    "turned-progressive.jpg",
    "commented.jpg",
]


@pytest.mark.parametrize("arithmetic", [False, True], ids=["huffman", "arithmetic"])
@pytest.mark.parametrize("name", PHOTOS)
def test_a_sketch_stands_in_front_of_an_unchanged_picture(
    name: str, arithmetic: bool, pictures: dict[str, bytes]
) -> None:
    before = transcode(pictures[name], arithmetic=arithmetic)
    made = transcode(pictures[name], arithmetic=arithmetic, sketch=True)
    low = made.levels[0]
    assert (low.name, low.start, low.content_type, low.suffix) == ("low", 0, "image/jpeg", b"")
    assert low.end <= MAX_SHARE * len(pictures[name])
    assert made.data[low.end :] == before.data
    assert [level.name for level in made.levels] == [level.name for level in before.levels]
    for level, same in zip(made.levels[1:], before.levels[1:], strict=True):
        assert not level.sketch
        assert bytes_of(made, level) == bytes_of(before, same)
    assert (made.lossless, made.identical, made.coding) == (
        before.lossless,
        before.identical,
        before.coding,
    )
    assert (made.width, made.height) == (before.width, before.height)


@pytest.mark.parametrize("name", PHOTOS)
def test_enlarged_it_is_the_picture_and_as_large(name: str, pictures: dict[str, bytes]) -> None:
    want = shown(pictures[name])
    file = enlarged_of(transcode(pictures[name], sketch=True))
    assert shown(file).size == want.size
    assert parse(file).frame in (0xC0, 0xC2)
    assert difference(shown(file), want) < 16  # its details lack; turned the wrong way it is 40


@pytest.mark.parametrize("name", PHOTOS)
def test_a_small_file_of_it_says_how_large_it_is(name: str, pictures: dict[str, bytes]) -> None:
    picture = transcode(pictures[name], sketch=True)
    low = picture.levels[0]
    file = stretched(bytes_of(picture, low), low.width, low.height)
    small = Image.open(io.BytesIO(file))
    exif = small.getexif()
    said = exif.get_ifd(0x8769)
    assert (said[0xA002], said[0xA003]) == (low.width, low.height)
    assert exif[0x0128] == 2
    dots = 72 * small.width / exif[0x011A], 72 * small.height / exif[0x011B]
    assert [round(float(side)) for side in dots] == [low.width, low.height]
    assert small.width * 3 <= low.width
    assert exif.get(ORIENTATION, 1) == 1
    want = enlarged_of(picture)
    assert difference(small.resize((low.width, low.height)), shown(want)) < 4


@pytest.mark.parametrize("size", [(640, 480), (8_000, 1_000)], ids=["at once", "on a thread"])
def test_who_stretches_it_gets_the_small_one(size: tuple[int, int]) -> None:
    photo = Image.effect_mandelbrot(size, (-2, -1, 1, 1), 30)
    file = io.BytesIO()
    photo.resize((size[0] // 3, size[1] // 3)).save(file, "WEBP", quality=5)

    async def made() -> tuple[bytes, bytes]:
        enlarger = Enlarger()
        try:
            small = await enlarger.enlarge(file.getvalue(), *size, small=True)
            return small, await enlarger.enlarge(file.getvalue(), *size)
        finally:
            await enlarger.close()

    small, large = asyncio.run(made())
    assert small == stretched(file.getvalue(), *size)
    assert large == enlarged(file.getvalue(), *size)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_it_is_upright_however_the_camera_was_held(
    orientation: int, pictures: dict[str, bytes], save: Callable[..., bytes]
) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    photo = Image.open(io.BytesIO(pictures["baseline.jpg"]))
    data = save(photo, "JPEG", quality=90, exif=exif)
    file = enlarged_of(transcode(data, sketch=True))
    assert Image.open(io.BytesIO(file)).getexif().get(ORIENTATION, 1) == 1
    assert shown(file).size == shown(data).size
    assert difference(shown(file), shown(data)) < 16


def test_xmp_s_orientation_which_browsers_ignore_turns_nothing(
    pictures: dict[str, bytes], save: Callable[..., bytes]
) -> None:
    photo = Image.open(io.BytesIO(pictures["baseline.jpg"]))
    words = b'<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
    data = save(photo, "JPEG", quality=90, xmp=words)
    assert Image.open(io.BytesIO(data)).getexif()[ORIENTATION] == 6
    file = enlarged_of(transcode(data, sketch=True))
    assert Image.open(io.BytesIO(file)).size == photo.size
    assert difference(Image.open(io.BytesIO(file)), photo.convert("RGB")) < 16


def test_exif_that_may_set_the_natural_size_keeps_the_prefix(
    pictures: dict[str, bytes], save: Callable[..., bytes]
) -> None:
    exif = Image.Exif()
    exif[0x011A] = exif[0x011B] = 144.0
    exif[0x0128] = 2
    exif.get_ifd(0x8769).update({0xA002: 200, 0xA003: 133})
    photo = Image.open(io.BytesIO(pictures["baseline.jpg"]))
    made = transcode(save(photo, "JPEG", quality=90, exif=exif), sketch=True)
    assert not any(level.sketch for level in made.levels)


@pytest.mark.parametrize(
    "name", ["photo.png", "alpha.png", "screenshot.png", "still.gif", "lossless.webp", "alpha.webp"]
)
def test_versions_stay_as_they_are(name: str, pictures: dict[str, bytes]) -> None:
    assert transcode(pictures[name], sketch=True) == transcode(pictures[name])


def test_made_again_it_is_the_same(pictures: dict[str, bytes]) -> None:
    """Else a transfer that was cut inside it could not go on."""
    data = pictures["baseline.jpg"]
    first, again = (transcode(data, sketch=True, arithmetic=True) for _ in range(2))
    assert first == again


def noise(width: int, height: int) -> Image.Image:
    """Random enough for a file of some KB."""
    small = Image.effect_noise((max(1, width // 8), max(1, height // 8)), 90)
    return small.resize((width, height), Image.Resampling.BICUBIC).convert("RGB")


def test_a_picture_one_pixel_wide_has_one_too(save: Callable[..., bytes]) -> None:
    data = save(Image.effect_noise((1, 12_000), 90), "JPEG", quality=90)
    made = draw(data, limit=len(data) // 2).alone()
    low = made.levels[0]
    assert (low.width, low.height) == (1, 12_000)
    assert Image.open(io.BytesIO(enlarged_of(made))).size == (1, 12_000)


def test_a_huge_picture_has_none(save: Callable[..., bytes]) -> None:
    side = 3000
    assert side * side > MAX_PIXELS
    data = save(noise(side, side), "JPEG", quality=30)
    made = transcode(data, sketch=True)
    assert len(made.levels) > 1
    assert not made.levels[0].sketch


def test_a_cameras_picture_has_a_small_one_where_it_is_enlarged(save: Callable[..., bytes]) -> None:
    data = save(noise(4000, 3000), "JPEG", quality=80)
    made = transcode(data, sketch=True, large=True)
    low, *finer = made.levels
    assert (low.width, low.height) == (4000, 3000) == (made.width, made.height)
    assert [level.name for level in finer] == ["medium", "high", "original"]
    assert low.end <= MAX_LARGE_BYTES < 0.01 * len(data)
    shown = Image.open(io.BytesIO(enlarged_of(made)))
    assert shown.size == (4000, 3000)
    want = Image.open(io.BytesIO(data)).convert("L").resize((40, 30))
    found = shown.convert("L").resize((40, 30))
    assert sum(ImageStat.Stat(ImageChops.difference(want, found)).mean) < 4


def test_more_pixels_than_any_camera_of_a_page_have_none(save: Callable[..., bytes]) -> None:
    data = save(Image.new("L", (6000, 4200)), "JPEG", quality=90)
    assert MAX_LARGE < 6000 * 4200
    with pytest.raises(Unfit):
        draw(data, limit=len(data), large=True)


def test_a_picture_scaled_for_its_layout_has_none(pictures: dict[str, bytes]) -> None:
    options = {"quality": 80, "layout": (200, 134)}
    assert transcode(pictures["baseline.jpg"], sketch=True, **options) == transcode(
        pictures["baseline.jpg"], **options
    )


def test_a_picture_of_less_quality_has_one(pictures: dict[str, bytes]) -> None:
    made = transcode(pictures["commented.jpg"], sketch=True, quality=60)
    assert [level.name for level in made.levels] == ["low", "medium", "high"]
    assert made.levels[0].sketch
    assert not made.lossless
    assert shown(bytes_of(made, made.levels[-1])).size == shown(enlarged_of(made)).size


def test_a_picture_denser_than_sketches_has_none(save: Callable[..., bytes]) -> None:
    tiles = Image.effect_noise((64, 64), 200).resize((512, 512), Image.Resampling.NEAREST)
    with pytest.raises(Unfit):
        draw(save(tiles.convert("RGB"), "JPEG", quality=5))


@pytest.mark.parametrize("arithmetic", [False, True])
def test_up_to_low_is_the_sketch_alone(arithmetic: bool, pictures: dict[str, bytes]) -> None:
    data = pictures["baseline.jpg"]
    whole = transcode(data, sketch=True, arithmetic=arithmetic)
    made = transcode(data, sketch=True, arithmetic=arithmetic, stop="low")
    assert made.levels == whole.levels[:1]
    assert made.data == whole.data[: whole.levels[0].end]
    assert (made.lossless, made.identical) == (False, False)
    medium = transcode(data, sketch=True, arithmetic=arithmetic, stop="medium")
    assert medium.levels[0] == whole.levels[0]
    assert bytes_of(medium, medium.levels[-1]) == bytes_of(whole, whole.levels[1])


def test_a_sketch_that_fails_leaves_the_picture_as_it_was(
    pictures: dict[str, bytes], save: Callable[..., bytes]
) -> None:
    photo = Image.open(io.BytesIO(pictures["baseline.jpg"]))
    data = save(photo, "JPEG", quality=90, exif=b"Exif\0\0this is no TIFF file")
    before = transcode(data)
    assert len(before.levels) == 4
    with pytest.raises(SyntaxError):
        draw(data)
    assert transcode(data, sketch=True) == before


def test_sketches_show_no_less_than_the_low_levels_before_and_take_far_less() -> None:
    photos = [path.read_bytes() for path in sorted(NEWS.glob("*.jpg"))]

    async def run() -> dict[str, Any]:
        return compared([await lows(data, "image/jpeg", jpegtran=JPEGTRAN) for data in photos])

    found = asyncio.run(run())
    assert found["sketches"] == len(photos) == 13
    plain, coded, now = (found["low"][way] for way in (PLAIN, CODED, SKETCH))
    assert now["bytes_sum"] < 0.4 * coded["bytes_sum"]
    for name in ("ssim", "ssim_p10"):
        assert now[name] > plain[name]
        assert now[name] > coded[name] - 0.01


# -- on the device -------------------------------------------------------------------------------


def webp(width: int, height: int, **parameters: Any) -> bytes:
    file = io.BytesIO()
    noise(width, height).save(file, "WEBP", **parameters)
    return file.getvalue()


def animation() -> bytes:
    file = io.BytesIO()
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
    frames[0].save(file, "WEBP", save_all=True, append_images=frames[1:])
    return file.getvalue()


def vp8x(width: int, height: int) -> bytes:
    """The head of a WebP that says how large it is, and nothing of it (RFC 9649, 2.7)."""
    sizes = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    body = b"WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + sizes
    return b"RIFF" + struct.pack("<I", len(body)) + body


SOUND = webp(40, 30)
BAD = {
    "empty": (b"", 120, 90),
    "truncated": (SOUND[: len(SOUND) // 2], 120, 90),
    "noise": (zlib.compress(b"noise"), 120, 90),
    "another format": (b"\xff\xd8\xff\xe0" + bytes(100), 120, 90),
    "animated": (animation(), 120, 90),
    "larger than the picture": (webp(200, 200), 120, 90),
    "a bomb": (vp8x(16_000, 16_000), 120, 90),
    "too many bytes": (SOUND + bytes(MAX_BYTES), 120, 90),
    "too many pixels": (SOUND, 6000, 6000),
    "more pixels than can be": (SOUND, 2**40, 2**40),
    "too wide for a JPEG": (webp(600, 1), 1_000_000, 1),
    "no height": (SOUND, 120, 0),
    "less than none": (SOUND, 120, -90),
    "twice less than none": (SOUND, -120, -90),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_what_is_no_sketch_is_refused(case: tuple[bytes, int, int]) -> None:
    async def run() -> None:
        enlarger = Enlarger()
        try:
            (refused,) = await asyncio.gather(enlarger.enlarge(*case), return_exceptions=True)
            assert isinstance(refused, Exception)
            assert Image.open(io.BytesIO(await enlarger.enlarge(SOUND, 120, 90))).size == (120, 90)
        finally:
            await enlarger.close()

    asyncio.run(asyncio.wait_for(run(), 60))


def test_sizes_are_checked_before_anything_is_decoded() -> None:
    for data, width, height in (
        BAD["too many pixels"],
        BAD["too many bytes"],
        BAD["a bomb"],
        BAD["twice less than none"],
    ):
        with pytest.raises(Unfit):
            enlarged(data, width, height)


def test_too_many_in_line_are_turned_away_and_the_others_served() -> None:
    async def run() -> None:
        enlarger = Enlarger(workers=1)
        count = MAX_WAITING + 4
        work = (enlarger.enlarge(SOUND, 80, 60) for _ in range(count))
        found = await asyncio.gather(*work, return_exceptions=True)
        await enlarger.close()
        assert [one for one in found if not isinstance(one, bytes | Busy)] == []
        # All ask in one turn of the loop: one works, MAX_WAITING wait.
        assert sum(isinstance(one, Busy) for one in found) == 3

    asyncio.run(asyncio.wait_for(run(), 60))


def test_one_that_takes_too_long_is_given_up_on() -> None:
    async def run() -> None:
        enlarger = Enlarger(workers=1, timeout=0.0)
        with pytest.raises(TimeoutError):
            await enlarger.enlarge(webp(800, 800), 2800, 2800)
        await enlarger.close()
        with pytest.raises(Busy):
            await enlarger.enlarge(SOUND, 80, 60)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_quick_sketch_shows_as_much_within_as_many_bytes() -> None:
    for path in sorted(NEWS.glob("*.jpg"))[:6]:
        data = path.read_bytes()
        dense, quick = draw(data), draw(data, quick=True)
        assert quick.data != dense.data
        assert len(quick.data) <= MAX_SHARE * len(data)
        assert (quick.level.width, quick.level.height) == (dense.level.width, dense.level.height)
        assert error(quick.data, data) < 1.15 * error(dense.data, data)


def error(sketch: bytes, photo: bytes) -> float:
    """Mean difference of what is shown, 0 to 255."""
    whole = shown(photo)
    rough = shown(sketch).resize(whole.size, Image.Resampling.BICUBIC)
    return sum(ImageStat.Stat(ImageChops.difference(rough, whole)).mean) / 3
