"""Pictures that look the same in few bytes: measured, not guessed."""

from __future__ import annotations

import io
import random

import pytest
from PIL import Image, ImageFilter

from bench.browsers import visual
from transcoders.formats.pixels import open_still, plain
from transcoders.formats.sniff import sniff
from transcoders.make.alike import alike, similarity
from transcoders.make.reencode import reencode
from transcoders.picture import PictureOptions, Unfit

LIMIT = 25_000_000


def pixels_of(data: bytes) -> Image.Image:
    kind = sniff(data)
    assert kind is not None
    return plain(open_still(data, kind, max_pixels=LIMIT))


def shown(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def test_similarity_is_what_the_bench_measures_by() -> None:
    one = pixels_of_noise(1)
    for radius in (0.3, 1.0, 4.0):
        other = one.filter(ImageFilter.GaussianBlur(radius))
        assert similarity(one, other) == pytest.approx(visual.similarity(one, other), abs=1e-4)
    assert similarity(one, one) == pytest.approx(1.0, abs=1e-6)


def pixels_of_noise(seed: int, size: tuple[int, int] = (203, 149)) -> Image.Image:
    """Colours that change slowly, with edges in them."""
    noise = Image.frombytes("RGB", (20, 15), random.Random(seed).randbytes(900))
    return noise.resize(size, Image.Resampling.BICUBIC)


@pytest.mark.parametrize("avif", [True, False])
@pytest.mark.parametrize("least", [0.9, 0.97])
def test_a_photo_is_as_similar_as_is_asked_in_fewer_bytes(
    pictures: dict[str, bytes], avif: bool, least: float
) -> None:
    data = pictures["baseline.jpg"]
    pixels = pixels_of(data)
    made, kind = alike(pixels, b"", least=least, avif=avif)
    assert kind == ("image/avif" if avif else "image/webp")
    assert similarity(shown(made).convert("RGB"), pixels) >= least
    assert len(made) < 0.75 * len(data)


def test_more_likeness_takes_more_bytes(pictures: dict[str, bytes]) -> None:
    pixels = pixels_of(pictures["baseline.jpg"])
    sizes = [len(alike(pixels, b"", least=least, avif=True)[0]) for least in (0.85, 0.93, 0.98)]
    assert sizes == sorted(sizes)
    assert sizes[0] < 0.6 * sizes[-1]


def test_what_shows_through_still_does() -> None:
    picture = pixels_of_noise(2).convert("RGBA")
    mask = Image.linear_gradient("L").resize(picture.size)
    picture.putalpha(mask)
    made, _ = alike(picture, b"", least=0.95, avif=True)
    back = shown(made).convert("RGBA")
    assert similarity(back, picture) >= 0.95
    assert back.getchannel("A").resize((1, 2)).getpixel((0, 0)) != 255


def test_what_can_not_look_the_same_is_unfit() -> None:
    noise = Image.frombytes("RGB", (64, 64), random.Random(3).randbytes(64 * 64 * 3))
    with pytest.raises(Unfit, match="look the same"):
        alike(noise, b"", least=0.9999, avif=False)
    with pytest.raises(Unfit, match="too large"):
        alike(Image.new("RGB", (20_000, 2)), b"", least=0.9, avif=True)


@pytest.mark.parametrize("size", [(1, 1), (3, 200), (8, 8), (7, 9)])
def test_the_smallest_pictures_are_measured_too(size: tuple[int, int]) -> None:
    picture = pixels_of_noise(4, size)
    made, _ = alike(picture, b"", least=0.6, avif=True)
    assert shown(made).size == size


def test_a_picture_that_exif_turns_comes_upright(pictures: dict[str, bytes]) -> None:
    data = pictures["turned.jpg"]
    kind = sniff(data)
    assert kind is not None
    try:
        made = reencode(data, kind, PictureOptions(similar=0.95, avif=True), max_pixels=LIMIT)
    except Unfit as error:
        assert "bytes from" in str(error) or "natural size" in str(error)
        return
    assert shown(made.data).size == shown(data).size[::-1]


def test_at_the_size_that_it_is_shown_at_it_takes_fewer_bytes(pictures: dict[str, bytes]) -> None:
    data = pictures["baseline.jpg"]
    kind, (width, height) = sniff(data), shown(data).size
    assert kind is not None
    box = (width // 3, height // 3)
    whole, small = (
        reencode(
            data, kind, PictureOptions(similar=0.97, layout=layout, avif=True), max_pixels=LIMIT
        )
        for layout in (None, box)
    )
    assert len(small.data) < 0.3 * len(whole.data)
    assert shown(small.data).width == pytest.approx(box[0], abs=2)


def test_flat_graphics_are_held_to_more_and_never_larger(pictures: dict[str, bytes]) -> None:
    flat = io.BytesIO()
    Image.new("RGB", (400, 300), "navy").save(flat, "PNG")
    for data in (flat.getvalue(), pictures["palette.png"]):
        kind = sniff(data)
        assert kind is not None
        try:
            made = reencode(data, kind, PictureOptions(similar=0.97, avif=True), max_pixels=LIMIT)
        except Unfit as error:
            assert "bytes from" in str(error)
            continue
        assert len(made.data) <= 0.9 * len(data)
        back = shown(made.data).convert(pixels_of(data).mode)
        assert similarity(back, pixels_of(data)) >= 0.97


@pytest.mark.parametrize("similar", [0.2, 1.0, 7.0])
def test_what_makes_no_sense_is_refused(similar: float) -> None:
    with pytest.raises(ValueError, match="similar"):
        PictureOptions(similar=similar)
