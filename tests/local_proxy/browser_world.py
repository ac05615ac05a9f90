"""One real browser before the export driver, for a whole module: pages, pictures, pixels."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from local_proxy.front.http1.front import Http1Front
from tests.local_proxy.site import Site
from tests.watched import TIMEOUT

PROBE = """<script>
  window.changes = [];
  new MutationObserver((list) => list.forEach((one) => changes.push(one.type)))
    .observe(document, {attributes: true, characterData: true, subtree: true});
  window.names = Object.getOwnPropertyNames(window).concat(Object.getOwnPropertyNames(document));
  window.loads = 0;
  addEventListener("load", (event) => { if (event.target.nodeName === "IMG") loads++; }, true);
</script>"""
STATE = """JSON.stringify([
  names.sort(), Object.getOwnPropertyNames(window).sort(), changes, document.scripts.length, loads,
  document.documentElement.outerHTML, document.styleSheets.length,
  [...document.images].map((i) => [i.src, i.currentSrc, i.complete, i.naturalWidth, i.width]),
])"""
_COMPLETE = "[...document.images].every(image => image.complete)"
STEPS = ("medium", "high", "original")


class AnyTab(Protocol):
    """What a test needs of a tab, whosever it is."""

    complaints: list[str]

    async def go(self, url: str) -> None: ...
    async def back(self) -> None: ...
    async def evaluate(self, expression: str) -> Any: ...
    async def painted(self) -> None: ...
    async def screenshot(self) -> bytes: ...


class AnyBrowser(Protocol):
    """A browser that tests can drive."""

    def tab(self) -> AbstractAsyncContextManager[AnyTab]: ...


class Launch(Protocol):
    """Starts one browser."""

    def __call__(self, *, proxy: str) -> AbstractAsyncContextManager[AnyBrowser]: ...


class World:
    """One browser, one site, for all tests of this module."""

    def __init__(self, site: Site, browser: AnyBrowser) -> None:
        self.site = site
        self.browser = browser
        self.known: dict[bytes, bytes] = {}
        """Screenshots of direct loads, by page: the pictures of a path are always the same."""

    def fresh(self) -> Site:
        self.site.__init__()  # type: ignore[misc]
        return self.site

    @contextlib.asynccontextmanager
    async def direct(self, path: str = "/") -> AsyncIterator[AnyTab]:
        """The page without a proxy's doing."""
        async with self.browser.tab() as tab:
            await tab.go(f"http://plain.test{path}")
            yield tab

    async def pixels(self, path: str = "/") -> bytes:
        """What the page looks like with its final pictures."""
        html = self.site.pages[path][0]
        if html not in self.known:
            async with self.direct(path) as tab:
                while not await tab.evaluate(_COMPLETE):  # load waits for no lazy picture
                    await tab.painted()
                self.known[html] = await tab.screenshot()
        return self.known[html]


@contextlib.asynccontextmanager
async def world(launch: Launch) -> AsyncIterator[World]:
    site = Site()
    front = Http1Front(site)
    host, port = await front.listen("127.0.0.1", 0)
    try:
        async with launch(proxy=f"{host}:{port}") as browser:
            yield World(site, browser)
    finally:
        await front.close()


Run = Callable[[Callable[[World], Awaitable[None]]], None]


def running(launch: Launch) -> Iterator[Run]:
    """Runs a test's coroutine in the loop that the browser lives in."""
    with asyncio.Runner() as runner:
        stop, started = asyncio.Event(), asyncio.Event()
        holder: list[World] = []

        async def live() -> None:
            async with world(launch) as one:
                holder.append(one)
                started.set()
                await stop.wait()

        async def start() -> asyncio.Task[None]:
            task = asyncio.get_running_loop().create_task(live())
            async with asyncio.timeout(60):
                await started.wait()
            return task

        task = runner.run(start())

        def run_one(test: Callable[[World], Awaitable[None]]) -> None:
            runner.run(asyncio.wait_for(test(holder[0]), TIMEOUT))

        yield run_one
        stop.set()

        async def finish() -> None:
            await task

        runner.run(finish())


def gallery(count: int, *, extra: str = "", head: str = "") -> str:
    pictures = "".join(f'<img src="/p{i}.jpg" width=160 height=120 {extra}>' for i in range(count))
    return f"<!doctype html><html><head>{head}<title>t</title></head><body>{pictures}</body></html>"


def paint(site: Site, count: int, level: str) -> None:
    for i in range(count):
        site.advance(f"/p{i}.jpg", level)


def with_gallery(site: Site, count: int, page: str, *headers: tuple[str, str]) -> None:
    """The page and its pictures, of which the low level is there."""
    site.page("/", page, *headers)
    for i in range(count):
        site.picture(f"/p{i}.jpg", i)
    paint(site, count, "low")


async def becomes(tab: AnyTab, pixels: bytes, *, within: float = 60.0) -> bool:
    """Whether the tab comes to show these pixels. `within`: seconds, on a machine that is busy."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within):
            while await tab.screenshot() != pixels:
                await tab.painted()
            return True
    return False


def complaints(tab: AnyTab) -> list[str]:
    """What the console holds, but the icon that our site hasn't got."""
    return [text for text in tab.complaints if "404" not in text and "favicon" not in text]
