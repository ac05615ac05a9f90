"""Pictures in the formats of today's pages: coarse first, and then the origin's own bytes."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from tests.end_to_end.pair import run, slow_three, until
from tests.end_to_end.test_page_load import PHOTO


@pytest.mark.parametrize("name", ["AVIF", "WEBP"])
def test_one_is_coarse_before_it_is_the_origins(name: str) -> None:
    file = io.BytesIO()
    with Image.open(PHOTO) as photo:
        size = photo.size
        photo.save(file, name, quality=80)
    data, kind = file.getvalue(), f"image/{name.lower()}"

    async def go() -> None:
        async with slow_three() as (origin, _, both):
            origin.serve("/", b"<!doctype html><body><img src=/photo>")
            origin.serve("/photo", data, kind)
            await both.browser.navigate(origin.base + "/")
            await until(lambda: both.local.components.find(1, origin.base + "/photo"))
            picture = both.known(origin.base + "/photo")
            await picture.wait(lambda: picture.complete)
            low, last = picture.levels[0], picture.levels[-1]
            assert 0 < low.end < len(data) / 7
            with Image.open(io.BytesIO(picture.data[: low.end])) as coarse:
                assert coarse.size == size
            assert last.content_type == kind
            assert bytes(picture.data[last.start : last.end]) == data
            answer = await both.browser.image(origin.base + "/photo", origin.base + "/")
            assert answer.body == data

    run(go())
