"""Pictures that a page shows and a browser asks for itself, as of an <img> that is lazy: coarse at
first and then finer, like those that are promised."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.browsers.cdp import Tab, find_chromium
from remote_proxy.jobs.economy import WORTH
from tests.end_to_end.pair import FakeOrigin, Pair, run, slow_three, until
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_page_load import PHOTO, SITE, refined, same_pixels
from tests.end_to_end.test_programs_in_pages import slow
from wire.skeleton import Use

PHOTOS = sorted((SITE / "news" / "img").glob("*.jpg"))[:9]
LAZY = b"<!doctype html><body><img src=/a.jpg loading=lazy></body>"

SCRIPT = """<!doctype html><script>addEventListener("DOMContentLoaded", () => {
    for (const one of document.querySelectorAll("[data-src]")) one.src = one.dataset.src;
    for (const one of document.querySelectorAll("[data-made]")) {
        const image = new Image(200, 150);
        image.src = one.dataset.made;
        one.replaceWith(image);
    }
    for (const one of document.querySelectorAll("[data-set]")) one.srcset = one.dataset.set + " 1x";
})</script>"""
LAST = """<script>for (const one of document.querySelectorAll("[data-now]")) {
    const image = new Image(200, 150);
    image.src = one.dataset.now;
    one.replaceWith(image);
}</script>"""
"""Runs while its page is parsed."""
TAGS = {
    "lazy": "<img src={} loading=lazy width=200 height=150>",
    "lazy by a script": "<img src=data:image/gif;base64,AA data-src={} width=200 height=150>",
    "made by a script": "<i data-made={}></i>",
    "made while it is parsed": "<i data-now={}></i>",
    "given a picture by a script": "<img data-set={} width=200 height=150>",
    "wanted early": "<link rel=preload as=image href={0}><img src={0} width=200 height=150>",
}
BACKGROUND = b"""<!doctype html><body><div style="width: 200px; height: 150px"></div><script>
addEventListener("load", () => { document.querySelector("div").style.background = "url(/a.jpg)"; })
</script></body>"""
BOTH = b"""<!doctype html><style>.one { background: url(/a.jpg) }</style><body><script>
addEventListener("load", () => {
    document.body.innerHTML = "<img src=/a.jpg width=200 height=150><div class=one>";
})</script></body>"""


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
@pytest.mark.parametrize("protocol", ["http", "https over HTTP/2"])
@pytest.mark.parametrize("tag", TAGS.values(), ids=TAGS)
def test_all_of_a_page_are_shown_before_any_is_fine(
    tag: str, protocol: str, tmp_path: Path
) -> None:
    """Over http a browser has six connections: a picture that were not done with its first response
    would keep the seventh from being asked for. Scripts that make pictures lazy know where they are
    by an attribute; of those that they make the driver says that they stand in an <img>."""

    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, both, tab):
            await tab.call("Page.navigate", url=_many(origin, tag))
            fine = await _fine_when_all_are_shown(tab, both)
            assert fine < len(PHOTOS) / 2
            if "loading" in tag:  # who waits in vain teaches to wait less: only the icon did
                page = both.local.export.pages.of_document(1)
                assert page is not None
                assert page.standing.word.seconds > 0.1
            assert {origin.counts()[f"/{path.name}"] for path in PHOTOS} == {1}
            await until(lambda: all(_complete(both)), seconds=40)
            await until(lambda: not both.local.export.statistics().coarse)
            await becomes(tab, "[...document.images].every(one => one.naturalWidth > 200)")

    asyncio.run(asyncio.wait_for(go(), 60))


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("protocol", ["http", "https over HTTP/2"])
@pytest.mark.parametrize("page", [BACKGROUND, BOTH], ids=["alone", "and in an <img>"])
def test_what_a_script_shows_otherwise_comes_as_one_file(
    page: bytes, protocol: str, tmp_path: Path
) -> None:
    """As a background, say: no driver could put a finer level in its place."""

    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, both, tab):
            origin.serve("/page", page, "text/html")
            origin.serve("/a.jpg", PHOTO.read_bytes(), "image/jpeg")
            await tab.call("Page.navigate", url=origin.base + "/page")
            await until(lambda: both.local.components.find(1, origin.base + "/a.jpg"))
            await until(lambda: both.known(origin.base + "/a.jpg").complete, seconds=40)
            photo = both.known(origin.base + "/a.jpg")
            assert not (photo.levels and photo.levels[0].sketch)
            assert photo.use is not Use.ELEMENT

    asyncio.run(asyncio.wait_for(go(), 60))


def _many(origin: FakeOrigin, tag: str) -> str:
    tags = (tag.format(f"/{path.name}") for path in PHOTOS)
    page = f"{SCRIPT}<body>{''.join(tags)}{LAST}</body>"
    origin.serve("/many", page.encode(), "text/html")
    for path in PHOTOS:
        origin.serve(f"/{path.name}", path.read_bytes(), "image/jpeg")
    return origin.base + "/many"


async def _fine_when_all_are_shown(tab: Tab, both: Pair) -> int:
    async with asyncio.timeout(60):
        shown = "document.images.length == %d && [...document.images].every("
        shown += "one => one.complete && one.currentSrc.startsWith('http'))"
        while not await tab.evaluate(shown % len(PHOTOS)):  # noqa: ASYNC110 - the page tells nobody
            await asyncio.sleep(0.02)
    return sum(_complete(both))


def _complete(both: Pair) -> Iterator[bool]:
    return (one.complete for one in both.local.components.of(1) if one.url.endswith(".jpg"))
