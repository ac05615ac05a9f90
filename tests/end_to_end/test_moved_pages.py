"""Pages that have moved, in a real browser: the one that they lead to is there a round trip sooner,
and what its origin sees is what it would see of the browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bench.browsers.cdp import Tab, find_chromium
from emulation.relay.relay import Relay
from local_proxy.front.tls.authority import Authority
from tests.end_to_end.held_link import RATE, HeldLink
from tests.end_to_end.origin import Asked
from tests.end_to_end.pair import FakeOrigin, Pair, pair, until
from tests.end_to_end.roots import Root
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_https_chromium import picture, tab_through
from tests.end_to_end.test_ssrf import Names
from tests.end_to_end.test_standing_in import firefox, in_firefox

in_chromium = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")

DELAY = 0.4
"""Seconds from one end of the link to the other."""
PAGE = b"""<!doctype html><title>there</title><link rel=stylesheet href=/style.css>
<body><img src=/picture.jpg width=400 height=300><script src=/script.js></script>"""


class World:
    """An origin over http and one inside TLS, both ends with a long link between, a browser."""

    def __init__(
        self, plain: FakeOrigin, safe: FakeOrigin, link: HeldLink, both: Pair, tab: Tab
    ) -> None:
        self.plain, self.safe, self.link, self.both, self.tab = plain, safe, link, both, tab
        style, fresh = b"body { color: rgb(1, 2, 3) }", [("cache-control", "max-age=600")]
        safe.serve("/style.css", style, "text/css", headers=fresh)
        safe.serve("/script.js", b"document.title += ' and sound'", "text/javascript")
        safe.serve("/picture.jpg", picture(), "image/jpeg")

    def leads(self, origin: FakeOrigin, path: str, to: str, *fields: tuple[str, str]) -> None:
        """Let that path of the origin lead there."""

        async def handler(asked: Asked) -> None:
            self.link.asked(path)
            await asked.answer(b"moved", status=302, headers=[("location", to), *fields])

        origin.paths[path] = handler

    def page(self, path: str) -> None:
        """The page is at that path of the origin inside TLS."""

        async def handler(asked: Asked) -> None:
            self.link.asked(path)
            await asked.answer(PAGE, headers=[("vary", "accept, accept-language, cookie")])

        self.safe.paths[path] = handler

    async def go(self, url: str) -> None:
        """Until all of the page is there."""
        await self.tab.call("Page.navigate", url=url)
        await becomes(self.tab, "document.title === 'there and sound'")
        await becomes(self.tab, "getComputedStyle(document.body).color === 'rgb(1, 2, 3)'")
        await becomes(self.tab, "document.images[0].naturalWidth === 800")

    def of(self, path: str) -> list[Asked]:
        """The requests for it inside TLS."""
        return [one for one in self.safe.asked if one.target == path]


@asynccontextmanager
async def world(folder: Path, *, named: bool = False) -> AsyncIterator[World]:
    """`named`: at names of one site, which no browser takes for its own machine."""
    names = Names(news=[["127.0.0.1"]], www=[["127.0.0.1"]])
    root, authority = Root(folder), Authority.open(folder / "state")
    async with (
        FakeOrigin().running() as plain,
        FakeOrigin(tls=root.server("127.0.0.1", "www.news.test")).running() as safe,
        pair(start_remote=False, tls=root.trusted(), resolver=names) as idle,
    ):
        if named:
            plain.name, safe.name = "news.test", "www.news.test"
        await idle.remote.start()
        target = ("127.0.0.1", idle.remote.port)
        async with (
            Relay(target=target, rate_up=RATE, rate_down=RATE, delay=DELAY) as link,
            pair(start_remote=False, remote_port=link.address[1], authority=authority) as both,
            tab_through(both, authority.spki_sha256) as tab,
        ):
            await both.connected()
            yield World(plain, safe, HeldLink(link), both, tab)


@in_chromium
@pytest.mark.parametrize("named", [False, True])
def test_a_page_that_has_moved_twice_is_there_without_being_asked_for(
    named: bool, tmp_path: Path
) -> None:
    async def go() -> None:
        async with world(tmp_path, named=named) as at:
            at.leads(at.plain, "/", at.safe.base + "/")
            at.leads(at.safe, "/", "/en/")
            at.page("/en/")
            at.link.hold("/", "/en/")
            await at.go(at.plain.base + "/")
            assert at.link.early == ["/en/"]
            for path in ("/", "/en/", "/style.css", "/picture.jpg", "/script.js"):
                assert len(at.of(path)) == 1, path
            asked = at.of("/en/")[0]
            assert asked.header("sec-fetch-dest") == "document"
            assert (asked.header("referer"), asked.header("cookie")) == ("", "")
            statistics = at.both.local.export.statistics()
            assert statistics.drivers == 1
            assert statistics.multipart + statistics.whole == 1
            assert await at.tab.evaluate("location.pathname") == "/en/"
            (seen,) = at.both.local.runtime.view.documents.values()
            assert seen.url == at.safe.base + "/en/"
            parts = [at.both.local.runtime.view.components[one].url for one in seen.components]
            for path in ("/en/", "/style.css", "/picture.jpg", "/script.js"):
                assert at.safe.base + path in parts
            await until(lambda: at.both.local.export.statistics().beacons)
            # Where it has been before, the browser itself asks for what it lacks.
            await at.tab.call("Page.navigate", url="about:blank")
            await at.go(at.plain.base + "/")
            # The browser hears of it a delay later at the soonest, and is heard after another.
            assert at.link.at["/en/"] - at.link.at["/"] > 2 * DELAY
            assert [len(at.of(path)) for path in ("/", "/en/", "/style.css")] == [2, 2, 1]

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
def test_cookies_of_the_way_are_the_pages(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            at.leads(at.safe, "/", "/en/", ("set-cookie", "lang=en; path=/"))
            at.page("/en/")
            at.link.hold("/", "/en/")
            await at.go(at.safe.base + "/")
            assert at.link.early == ["/en/"]
            assert [one.header("cookie") for one in at.of("/en/")] == ["lang=en"]

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
def test_a_page_of_other_cookies_is_asked_for_by_the_browser(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            fields = [("set-cookie", "id=7; path=/en/"), ("cache-control", "no-store")]
            at.safe.serve("/first", b"<title>first</title>", headers=fields)
            at.leads(at.safe, "/", "/en/")
            at.page("/en/")
            await at.tab.call("Page.navigate", url=at.safe.base + "/first")
            await becomes(at.tab, "document.title === 'first'")
            at.both.local.dictionaries.shelf.forget(lambda text: True)  # as if it were long ago
            await at.go(at.safe.base + "/")
            assert [one.header("cookie") for one in at.of("/en/")] == ["", "id=7"]
            urls = [one.url for one in at.both.local.documents]
            assert urls == [at.safe.base + "/en/"]

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
@pytest.mark.parametrize(
    ("to", "shows", "times"),
    [
        ("/file", "some text", 2),
        ("/gone", "gone", 2),
        ("http://localhost:{port}/?code=1", "elsewhere", 1),
    ],
)
def test_what_is_no_page_of_the_site_is_asked_for_by_the_browser(
    to: str, shows: str, times: int, tmp_path: Path
) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            to_there = to.format(port=at.plain.address[1])
            at.leads(at.safe, "/", to_there)
            at.safe.serve("/file", b"some text", "text/plain")
            at.safe.serve("/gone", b"<p>gone", status=404)
            at.plain.serve("/", b"<p>elsewhere")
            await at.tab.call("Page.navigate", url=at.safe.base + "/")
            await becomes(at.tab, f"document.body?.textContent === {shows!r}")
            ends = [one.target for one in (*at.safe.asked, *at.plain.asked)]
            assert ends.count("/" + to_there.rpartition("/")[2]) == times

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
def test_a_page_that_leads_to_itself_ends_where_the_browser_ends_it(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            at.leads(at.safe, "/", "/other")
            at.leads(at.safe, "/other", "/")
            await at.tab.call("Page.navigate", url=at.safe.base + "/")
            await becomes(at.tab, "location.protocol === 'chrome-error:'")
            assert 20 <= len(at.safe.asked) <= 30

    asyncio.run(asyncio.wait_for(go(), 60))


@in_firefox
def test_in_firefox_too(tmp_path: Path) -> None:
    async def go() -> None:
        async with firefox(tmp_path) as (origin, both, tab):
            origin.serve("/", b"moved", status=302, headers=[("location", "/en/")])
            origin.serve("/en/", b"<!doctype html><title>there</title><img src=/p.jpg>")
            origin.serve("/p.jpg", picture(), "image/jpeg")
            await tab.go(origin.base + "/")
            await becomes(tab, "document.images[0]?.naturalWidth === 800")
            assert await tab.evaluate("location.pathname") == "/en/"
            assert [origin.counts()[path] for path in ("/", "/en/", "/p.jpg")] == [1, 1, 1]
            assert [one.url for one in both.local.documents] == [origin.base + "/en/"]
            assert both.local.export.statistics().drivers == 1

    asyncio.run(asyncio.wait_for(go(), 60))
