"""Scripts that hold nothing up come behind the coarse version of every picture; others before."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from bench.browsers.cdp import find_chromium
from local_proxy.link.components import Component
from tests.end_to_end.pair import FakeOrigin, Pair, run, slow_three, until
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_page_load import SITE
from tests.end_to_end.test_programs_in_pages import slow

FILES = sorted((SITE / "news" / "img").glob("*.jpg"))
PHOTOS = {f"{turn}-{photo.name}": photo.read_bytes() for turn in range(3) for photo in FILES}
IMAGES = "".join(f"<img src=/{name} width=200 height=150>" for name in PHOTOS)
SCRIPT = b"window.ran = 1; //" + random.Random(1).randbytes(300_000).hex().encode()
DEFERRED = {
    "async": "<script async src=/big.js></script>{}text",
    "deferred": "<script defer src=/big.js></script>{}text",
    "a module": "<script type=module src=/big.js></script>{}text",
    "preloaded": "<link rel=preload as=script href=/big.js><script async src=/big.js></script>{}x",
    "at the page's end": "text{}<script src=/big.js></script><script>let last = 1</script>\n",
    "of a frame": "text{}<iframe src=/frame></iframe>",
}
BLOCKING = {
    "in front of a text": "<script src=/big.js></script>{}text",
    "preloaded": "<link rel=preload as=script href=/big.js>{}<script src=/big.js></script>text",
}
MADE = """<script>
  const made = document.createElement("script");
  made.src = "/big.js";
  document.head.append(made);
</script>{}text"""


def served(origin: FakeOrigin, markup: str) -> str:
    """A page with many photos and a script; its URL."""
    origin.serve("/", f"<!doctype html><head></head><body>{markup.format(IMAGES)}".encode())
    origin.serve("/frame", b"<!doctype html><script src=/big.js></script>text")
    origin.serve("/big.js", SCRIPT, "text/javascript")
    for name, data in PHOTOS.items():
        origin.serve(f"/{name}", data, "image/jpeg")
    return origin.base + "/"


async def pictures_when_the_script_is_here(both: Pair, base: str) -> list[int]:
    """Bytes of each that are here by then."""

    def find(path: str) -> Component | None:
        return both.local.components.find(1, base + path)

    def whole() -> bool:
        script = find("big.js")
        return script is not None and script.complete

    await until(whole)
    photos = [find(name) for name in PHOTOS]
    return [photo.received if photo is not None else 0 for photo in photos]


def all_are_coarse(both: Pair, base: str, received: list[int]) -> None:
    for name, here in zip(PHOTOS, received, strict=True):
        assert here >= both.known(base + name).levels[0].end > 0


@pytest.mark.parametrize("markup", DEFERRED.values(), ids=DEFERRED)
def test_one_that_holds_nothing_up_is_behind_coarse_pictures(markup: str) -> None:
    async def go() -> None:
        async with slow_three(rate=100_000) as (origin, _, both):
            base = served(origin, markup)
            await both.browser.navigate(base)
            there = await pictures_when_the_script_is_here(both, base)
            all_are_coarse(both, base, there)
            assert sum(there) < sum(map(len, PHOTOS.values())) / 3  # and none is fine

    run(go())


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("protocol", ["http", "https over HTTP/2"])
def test_coarse_pictures_are_shown_before_it_is_here(protocol: str, tmp_path: Path) -> None:
    """What it can do is told by the remote proxy, which has it by then."""

    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, both, tab):
            base = served(origin, DEFERRED["async"])
            await tab.call("Page.navigate", url=base)
            shown = "[...document.images].every(one => one.complete && one.naturalWidth)"
            await becomes(tab, f"document.images.length === {len(PHOTOS)} && {shown}")
            script = both.known(base + "big.js")
            assert not script.complete
            assert script.reads_pixels is False
            assert both.local.export.statistics().streamed == 0

    asyncio.run(asyncio.wait_for(go(), 60))


@pytest.mark.parametrize("markup", BLOCKING.values(), ids=BLOCKING)
def test_one_that_holds_a_text_up_is_before_all_pictures(markup: str) -> None:
    async def go() -> None:
        async with slow_three(rate=100_000) as (origin, _, both):
            base = served(origin, markup)
            await both.browser.navigate(base)
            there = await pictures_when_the_script_is_here(both, base)
            assert there.count(0) > len(PHOTOS) / 2  # they may come while its origin thinks

    run(go())


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("protocol", ["https over HTTP/1.1", "https over HTTP/2"])
def test_one_that_a_script_asks_for_is_behind_coarse_pictures(
    protocol: str, tmp_path: Path
) -> None:
    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, both, tab):
            base = served(origin, MADE)
            await tab.call("Page.navigate", url=base)
            there = await pictures_when_the_script_is_here(both, base)
            all_are_coarse(both, base, there)

    asyncio.run(asyncio.wait_for(go(), 60))
