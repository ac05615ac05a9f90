"""Where a page offers a picture in several sizes, the one is promised that its browser takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bench.browsers.cdp import Tab, find_chromium, launch
from tests.end_to_end.pair import FakeOrigin, Pair, all_three, run, until
from tests.end_to_end.test_page_load import PHOTO
from wire.continuation import Window

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
OFFERED = (
    b"<!doctype html><meta name=viewport content='width=device-width'><body>"
    b"<img src=/plain.jpg srcset='/small.jpg 400w, /middle.jpg 800w, /large.jpg 1600w'"
    b" sizes=100vw>"
)
PHONE = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/156.0.0.0 Mobile Safari/537.36"
)


def offer(origin: FakeOrigin) -> None:
    for page in ("/first", "/second"):
        origin.serve(page, OFFERED, "text/html")
    for name in ("plain", "small", "middle", "large"):
        origin.serve(f"/{name}.jpg", PHOTO.read_bytes(), "image/jpeg")


@asynccontextmanager
async def windowed(
    width: int, height: int, scale: float
) -> AsyncIterator[tuple[FakeOrigin, Pair, Tab]]:
    """An origin with the two pages, the pair, and a tab in a window of that size."""
    async with all_three() as (origin, both):
        offer(origin)
        async with launch(proxy=f"http://{both.address[0]}:{both.address[1]}") as browser:
            tab = await browser.new_tab()
            await tab.viewport(width=width, height=height, scale=scale)
            yield origin, both, tab


async def shown(tab: Tab, url: str) -> str:
    """The address of the picture that the page shows, once all is there."""
    await tab.call("Page.navigate", url=url)
    async with asyncio.timeout(60):
        done = "document.readyState == 'complete' && document.images[0]?.complete"
        while not await tab.evaluate(f"location.href == '{url}' && {done}"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return str(await tab.evaluate("document.images[0].currentSrc")).rpartition("/")[2]


def test_a_page_says_in_which_window_the_next_one_will_stand() -> None:
    async def go() -> None:
        async with windowed(390, 800, 2) as (origin, both, tab):
            assert await shown(tab, origin.base + "/first") == "middle.jpg"
            agent = str(await tab.evaluate("navigator.userAgent"))
            window = Window(390, 800, 200)
            await until(lambda: both.local.caches.windows.of(agent) == window)
            origin.asked.clear()
            assert await shown(tab, origin.base + "/second") == "middle.jpg"
            assert [path for path in origin.counts() if path.endswith(".jpg")] == ["/middle.jpg"]
            assert both.known(origin.base + "/middle.jpg").promised

    run(go())


def test_a_phone_is_known_by_its_name_before_it_has_said_anything() -> None:
    async def go() -> None:
        async with windowed(412, 915, 2.625) as (origin, both, tab):
            await tab.call("Emulation.setUserAgentOverride", userAgent=PHONE)
            taken = await shown(tab, origin.base + "/first")
            assert both.known(f"{origin.base}/{taken}").promised
            assert [path for path in origin.counts() if path.endswith(".jpg")] == [f"/{taken}"]

    run(go())


def test_one_that_is_taken_against_expectation_is_coarse_first_all_the_same() -> None:
    async def go() -> None:
        async with windowed(390, 800, 1) as (origin, both, tab):
            taken = await shown(tab, origin.base + "/first")
            component = both.known(f"{origin.base}/{taken}")
            assert taken == "small.jpg" and not component.promised
            assert component.levels[0].sketch

    run(go())
