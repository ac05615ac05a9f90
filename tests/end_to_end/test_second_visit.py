"""A page visited again: what the browser has does not cross the link once more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bench.browsers.bidi import EXECUTABLE as FIREFOX
from bench.browsers.bidi import launched as firefox
from bench.browsers.cdp import find_chromium
from local_proxy.front.tls.authority import Authority
from local_proxy.promises.browser_caches import Belief
from tests.end_to_end.pair import (
    Asked,
    Browser,
    FakeOrigin,
    Pair,
    all_three,
    run,
    slow_three,
    until,
)
from tests.end_to_end.roots import Root
from tests.end_to_end.test_https_chromium import picture, tab_through
from tests.end_to_end.test_https_pages import slow_pair
from wire.fields import Headers

PAGE = b"""<!doctype html><title>page</title><link rel=stylesheet href=/style.css>
<body><script src=/script.js></script><img src=/picture.jpg width=400 height=300>"""
STYLE = b"body { color: rgb(1, 2, 3) } /* " + bytes(range(33, 126)) * 100 + b" */"
PARTS = ("/style.css", "/script.js", "/picture.jpg")
TAG = '"1"'


class Site:
    """A page that is never fresh; its parts are for `age` seconds, and answer conditions."""

    def __init__(self, origin: FakeOrigin, *, age: int, page: Headers | None = None) -> None:
        self.origin = origin
        self.age = age
        self.tag = TAG
        self.style = STYLE
        never = [("cache-control", "no-cache")]
        origin.serve("/", PAGE, headers=[*never, *(page or [])])
        origin.serve("/elsewhere", b"<!doctype html><title>elsewhere</title>", headers=never)
        photo = picture()
        self._part("/style.css", lambda: self.style, "text/css")
        self._part("/script.js", lambda: b"document.title = 'ready'", "text/javascript")
        self._part("/picture.jpg", lambda: photo, "image/jpeg")

    def _part(self, path: str, body: Callable[[], bytes], kind: str) -> None:
        async def answer(asked: Asked) -> None:
            fields = [("cache-control", f"max-age={self.age}"), ("etag", self.tag)]
            if asked.header("if-none-match") == self.tag:
                await asked.answer(status=304, content_type="", headers=fields)
            else:
                await asked.answer(body(), kind, headers=fields)

        self.origin.paths[path] = answer

    def asked(self) -> list[int]:
        counts = self.origin.counts()
        return [counts[path] for path in PARTS]


async def visit(browser: Browser, base: str) -> None:
    """As one whose cache is empty."""
    page = base + "/"
    assert (await browser.navigate(page)).status == 200
    assert (await browser.style(base + "/style.css", page)).status == 200
    assert (await browser.script(base + "/script.js", page)).status == 200
    assert (await browser.image(base + "/picture.jpg", page)).status == 200


async def believed(both: Pair) -> None:
    """Until the local proxy knows that all was delivered."""
    await until(lambda: len(both.local.caches) == len(PARTS))


def test_what_is_fresh_is_not_fetched_again_and_one_wrong_guess_is_the_only_one() -> None:
    async def go() -> None:
        async with all_three(policy=["original"]) as (origin, both):
            site, browser, caches = Site(origin, age=600), both.browser, both.local.caches
            await visit(browser, origin.base)
            await believed(both)
            await browser.navigate(origin.base + "/")
            await until(lambda: both.session.statistics().deliveries == 0)
            assert site.asked() == [1, 1, 1]
            answer = await browser.style(origin.base + "/style.css", origin.base + "/")
            assert answer.body == STYLE  # its cache was emptied; an older promise still has it
            assert caches.wrong == 1
            await browser.navigate(origin.base + "/")
            await until(lambda: site.asked() == [1, 2, 2])  # promised again, but the style
            assert caches.wrong == 1

    run(go())


def test_a_hard_reload_is_believed_to_have_nothing() -> None:
    async def go() -> None:
        async with all_three(policy=["original"]) as (origin, both):
            site, browser = Site(origin, age=600), both.browser
            await visit(browser, origin.base)
            await believed(both)
            hard = [*browser.navigation(), ("cache-control", "no-cache"), ("pragma", "no-cache")]
            await browser.get(origin.base + "/", hard)
            await until(lambda: site.asked() == [2, 2, 2])

    run(go())


def test_a_plain_client_keeps_nothing() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            Site(origin, age=600)
            for path in ("/", *PARTS):
                await both.client.get(origin.base + path)
            assert len(both.local.caches) == 0

    run(go())


def test_of_what_is_stale_only_the_head_crosses() -> None:
    async def go() -> None:
        async with all_three(policy=["original"]) as (origin, both):
            site, browser = Site(origin, age=0), both.browser
            await visit(browser, origin.base)
            await believed(both)
            before = both.session.statistics().payload_sent
            page = origin.base + "/"
            await browser.navigate(page)
            condition = [("if-none-match", TAG)]
            for path in PARTS:
                accept = browser.picture(page) if "picture" in path else browser.part(page)
                answer = await browser.get(origin.base + path, [*accept, *condition])
                assert (answer.status, answer.header("etag")) == (304, TAG)
            assert site.asked() == [2, 2, 2]  # the promises, and nobody else
            assert both.session.statistics().payload_sent - before < 2 * len(PAGE)
            assert both.local.caches.wrong == 0
            await until(lambda: both.session.statistics().held == 0)

    run(go())


@pytest.mark.parametrize("conditional", [False, True])
def test_what_was_withheld_comes_when_it_is_wanted(conditional: bool) -> None:
    async def go() -> None:
        async with all_three(policy=["original"]) as (origin, both):
            site, browser = Site(origin, age=0), both.browser
            await visit(browser, origin.base)
            await believed(both)
            site.tag, site.style = '"2"', STYLE + b"/* changed */"
            page = origin.base + "/"
            await browser.navigate(page)
            condition = [("if-none-match", TAG)] if conditional else []
            answer = await browser.get(
                origin.base + "/style.css", [*browser.part(page), *condition]
            )
            assert (answer.status, answer.body) == (200, site.style)
            assert site.asked()[0] == 2
            assert both.local.caches.wrong == (0 if conditional else 1)

    run(go())


def test_a_promise_that_was_not_named_is_called_off() -> None:
    """The page is new, but its logo is known from another."""

    async def go() -> None:
        async with all_three(policy=["original"]) as (origin, both):
            Site(origin, age=600)
            browser, caches = both.browser, both.local.caches
            await visit(browser, origin.base)
            await believed(both)
            origin.serve("/other", PAGE, headers=[("cache-control", "no-cache")])
            await browser.navigate(origin.base + "/other")
            await until(lambda: caches.spared == 1)  # the picture; style and script were named
            document = max(document.id for document in both.local.documents)
            assert caches.belief(document, origin.base + "/picture.jpg", now=0) is Belief.FRESH

    run(go())


# -- real browsers ---------------------------------------------------------------------------------


@asynccontextmanager
async def slow_link(
    scheme: str, folder: Path, *, named: str = ""
) -> AsyncIterator[tuple[FakeOrigin, Pair, Authority]]:
    root, authority = Root(folder), Authority.open(folder / "state")
    if scheme == "http":
        async with slow_three() as (origin, _, both):
            yield origin, both, authority
        return
    async with (
        FakeOrigin(tls=root.server(named or "127.0.0.1")).running() as origin,
        slow_pair(rate=40_000, tls=root.trusted(), authority=authority) as both,
    ):
        origin.name = named
        yield origin, both, authority


def received(both: Pair) -> int:
    session = both.local.uplink.session
    assert session is not None
    return session.link.statistics().received


def expecting(both: Pair) -> bool:
    session = both.local.uplink.session
    assert session is not None
    return session.expecting


WIDTH = "document.images[0].decode().then(() => document.images[0].naturalWidth)"


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("age", [600, 0])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_chromium_gets_the_page_alone(tmp_path: Path, scheme: str, age: int) -> None:
    async def go() -> None:
        async with (
            slow_link(scheme, tmp_path) as (origin, both, authority),
            tab_through(both, authority.spki_sha256) as tab,
        ):
            site = Site(origin, age=age)
            statistics = both.local.export.statistics
            await tab.call("Page.enable")
            await tab.call("Page.navigate", url=origin.base + "/")
            await until(lambda: statistics().kept == 1)
            used = statistics()
            assert (used.swapped, used.multipart) == ((1, 0) if scheme == "http" else (0, 1))
            await believed(both)
            await tab.call("Page.navigate", url=origin.base + "/elsewhere")
            await until(lambda: origin.counts()["/elsewhere"])
            await until(lambda: not expecting(both))
            asked, before = site.asked(), received(both)
            await tab.call("Page.navigate", url=origin.base + "/")
            await until(lambda: origin.counts()["/"] == 2)
            while await tab.evaluate("document.title + document.readyState") != "readycomplete":
                pass
            assert await tab.evaluate(WIDTH) == 800
            assert received(both) - before < 3000  # of 90,000
            assert both.local.caches.wrong == 0
            assert [now - then for now, then in zip(site.asked(), asked, strict=True)] == (
                [0, 0, 0] if age else [1, 1, 1]
            )

    run(go(), timeout=60)


@pytest.mark.skipif(FIREFOX is None, reason="no firefox on this machine")
@pytest.mark.parametrize("age", [600, 0])
def test_firefox_gets_the_page_alone(tmp_path: Path, age: int) -> None:
    async def go() -> None:
        async with (
            slow_link("http", tmp_path) as (origin, both, _),
            firefox(proxy="{}:{}".format(*both.address)) as browser,
            browser.tab() as tab,
        ):
            Site(origin, age=age)
            await tab.go(origin.base + "/")
            await until(lambda: both.local.export.statistics().kept == 1)
            final = await tab.screenshot()
            await believed(both)
            await tab.go(origin.base + "/elsewhere")
            before = received(both)
            await tab.go(origin.base + "/")
            assert await tab.evaluate("document.title") == "ready"
            assert await tab.evaluate(WIDTH) == 800
            assert received(both) - before < 3000
            while await tab.screenshot() != final:
                await tab.painted()
            assert both.local.caches.wrong == 0

    run(go(), timeout=60)
