"""Pictures as cameras make them, of twelve million pixels: coarse within seconds on a slow link."""

from __future__ import annotations

import asyncio
import io

import pytest
from PIL import Image

from bench.browsers.cdp import find_chromium, launch
from tests.end_to_end.pair import run, slow_three
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_page_load import PHOTO

SIZE = 4000, 3000
RATE = 40_000


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
def test_one_is_shown_in_its_size_long_before_it_is_here() -> None:
    file = io.BytesIO()
    with Image.open(PHOTO) as photo:
        large = photo.resize(SIZE, Image.Resampling.BICUBIC)
        large.save(file, "JPEG", quality=97)
    data = file.getvalue()
    assert len(data) > 30 * RATE

    async def go() -> None:
        async with slow_three(rate=RATE) as (origin, _, both):
            origin.serve("/", b"<!doctype html><body><img src=/photo.jpg>")
            origin.serve("/photo.jpg", data, "image/jpeg")
            async with launch(proxy="http://{}:{}".format(*both.address)) as browser:
                tab = await browser.new_tab()
                async with asyncio.timeout(15):
                    await tab.call("Page.navigate", url=origin.base + "/")
                    await becomes(tab, "document.images[0]?.complete")
                size = "document.images[0].naturalWidth + 'x' + document.images[0].naturalHeight"
                assert await tab.evaluate(size) == "4000x3000"
            picture = both.known(origin.base + "/photo.jpg")
            low = picture.levels[0]
            assert (low.width, low.height) == SIZE
            assert low.end <= picture.received < len(data) / 2

    run(go())
