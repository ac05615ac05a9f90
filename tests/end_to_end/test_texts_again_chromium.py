"""In Chromium: what one site has loaded of a third, another site is sent whole."""

from __future__ import annotations

import asyncio

import pytest

from bench.browsers.cdp import Tab, find_chromium, launch
from tests.end_to_end.pair import FakeOrigin, Pair, all_three, run, until
from tests.end_to_end.test_texts_again import article

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
SCRIPT = ("document.title = 'ready' // " + " ".join(article(n) for n in range(40))).encode()


async def opened(tab: Tab, url: str) -> None:
    await tab.call("Page.navigate", url=url)
    async with asyncio.timeout(60):
        while await tab.evaluate("document.title") != "ready":  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def visit(both: Pair, page: str, script: str) -> bytes:
    """Opens the page with a browser that has kept nothing; against what the script was coded."""
    async with launch(proxy=f"http://{both.address[0]}:{both.address[1]}") as browser:
        await opened(await browser.new_tab(), page)
        found = both.known(script)
        await until(lambda: found.complete)
        return found.dictionary


def test_a_script_that_two_sites_use_is_not_coded_against_the_other_sites() -> None:
    async def go() -> None:
        async with (
            FakeOrigin().running() as other,
            FakeOrigin().running() as library,
            all_three() as (origin, both),
        ):
            never = [("cache-control", "no-cache")]
            library.serve("/lib.js", SCRIPT, "text/javascript", headers=never)
            script = library.base + "/lib.js"
            for site in (origin, other):
                page = f"<!doctype html><title>x</title><script src={script}></script>"
                site.serve("/", page.encode(), headers=never)
            here = origin.base + "/"
            there = other.base.replace("127.0.0.1", "localhost") + "/"
            assert await visit(both, here, script) == b"", "the first of all"
            assert await visit(both, here, script) != b"", "the same site has it already"
            assert await visit(both, there, script) == b"", "another site"
            assert await visit(both, there, script) != b""

    run(go())
