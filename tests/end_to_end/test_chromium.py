"""The sample page in a real browser through both proxies, over no slow link."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bench.browsers.cdp import Tab, find_chromium, launch
from bench.browsers.page_end import GOAL, PageEnd, differences, end_of
from bench.browsers.windows import window
from bench.origins.endpoint import PageAccess, no_link
from bench.origins.site import Address, serve
from tests.end_to_end.pair import FakeOrigin, Pair, all_three, pair, until
from tests.local_proxy.site import progressive

SITE = Path(__file__).parents[2] / "demo" / "site"
pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")


def endpoint(origin: Address, both: Pair | None) -> PageAccess:
    proxy = f"http://{both.address[0]}:{both.address[1]}" if both is not None else None
    return PageAccess(f"http://{origin[0]}:{origin[1]}/", no_link, proxy=proxy)


async def end(endpoint: PageAccess, page: str, *, like: PageEnd | None = None) -> PageEnd:
    async with window(endpoint, "chromium") as one:
        return await end_of(one, endpoint.base, page, like=like)


@asynccontextmanager
async def tab_through(both: Pair) -> AsyncIterator[Tab]:
    async with launch(proxy=f"http://{both.address[0]}:{both.address[1]}") as browser:
        yield await browser.new_tab()


async def text_of(tab: Tab) -> str:
    return str(await tab.evaluate("document.documentElement?.outerHTML ?? ''"))


async def shows(tab: Tab, words: str, *, seconds: float = 15.0) -> None:
    """Until the page has these words."""
    async with asyncio.timeout(seconds):
        while words not in await text_of(tab):  # noqa: ASYNC110 - the page tells nobody
            await asyncio.sleep(0.1)


def test_the_page_ends_up_as_it_does_without_proxies() -> None:
    async def go() -> None:
        async with serve(SITE) as origin, pair() as both:
            page = "news/index.html"
            direct = await end(endpoint(origin, None), page)
            through = await end(endpoint(origin, both), page, like=direct)
            found = differences(direct, direct, through)
            assert found["same_size"]
            assert found["pictures"] >= 10
            assert found["picture_difference"] < GOAL
            assert found["page_difference"] < GOAL
            assert not found["complaints"]

    asyncio.run(go())


def test_the_status_page_knows_the_document_that_is_open() -> None:
    async def go() -> None:
        async with serve(SITE) as origin, pair() as both, tab_through(both) as tab:
            page = f"http://{origin[0]}:{origin[1]}/news/index.html"
            await tab.call("Page.navigate", url=page)
            await shows(tab, "Civic Ledger")
            status = await tab.browser.new_tab()
            await status.call("Page.navigate", url="http://sluice.local/")
            await shows(status, "news/index.html")

    asyncio.run(go())


def test_without_a_remote_there_is_a_page_that_loads_itself_again() -> None:
    async def go() -> None:
        async with FakeOrigin().running() as origin, pair(patience=0.2) as both:
            origin.serve("/", b"<html><head></head><body>here again</body></html>")
            await both.remote.stop()
            async with tab_through(both) as tab:
                await tab.call("Page.navigate", url=origin.base + "/")
                await shows(tab, "link")
                assert "here again" not in await text_of(tab)
                await both.remote.start()
                await until(lambda: both.local.uplink.state().connected)
                await shows(tab, "here again")

    asyncio.run(go())


async def alt_shift_click(tab: Tab, x: int, y: int) -> None:
    click = {"x": x, "y": y, "button": "left", "clickCount": 1, "modifiers": 1 + 8}
    for kind in ("mousePressed", "mouseReleased"):
        await tab.call("Input.dispatchMouseEvent", type=kind, **click)


async def becomes(tab: Tab, expression: str) -> None:
    """Until the expression holds in the page; else says which page that is."""
    try:
        async with asyncio.timeout(120):
            while not await tab.evaluate(expression):  # noqa: ASYNC110 - the page tells nobody
                await asyncio.sleep(0.05)
    except TimeoutError:
        shown = await tab.evaluate("location.href + ' ' + document.documentElement.outerHTML")
        raise AssertionError(f"not {expression} in {shown[:2000]}") from None


def test_alt_shift_click_loads_one_picture_that_a_text_only_site_goes_without() -> None:
    async def go() -> None:
        sites = {"127.0.0.1": "text-only"}
        async with all_three(sites=sites) as (origin, both), tab_through(both) as tab:
            origin.serve(
                "/",
                b"<!doctype html><body style='margin:0'><a href=/elsewhere>"
                b"<img src=/p.jpg width=320 height=240></a><img src=/q.jpg width=9 height=9>"
                b"<script>clicks=0;addEventListener('click',()=>clicks++)</script>ready",
            )
            for name in ("/p.jpg", "/q.jpg"):
                origin.serve(name, progressive(1, size=(640, 480))[0], "image/jpeg")
            await tab.call("Page.navigate", url=origin.base + "/")
            await shows(tab, "ready")
            await becomes(
                tab, "document.readyState === 'complete' && document.images[0].naturalWidth"
            )
            assert "/p.jpg" not in origin.counts()
            await alt_shift_click(tab, 100, 100)
            await until(lambda: origin.counts()["/p.jpg"])
            await becomes(
                tab, "getComputedStyle(document.images[0]).content.includes('sluice-level')"
            )
            assert await tab.evaluate("clicks") == 0, "the page has not noticed"
            assert "/q.jpg" not in origin.counts()
            assert "/elsewhere" not in origin.counts()

    asyncio.run(go())


def test_the_status_page_switches_a_site_and_no_other_page_does() -> None:
    async def go() -> None:
        async with all_three() as (origin, both), tab_through(both) as tab:
            origin.serve("/", b"<!doctype html>ready")
            await tab.call("Page.navigate", url=origin.base + "/")
            await shows(tab, "ready")
            await tab.call("Page.navigate", url="http://sluice.local/")
            await shows(tab, 'data-site="127.0.0.1"')
            button = "[data-site='127.0.0.1'] [data-mode=original]"
            await tab.evaluate(f'document.querySelector("{button}").click()')
            await until(lambda: both.local.sites.mode("127.0.0.1") == "original")
            await shows(tab, 'data-mode="original" aria-pressed="true"')
            await tab.evaluate("""
                const time = document.querySelector("[data-site='127.0.0.1'] select");
                time.value = "5";
                time.dispatchEvent(new Event("change"));
            """)
            await until(lambda: both.local.sites.within("127.0.0.1") == 5)
            await tab.call("Page.navigate", url=origin.base + "/")
            await shows(tab, "ready")
            body = '{"pattern":"evil.test","mode":"tunnel"}'
            for more in ("", "headers: {'x-sluice-token': 'x'},", "mode: 'no-cors',"):
                place = "http://sluice.local/sites"
                sent = f"fetch('{place}', {{method: 'POST', {more} body: '{body}'}})"
                await tab.evaluate(f"{sent}.then(r => r.type, String)")
            assert [site.pattern for site in both.local.sites.listed()] == ["127.0.0.1"]

    asyncio.run(go())
