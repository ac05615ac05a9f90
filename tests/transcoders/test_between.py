"""Tests of the version between a picture's coarse one and its final form."""

from __future__ import annotations

import asyncio
import io
from dataclasses import replace
from random import Random

import pytest
from PIL import Image, ImageDraw, ImageFont

from bench.browsers.visual import similarity
from transcoders.formats.sniff import Format
from transcoders.make import lossless, still
from transcoders.make.between import LEAST_GAIN, MAX_SHARE, between, pays
from transcoders.make.low import Low, origins
from transcoders.make.registry import Transcoders
from transcoders.picture import Picture, PictureOptions, Unfit
from wire.skeleton import LEVELS, Level

MOST = 4_000_000
"""Pixels."""


def coarse(data: bytes, *, avif: bool = True) -> Low:
    return still.version(data, Format.PNG, max_pixels=MOST, avif=avif)


def shown(picture: Picture, place: int) -> Image.Image:
    level = picture.levels[place]
    return Image.open(io.BytesIO(picture.data[level.start : level.end])).convert("RGB")


@pytest.mark.parametrize(
    ("name", "avif", "kind"),
    [
        ("screenshot.png", True, "image/avif"),
        ("photo.png", True, "image/avif"),
        ("photo.png", False, "image/webp"),
    ],
)
def test_a_picture_gets_a_version_that_shows_far_more_than_the_coarse_one(
    pictures: dict[str, bytes], name: str, avif: bool, kind: str
) -> None:
    data = pictures[name]
    low, final = coarse(data, avif=avif), lossless.denser(data)
    limit = int(MAX_SHARE * len(final.data))
    made = between(low, final, data, limit=limit, max_pixels=MOST, avif=avif)
    high, original = made.levels
    assert (high.name, high.content_type, original.name) == ("high", kind, "original")
    assert LEAST_GAIN * len(low.data) <= high.end <= MAX_SHARE * len(final.data)
    assert made.data[original.start :] == final.data and original.start == high.end
    assert (made.lossless, made.identical) == (final.lossless, final.identical)
    whole, little = Image.open(io.BytesIO(data)).convert("RGB"), Image.open(io.BytesIO(low.data))
    before, now = similarity(whole, little.convert("RGB")), similarity(whole, shown(made, 0))
    assert shown(made, 0).size == whole.size
    assert now > 0.93 and now - before > 0.03
    assert similarity(whole, shown(made, 1)) > 0.9999


def test_what_has_levels_of_its_own_or_is_a_photo_gets_none(pictures: dict[str, bytes]) -> None:
    data = pictures["screenshot.png"]
    low, final = coarse(data), lossless.denser(data)
    steps = replace(final, levels=(Level("medium", 0, 9, "image/webp"), *final.levels))
    with pytest.raises(Unfit):
        between(low, steps, data, limit=len(data), max_pixels=MOST, avif=True)
    photo = pictures["baseline.jpg"]
    with pytest.raises(Unfit):
        between(low, origins(photo, low), photo, limit=len(data), max_pixels=MOST, avif=True)


def test_one_that_nobody_may_want_does_not_stand_in_line(pictures: dict[str, bytes]) -> None:
    final = lossless.denser(pictures["screenshot.png"])
    assert [pays(final, stop) for stop in LEVELS] == [False, False, True, True]
    steps = replace(final, levels=(Level("medium", 0, 9, "image/webp"), *final.levels))
    photo = replace(final, levels=(Level("original", 0, 9, "image/jpeg"),))
    assert not pays(steps, "original") and not pays(photo, "original")


def test_one_that_would_show_little_more_or_cost_nearly_all_is_not_made(
    pictures: dict[str, bytes],
) -> None:
    data = pictures["screenshot.png"]
    low, final = coarse(data), lossless.denser(data)
    with pytest.raises(Unfit):
        between(
            replace(low, data=bytes(len(final.data))),
            final,
            data,
            limit=len(final.data),
            max_pixels=MOST,
            avif=True,
        )
    small = Picture(bytes(2_000), (Level("original", 0, 2_000, "image/webp"),), 1, 1,
                    lossless=True, identical=False)  # fmt: skip
    with pytest.raises(Unfit):
        between(low, small, data, limit=1_000, max_pixels=MOST, avif=True)


@pytest.mark.parametrize("damage", [lambda d: d[:9], lambda d: d[: len(d) // 2], lambda d: b""])
def test_a_damaged_picture_is_refused(pictures: dict[str, bytes], damage: object) -> None:
    data = pictures["screenshot.png"]
    low, final = coarse(data), lossless.denser(data)
    assert callable(damage)
    with pytest.raises((Unfit, OSError, SyntaxError)):
        between(low, final, damage(data), limit=len(data), max_pixels=MOST, avif=True)


def levels(data: bytes, options: PictureOptions) -> list[str]:
    async def go() -> Picture | None:
        transcoders = Transcoders(workers=1)
        try:
            return await transcoders.picture(data, "image/png", options)
        finally:
            await transcoders.close()

    made = asyncio.run(go())
    assert made is not None
    return [level.name for level in made.levels]


def test_transcoders_make_it_for_those_alone_that_have_a_time(pictures: dict[str, bytes]) -> None:
    data, timed = pictures["screenshot.png"], PictureOptions(avif=True, between=True)
    assert levels(data, PictureOptions(avif=True)) == ["low", "original"]
    assert levels(data, timed) == ["low", "high", "original"]
    assert levels(data, replace(timed, webp=True)) == ["low", "high", "original"]
    assert levels(data, replace(timed, stop="high")) == ["low", "high"]
    assert levels(data, replace(timed, stop="medium")) == ["low"]
    assert levels(data, replace(timed, stop="low")) == ["low"]


def large(pictures: dict[str, bytes]) -> bytes:
    """A window of a dense display, of 5 million pixels: lines of letters, and photos."""
    chance, font, file = Random(3), ImageFont.load_default(26), io.BytesIO()
    whole = Image.new("RGB", (2880, 1800), "white")
    pen = ImageDraw.Draw(whole)
    for top in range(10, 1780, 36):
        letters = "".join(chance.choice("etaoinshrdlu    ") for _ in range(150))
        pen.text((20, top), letters, font=font, fill=(40, 40, 40))
    with Image.open(io.BytesIO(pictures["photo.png"])) as photo:
        wide = photo.convert("RGB").resize((800, 534))
    for top in (100, 700, 1200):
        whole.paste(wide, (2000, top))
    whole.save(file, "PNG")
    return file.getvalue()


def test_a_large_one_is_coarse_in_few_bytes_and_can_be_read_before_it_is_whole(
    pictures: dict[str, bytes],
) -> None:
    data = large(pictures)
    assert still.MAX_SHARE * len(data) > 2 * still.MOST

    async def go() -> Picture | None:
        transcoders = Transcoders(workers=1)
        try:
            return await transcoders.picture(
                data, "image/png", PictureOptions(avif=True, sketch=True, webp=True)
            )
        finally:
            await transcoders.close()

    made = asyncio.run(go())
    assert made is not None and [level.name for level in made.levels] == ["low", "high", "original"]
    low, high, _ = made.levels
    assert low.end <= still.MOST
    assert high.end - high.start <= still.MAX_SHARE * len(data)
    whole = Image.open(io.BytesIO(data)).convert("RGB")
    before, now = (similarity(whole, shown(made, place)) for place in (0, 1))
    assert now - before > 0.1
