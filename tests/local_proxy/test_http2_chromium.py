"""Chromium with our port as its HTTPS proxy: one HTTP/2 connection, and HTTP/2 inside its tunnels.

There each level of a picture goes as a part of one response, for all pictures at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from local_proxy.front.listener import Front
from local_proxy.front.tls.authority import Authority
from local_proxy.front.tls.connects import Https
from local_proxy.http.model import Request, Response
from local_proxy.link.components import ComponentFailed
from tests.local_proxy.chromium import EXECUTABLE, Browser, Tab, launched
from tests.local_proxy.site import Site
from wire.skeleton import Use

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="no chromium on this machine")

COUNT = 40
STATE = """JSON.stringify([
  loads, broken, document.scripts.length, document.documentElement.outerHTML,
  [...document.images].map((i) => [i.src, i.currentSrc, i.complete, i.naturalWidth, i.width]),
])"""
PROBE = """<script>
  window.loads = 0, window.broken = 0;
  addEventListener("load", (event) => { if (event.target.nodeName === "IMG") loads++; }, true);
  addEventListener("error", (event) => { broken++; }, true);
</script>"""


class SecureSite(Site):
    """Notes which of its requests came over HTTP/2."""

    def __init__(self) -> None:
        super().__init__()
        self.multiplexed: dict[str, bool] = {}

    async def handle(self, request: Request) -> Response:
        if ".test/" not in request.url:  # what the browser asks on its own account
            return Response(404, [], b"")
        self.multiplexed[request.url] = request.multiplexed
        return await super().handle(request)

    def gallery(self, origin: str) -> None:
        """Pictures of which the low level is there, and one behind the page."""
        pictures = "".join(f"<img src=/p{i}.jpg width=100 height=75>" for i in range(COUNT))
        style = "<style>body {background: url(/back.jpg)}</style>"
        self.page("/", f"<!doctype html><title>t</title>{PROBE}{style}{pictures}")
        for i in range(COUNT):
            self.picture(f"/p{i}.jpg", i, origin=origin)
        self.picture("/back.jpg", 99, use=Use.BACKGROUND, origin=origin)
        self.paint("low")

    def paint(self, level: str) -> None:
        for path in self.components:
            self.advance(path, level)


async def becomes(tab: Tab, pixels: bytes) -> bool:
    """Whether the tab comes to show these pixels."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(60):
            while await tab.screenshot() != pixels:
                await tab.painted()
            return True
    return False


async def differs(tab: Tab, pixels: bytes) -> bool:
    """Whether the tab comes to show anything else."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(60):
            while await tab.screenshot() == pixels:
                await tab.painted()
            return True
    return False


def complaints(tab: Tab) -> list[str]:
    return [text for text in tab.complaints if "404" not in text]  # the icon is not there


@contextlib.asynccontextmanager
async def world(directory: Path) -> AsyncIterator[tuple[SecureSite, Browser, Front]]:
    authority, site = Authority.open(directory), SecureSite()
    front = Front(site, https=Https(authority, now=asyncio.get_running_loop().time))
    host, port = await front.listen("127.0.0.1", 0)
    trust = f"--ignore-certificate-errors-spki-list={authority.spki_sha256}"
    try:
        async with launched(proxy=f"https://{host}:{port}", flags=[trust]) as browser:
            yield site, browser, front
    finally:
        await front.close()


def in_world(
    directory: Path, test: Callable[[SecureSite, Browser, Front], Awaitable[None]]
) -> None:
    async def main() -> None:
        async with asyncio.timeout(120), world(directory) as (site, browser, front):
            await test(site, browser, front)

    asyncio.run(main())


def test_pictures_over_http2(tmp_path: Path) -> None:
    async def test(site: SecureSite, browser: Browser, front: Front) -> None:
        site.gallery("https://site.test")
        async with browser.tab() as tab:
            await tab.go("https://plain.test/")
            final, expected = await tab.screenshot(), await tab.evaluate(STATE)
        await refine(site, browser, final, expected)
        await fail(site, browser, final)
        site.__init__()  # type: ignore[misc]
        site.gallery("http://site.test")
        site.advance("/back.jpg", "original")  # what is not an element can't be swapped
        await swap(site, browser, final)
        assert front.statistics().refused == 0

    in_world(tmp_path, test)


async def refine(site: SecureSite, browser: Browser, final: bytes, expected: str) -> None:
    """All levels of all pictures, each as a part of one response."""
    async with browser.tab() as tab:
        await tab.go("https://site.test/")  # returns: load waits for the first part alone
        for level in ("medium", "high", "original"):
            shown = await tab.screenshot()
            assert shown != final
            site.paint(level)
            assert await differs(tab, shown)
        assert await becomes(tab, final)
        assert (await tab.evaluate(STATE)).replace("site.test", "plain.test") == expected
        assert complaints(tab) == []
    statistics = site.export.statistics()
    assert (statistics.multipart, statistics.swapped) == (COUNT + 1, 0)
    assert site.multiplexed["https://site.test/p0.jpg"]
    assert not any("sluice-level" in url for url in site.log)


async def fail(site: SecureSite, browser: Browser, final: bytes) -> None:
    """Components that break off are fetched whole, as the last part."""
    site.gallery("https://site.test")
    async with browser.tab() as tab:
        await tab.go("https://site.test/")
        site.paint("medium")
        await tab.painted()
        for component in site.components.values():
            component.failure = ComponentFailed(504, "the link was lost")
            component.notify()
        assert await becomes(tab, final)
        assert await tab.evaluate("broken") == 0
        assert complaints(tab) == []
    assert site.export.statistics().fetched_again == COUNT + 1


async def swap(site: SecureSite, browser: Browser, final: bytes) -> None:
    """An http page over the same connection: Chromium asks for six pictures at a time."""
    async with browser.tab() as tab:
        await tab.go("http://site.test/")
        site.paint("original")
        assert await becomes(tab, final)
        assert complaints(tab) == []
    assert site.multiplexed["http://site.test/p0.jpg"]
    assert site.export.statistics().multipart == 0
