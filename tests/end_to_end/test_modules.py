"""Modules that import modules, in a real browser: the whole chain is there after one round trip,
and its origin sees what it would see of the browser."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.end_to_end.origin import Asked
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_moved_pages import DELAY, World, in_chromium, world
from tests.end_to_end.test_standing_in import firefox, in_firefox

CHAIN = {
    "/js/app.js": '/*! app */ import {deep} from "./one.js"; document.title = deep;',
    "/js/one.js": '"use strict"; export * from "../two.js";',
    "/two.js": 'import deep from "/three.js"\nexport {deep};',
    "/three.js": 'export default "whole";',
}
TAG = "<script type=module src=/js/app.js></script>"
NONCE = "script-src 'nonce-abc'"


def chain(at: World, page: str, *fields: tuple[str, str]) -> None:
    """A page whose script is the end of that chain."""
    at.safe.serve("/", page.encode(), headers=fields)
    for path, code in CHAIN.items():

        async def handler(asked: Asked, path: str = path, code: str = code) -> None:
            at.link.asked(path)
            await asked.answer(code.encode(), "text/javascript")

        at.safe.paths[path] = handler


@in_chromium
@pytest.mark.parametrize(
    ("page", "policy"),
    [
        (f"<!doctype html>{TAG}", ""),
        (f"<!doctype html><link rel=modulepreload href=/js/app.js>{TAG}", ""),
        (f"<!doctype html>{TAG.replace('src', 'nonce=abc src')}", NONCE),
        ("<!doctype html><script>import('/js/app.js')</script>", ""),
    ],
    ids=["plain", "preloaded", "by a nonce", "asked for by a script"],
)
def test_a_chain_of_modules_takes_one_round_trip(page: str, policy: str, tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            chain(at, page, *([("content-security-policy", policy)] if policy else []))
            at.link.hold("/js/app.js", "/three.js")
            await at.tab.call("Page.navigate", url=at.safe.base + "/")
            await becomes(at.tab, "document.title === 'whole'")
            assert [len(at.of(path)) for path in CHAIN] == [1] * len(CHAIN)
            assert at.link.early == ["/three.js"]
            asked = at.of("/three.js")[0]
            assert asked.header("referer") == at.safe.base + "/two.js"
            assert asked.header("origin") == at.safe.base
            kind = [asked.header(f"sec-fetch-{name}") for name in ("site", "mode", "dest")]
            assert kind == ["same-origin", "cors", "script"]

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
def test_a_module_that_its_page_forbids_is_not_fetched(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            there = "script-src 127.0.0.1:*/js/"
            chain(at, f"<!doctype html><title>x</title>{TAG}", ("content-security-policy", there))
            await at.tab.call("Page.navigate", url=at.safe.base + "/")
            await becomes(at.tab, "document.readyState === 'complete'")
            await asyncio.sleep(2 * DELAY)
            assert [len(at.of(path)) for path in CHAIN] == [1, 1, 0, 0]

    asyncio.run(asyncio.wait_for(go(), 60))


@in_firefox
def test_in_firefox_too(tmp_path: Path) -> None:
    async def go() -> None:
        async with firefox(tmp_path) as (origin, both, tab):
            origin.serve("/", f"<!doctype html>{TAG}".encode())
            for path, code in CHAIN.items():
                origin.serve(path, code.encode(), "text/javascript")
            await tab.go(origin.base + "/")
            await becomes(tab, "document.title === 'whole'")
            assert [origin.counts()[path] for path in CHAIN] == [1] * len(CHAIN)
            assert both.local.promises.statistics().kept == len(CHAIN)

    asyncio.run(asyncio.wait_for(go(), 60))
