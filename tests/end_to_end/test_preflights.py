"""Preflights in a real browser: what another origin is asked before a script's request goes on its
way beside that, and it sees what it would see of the browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.browsers.bidi import EXECUTABLE, certificates_can_be_added
from bench.browsers.cdp import Tab, find_chromium
from emulation.relay.relay import Relay
from local_proxy.front.tls.authority import Authority
from local_proxy.http.model import Request
from remote_proxy import session
from tests.end_to_end.held_link import RATE, HeldLink
from tests.end_to_end.origin import Asked
from tests.end_to_end.pair import FakeOrigin, Pair, pair
from tests.end_to_end.roots import Root
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_https_chromium import tab_through
from tests.end_to_end.test_standing_in import firefox
from wire.abilities import PREFLIGHTS, Takes
from wire.fields import Headers

in_chromium = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")

DELAY = 0.4
"""Seconds from one end of the link to the other."""
JSON = "headers: {'content-type': 'application/json', 'x-key': 'k'}"


class Api:
    """What pages of another origin may ask it, by the fields that it answers."""

    def __init__(
        self,
        origin: FakeOrigin,
        leave: Headers,
        *,
        status: int = 204,
        link: HeldLink | None = None,
    ) -> None:
        self.origin, self.leave, self.status, self._link = origin, leave, status, link
        self.methods: list[str] = []
        self.bodies: list[bytes] = []
        origin.paths["/api"] = self._asked

    async def _asked(self, asked: Asked) -> None:
        self.methods.append(asked.method)
        if self._link is not None:
            self._link.asked(asked.method)
        if asked.method == "OPTIONS":
            await asked.answer(b"", "", status=self.status, headers=self.leave)
            return
        self.bodies.append(await asked.body())
        own = [one for one in self.leave if not one[0].endswith(("methods", "headers", "age"))]
        await asked.answer(b"said", "text/plain", headers=own)

    def headers(self, number: int) -> dict[str, str]:
        """Fields of one of its requests."""
        asked = [one for one in self.origin.asked if one.target == "/api"]
        return dict(asked[number].headers)


def leave(origin: str, *more: tuple[str, str]) -> Headers:
    return [
        ("access-control-allow-origin", origin),
        ("access-control-allow-methods", "PUT, DELETE"),
        ("access-control-allow-headers", "Content-Type, X-Key"),
        *more,
    ]


class World:
    """A page's origin and another one, both ends with a long link between, a browser's tab."""

    def __init__(
        self, home: FakeOrigin, other: FakeOrigin, link: HeldLink, both: Pair, tab: Tab
    ) -> None:
        self.home, self.other, self.link, self.both, self.tab = home, other, link, both, tab
        home.serve("/", b"<!doctype html><title>here</title><link rel=icon href=data:,>")

    async def begin(self) -> None:
        await self.tab.call("Page.navigate", url=self.home.base + "/")
        await becomes(self.tab, "document.title === 'here'")

    async def ask(self, options: str) -> Any:
        """What a script gets."""
        script = f"""fetch("{self.other.base}/api", {{{options}}})
            .then((answer) => answer.text(), (error) => error.name)"""
        return await self.tab.evaluate(script)


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    root, authority = Root(folder), Authority.open(folder / "state")
    async with (
        FakeOrigin(tls=root.server("127.0.0.1")).running() as home,
        FakeOrigin(tls=root.server("127.0.0.1")).running() as other,
        pair(start_remote=False, tls=root.trusted()) as idle,
    ):
        await idle.remote.start()
        target = ("127.0.0.1", idle.remote.port)
        async with (
            Relay(target=target, rate_up=RATE, rate_down=RATE, delay=DELAY) as link,
            pair(start_remote=False, remote_port=link.address[1], authority=authority) as both,
            tab_through(both, authority.spki_sha256, "--enable-http2") as tab,
        ):
            await both.connected()
            at = World(home, other, HeldLink(link), both, tab)
            await at.begin()
            yield at


@in_chromium
def test_a_request_goes_with_the_question_whether_it_may(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            await asyncio.sleep(4)
            fields = leave(at.home.base, ("access-control-max-age", "600"))
            api = Api(at.other, fields, link=at.link)
            at.link.hold("OPTIONS", "PUT")
            assert await at.ask(f"method: 'PUT', body: '{{}}', {JSON}") == "said"
            assert at.link.early == ["PUT"]  # one way and back, not two
            assert api.methods == ["OPTIONS", "PUT"]
            first, second = api.headers(0), api.headers(1)
            assert first["access-control-request-method"] == "PUT"
            assert first["access-control-request-headers"] == "content-type,x-key"
            assert first["origin"] == second["origin"] == at.home.base
            assert first["sec-fetch-mode"] == "cors"
            assert first["referer"] == at.home.base + "/"
            assert first["user-agent"] == second["user-agent"]
            assert not [name for name in second if name.startswith("access-control")]
            assert second["x-key"] == "k"
            assert api.bodies == [b"{}"]
            # As long as the answer says it is not asked again, for this alone.
            assert await at.ask(f"method: 'PUT', body: '1', {JSON}") == "said"
            assert await at.ask(f"method: 'DELETE', {JSON}") == "said"
            assert api.methods[2:] == ["PUT", "OPTIONS", "DELETE"]

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
def test_what_may_not_be_asked_is_not(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:

            async def refused(fields: Headers, options: str, *, status: int = 204) -> None:
                api = Api(at.other, fields, status=status)
                assert await at.ask(options) == "TypeError"
                assert api.methods == ["OPTIONS"], (fields, options)

            put, here = f"method: 'PUT', body: '{{}}', {JSON}", at.home.base
            await refused(leave(here), put, status=404)
            await refused(leave("https://elsewhere.test"), put)
            await refused([], put)
            await refused(leave(here)[:2], put)
            await refused([*leave(here)[:1], *leave(here)[2:]], put)
            await refused(leave(here), f"method: 'PATCH', body: '{{}}', {JSON}")
            await refused(leave(here), "method: 'PUT', headers: {'x-other': '1'}")
            for name in ("sluice-within", "keep_alive", "http2-settings", "priority"):
                for method in ("PUT", "GET"):
                    await refused([], f"method: '{method}', headers: {{'{name}': '5'}}")
            # All of a large body need not cross the link for it, and the link goes on.
            await refused([], f"method: 'PUT', body: 'x'.repeat(400_000), {JSON}")
            at.home.serve("/next", b"<title>next</title>")
            await at.tab.call("Page.navigate", url=at.home.base + "/next")
            await becomes(at.tab, "document.title === 'next'")

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
def test_what_a_page_sends_instead_needs_no_leave(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            api = Api(at.other, [("access-control-allow-origin", "*")])
            types = ("application/json", "text/plain")
            for kind, end in zip(types, ("TypeError", "said"), strict=True):
                post = f"method: 'POST', body: '{{}}', headers: {{'content-type': '{kind}'}}"
                assert await at.ask(post) == end
            assert api.methods == ["OPTIONS", "POST"]

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
def test_cookies_go_where_they_are_allowed_to(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            at.home.serve("/jar", b"<title>jar</title>", headers=[("set-cookie", "id=7; path=/")])
            await at.tab.call("Page.navigate", url=at.home.base + "/jar")  # hosts have cookies
            await becomes(at.tab, "document.title === 'jar'")
            put = f"method: 'PUT', credentials: 'include', {JSON}"
            api = Api(at.other, leave(at.home.base))
            assert await at.ask(put) == "TypeError"
            assert api.methods == ["OPTIONS"]
            api = Api(at.other, leave("*", ("access-control-allow-credentials", "true")))
            assert await at.ask(put) == "TypeError"
            assert api.methods == ["OPTIONS"]
            allowed = ("access-control-allow-credentials", "true")
            api = Api(at.other, leave(at.home.base, allowed))
            assert await at.ask(put) == "said"
            assert "cookie" not in api.headers(-2)
            assert api.headers(-1)["cookie"] == "id=7"

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
@pytest.mark.parametrize(("credentials", "end"), [("omit", "said"), ("include", "TypeError")])
def test_where_an_answer_means_two_things_the_browser_judges_it(
    credentials: str, end: str, tmp_path: Path
) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            fields = leave(at.home.base, ("access-control-allow-credentials", "true"))
            fields[2] = ("access-control-allow-headers", "*")
            api = Api(at.other, fields)
            options = f"method: 'PUT', body: '{{}}', credentials: '{credentials}', {JSON}"
            assert await at.ask(options) == end
            assert api.methods == ["OPTIONS", "PUT"][: 1 + (end == "said")]
            assert api.bodies == [b"{}"][: end == "said"]

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
def test_a_remote_that_does_not_know_of_it_is_not_asked_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tuple(word for word in session.ACCEPTS if word != PREFLIGHTS)
    monkeypatch.setattr(session, "ACCEPTS", known)

    async def go() -> None:
        async with world(tmp_path) as at:
            api = Api(at.other, leave(at.home.base))
            assert await at.ask(f"method: 'PUT', body: '{{}}', {JSON}") == "said"
            assert api.methods == ["OPTIONS", "PUT"]
            assert at.both.local.core.preflights.answered == 0
            # The link may have become that of another remote since a browser was told yes.
            url, takes = at.other.base + "/api", Takes.PREFLIGHT
            response = await at.both.local.core.handle(Request("PUT", url, [], takes=takes))
            assert response.status >= 500
            assert api.methods == ["OPTIONS", "PUT"]

    asyncio.run(asyncio.wait_for(go(), 60))


@pytest.mark.skipif(EXECUTABLE is None, reason="no firefox on this machine")
@pytest.mark.skipif(not certificates_can_be_added(), reason="no certutil (libnss3-tools)")
def test_in_firefox_too(tmp_path: Path) -> None:
    async def go() -> None:
        async with firefox(tmp_path) as (origin, both, tab):
            origin.serve("/", b"<!doctype html><title>here</title>")
            await tab.go(origin.base + "/")
            other = origin.base.replace("localhost", "127.0.0.1")
            api = Api(origin, leave(origin.base, ("access-control-max-age", "0")))
            for _ in range(2):
                script = f"""fetch("{other}/api", {{method: 'PUT', body: '{{}}', {JSON}}})
                    .then((answer) => answer.text(), (error) => error.name)"""
                assert await tab.evaluate(script) == "said"
            assert api.methods == ["OPTIONS", "PUT"] * 2
            assert both.local.core.preflights.answered == 2

    asyncio.run(asyncio.wait_for(go(), 60))
