"""In Chromium: a page without its pictures has boxes that say what they are; a tap brings one."""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from PIL import Image

from bench.browsers.cdp import Tab, find_chromium, launch
from tests.end_to_end.pair import FakeOrigin, Pair, all_three, run, until
from tests.end_to_end.test_saver_budget import PHOTOS

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")

PAGE = b"""<!doctype html><title>x</title>
<style>body { margin: 0; width: 600px } section { position: absolute; width: 400px }</style>
<section style="top: 0"><img id=sized src=/a.jpg width=320 height=200 alt="A boat">
</section><section style="top: 220px"><a href=/elsewhere><img id=linked src=/b.jpg width=100
height=60 alt="A link"></a></section>
<section style="top: 300px"><img id=words src=/c.jpg alt="Two gulls"></section>
<section style="top: 340px"><img id=nothing src=/d.jpg alt=""></section>
<section style="top: 360px"><img id=wide src=/e.jpg style="width: 100%"></section>
<section style="top: 600px"><img id=auto src=/g.jpg width=200 height=50 style="height: auto">
</section><section style="top: 660px"><img id=handled src=/f.jpg width=100 height=60></section>
<script>
  clicks = 0;
  addEventListener("click", () => clicks++);
  handled.addEventListener("click", (event) => event.preventDefault());
</script>ready"""
PLACES = {"sized": (160, 100), "linked": (50, 250), "handled": (50, 690)}


@asynccontextmanager
async def opened(both: Pair, page: str) -> AsyncIterator[Tab]:
    async with launch(proxy=f"http://{both.address[0]}:{both.address[1]}") as browser:
        tab = await browser.new_tab()
        await tab.call("Page.navigate", url=page)
        yield tab


async def becomes(tab: Tab, expression: str) -> None:
    try:
        async with asyncio.timeout(120):
            while not await tab.evaluate(expression):  # noqa: ASYNC110 - the page tells nobody
                await asyncio.sleep(0.1)
    except TimeoutError:
        content = "[...document.images].map(i => getComputedStyle(i).content).join()"
        raise AssertionError(f"not {expression}: {await tab.evaluate(content)}") from None


def content(name: str, has: str) -> str:
    """A condition on what is shown for an image."""
    image = f"document.images['{name}']"
    return f"{image} && getComputedStyle({image}).content.includes('{has}')"


async def click(tab: Tab, name: str) -> None:
    x, y = PLACES[name]
    at = {"x": x, "y": y, "button": "left", "clickCount": 1}
    await tab.call("Input.dispatchMouseEvent", type="mousePressed", **at)
    await tab.call("Input.dispatchMouseEvent", type="mouseReleased", **at)


async def colours(tab: Tab, box: tuple[int, int, int, int]) -> int:
    """How many colours there are in this part of the window."""
    shot = await tab.call("Page.captureScreenshot", format="png")
    image = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB").crop(box)
    return len(image.getcolors(image.width * image.height) or ())


def serve(origin: FakeOrigin) -> None:
    origin.serve("/", PAGE)
    for name, photo in zip("abcdefg", PHOTOS, strict=False):
        origin.serve(f"/{name}.jpg", photo.read_bytes(), "image/jpeg")


def test_a_text_only_page_has_boxes_and_a_tap_brings_a_picture() -> None:
    async def go() -> None:
        async with all_three(sites={"127.0.0.1": "text-only"}) as (origin, both):
            serve(origin)
            async with opened(both, origin.base + "/") as tab:
                await becomes(tab, content("sized", "box320x200"))
                await becomes(tab, content("linked", "box100x60"))
                await becomes(tab, content("wide", "box400x225"))
                await becomes(tab, content("auto", "box200x50"))
                await becomes(tab, content("words", "x28"))
                assert await tab.evaluate("nothing.getBoundingClientRect().width") <= 1
                height = "document.images.wide.getBoundingClientRect().height"
                await becomes(tab, f"Math.abs({height} - 225) < 2")
                assert await colours(tab, (0, 0, 320, 200)) > 5, "words and a border"
                assert await colours(tab, (0, 340, 320, 358)) == 1
                assert set(origin.counts()) == {"/"}
                await click(tab, "handled")
                await click(tab, "sized")
                await until(lambda: origin.counts()["/a.jpg"])
                await becomes(tab, content("sized", ".again"))
                assert await colours(tab, (0, 0, 320, 200)) > 1000, "a photo"
                assert await tab.evaluate("clicks") == 2, "clicks are the page's as well"
                assert await tab.evaluate("document.images.sized.width") == 320
                assert set(origin.counts()) == {"/", "/a.jpg"}
                await click(tab, "linked")
                await becomes(tab, "location.pathname === '/elsewhere'")
                assert origin.counts()["/b.jpg"] == 0

    run(go())


def test_where_the_budget_of_the_day_is_gone_a_tap_brings_a_picture() -> None:
    async def go() -> None:
        async with all_three(day_budget="0.1 MB") as (origin, both):
            paths = [f"/{at}.jpg" for at in range(len(PHOTOS))]
            for path, photo in zip(paths, PHOTOS, strict=True):
                origin.serve(path, photo.read_bytes(), "image/jpeg")
            pictures = [f"<img src={path} width=400 height=270>" for path in reversed(paths)]
            html = f"<!doctype html><body style='margin:0'>{''.join(pictures)}"
            origin.serve("/", html.encode())
            async with opened(both, origin.base + "/") as tab:
                boxes = (
                    "[...document.images].filter(i => getComputedStyle(i).content.includes('box'))"
                )
                await becomes(tab, f"document.readyState === 'complete' && {boxes}.length > 2")
                await asyncio.sleep(1.0)
                assert both.local.day_budget is not None
                assert both.local.day_budget.gone
                spent = both.local.day_budget.spent
                assert spent < 130_000
                path = await tab.evaluate(f"(window.one = {boxes}[0]).getAttribute('src')")
                await tab.evaluate("one.scrollIntoView({ block: 'center' })")
                corner = "[one.getBoundingClientRect().left, one.getBoundingClientRect().top]"
                x, y = (side + 50 for side in await tab.evaluate(corner))
                at = {"x": x, "y": y, "button": "left", "clickCount": 1}
                await tab.call("Input.dispatchMouseEvent", type="mousePressed", **at)
                await tab.call("Input.dispatchMouseEvent", type="mouseReleased", **at)
                await becomes(tab, "getComputedStyle(one).content.includes('.again')")
                both.local.day_budget.look()
                size = PHOTOS[paths.index(path)].stat().st_size
                assert size < both.local.day_budget.spent - spent < 1.3 * size + 5000

    run(go())
