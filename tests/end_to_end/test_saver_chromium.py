"""In Chromium: a page whose site is switched to `saver`, and one picture's original by a click."""

from __future__ import annotations

import asyncio
import base64
import io

import pytest
from PIL import Image, ImageChops, ImageStat

from bench.browsers.cdp import Tab, find_chromium, launch
from tests.end_to_end.pair import all_three, run
from tests.end_to_end.test_saver import SIZE, pixels, serve
from transcoders.make.alike import similarity

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")


async def seen(tab: Tab) -> Image.Image:
    """The picture's pixels on the screen."""
    box = {"x": 8, "y": 8, "width": SIZE[0], "height": SIZE[1], "scale": 1}
    shot = await tab.call("Page.captureScreenshot", format="png", clip=box)
    return Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")


def difference(one: Image.Image, two: Image.Image) -> float:
    """0 to 255, in the mean."""
    return sum(ImageStat.Stat(ImageChops.difference(one, two)).mean) / 3


def test_a_picture_stays_as_it_is_until_a_click_brings_its_original() -> None:
    async def go() -> None:
        async with all_three(sites={"*": "saver"}) as (origin, both):
            photo, page = serve(origin, width=SIZE[0], height=SIZE[1])
            original = pixels(photo)
            async with launch(proxy=f"http://{both.address[0]}:{both.address[1]}") as browser:
                tab = await browser.new_tab()
                await tab.call("Page.navigate", url=page)
                async with asyncio.timeout(60):
                    while not await tab.evaluate("document.images[0]?.complete"):  # noqa: ASYNC110
                        await asyncio.sleep(0.1)
                await asyncio.sleep(1.0)
                saved = await seen(tab)
                assert similarity(saved, original) >= 0.965
                assert difference(saved, original) > 0.5, "it is another file"
                assert both.known(page + "p.jpg").carried < 0.7 * len(photo)
                await asyncio.sleep(1.0)
                assert difference(await seen(tab), saved) < 0.01, "it is final"
                at = {"x": 100, "y": 100, "button": "left", "clickCount": 1, "modifiers": 1 | 8}
                await tab.call("Input.dispatchMouseEvent", type="mousePressed", **at)
                await tab.call("Input.dispatchMouseEvent", type="mouseReleased", **at)
                async with asyncio.timeout(60):
                    while difference(await seen(tab), original) > 0.5:  # noqa: ASYNC110
                        await asyncio.sleep(0.2)
                assert origin.counts()["/p.jpg"] == 2, "asked for once more, and not over and over"

    run(go())
