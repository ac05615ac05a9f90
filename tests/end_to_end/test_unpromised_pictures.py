"""Pictures that a page shows and a browser asks for itself, as of an <img> that is lazy: coarse at
first and then finer, like those that are promised."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from bench.browsers.cdp import Tab, find_chromium, launch
from remote_proxy.jobs.economy import WORTH
from tests.end_to_end.pair import FakeOrigin, Pair, run, slow_three, until
from tests.end_to_end.test_page_load import PHOTO, SITE, refined, same_pixels

PHOTOS = sorted((SITE / "news" / "img").glob("*.jpg"))[:9]
LAZY = b"<!doctype html><body><img src=/a.jpg loading=lazy></body>"

SCRIPT = """<!doctype html><script>addEventListener("DOMContentLoaded", () => {
    for (const one of document.querySelectorAll("[data-src]")) one.src = one.dataset.src;
})</script>"""


def lazy(origin: FakeOrigin, html: bytes = LAZY) -> str:
    """A page with pictures of which nothing is promised; its URL."""
    origin.serve("/page", html, "text/html")
    origin.serve("/a.jpg", PHOTO.read_bytes(), "image/jpeg")
    return origin.base + "/page"


def test_a_lazy_picture_is_coarse_first_and_fetched_once_when_it_is_asked_for() -> None:
    async def go() -> None:
        async with slow_three() as (origin, _, both):
            page = lazy(origin)
            html = (await both.browser.navigate(page)).body
            assert "/a.jpg" not in origin.counts()
            final, levels = await refined(both.browser, origin.base, page, html)
            assert levels >= 2
            assert same_pixels(final, PHOTO.read_bytes())
            photo = both.known(origin.base + "/a.jpg")
            assert not photo.promised
            assert photo.levels[0].end < PHOTO.stat().st_size / 8
            assert origin.counts()["/a.jpg"] == 1

    run(go())


def test_one_that_is_a_background_as_well_comes_as_one_file() -> None:
    """Nothing can take its place there."""
    html = LAZY.replace(b"<body>", b"<body style='background: url(/a.jpg)'>")

    async def go() -> None:
        async with slow_three() as (origin, _, both):
            page = lazy(origin, html)
            await both.browser.navigate(page)
            answer = await both.browser.image(origin.base + "/a.jpg", page)
            assert same_pixels(answer.body, PHOTO.read_bytes())
            photo = both.known(origin.base + "/a.jpg")
            assert photo.levels and not photo.levels[0].sketch

    run(go())


def test_it_goes_on_as_it_began_over_another_session() -> None:
    async def go() -> None:
        async with slow_three(patience=20.0, worth=WORTH) as (origin, remote, both):
            page = lazy(origin)
            await both.browser.navigate(page)
            url = origin.base + "/a.jpg"
            first = asyncio.create_task(both.browser.image(url, page))
            await until(lambda: both.local.components.find(1, url))
            component = both.known(url)
            await until(lambda: len(component.data) > 8_000)
            before = bytes(component.data)
            assert component.levels[0].sketch
            await remote.stop()
            await remote.start()
            await component.wait_settled()
            assert component.failure is None
            assert bytes(component.data).startswith(before)
            assert component.carried < 1.2 * PHOTO.stat().st_size  # nothing came twice
            await first

    run(go())


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("tag", ["src=%s loading=lazy", "src=data:image/gif;base64,AA data-src=%s"])
def test_all_lazy_pictures_of_a_page_are_shown_before_any_is_fine(tag: str) -> None:
    """A browser has six connections: a picture that were not done with its first response would
    keep the seventh from being asked for. Scripts that make pictures lazy know where they are by
    an attribute."""

    async def go() -> None:
        async with slow_three(rate=100_000) as (origin, _, both):
            page = _many(origin, tag)
            async with launch(proxy=f"http://{both.address[0]}:{both.address[1]}") as browser:
                tab = await browser.new_tab()
                await tab.call("Page.navigate", url=page)
                fine = await _fine_when_all_are_shown(tab, both)
            assert fine < len(PHOTOS) / 2
            assert all(origin.counts()[f"/{path.name}"] == 1 for path in PHOTOS)

    run(go())


def _many(origin: FakeOrigin, tag: str) -> str:
    tags = (f'<img {tag % f"/{path.name}"} width=200 height=150>' for path in PHOTOS)
    origin.serve("/many", f"{SCRIPT}<body>{''.join(tags)}</body>".encode(), "text/html")
    for path in PHOTOS:
        origin.serve(f"/{path.name}", path.read_bytes(), "image/jpeg")
    return origin.base + "/many"


async def _fine_when_all_are_shown(tab: Tab, both: Pair) -> int:
    async with asyncio.timeout(60):
        shown = "document.images.length == %d && [...document.images].every("
        shown += "one => one.complete && one.src.startsWith('http'))"
        while not await tab.evaluate(shown % len(PHOTOS)):  # noqa: ASYNC110 - the page tells nobody
            await asyncio.sleep(0.02)
    return sum(_complete(both))


def _complete(both: Pair) -> Iterator[bool]:
    return (one.complete for one in both.local.components.of(1) if one.url.endswith(".jpg"))
