"""No page learns from the proxies what pages of other sites have loaded, nor gets their answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.browsers.cdp import find_chromium, launch
from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import Answer, Asked, FakeOrigin, Pair, pair, run, until
from tests.end_to_end.roots import Root
from tests.end_to_end.test_chromium import shows
from tests.end_to_end.test_https_chromium import taking
from web.sites import origin_of, relation
from wire.fields import Headers

AGENT = [("user-agent", "Chrome/1"), ("accept-language", "en")]
FRESH = [("cache-control", "max-age=600")]
PICTURE = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
LOGO = b"GIF89a" + bytes(100)
GIF = bytes.fromhex(
    "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
)
"""One transparent pixel."""


@dataclass
class Windows:
    """Browsers' windows, as far as their requests tell of them."""

    both: Pair
    told: bool = True
    """They say Sec-Fetch-*, as to https; False: as to http."""

    async def open(
        self, url: str, *, by: str = "", frame: bool = False, headers: Headers = AGENT
    ) -> Answer:
        """A page: typed, linked to or framed by the page at `by`."""
        fields = [*headers, ("accept", "text/html,*/*"), ("upgrade-insecure-requests", "1")]
        if by:
            fields += self._referer(by, url)
        if self.told:
            site = relation(origin_of(by), url) if by else "none"
            fields += _metadata(site, "navigate", "iframe" if frame else "document")
        answer = await self.both.client.get(url, fields)
        assert answer.status == 200
        return answer

    async def part(
        self, url: str, *, by: str, source: str = "", referrer: bool = True, dest: str = "image",
        more: Iterable[tuple[str, str]] = (),
    ) -> bytes:  # fmt: skip
        """Something that the page at `by` loads, because its sheet `source` says so if given."""
        accept = {"image": PICTURE, "style": "text/css,*/*;q=0.1"}.get(dest, "*/*")
        fields = [*AGENT, ("accept", accept), *more]
        if referrer:
            fields += self._referer(source or by, url)
        if self.told:
            fields += _metadata(relation(origin_of(by), url), "no-cors", dest)
        return (await self.both.client.get(url, fields)).body

    @staticmethod
    def _referer(source: str, url: str) -> Headers:
        same = origin_of(source) == origin_of(url)
        return [("referer", source if same else origin_of(source) + "/")]


def _metadata(site: str, mode: str, dest: str) -> Headers:
    return [("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)]


@dataclass
class World:
    """Three sites behind the pair."""

    both: Pair
    victim: FakeOrigin
    evil: FakeOrigin
    cdn: FakeOrigin

    def windows(self, *, told: bool = True) -> Windows:
        return Windows(self.both, told)

    async def victim_opens(self, windows: Windows, **how: str) -> None:
        """The victim's page in a window, its parts fetched."""
        before = self.victim.counts()["/logo.gif"]
        await windows.open(self.victim.base + "/", **how)  # type: ignore[arg-type]
        await until(lambda: self.victim.counts()["/logo.gif"] == before + 1)


@asynccontextmanager
async def world(**settings: object) -> AsyncIterator[World]:
    async with (
        FakeOrigin().running("127.0.0.1") as victim,
        FakeOrigin().running("127.0.0.2") as evil,
        FakeOrigin().running("127.0.0.3") as cdn,
        pair(**settings) as both,  # type: ignore[arg-type]
    ):
        victim.serve("/", b"<!doctype html><img src=/logo.gif>")
        victim.serve("/other", b"<!doctype html><p>another page")
        victim.serve("/logo.gif", LOGO, "image/gif", headers=FRESH)
        evil.serve("/", b"<!doctype html><p>evil")
        yield World(both, victim, evil, cdn)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("referrer", [True, False])
def test_a_page_can_not_tell_what_a_page_of_another_site_has_loaded(
    told: bool, referrer: bool
) -> None:
    async def go() -> None:
        async with world() as here:
            windows, logo = here.windows(told=told), here.victim.base + "/logo.gif"
            await windows.open(here.evil.base + "/")
            await here.victim_opens(windows)
            got = await windows.part(logo, by=here.evil.base + "/", referrer=referrer)
            assert got == LOGO
            assert here.victim.counts()["/logo.gif"] == 2  # it was asked for, as if nobody had it
            assert await windows.part(logo, by=here.victim.base + "/") == LOGO
            assert here.victim.counts()["/logo.gif"] == 2  # the promise is still its own page's

    run(go())


@pytest.mark.parametrize("told", [True, False])
def test_what_was_fetched_for_one_page_and_is_private_is_not_given_to_another(told: bool) -> None:
    """Evil's page names the victim's script; the victim's own page must not get that answer."""

    async def go() -> None:
        async with world() as here:
            windows, script = here.windows(told=told), here.victim.base + "/me.js"

            async def me(asked: Asked) -> None:
                body = f"for({asked.header('referer')!r})".encode()
                fields = [("cache-control", "private, no-cache")]
                await asked.answer(body, "text/javascript", headers=fields)

            here.victim.paths["/me.js"] = me
            here.evil.serve("/", f"<!doctype html><script src={script}></script>".encode())
            await here.victim_opens(windows)
            await windows.open(here.evil.base + "/")
            await until(lambda: here.victim.counts()["/me.js"] == 1)
            got = await windows.part(script, by=here.victim.base + "/", dest="script")
            assert got == f"for('{here.victim.base}/')".encode()
            assert here.victim.counts()["/me.js"] == 2

    run(go())


@pytest.mark.parametrize("told", [True, False])
def test_a_page_meets_the_promises_of_its_style_sheet(told: bool) -> None:
    async def go() -> None:
        async with world() as here:
            windows, page = here.windows(told=told), here.victim.base + "/alone"
            sheet, part = await _styled(here, windows, page, fetched=1)
            assert await windows.part(part, by=page, source=sheet) == LOGO
            assert here.victim.counts()["/back.gif"] == 1

    run(go())


@pytest.mark.parametrize("told", [True, False])
def test_a_style_sheet_of_the_victims_does_not_pass_for_its_page(told: bool) -> None:
    """Parts of a sheet name the sheet as Referer, whichever page uses it."""

    async def go() -> None:
        async with world() as here:
            windows, base = here.windows(told=told), here.victim.base
            # No window is given the part: what a browser keeps is not sent to its next page.
            await _styled(here, windows, base + "/alone", fetched=1)
            sheet, part = await _styled(here, windows, base + "/", fetched=2)
            await windows.open(here.evil.base + "/")
            await windows.part(sheet, by=here.evil.base + "/", dest="style", referrer=False)
            await windows.part(part, by=here.evil.base + "/", source=sheet)
            assert here.victim.counts()["/back.gif"] == 3

    run(go())


async def _styled(here: World, windows: Windows, page: str, *, fetched: int) -> tuple[str, str]:
    """Open a page of the victim's that has a style sheet, until its part was `fetched` so often;
    the addresses of both."""
    sheet, part = here.victim.base + "/app.css", here.victim.base + "/back.gif"
    here.victim.serve("/app.css", b"body { background: url(/back.gif) }", "text/css")
    here.victim.serve("/back.gif", LOGO, "image/gif", headers=FRESH)
    link = b"<!doctype html><link rel=stylesheet href=/app.css>"
    here.victim.serve("/", link + b"<img src=/logo.gif><p>x")
    here.victim.serve("/alone", link + b"<p>x")
    await windows.open(page)
    await windows.part(sheet, by=page, dest="style")
    await until(lambda: here.victim.counts()["/back.gif"] == fetched)
    return sheet, part


def test_the_victim_in_a_frame_of_evils_page_has_promises_of_its_own() -> None:
    async def go() -> None:
        async with world() as here:
            windows, base = here.windows(), here.victim.base
            await here.victim_opens(windows)
            assert await windows.part(base + "/logo.gif", by=base + "/") == LOGO
            await windows.open(here.evil.base + "/")
            await windows.open(base + "/other", by=here.evil.base + "/", frame=True)
            await windows.part(base + "/logo.gif", by=base + "/other")
            assert here.victim.counts()["/logo.gif"] == 2

    run(go())


def test_over_http_a_page_that_another_site_opens_may_be_in_its_frame() -> None:
    async def go() -> None:
        async with world() as here:
            windows, base = here.windows(told=False), here.victim.base
            await here.victim_opens(windows)
            assert await windows.part(base + "/logo.gif", by=base + "/") == LOGO
            await windows.open(here.evil.base + "/")
            await windows.open(base + "/other", by=here.evil.base + "/")
            await windows.part(base + "/logo.gif", by=base + "/other")
            assert here.victim.counts()["/logo.gif"] == 2

    run(go())


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(
    ("answer", "cookie", "shared"),
    [
        ("max-age=600", False, True),
        ("public, max-age=600", False, True),
        ("private, max-age=600", False, False),
        ("no-cache", False, False),
        ("no-store", False, False),
        ("", False, False),
        ("max-age=600", True, False),
    ],
)
def test_another_tab_of_the_same_site_gets_what_any_cache_may_share(
    told: bool, answer: str, cookie: bool, shared: bool
) -> None:
    async def go() -> None:
        async with world() as here:
            windows, base = here.windows(told=told), here.victim.base
            fields = [("cache-control", answer)] if answer else []
            here.victim.serve("/logo.gif", LOGO, "image/gif", headers=fields)
            sent = [("cookie", "id=7")] if cookie else []
            before = [*AGENT, *sent]
            await windows.open(base + "/", headers=before)
            await until(lambda: here.victim.counts()["/logo.gif"] == 1)
            await windows.open(base + "/other", by=base + "/", headers=before)
            await windows.part(base + "/logo.gif", by=base + "/other", more=sent)
            assert here.victim.counts()["/logo.gif"] == (1 if shared else 2)

    run(go())


def test_another_browser_gets_none_of_it() -> None:
    async def go() -> None:
        async with world() as here:
            windows, base = here.windows(), here.victim.base
            await here.victim_opens(windows)
            other = [("user-agent", "Gecko/1"), ("accept-language", "en")]
            await windows.open(base + "/other", headers=other)
            fields = [*other, ("accept", PICTURE), ("referer", base + "/other")]
            fields += _metadata("same-origin", "no-cors", "image")
            await here.both.client.get(base + "/logo.gif", fields)
            assert here.victim.counts()["/logo.gif"] == 2

    run(go())


@pytest.mark.parametrize("told", [True, False])
def test_pictures_of_a_content_networks_sheet_meet_their_promise(told: bool) -> None:
    async def go() -> None:
        async with world() as here:
            windows, page = here.windows(told=told), here.victim.base + "/"
            sheet, back = here.cdn.base + "/app.css", here.cdn.base + "/back.gif"
            here.cdn.serve("/app.css", b"body { background: url(/back.gif) }", "text/css")
            here.cdn.serve("/back.gif", LOGO, "image/gif")
            here.victim.serve("/", f"<!doctype html><link rel=stylesheet href={sheet}>x".encode())
            await windows.open(page)
            await windows.part(sheet, by=page, dest="style")
            await until(lambda: here.cdn.counts()["/back.gif"] == 1)
            assert await windows.part(back, by=page, source=sheet) == LOGO
            assert here.cdn.counts() == {"/app.css": 1, "/back.gif": 1}

    run(go())


@pytest.mark.parametrize("told", [True, False])
def test_a_frame_of_another_site_and_its_parts_meet_their_promises(told: bool) -> None:
    async def go() -> None:
        async with world() as here:
            windows, page = here.windows(told=told), here.victim.base + "/"
            frame, part = here.cdn.base + "/frame", here.cdn.base + "/in.gif"
            here.victim.serve("/", f"<!doctype html><iframe src={frame}></iframe>".encode())
            here.cdn.serve("/frame", b"<!doctype html><img src=/in.gif>")
            here.cdn.serve("/in.gif", LOGO, "image/gif")
            await windows.open(page)
            await until(lambda: here.cdn.counts()["/in.gif"] == 1)
            await windows.open(frame, by=page, frame=True)
            assert await windows.part(part, by=frame) == LOGO
            assert here.cdn.counts() == {"/frame": 1, "/in.gif": 1}

    run(go())


def test_a_link_to_a_frames_page_is_not_answered_with_the_frame() -> None:
    async def go() -> None:
        async with world() as here:
            windows, page = here.windows(), here.victim.base + "/"
            here.victim.serve("/", b"<!doctype html><iframe src=/other></iframe>")
            await windows.open(page)
            await until(lambda: here.victim.counts()["/other"] == 1)
            await windows.open(here.victim.base + "/other", by=page)
            assert here.victim.counts()["/other"] == 2

    run(go())


@pytest.mark.parametrize("told", [True, False])
def test_what_could_not_be_told_from_another_pages_request_is_not_promised(told: bool) -> None:
    async def go() -> None:
        async with world() as here:
            windows, page = here.windows(told=told), here.victim.base + "/"
            far = here.cdn.base + "/far.gif"
            here.cdn.serve("/far.gif", LOGO, "image/gif")
            here.victim.serve(
                "/",
                f"<!doctype html><img src={far}><img src=/logo.gif><p>x".encode(),
                headers=[("referrer-policy", "no-referrer")],
            )
            await windows.open(page)
            await windows.part(here.victim.base + "/logo.gif", by=page, referrer=False)
            assert here.victim.counts()["/logo.gif"] == 1
            assert here.cdn.counts() == {}
            assert await windows.part(far, by=page, referrer=False) == LOGO
            assert here.cdn.counts() == {"/far.gif": 1}

    run(go())


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("policy", ["no-referrer", "strict-origin-when-cross-origin"])
def test_in_chromium_a_page_asks_anew_for_what_another_sites_tab_has(
    tmp_path: Path, policy: str
) -> None:
    async def go() -> None:
        root, authority = Root(tmp_path), Authority.open(tmp_path / "state")
        async with (
            FakeOrigin(tls=root.server("127.0.0.1")).running("127.0.0.1") as victim,
            FakeOrigin(tls=root.server("127.0.0.2")).running("127.0.0.2") as evil,
            pair(tls=root.trusted(), authority=authority) as both,
            launch(
                proxy="http://{}:{}".format(*both.address), extra=taking(authority.spki_sha256)
            ) as chromium,
        ):
            victim.serve("/", b"<!doctype html><img src=/logo.gif><title>seen</title>")
            victim.serve("/logo.gif", GIF, "image/gif", headers=FRESH)
            evil.serve("/", b"<!doctype html><title>evil</title>")
            first, second = await chromium.new_tab(), await chromium.new_tab()
            await first.call("Page.navigate", url=victim.base + "/")
            await shows(first, "seen")
            while not await first.evaluate("document.images[0].complete"):
                pass
            await second.call("Page.navigate", url=evil.base + "/")
            await shows(second, "evil")
            await second.evaluate(
                f"""new Promise(done => {{ const image = new Image();
                image.referrerPolicy = "{policy}"; image.onload = done;
                image.src = "{victim.base}/logo.gif" }})"""
            )
            assert victim.counts()["/logo.gif"] == 2

    run(go(), timeout=60)
