"""Tests of how each kind of picture is made into levels, without the tools that may lack."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from PIL import Image

from transcoders.formats.sniff import Format, sniff
from transcoders.make.makers import FIRST_LOW, SKETCH, VERSION, Makers
from transcoders.picture import Picture, PictureOptions, Unfit
from transcoders.work.workers import Busy

T = TypeVar("T")
PLAIN = PictureOptions()


def made(work: Callable[[Makers], Awaitable[T]], *, max_pixels: int = 25_000_000) -> T:
    async def main() -> T:
        makers = Makers(workers=1, jpegtran=None, max_pixels=max_pixels)
        try:
            return await work(makers)
        finally:
            await makers.close()

    return asyncio.run(main())


def levels(data: bytes, options: PictureOptions = PLAIN) -> Picture:
    """All levels, behind the low one if there is one."""

    async def work(makers: Makers) -> Picture:
        low = None if options.adapted else await makers.low(data, options, "a")
        return await makers.levels(low, data, options, "a")

    return made(work)


def names(picture: Picture) -> list[str]:
    return [level.name for level in picture.levels]


def test_a_jpegs_prefix_serves_unless_its_device_enlarges_sketches(
    pictures: dict[str, bytes],
) -> None:
    data = pictures["progressive.jpg"]
    assert made(lambda makers: makers.low(data, PLAIN, "a")) is None
    low = made(lambda makers: makers.low(data, PictureOptions(sketch=True), "a"))
    assert low is not None
    assert low.level.sketch
    assert len(low.data) < 0.07 * len(data)


@pytest.mark.parametrize("name", ["photo.png", "still.gif", "lossless.webp"])
def test_any_other_picture_has_a_version_in_front(name: str, pictures: dict[str, bytes]) -> None:
    data = pictures[name]
    picture = levels(data)
    low, original = picture.levels
    assert (low.name, original.name) == ("low", "original")
    assert picture.data[original.start :] == data
    assert picture.identical and picture.lossless
    with (
        Image.open(io.BytesIO(picture.data[: low.end])) as shown,
        Image.open(io.BytesIO(data)) as before,
    ):
        assert shown.size == before.size


def test_who_wants_the_low_level_alone_gets_no_more(pictures: dict[str, bytes]) -> None:
    picture = levels(pictures["photo.png"], PictureOptions(stop="low"))
    assert names(picture) == ["low"]
    assert not picture.lossless


def test_a_png_is_denser_where_its_device_takes_webp(pictures: dict[str, bytes]) -> None:
    data = pictures["photo.png"]
    picture = levels(data, PictureOptions(webp=True))
    last = picture.levels[-1]
    assert last.content_type == "image/webp"
    assert last.end - last.start < len(data)
    assert picture.lossless and not picture.identical


def test_what_may_be_kept_stays_as_it_is_where_it_could_not_be_had_again(
    pictures: dict[str, bytes],
) -> None:
    data = pictures["photo.png"]
    picture = levels(data, PictureOptions(webp=True, kept=True))
    assert picture.identical
    assert picture.data.endswith(data)
    again = levels(data, PictureOptions(webp=True, kept=True, recipes=True))
    assert not again.identical


def test_of_nothing_denser_there_is_nothing_without_a_low_level(
    pictures: dict[str, bytes],
) -> None:
    with pytest.raises(Unfit, match="nothing is denser"):
        made(lambda makers: makers.levels(None, pictures["still.gif"], PLAIN, "a"))


def test_fewer_pixels_are_fewer_bytes_and_the_finest_level_is_no_original(
    pictures: dict[str, bytes],
) -> None:
    data = pictures["baseline.jpg"]
    picture = levels(data, PictureOptions(quality=30))
    assert len(picture.data) < 0.9 * len(data)
    assert picture.levels[-1].name == "high"
    assert not picture.lossless and not picture.identical
    assert sniff(picture.data) is Format.JPEG


def test_a_sketch_stands_before_a_picture_of_less_quality(pictures: dict[str, bytes]) -> None:
    data = pictures["baseline.jpg"]
    plain = levels(data, PictureOptions(quality=60))
    sketched = levels(data, PictureOptions(quality=60, sketch=True))
    assert names(plain) == names(sketched) and len(plain.levels) > 1
    assert sketched.levels[0].sketch
    assert sketched.data.endswith(plain.data)


def test_what_would_suffer_is_as_lossless_as_ever(pictures: dict[str, bytes]) -> None:
    data = pictures["lossless.webp"]
    picture = levels(data, PictureOptions(quality=30))
    assert picture.identical
    assert picture.data.endswith(data)


def test_a_picture_of_too_many_pixels_is_refused(pictures: dict[str, bytes]) -> None:
    with pytest.raises(Unfit):
        made(lambda makers: makers.low(pictures["photo.png"], PLAIN, "a"), max_pixels=100)


def test_makers_that_are_closed_take_no_more(pictures: dict[str, bytes]) -> None:
    async def work(makers: Makers) -> None:
        await makers.close()
        with pytest.raises(Busy):
            await makers.low(pictures["photo.png"], PLAIN, "a")
        with pytest.raises(Busy):
            await makers.thumbnail(pictures["photo.png"], "a")

    made(work)


def test_a_thumbnail_is_a_small_webp(pictures: dict[str, bytes]) -> None:
    data = pictures["photo.png"]
    small = made(lambda makers: makers.thumbnail(data, "a"))
    assert sniff(small) is Format.WEBP
    assert len(small) < 0.02 * len(data) + 800


def test_forms_and_recipes_are_made_of_pictures_within_a_time(
    pictures: dict[str, bytes],
) -> None:
    png, noise = pictures["photo.png"], bytes(range(256)) * 100

    async def form(makers: Makers, data: bytes, limit: float) -> bytes | None:
        return await makers.exact(
            data, start=0, length=len(data), deflated=False, scans=False, whose="a", limit=limit
        )

    with pytest.raises(Unfit):
        made(lambda makers: form(makers, noise, 60.0))
    with pytest.raises(TimeoutError):
        made(lambda makers: form(makers, png, 0.0))

    async def recipe(makers: Makers, limit: float) -> bytes | None:
        picture = await makers.levels(None, png, PictureOptions(webp=True), "a")
        return await makers.recipe(png, picture, "a", limit)

    found = made(lambda makers: recipe(makers, 60.0))
    assert found is not None and 0 < len(found) < 0.02 * len(png)
    with pytest.raises(TimeoutError):
        made(lambda makers: recipe(makers, 0.0))


def test_nobody_waits_where_there_is_room(pictures: dict[str, bytes]) -> None:
    async def work(makers: Makers) -> list[int]:
        seen = [makers.waiting]
        tasks = [
            asyncio.ensure_future(makers.thumbnail(pictures["photo.png"], "a")) for _ in range(3)
        ]
        await asyncio.sleep(0)
        seen.append(makers.waiting)
        await asyncio.gather(*tasks)
        return [*seen, makers.waiting]

    assert made(work) == [0, 2, 0]


@pytest.mark.parametrize(
    ("name", "units"),
    [("photo.png", "pixels"), ("progressive.jpg", "bytes"), ("lossless.webp", "")],
)
def test_what_a_low_level_takes_is_known_by_what_the_last_ones_took(
    name: str, units: str, pictures: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, options = pictures[name], PictureOptions(sketch=True)
    image = Image.open(io.BytesIO(data))
    size = len(data) if units == "bytes" else image.width * image.height
    clock = iter(range(1000))
    monkeypatch.setattr("transcoders.make.makers.time.thread_time", lambda: float(next(clock)))

    async def work(makers: Makers) -> list[float]:
        before = makers.expected_low(data, options)
        await makers.low(data, options, "a")
        return [before, makers.expected_low(data, options)]

    before, after = made(work)
    kind = SKETCH if units == "bytes" else VERSION
    assert before == pytest.approx(FIRST_LOW[kind] * size)
    assert before < after <= 10 * before  # that one took a second


def test_what_has_no_low_level_takes_nothing(pictures: dict[str, bytes]) -> None:
    async def work(makers: Makers) -> list[float]:
        found = (pictures["progressive.jpg"], b"", b"GIF89a", b"\x89PNG\r\n\x1a\n")
        return [makers.expected_low(data, PLAIN) for data in found]

    assert made(work) == [0.0] * 4
