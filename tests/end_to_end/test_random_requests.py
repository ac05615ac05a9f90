"""Clients that ask for anything, in any way, and leave when they like; origins that answer with any
field: each gets an answer, in one session, and nothing is left of them."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest
import structlog.testing

from tests.end_to_end.client import Broken
from tests.end_to_end.pair import Address, Asked, FakeOrigin, Pair, all_three, run, until
from tests.end_to_end.test_https_chromium import picture
from wire.fields import Headers

SECONDS = 4.0
TALKERS = 6
ANSWERED = 9
"""Of each."""
HURRY = 20.0
"""Seconds within which whoever stays has his answer."""
PARTS = ("/c.css", "/s.js", "/d.json", "/deck.pptx", "/v.mp4", *(f"/{n}.jpg" for n in range(6)))
HTML = b"<!doctype html><title>page</title><link rel=stylesheet href=/c.css>"
HTML += b"<script src=/s.js></script>"
HTML += b"".join(b"<img src=/%d.jpg width=400 height=300>" % n for n in range(6))
HTML += b"<iframe src=/frame></iframe><p>" + b"some text " * 200
ASKS: tuple[tuple[float, Headers], ...] = (
    (0.2, [("save-data", "on")]),
    (0.1, [("sluice-within", "5")]),
    (0.1, [("sluice-within", "soon")]),
    (0.1, [("range", "bytes=0-9")]),
    (0.1, [("range", "bytes=9999999-")]),
    (0.1, [("if-none-match", '"1"')]),
    (0.1, [("cookie", "who=me")]),
    (0.1, [("priority", "u=0, i")]),
    (0.1, [("sec-fetch-dest", "image")]),
)
NAMES = (
    "content-type", "content-disposition", "content-language", "cache-control", "vary", "date",
    "age", "expires", "etag", "last-modified", "set-cookie", "location", "content-range", "link",
    "accept-ranges", "refresh", "content-security-policy", "permissions-policy", "alt-svc",
    "use-as-dictionary", "clear-site-data", "strict-transport-security", "timing-allow-origin",
)  # fmt: skip
LATE = f"Wed, {10**26} Jan 2025 00:00:00 GMT"
VALUES = (
    "", "text/html", "image/png", "text/css; charset=undefined", "text/html; a*=idna''%ff", "-1",
    "application/zip", "inline", "no-store", "private", "*", "cookie, accept", "bytes */*", "W/",
    "bytes 5-1/3", '"1"', "max-age=" + "9" * 30, "Wed, 01 Jan 2025 00:00:00 GMT", LATE, "http://[",
    "http://127.0.0.1:1/", "; rel=preload", "attachment; filename*=idna''%ff", "a=1; Max-Age=x",
    f"a=1; Path=/; Expires={LATE}", "default-src 'none'", 'match="/*"', "\xff\xfe", "x" * 3000,
)  # fmt: skip


class OddOrigin:
    """Serves a page and its parts, now and then with fields and a status by chance."""

    def __init__(self, origin: FakeOrigin, chance: random.Random) -> None:
        self._chance = chance
        self._photo = picture()
        for path in ("/", "/frame", *PARTS):
            origin.paths[path] = self._answer

    async def _answer(self, asked: Asked) -> None:
        chance, kind, body = self._chance, "text/html", HTML
        await asked.body()
        if asked.target.endswith(".jpg"):
            kind, body = "image/jpeg", self._photo
        elif asked.target not in ("/", "/frame"):
            kind, body = "", b"body { color: red } /* some text */" * 100
        fields = [(chance.choice(NAMES), chance.choice(VALUES)) for _ in range(chance.randrange(4))]
        status = chance.choice((200,) * 12 + (206, 301, 304, 404, 500, 599))
        await asyncio.sleep(chance.choice((0.0, 0.0, 0.05)))
        if chance.random() < 0.05:
            await asked.reset()
        else:
            await asked.answer(body if status != 304 else b"", kind, status=status, headers=fields)


async def talk(both: Pair, base: str, chance: random.Random, end: float) -> None:
    """One request after the other until `end`, and until enough were answered."""
    browser, answered = both.browser, 0
    while asyncio.get_running_loop().time() < end or answered < ANSWERED:
        page = chance.random() < 0.4
        url = base + ("/" if page else chance.choice(PARTS))
        fields = browser.navigation() if page else browser.part(f"{base}/")
        for odds, more in ASKS:
            fields += more if chance.random() < odds else []
        method, body = ("POST", chance.randbytes(9_000)) if chance.random() < 0.1 else ("GET", None)
        if chance.random() < 0.2:
            await leave(both.address, url, fields, after=chance.random() * 0.1)
            continue
        with contextlib.suppress(Broken):
            async with asyncio.timeout(HURRY):
                await browser.get(url, fields, method=method, body=body)
            answered += 1


async def leave(proxy: Address, url: str, fields: Headers, *, after: float) -> None:
    """Asks, and is gone before the answer, or in its middle."""
    _, writer = await asyncio.open_connection(*proxy)
    lines = [f"GET {url} HTTP/1.1", f"host: {url.split('/')[2]}", *(f"{n}: {v}" for n, v in fields)]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    await asyncio.sleep(after)
    writer.transport.abort()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


@pytest.mark.parametrize("mode", ["adapt", "saver"])
def test_random_requests_share_one_session_and_leave_nothing(mode: str) -> None:
    async def go() -> None:
        sites = {"127.0.0.1": "saver"} if mode == "saver" else {}
        async with all_three(sites=sites) as (origin, both):
            await both.connected()
            OddOrigin(origin, random.Random(mode))
            session, end = both.local.uplink.session, asyncio.get_running_loop().time() + SECONDS
            asked = [
                talk(both, origin.base, random.Random(f"{mode} {number}"), end)
                for number in range(TALKERS)
            ]
            await asyncio.gather(*asked)
            assert both.local.uplink.session is session
            remote = both.session
            assert remote is not None
            await until(lambda: remote.statistics().deliveries == 0)
            assert not both.local.asking.uploading
            await both.serves(origin)

    with structlog.testing.capture_logs() as logs:
        run(go())
    assert [one for one in logs if one["log_level"] == "error"] == []
