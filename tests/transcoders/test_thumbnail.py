"""Coarse versions of pictures in documents: small files of the same picture, alpha kept."""

from __future__ import annotations

import asyncio
import io

import pytest
from PIL import Image

from tests.data.office.make import picture
from transcoders.make.registry import Transcoders
from transcoders.make.thumbnail import LEAST, MAX_SHARE, MIN_BYTES, thumbnail
from transcoders.picture import Unfit

LIMIT = 25_000_000


@pytest.mark.parametrize(("kind", "mode"), [("PNG", "RGBA"), ("JPEG", "RGB")])
def test_it_is_a_small_webp_of_the_same_shape(kind: str, mode: str) -> None:
    data = picture(1, kind, (1200, 800))
    low = thumbnail(data, max_pixels=LIMIT)
    assert len(low) <= max(LEAST, MAX_SHARE * len(data))
    made = Image.open(io.BytesIO(low))
    assert (made.format, made.mode) == ("WEBP", mode)
    assert made.width / made.height == pytest.approx(1.5, abs=0.05)


def test_what_is_not_worth_it_has_none() -> None:
    for data in (b"", bytes(MIN_BYTES), picture(1, "PNG", (8, 8))):
        with pytest.raises(Unfit):
            thumbnail(data, max_pixels=LIMIT)
    with pytest.raises(Unfit):
        thumbnail(picture(1, "PNG", (1200, 800)), max_pixels=1000)


def test_damage_is_no_error() -> None:
    async def main() -> list[bytes | None]:
        transcoders = Transcoders(workers=1, timeout=120.0)
        try:
            data = picture(1, "PNG", (400, 300))
            cut = [data[: MIN_BYTES + 100], data[:40] + bytes(20_000), b"x" * 20_000]
            return [await transcoders.thumbnail(one) for one in (data, *cut)]
        finally:
            await transcoders.close()

    good, *damaged = asyncio.run(main())
    assert good
    assert damaged == [None, None, None]
