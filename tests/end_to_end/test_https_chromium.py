"""https pages in a real browser through both proxies: adapted as http ones are, or left alone."""

from __future__ import annotations

import io
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PIL import Image

from bench.browsers.cdp import Tab, find_chromium, launch
from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import FakeOrigin, Pair, pair, run, until
from tests.end_to_end.roots import Root
from tests.end_to_end.test_chromium import shows

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")


def taking(spki: str) -> tuple[str, ...]:
    """Flags of a browser that takes certificates of this key, and of no other."""
    return (f"--ignore-certificate-errors-spki-list={spki}",)


@asynccontextmanager
async def tab_through(both: Pair, spki: str, *flags: str) -> AsyncIterator[Tab]:
    proxy = "http://{}:{}".format(*both.address)
    async with launch(proxy=proxy, extra=(*taking(spki), *flags)) as browser:
        yield await browser.new_tab()


def picture() -> bytes:
    noise = random.Random(7)
    image = Image.frombytes("RGB", (64, 48), noise.randbytes(64 * 48 * 3))
    out = io.BytesIO()
    image.resize((800, 600), Image.Resampling.BICUBIC).save(out, "JPEG", quality=90)
    return out.getvalue()


PAGE = b"""<!doctype html><html><head><title>safe</title><link rel=stylesheet href=/style.css>
</head><body><img src=/picture.jpg width=400 height=300><script src=/script.js></script></body>"""
POLICY = "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'"


def site(origin: FakeOrigin) -> None:
    origin.serve(
        "/",
        PAGE,
        headers=[
            ("content-security-policy", POLICY),
            ("strict-transport-security", "max-age=600"),
            ("set-cookie", "__Host-id=7; Secure; Path=/; HttpOnly"),
        ],
    )
    origin.serve("/style.css", b"body { color: rgb(1, 2, 3) }", "text/css")
    origin.serve("/script.js", b"document.title += ' and sound'", "text/javascript")
    origin.serve("/picture.jpg", picture(), "image/jpeg")


def test_promises_pictures_cookies_and_policies_hold_inside_tls(tmp_path: Path) -> None:
    async def go() -> None:
        root, authority = Root(tmp_path), Authority.open(tmp_path / "state")
        async with (
            FakeOrigin(tls=root.server("127.0.0.1")).running() as origin,
            pair(tls=root.trusted(), authority=authority) as both,
            tab_through(both, authority.spki_sha256) as tab,
        ):
            site(origin)
            complaints: list[object] = []
            tab.on("Log.entryAdded", complaints.append)
            tab.on("Runtime.exceptionThrown", complaints.append)
            await tab.call("Log.enable")
            await tab.call("Runtime.enable")
            await tab.call("Page.navigate", url=origin.base + "/")
            await shows(tab, "safe and sound")
            assert await tab.evaluate("isSecureContext")
            assert await tab.evaluate("getComputedStyle(document.body).color") == "rgb(1, 2, 3)"
            size = "document.images[0].decode().then(() => document.images[0].naturalWidth)"
            assert await tab.evaluate(size) == 800
            await until(lambda: both.local.export.statistics().beacons)
            for path in ("/", "/style.css", "/script.js", "/picture.jpg"):
                assert origin.counts()[path] == 1, origin.counts()
            statistics = both.local.export.statistics()
            # Without a slow link the picture may be here in full before it is asked for.
            assert statistics.multipart + statistics.whole == 1
            assert statistics.swapped == statistics.streamed == 0
            await tab.call("Page.navigate", url=origin.base + "/?again")
            await until(lambda: origin.counts()["/?again"])
            (again,) = [asked for asked in origin.asked if asked.target == "/?again"]
            assert again.header("cookie") == "__Host-id=7"
            assert [one for one in complaints if "favicon" not in str(one)] == []

    run(go(), timeout=60)


def test_a_browser_that_does_not_trust_us_reaches_the_site_at_the_second_try(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        root, authority = Root(tmp_path), Authority.open(tmp_path / "state")
        origin_tls = root.server("127.0.0.1")
        async with (
            FakeOrigin(tls=origin_tls).running() as origin,
            pair(tls=root.trusted(), authority=authority) as both,
            tab_through(both, root.last_spki) as tab,
        ):
            site(origin)
            https = both.local.https
            assert https is not None
            # Chromium asks for pages of its own first; whichever is refused, it teaches us.
            answer = await tab.call("Page.navigate", url=origin.base + "/")
            assert answer.get("errorText", "") in ("", "net::ERR_CERT_AUTHORITY_INVALID")
            await until(https.learnt)
            assert https.learnt()[0].host == "*"
            await tab.call("Page.navigate", url=origin.base + "/")
            await shows(tab, "safe and sound")

    run(go(), timeout=60)
