"""Tests of pictures in fewer bytes for fewer pixels or less quality, where that is asked for."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from PIL import Image

from transcoders.formats.sniff import Format, sniff
from transcoders.make.reencode import Encoded, reencode
from transcoders.picture import PictureOptions, Unfit

LIMIT = 25_000_000


def smaller(data: bytes, **options: object) -> Encoded:
    kind = sniff(data)
    assert kind is not None
    return reencode(data, kind, PictureOptions(**options), max_pixels=LIMIT)  # type: ignore[arg-type]


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def test_less_quality_is_fewer_bytes_of_the_same_size(pictures: dict[str, bytes]) -> None:
    data = pictures["baseline.jpg"]
    made = [smaller(data, quality=quality) for quality in (20, 50)]
    assert len(made[0].data) < len(made[1].data) < 0.9 * len(data)
    for one in made:
        assert one.kind == Format.JPEG.value == sniff(one.data)
        assert (one.width, one.height) == opened(one.data).size == opened(data).size
        assert opened(one.data).info.get("progressive")


def test_a_box_is_covered_and_no_more(pictures: dict[str, bytes]) -> None:
    data = pictures["baseline.jpg"]
    width, height = opened(data).size
    made = smaller(data, layout=(width // 4, height // 8))
    assert (made.width, made.height) == opened(made.data).size
    assert made.width == pytest.approx(width / 4, abs=1)
    assert made.height == pytest.approx(height / 4, abs=1)


def test_a_box_is_of_the_picture_as_it_is_shown(pictures: dict[str, bytes]) -> None:
    data = pictures["turned.jpg"]
    width, height = opened(data).size
    made = smaller(data, layout=(height // 4, width // 4))
    assert made.width == pytest.approx(width / 4, abs=1)
    assert opened(made.data).getexif()[0x0112] == 6


def test_what_is_scaled_by_little_is_left_as_it_was(pictures: dict[str, bytes]) -> None:
    data = pictures["baseline.jpg"]
    width, height = opened(data).size
    with pytest.raises(Unfit, match="nothing to save"):
        smaller(data, layout=(int(0.95 * width), int(0.95 * height)))
    with pytest.raises(Unfit, match="nothing to save"):
        smaller(data, layout=(10 * width, 10 * height))


def test_what_shows_through_stays_so(pictures: dict[str, bytes]) -> None:
    made = smaller(pictures["alpha.png"], quality=50)
    assert made.kind == Format.WEBP.value
    assert len(set(opened(made.data).getchannel("A").tobytes())) > 10


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("cmyk.jpg", {"quality": 30}, "CMYK"),
        ("lossless.webp", {"quality": 30}, "nothing to save"),
        ("baseline.jpg", {}, "not asked for"),
        ("baseline.jpg", {"quality": 95}, "bytes from"),
    ],
)
def test_what_would_suffer_or_gain_nothing_is_left_alone(
    name: str, options: dict[str, object], why: str, pictures: dict[str, bytes]
) -> None:
    with pytest.raises(Unfit, match=why):
        smaller(pictures[name], **options)


def test_flat_graphics_keep_their_format(save: Callable[..., bytes]) -> None:
    flat = Image.new("RGB", (800, 600), "white")
    flat.paste((200, 0, 0), (0, 0, 400, 300))
    with pytest.raises(Unfit, match="flat graphics"):
        smaller(save(flat, "PNG"), quality=30)


def test_a_profile_goes_along(pictures: dict[str, bytes], save: Callable[..., bytes]) -> None:
    photo = opened(pictures["baseline.jpg"]).convert("RGB")
    from PIL import ImageCms

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = save(photo, "JPEG", quality=95, icc_profile=profile)
    assert opened(smaller(data, quality=30).data).info["icc_profile"] == profile


def test_a_jpeg_that_is_damaged_is_unfit(pictures: dict[str, bytes]) -> None:
    data = pictures["baseline.jpg"]
    with pytest.raises(Unfit):
        smaller(data[:2] + b"\xff\xc0\x00\x02" + data[2:], quality=30)


def test_sizes_are_checked_before_anything_is_decoded(pictures: dict[str, bytes]) -> None:
    with pytest.raises(Unfit):
        reencode(pictures["photo.png"], Format.PNG, PictureOptions(quality=30), max_pixels=100)
