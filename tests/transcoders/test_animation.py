"""Animations: the first frame coarse in front, and every byte of the origin's behind it."""

from __future__ import annotations

import asyncio
import io
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from transcoders.formats.animation import first_frame
from transcoders.formats.sniff import Format, sniff
from transcoders.make.alike import similarity
from transcoders.make.registry import PictureOptions, Transcoders
from transcoders.picture import Picture, Unfit

NAMES = ("GIF", "WEBP", "PNG")


@pytest.fixture(scope="session")
def moving(pictures: dict[str, bytes], save: Callable[..., bytes]) -> dict[str, bytes]:
    """A photo that turns, in each format."""
    photo = Image.open(io.BytesIO(pictures["photo.png"])).convert("RGB")
    frames = [photo.rotate(angle) for angle in (5, 10, 15, 20)]
    how = {"save_all": True, "append_images": frames, "duration": 80, "loop": 0}
    return {name: save(photo, name, **how) for name in NAMES}


def transcoded(data: bytes, kind: str, options: PictureOptions | None = None) -> Picture | None:
    async def go() -> Picture | None:
        transcoders = Transcoders(workers=1)
        try:
            return await transcoders.picture(data, kind, options)
        finally:
            await transcoders.close()

    return asyncio.run(go())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("avif", [True, False])
def test_its_first_frame_stands_for_it(name: str, avif: bool, moving: dict[str, bytes]) -> None:
    data = moving[name]
    made = transcoded(data, f"image/{name.lower()}", PictureOptions(avif=avif))
    assert made is not None and made.lossless and made.identical
    low, last = made.levels
    assert (low.name, last.name) == ("low", "original")
    assert made.data[last.start :] == data
    assert low.end <= 0.12 * first_frame(data, Format[name])
    with Image.open(io.BytesIO(data)) as origin, Image.open(io.BytesIO(made.data)) as coarse:
        assert coarse.size == origin.size == (made.width, made.height)
        small = (24, 16)
        want = origin.convert("RGB").resize(small).tobytes()
        found = coarse.convert("RGB").resize(small).tobytes()
    assert sum(abs(one - other) for one, other in zip(want, found, strict=True)) < 12 * len(want)


@pytest.mark.parametrize("name", NAMES)
def test_where_its_first_frame_ends_it_is_worth_more(name: str, moving: dict[str, bytes]) -> None:
    data, kind = moving[name], Format[name]
    made = transcoded(data, kind.value)
    assert made is not None
    assert made.untold == (made.levels[0].end + first_frame(data, kind),)
    assert first_frame(data, kind) < len(data) / 3


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_ends_with_its_first_frame_shows_that(
    name: str, moving: dict[str, bytes]
) -> None:
    data, kind = moving[name], Format[name]
    cut = data[: first_frame(data, kind)]
    if kind is not Format.WEBP:  # libwebp takes a whole file or none
        with Image.open(io.BytesIO(data)) as whole, Image.open(io.BytesIO(cut)) as part:
            assert part.convert("RGB").tobytes() == whole.convert("RGB").tobytes()
    with pytest.raises(Unfit):
        first_frame(cut[:-1], kind)


@pytest.mark.parametrize("name", NAMES)
def test_who_pays_by_the_megabyte_gets_its_first_frame_alone(
    name: str, moving: dict[str, bytes]
) -> None:
    data = moving[name]
    made = transcoded(data, Format[name].value, PictureOptions(similar=0.97, avif=True))
    assert made is not None and not made.lossless and not made.identical
    assert [level.name for level in made.levels] == ["high"]
    with Image.open(io.BytesIO(made.data)) as still, Image.open(io.BytesIO(data)) as origin:
        assert not getattr(still, "is_animated", False)
        assert similarity(still.convert("RGB"), origin.convert("RGB")) >= 0.97
    assert len(made.data) < first_frame(data, Format[name])


@pytest.mark.parametrize("options", [{"quality": 50}, {"layout": (100, 67)}])
def test_fewer_pixels_or_less_quality_alone_stop_none(
    options: dict[str, Any], moving: dict[str, bytes]
) -> None:
    made = transcoded(moving["GIF"], "image/gif", PictureOptions(**options))
    assert made is not None and made.identical


@pytest.mark.parametrize("name", NAMES)
def test_a_still_picture_has_no_frame_that_others_follow(
    name: str, pictures: dict[str, bytes], save: Callable[..., bytes]
) -> None:
    photo = Image.open(io.BytesIO(pictures["photo.png"])).convert("RGB")
    data = save(photo, name)
    made = transcoded(data, f"image/{name.lower()}")
    assert made is not None and made.untold == ()


def test_an_apng_whose_default_image_is_no_frame_is_left_alone(
    pictures: dict[str, bytes], save: Callable[..., bytes]
) -> None:
    photo = Image.open(io.BytesIO(pictures["photo.png"])).convert("RGB")
    others = [photo.rotate(angle) for angle in (5, 10)]
    data = save(photo, "PNG", save_all=True, append_images=others, default_image=True)
    assert transcoded(data, "image/png") is None


def test_one_turned_by_exif_is_left_alone(
    pictures: dict[str, bytes], save: Callable[..., bytes]
) -> None:
    photo = Image.open(io.BytesIO(pictures["photo.png"])).convert("RGB")
    exif = Image.Exif()
    exif[0x0112] = 6
    data = save(photo, "WEBP", save_all=True, append_images=[photo.rotate(5)], exif=exif)
    assert transcoded(data, "image/webp") is None


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chance=st.randoms(use_true_random=False))
def test_damaged_ones_are_told_of_or_refused(
    name: str, moving: dict[str, bytes], chance: st.DataObject
) -> None:
    data = bytearray(moving[name][: chance.randrange(1, 20_000)])  # type: ignore[attr-defined]
    for _ in range(8):
        data[chance.randrange(len(data))] = chance.randrange(256)  # type: ignore[attr-defined]
    try:
        end = first_frame(bytes(data), Format[name])
    except Unfit:
        return
    assert 0 < end <= len(data)


BOMBS = {
    "GIF": b"GIF89a" + bytes(7) + b"\x21\xfe\x00" * 1_000_000,
    "GIF of one block": b"GIF89a" + bytes(7) + b"\x21\xfe" + b"\x01\x00\x01" * 1_000_000,
    "WEBP": b"RIFF\xff\xff\xff\x7fWEBP" + (b"note" + bytes(4)) * 500_000,
    "PNG": b"\x89PNG\r\n\x1a\n" + (bytes(4) + b"tEXt" + bytes(4)) * 500_000,
}


@pytest.mark.parametrize("data", BOMBS.values(), ids=BOMBS)
def test_files_of_nothing_but_blocks_are_not_read_to_their_end(data: bytes) -> None:
    kind = sniff(data[:64])
    assert kind is not None
    with pytest.raises(Unfit):
        first_frame(data, kind)


def test_a_frame_larger_than_it_says_is_no_frame() -> None:
    kind = b"ANMF" + struct.pack("<I", 0xFFFFFFFF)
    with pytest.raises(Unfit):
        first_frame(b"RIFF\x10\0\0\0WEBP" + kind + bytes(16), Format.WEBP)
