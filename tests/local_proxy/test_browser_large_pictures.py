"""Large pictures, which Chromium may decode late: never blank while they refine, then exact."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from PIL import Image

from bench.browsers.capture import capturing
from bench.browsers.cdp import Tab, find_chromium, launch
from bench.browsers.visual import flat, mean_difference
from local_proxy.front.http1.front import Http1Front
from tests.end_to_end.pair import until
from tests.local_proxy.site import Site

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")

SIZE, GRAIN = (3200, 2400), (96, 72)
BOX = (0, 0, 640, 480)
PAGE = "<!doctype html><body style='margin:0'><img src=/p.jpg width=640 height=480 {}></body>"


@asynccontextmanager
async def opened(site: Site) -> AsyncIterator[Tab]:
    front = Http1Front(site)
    host, port = await front.listen("127.0.0.1", 0)
    try:
        async with launch(proxy=f"http://{host}:{port}") as browser:
            tab = await browser.new_tab()
            await tab.viewport(width=800, height=600)
            yield tab
    finally:
        await front.close()


async def navigate(tab: Tab, url: str) -> None:
    await tab.call("Page.navigate", url=url)
    async with asyncio.timeout(60):
        while await tab.evaluate("document.readyState + location") != f"complete{url}":  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def look(tab: Tab) -> Image.Image:
    return Image.open(io.BytesIO(await tab.screenshot())).convert("RGB").crop(BOX)


async def drawn(tab: Tab) -> Image.Image:
    """The picture as it is first drawn. Not by decode(): what follows would be drawn from that."""
    async with asyncio.timeout(60):
        while flat(shown := await look(tab)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return shown


async def becomes(tab: Tab, final: Image.Image, difference: float) -> None:
    async with asyncio.timeout(60):
        while mean_difference(await look(tab), final) > difference:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(("attribute", "difference"), [("", 0.0), ("decoding=async", 2.0)])
def test_a_large_picture_refines_without_a_blank(attribute: str, difference: float) -> None:
    """`difference`: mean of 255 at the end; what is decoded ahead is scaled down otherwise."""

    async def go() -> None:
        site = Site()
        site.page("/", PAGE.format(attribute))
        site.picture("/p.jpg", 1, size=SIZE, grain=GRAIN)
        site.advance("/p.jpg", "low")
        async with opened(site) as tab:
            await navigate(tab, "http://plain.test/")
            final = await drawn(tab)
            await navigate(tab, "http://site.test/")
            coarse = await drawn(tab)
            assert mean_difference(coarse, final) > difference
            async with capturing(tab, width=800) as capture:
                for count, level in enumerate(("medium", "original"), 1):
                    site.advance("/p.jpg", level)
                    await until(lambda: asked(site) == count)  # noqa: B023
                await becomes(tab, final, difference)
                await capture.current()
            shown = [frame.image().crop(BOX) for frame in capture.frames]
            assert shown
            assert not any(flat(one) for one in shown)

    asyncio.run(go())


def asked(site: Site) -> int:
    """Levels that the page has fetched."""
    return sum("sluice-level" in url for url in site.log)
