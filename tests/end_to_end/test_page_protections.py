"""Through the pair, origins are asked for nothing that a browser alone would not ask for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.browsers import bidi
from bench.browsers.cdp import Tab, find_chromium, launch
from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import FakeOrigin, Pair, pair, run, until
from tests.end_to_end.protected_pages import Go, Request, Sites, beyond
from tests.end_to_end.roots import Root

Shot = Callable[[], Awaitable[object]]
COMPLETE = """new Promise(done => document.readyState == "complete" ? done()
    : addEventListener("load", done)).then(() => 1)"""


@asynccontextmanager
async def sites(root: Root | None) -> AsyncIterator[tuple[Sites, list[str]]]:
    """The origins, of https if there is a root of trust, and the keys of those."""
    keys: list[str] = []
    contexts: list[Any] = []
    for _ in range(3):
        contexts.append(root.server("127.0.0.1", "localhost") if root is not None else None)
        keys.append(root.last_spki if root is not None else "")
    one, two, three = contexts
    async with (
        FakeOrigin(tls=one).running() as good,
        FakeOrigin(tls=two).running() as evil,
        FakeOrigin(tls=three).running() as near,
        FakeOrigin().running() as plain,
    ):
        yield Sites(good, evil, near, plain), keys


@asynccontextmanager
async def chromium(proxy: Pair | None, keys: list[str]) -> AsyncIterator[tuple[Go, Shot]]:
    address = None if proxy is None else "http://{}:{}".format(*proxy.address)
    flag = f"--ignore-certificate-errors-spki-list={','.join(filter(None, keys))}"
    async with launch(proxy=address, extra=(flag,)) as browser:
        tab = await browser.new_tab()
        yield (lambda url: loaded(tab, url)), tab.screenshot


async def loaded(tab: Tab, url: str) -> None:
    """Navigate and wait for the load event, after which a browser has asked for all it knows."""
    done = asyncio.Event()

    def stopped(_: object) -> None:
        done.set()

    tab.on("Page.loadEventFired", stopped)
    await tab.call("Page.navigate", url=url)
    await done.wait()
    tab.remove("Page.loadEventFired", stopped)


@asynccontextmanager
async def firefox(proxy: Pair | None) -> AsyncIterator[tuple[Go, Shot]]:
    address = None if proxy is None else "{}:{}".format(*proxy.address)
    async with bidi.launched(proxy=address) as browser, browser.tab() as tab:

        async def go(url: str) -> None:
            try:
                await tab.go(url)
            except RuntimeError as error:  # One of its frames is refused, which is what it is for.
                if "Address rejected" not in str(error):
                    raise
                await tab.evaluate(COMPLETE)

        yield go, tab.screenshot


async def nothing_to_wait_for() -> None:
    """The browser has told by its load event."""


async def alone(places: Sites, go: Go, shot: Shot, asked: set[Request]) -> list[Request]:
    """What was asked for beyond what the browser asks for by itself.

    It may ask for a picture of a style only when it paints, with the next page already on its way:
    then it gets more than one chance, and a picture is taken of each page.
    """
    direct = await places.visit(go, nothing_to_wait_for)
    assert len(direct) > 50
    for _ in range(3):
        if not beyond(asked, direct):
            break
        direct |= await places.visit(go, shot)
    return beyond(asked, direct)


async def through(both: Pair, places: Sites, go: Go) -> set[Request]:
    """What is asked for through the pair, with what the remote fetches by itself."""

    async def settled() -> None:
        await until(lambda: both.session.statistics().deliveries == 0)

    return await places.visit(go, settled)


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_chromium_and_the_pair_ask_for_nothing_that_chromium_alone_does_not(
    tmp_path: Path, *, tls: bool
) -> None:
    async def compare() -> None:
        root = Root(tmp_path) if tls else None
        authority = Authority.open(tmp_path / "state") if tls else None
        trusted = root.trusted() if root is not None else None
        async with sites(root) as (places, keys):
            async with pair(tls=trusted, authority=authority) as both:
                ours = [authority.spki_sha256] if authority is not None else []
                async with chromium(both, ours) as (go, _):
                    asked = await through(both, places, go)
                promises = both.local.promises.statistics()
            async with chromium(None, keys) as (go, shot):
                more = await alone(places, go, shot, asked)
            assert not more, "\n".join(map(repr, more))
            assert promises.kept > 20

    run(compare(), timeout=120)


@pytest.mark.skipif(bidi.EXECUTABLE is None, reason="no firefox on this machine")
def test_firefox_and_the_pair_ask_for_nothing_that_firefox_alone_does_not() -> None:
    async def compare() -> None:
        async with sites(None) as (places, _keys):
            async with pair() as both, firefox(both) as (go, _):
                asked = await through(both, places, go)
            async with firefox(None) as (go, shot):
                more = await alone(places, go, shot, asked)
            assert not more, "\n".join(map(repr, more))

    run(compare(), timeout=180)
