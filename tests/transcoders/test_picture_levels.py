"""Every level of every kind of picture is a whole file; the last one shows the origin's pixels."""

from __future__ import annotations

import asyncio
import io
import shutil
from collections.abc import Callable

import pytest
from PIL import Image, ImageChops, ImageOps, ImageStat, features

from transcoders.formats.sniff import sniff
from transcoders.make.registry import Picture, PictureOptions, Transcoders

JPEGTRAN = shutil.which("jpegtran")
WAYS = [
    pytest.param(
        JPEGTRAN,
        id="jpegtran",
        marks=pytest.mark.skipif(JPEGTRAN is None, reason="jpegtran is not installed"),
    ),
    pytest.param(None, id="without-jpegtran"),
]
JPEGS = [
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
OTHERS = [
    "screenshot.png",
    "photo.png",
    "alpha.png",
    "palette.png",
    "grey.png",
    "sixteen-bit.png",
    "lossless.webp",
    "alpha.webp",
    "photo.avif",
    "alpha.avif",
    "still.gif",
]


def transcode(
    data: bytes, *, jpegtran: str | None = None, options: PictureOptions | None = None
) -> Picture | None:
    async def run() -> Picture | None:
        transcoders = Transcoders(jpegtran=jpegtran, timeout=120.0)
        try:
            return await transcoders.picture(data, "image/jpeg", options)
        finally:
            await transcoders.close()

    return asyncio.run(run())


def files(picture: Picture) -> list[bytes]:
    return [picture.data[level.start : level.end] + level.suffix for level in picture.levels]


def shown(data: bytes) -> Image.Image:
    """As a browser shows it: turned by EXIF, with alpha."""
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    if image.mode == "I;16":
        image = image.convert("F").point(lambda value: value * (1 / 257) + 0).convert("L")
    return image.convert("RGBA")


def same_pixels(one: Image.Image, other: Image.Image) -> bool:
    return ImageChops.difference(one, other).getbbox(alpha_only=False) is None


@pytest.mark.parametrize("jpegtran", WAYS)
@pytest.mark.parametrize("name", JPEGS + OTHERS)
def test_every_level_is_a_whole_picture_of_the_same_shown_size(
    name: str, jpegtran: str | None, pictures: dict[str, bytes]
) -> None:
    original = pictures[name]
    picture = transcode(original, jpegtran=jpegtran)
    assert picture is not None
    want = shown(original)
    for level, file in zip(picture.levels, files(picture), strict=True):
        assert shown(file).size == want.size
        assert sniff(file) is not None
        assert level.content_type == sniff(file)
    # The origin's pixels, nothing less, and what else decides how they are shown.
    last = files(picture)[-1]
    assert picture.lossless
    assert same_pixels(shown(last), want)
    before, after = Image.open(io.BytesIO(original)), Image.open(io.BytesIO(last))
    assert after.mode == before.mode
    assert after.info.get("icc_profile") == before.info.get("icc_profile")
    assert after.getexif().get(0x0112) == before.getexif().get(0x0112)
    assert picture.identical == (last == original)


@pytest.mark.parametrize("jpegtran", WAYS)
@pytest.mark.parametrize("name", JPEGS + OTHERS)
def test_levels_rise_and_the_low_one_is_small(
    name: str, jpegtran: str | None, pictures: dict[str, bytes]
) -> None:
    original = pictures[name]
    picture = transcode(original, jpegtran=jpegtran)
    assert picture is not None
    ends = [level.end for level in picture.levels]
    assert ends == sorted(set(ends))
    assert ends[-1] == len(picture.data)
    assert not picture.levels[-1].suffix
    assert picture.levels[0].name == "low"
    assert picture.levels[-1].name == "original"
    low = picture.levels[0]
    # The file with a 3.9 KB colour profile in front of 49 KB is the largest share here.
    assert low.end <= 0.17 * len(original)


@pytest.mark.parametrize("name", JPEGS + OTHERS)
def test_the_low_level_resembles_the_picture(name: str, pictures: dict[str, bytes]) -> None:
    picture = transcode(pictures[name], jpegtran=JPEGTRAN)
    assert picture is not None

    def mean_error(file: bytes) -> float:
        low, whole = shown(file).convert("L"), shown(pictures[name]).convert("L")
        return float(ImageStat.Stat(ImageChops.difference(low, whole)).mean[0])

    # Of 255; a black or a shifted one has 50 and more.
    assert mean_error(files(picture)[0]) < 14


def test_a_progressive_jpeg_without_jpegtran_is_cut_where_it_is(pictures: dict[str, bytes]) -> None:
    picture = transcode(pictures["progressive.jpg"])
    assert picture is not None
    assert picture.identical
    assert picture.data == pictures["progressive.jpg"]
    assert [level.name for level in picture.levels] == ["low", "medium", "high", "original"]


@pytest.mark.skipif(JPEGTRAN is None, reason="jpegtran is not installed")
def test_more_bytes_show_more(pictures: dict[str, bytes]) -> None:
    original = pictures["baseline.jpg"]
    picture = transcode(original, jpegtran=JPEGTRAN)
    assert picture is not None
    want = shown(original)
    errors = [
        ImageStat.Stat(ImageChops.difference(shown(file), want)).rms[1] for file in files(picture)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == 0


@pytest.mark.skipif(JPEGTRAN is None, reason="jpegtran is not installed")
def test_ballast_is_dropped_and_display_data_kept(pictures: dict[str, bytes]) -> None:
    picture = transcode(pictures["commented.jpg"], jpegtran=JPEGTRAN)
    assert picture is not None
    assert b"ballast" not in picture.data
    assert len(picture.data) < len(pictures["commented.jpg"]) - 30_000


@pytest.mark.parametrize("stop", ["low", "medium", "high"])
def test_a_policy_can_stop_at_a_level(stop: str, pictures: dict[str, bytes]) -> None:
    whole = transcode(pictures["progressive.jpg"])
    short = transcode(pictures["progressive.jpg"], options=PictureOptions(stop=stop))
    assert whole is not None
    assert short is not None
    assert short.levels[-1].name == stop
    assert not short.lossless
    assert short.data == files(whole)[len(short.levels) - 1]
    assert short.levels[-1].end == len(short.data)


def test_stopping_short_of_a_version_leaves_the_original_out(pictures: dict[str, bytes]) -> None:
    short = transcode(pictures["photo.png"], options=PictureOptions(stop="high"))
    assert short is not None
    assert [level.name for level in short.levels] == ["low"]
    assert len(short.data) < 0.12 * len(pictures["photo.png"])
    assert not short.identical


@pytest.mark.parametrize("jpegtran", WAYS)
@pytest.mark.parametrize("name", ["baseline.jpg", "photo.png", "turned.jpg"])
def test_re_encoding_is_smaller_and_has_levels(
    name: str, jpegtran: str | None, pictures: dict[str, bytes]
) -> None:
    options = PictureOptions(quality=60)
    picture = transcode(pictures[name], jpegtran=jpegtran, options=options)
    assert picture is not None
    assert len(picture.data) < 0.9 * len(pictures[name])
    assert not picture.lossless
    assert [level.name for level in picture.levels] == ["low", "medium", "high"]
    for file in files(picture):
        assert shown(file).size == shown(pictures[name]).size


def test_re_encoding_keeps_alpha(pictures: dict[str, bytes]) -> None:
    picture = transcode(pictures["alpha.png"], options=PictureOptions(quality=75))
    assert picture is not None
    assert picture.levels[-1].content_type == "image/webp"
    assert shown(picture.data).getchannel("A").getextrema() == (0, 255)


@pytest.mark.parametrize("name", ["screenshot.png", "cmyk.jpg"])
def test_what_would_suffer_keeps_its_pixels(name: str, pictures: dict[str, bytes]) -> None:
    picture = transcode(pictures[name], options=PictureOptions(quality=75))
    assert picture is not None
    assert picture.lossless


def test_quality_above_the_original_keeps_the_original(
    pictures: dict[str, bytes], save: Callable[..., bytes]
) -> None:
    rough = save(Image.open(io.BytesIO(pictures["photo.png"])), "JPEG", quality=30)
    picture = transcode(rough, options=PictureOptions(quality=95))
    assert picture is not None
    assert picture.identical


def test_layout_size_covers_the_box_as_shown(pictures: dict[str, bytes]) -> None:
    picture = transcode(pictures["turned.jpg"], options=PictureOptions(layout=(100, 100)))
    assert picture is not None
    assert shown(picture.data).size == (100, 150)  # 400 x 267, turned by EXIF
    assert not picture.lossless
    assert picture.levels[-1].name == "high"


def test_a_layout_of_about_its_size_changes_nothing(pictures: dict[str, bytes]) -> None:
    picture = transcode(pictures["progressive.jpg"], options=PictureOptions(layout=(410, 275)))
    assert picture is not None
    assert picture.identical


@pytest.mark.parametrize(
    "bad", [{"stop": "finest"}, {"quality": 0}, {"quality": 101}, {"layout": (0, 5)}]
)
def test_senseless_options_are_a_callers_mistake(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad)) if "stop" not in bad else "finest"):
        PictureOptions(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["photo.png", "alpha.png", "palette.png"])
def test_a_coarse_version_is_avif_where_the_browser_takes_it(
    pictures: dict[str, bytes], name: str
) -> None:
    if not features.check("avif"):
        pytest.skip("this Pillow can't write AVIF")
    webp = transcode(pictures[name])
    avif = transcode(pictures[name], options=PictureOptions(avif=True))
    assert webp is not None
    assert avif is not None
    assert webp.levels[0].content_type == "image/webp"
    assert avif.levels[0].content_type == "image/avif"
    low = Image.open(io.BytesIO(files(avif)[0]))
    assert low.size == Image.open(io.BytesIO(pictures[name])).size
    assert files(avif)[-1] == pictures[name]


def test_no_finer_level_is_made_while_a_low_one_is(
    pictures: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transcoders.make.makers.PATIENCE", 60.0)  # however busy the machine is
    large = io.BytesIO()
    Image.radial_gradient("L").resize((2400, 1800)).save(large, "PNG", compress_level=1)
    options = PictureOptions(webp=True, sketch=True)
    order: list[str] = []

    async def levels(transcoders: Transcoders, data: bytes) -> None:
        low = await transcoders.low(data, "image/png", options)
        order.append("low")
        await transcoders.finish(data, "image/png", options, low)
        order.append("finer")

    async def run() -> None:
        transcoders = Transcoders(workers=2, jpegtran=None, timeout=120.0)
        slow = levels(transcoders, large.getvalue())
        try:
            await asyncio.gather(slow, levels(transcoders, pictures["palette.png"]))
        finally:
            await transcoders.close()

    asyncio.run(run())
    assert order == ["low", "low", "finer", "finer"]
