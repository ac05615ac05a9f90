"""When a page's driver opens its event channel, in a real Chromium: one of six connections."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

import pytest

from tests.local_proxy.browser_world import (
    Run,
    World,
    becomes,
    gallery,
    paint,
    running,
    with_gallery,
)
from tests.local_proxy.chromium import EXECUTABLE, launched

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="no chromium on this machine")


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    yield from running(launched)


def channels(log: list[str]) -> list[int]:
    """Where in the log one was asked for."""
    return [at for at, url in enumerate(log) if url.endswith("/events")]


def test_the_pages_own_pictures_have_all_connections(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        with_gallery(site, 12, gallery(12))
        final = await world.pixels()
        site.log.clear()
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            paint(site, 12, "original")
            assert await becomes(tab, final)
        asked = {url: site.log.index(url) for url in site.log if url.endswith(".jpg")}
        assert len(asked) == 12
        assert channels(site.log)[0] > max(asked.values())

    run(test)


def test_a_picture_that_does_not_come_does_not_keep_the_others_coarse(run: Run) -> None:
    """The page is never loaded."""

    async def test(world: World) -> None:
        site = world.fresh()
        site.page("/", gallery(2))
        site.picture("/p0.jpg", 0)
        site.picture("/p1.jpg", 1)
        paint(site, 1, "low")
        async with world.browser.tab() as tab:
            await tab.evaluate("void (location.href = 'http://site.test/')")
            while not site.export.statistics().channels:
                await tab.painted()
            paint(site, 1, "original")
            while not any("sluice-level" in url for url in site.log):
                await tab.painted()
            assert await tab.evaluate("document.readyState") != "complete"
            paint(site, 2, "original")

    run(test)


def test_frames_of_one_host_do_not_starve_each_other(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        with_gallery(site, 8, "")
        for i in range(8):
            site.page(f"/f{i}", f'<!doctype html><body><img src="/p{i}.jpg">')
        frames = "".join(f'<iframe src="/f{i}" width=180 height=140></iframe>' for i in range(8))
        site.page("/", f"<!doctype html><body>{frames}")
        final = await world.pixels()
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            paint(site, 8, "original")
            assert await becomes(tab, final)
        assert site.export.statistics().swapped == 8

    run(test)


AT_REST: Final = 1.5
"""Seconds without a channel after which none comes: a driver asks once more a second later if a
picture has loaded meanwhile."""


def test_a_page_with_nothing_to_come_holds_no_channel(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        probe = (
            "<script>addEventListener('pageshow', e => { window.kept = e.persisted; });</script>"
        )
        with_gallery(site, 1, gallery(1, head=probe))
        paint(site, 1, "original")
        site.page("/other", "<!doctype html><title>other</title>elsewhere")
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            while site.export.statistics().channels == 0:
                await tab.painted()
            clock = asyncio.get_running_loop().time
            busy_at = clock()
            while clock() - busy_at < AT_REST:
                if site.export.statistics().channels > 0:
                    busy_at = clock()
                await tab.painted()
            await tab.go("http://site.test/other")
            await tab.back()
            while (kept := await tab.evaluate("window.kept")) is None:  # before its pageshow
                await tab.painted()
            assert kept

    run(test)
