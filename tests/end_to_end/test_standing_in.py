"""Pages whose scripts read pixels, in real browsers: coarse levels are shown, and no script can
tell, for their <img> has not loaded before all of the picture is here."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PIL import Image

from bench.browsers.bidi import EXECUTABLE, BidiTab, certificates_can_be_added, launched
from bench.browsers.cdp import Tab, find_chromium
from local_proxy.front.tls.authority import Authority
from local_proxy.sites.sites import Mode
from tests.end_to_end.pair import FakeOrigin, Pair
from tests.end_to_end.roots import Root
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_https_pages import slow_pair
from tests.end_to_end.test_page_load import PHOTO
from tests.end_to_end.test_programs_in_pages import slow

PICTURES = 8
PAGE = r"""<!doctype html><body style="margin:0">{}<script>
  window.loaded = 0, window.sums = [];
  for (const one of document.images) one.onload = () => {{
    const brush = new OffscreenCanvas(200, 150).getContext("2d");
    brush.drawImage(one, 0, 0, 200, 150);
    const pixels = brush.getImageData(0, 0, 200, 150).data;
    sums[one.src.match(/\d+.webp/)[0][0]] = pixels.reduce((all, each) => all * 31 + each & 65535);
    window.loaded++;
  }};
</script>"""
STATE = """JSON.stringify([...document.images].map(one =>
  [one.complete, getComputedStyle(one).content]))"""

STANDS_IN = """window.found = [...document.images].findIndex(one =>
  !one.complete && getComputedStyle(one).content.includes("sluice-level"))"""


def in_firefox(test: Callable[..., None]) -> Callable[..., None]:
    """Marks one that needs Firefox, and its trust in an authority of ours."""
    trust = pytest.mark.skipif(not certificates_can_be_added(), reason="no libnss3-tools here")
    there = pytest.mark.skipif(EXECUTABLE is None, reason="no firefox on this machine")
    return there(trust(test))


@asynccontextmanager
async def firefox(folder: Path) -> AsyncIterator[tuple[FakeOrigin, Pair, BidiTab]]:
    """An origin, the pair with a slow link in it, and a tab of Firefox before it."""
    root, authority = Root(folder), Authority.open(folder / "state")
    async with (
        FakeOrigin(tls=root.server("localhost", "127.0.0.1")).running() as origin,
        slow_pair(rate=40_000, tls=root.trusted(), authority=authority) as both,
        launched(
            proxy="{}:{}".format(*both.address), certificate=authority.certificate_pem
        ) as browser,
        browser.tab() as tab,
    ):
        origin.name = "localhost"
        yield origin, both, tab


def photo(number: int) -> bytes:
    file = io.BytesIO()
    with Image.open(PHOTO) as image:
        image.rotate(number).save(file, "WEBP", quality=80)
    return file.getvalue()


async def colours(tab: Tab | BidiTab, number: int) -> int:
    """How many the picture shows; four stand beside each other."""
    scale = float(str(await tab.evaluate("devicePixelRatio")))
    left, top = number % 4 * 200, number // 4 * 150
    box = tuple(round(side * scale) for side in (left + 20, top + 20, left + 180, top + 130))
    with Image.open(io.BytesIO(await tab.screenshot())) as shot:
        return len(shot.convert("RGB").crop(box).getcolors(1 << 20) or ())


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("tag", ["<img src=/{}.webp width=200 height=150>", "srcset"])
def test_coarse_levels_stand_in_and_no_script_can_tell(tag: str, tmp_path: Path) -> None:
    if tag == "srcset":
        tag = '<img srcset="/{0}.webp 2x" src=/{0}.webp width=200 height=150>'

    async def go() -> None:
        async with slow("https over HTTP/2", tmp_path) as (origin, both, tab):
            tags = "".join(tag.format(number) for number in range(PICTURES))
            for path in ("/", "/again"):
                origin.serve(path, PAGE.format(tags).encode())
            for number in range(PICTURES):
                origin.serve(f"/{number}.webp", photo(number), "image/webp")
            await tab.call("Emulation.setDeviceMetricsOverride", width=800, height=400,
                           deviceScaleFactor=2 if "2x" in tag else 1, mobile=False)  # fmt: skip
            await tab.call("Page.navigate", url=origin.base + "/")
            await becomes(tab, "document.images[7]?.currentSrc !== ''")
            await becomes(tab, f"({STANDS_IN}) >= 0")
            number = int(str(await tab.evaluate("window.found")))
            assert await colours(tab, number) > 100
            await becomes(tab, f"window.loaded === {PICTURES}")
            await becomes(tab, f"!({STATE}).includes('sluice-level')")
            read = await tab.evaluate("window.sums")
            assert both.local.export.statistics().swapped == 0
            both.local.sites.choose("127.0.0.1", Mode.ORIGINAL)
            await tab.call("Network.clearBrowserCache")
            await tab.call("Page.navigate", url=origin.base + "/again")
            await becomes(tab, f"location.pathname === '/again' && window.loaded === {PICTURES}")
            assert read == await tab.evaluate("window.sums")

    asyncio.run(asyncio.wait_for(go(), 90))


LAID_OUT = {
    "its size in the markup": "<img src=/{0}.webp width=200 height=150>",
    "its size in a style": "<img src=/{0}.webp>",
    "srcset": "<img srcset='/{0}.webp 1x, /{0}.webp?2 2x'>",
    "picture": "<picture><source srcset=/{0}.webp type=image/webp><img src=/{0}.jpg></picture>",
    "its width alone": "<div><img class=wide srcset='/{0}.webp 600w' sizes=200px></div>",
}


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("tag", LAID_OUT.values(), ids=LAID_OUT)
def test_all_of_a_page_stand_in_before_any_is_here(tag: str, tmp_path: Path) -> None:
    """Chromium names no <img>'s picture before the header of what comes for it is here."""
    style = "<style>img{width:200px;height:150px}.wide{height:auto}"
    style += "body{display:grid;grid:auto/repeat(4,200px)}</style>"
    everyone = "[...document.images].filter(one => one.complete ||"
    everyone += " getComputedStyle(one).content.includes('sluice-level')).length"

    async def go() -> None:
        async with slow("https over HTTP/2", tmp_path) as (origin, both, tab):
            tags = "".join(tag.format(number) for number in range(PICTURES))
            origin.serve("/", (PAGE.format(tags) + style).encode())
            for number in range(PICTURES):
                origin.serve(f"/{number}.webp", photo(number), "image/webp")
            await tab.call("Emulation.setDeviceMetricsOverride", width=800, height=400,
                           deviceScaleFactor=1, mobile=False)  # fmt: skip
            await tab.call("Page.navigate", url=origin.base + "/")
            await becomes(tab, f"{everyone} === {PICTURES}")
            here = "[...document.images].filter(one => one.complete).length"
            assert int(str(await tab.evaluate(here))) < PICTURES / 2
            assert await colours(tab, PICTURES - 1) > 100
            assert both.local.export.statistics().swapped == 0

    asyncio.run(asyncio.wait_for(go(), 60))


@in_firefox
def test_in_firefox_too(tmp_path: Path) -> None:
    tag = "<img src=/{}.webp width=200 height=150>"

    async def go() -> None:
        async with firefox(tmp_path) as (origin, both, tab):
            tags = "".join(tag.format(number) for number in range(PICTURES))
            origin.serve("/", PAGE.format(tags).encode())
            for number in range(PICTURES):
                origin.serve(f"/{number}.webp", photo(number), "image/webp")
            await tab.viewport(width=800, height=400)
            going = asyncio.create_task(tab.go(origin.base + "/"))
            while "sluice-level" not in str(state := await tab.evaluate(STATE)):
                await tab.painted()
            number, complete = next(
                (number, complete)
                for number, (complete, content) in enumerate(json.loads(str(state)))
                if "sluice-level" in content
            )
            assert not complete
            assert await colours(tab, number) > 100
            await going
            while "sluice-level" in str(await tab.evaluate(STATE)):
                await tab.painted()
            assert await tab.evaluate("window.loaded") == PICTURES
            assert both.local.export.statistics().swapped == 0

    asyncio.run(asyncio.wait_for(go(), 60))
