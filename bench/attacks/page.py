"""A hostile page in a browser behind the local proxy: reads what it may not, and has fetched what
its own policy forbids."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import resources
from typing import Final

import aiohttp
from aiohttp import web
from PIL import Image

from bench.attacks.tally import AttackTally, Targets
from bench.browsers.cdp import BrowserError, Tab, find_chromium, launch
from bench.origins.site import Address
from bench.pairs.processes import text

Handler = Callable[[web.Request], Awaitable[web.Response]]
STEAL: Final = resources.files(__package__).joinpath("steal.js").read_text("utf-8")
"""Collects all that a page can learn of its driver, and asks for the picture with it."""
EVERY: Final = 5.0
"""Seconds between two visits."""
WIDTH: Final = 320
"""Pixels of the picture: enough for levels. Its bytes are the device's own load on its link, and
no attack."""
PROTECTED: Final = (
    "default-src 'self'",
    "img-src 'none'; script-src 'none'; style-src 'none'; font-src 'none'; frame-src 'none'",
)
"""Policies under which a page has nothing fetched from elsewhere."""


def photo(*, red: bool, width: int) -> bytes:
    """A red or a blue picture, so that any level of it tells which one it is."""
    noise = random.Random(3)
    grain = Image.frombytes("L", (64, 48), noise.randbytes(64 * 48))
    dark, bright = grain.point(lambda v: v // 4), grain.point(lambda v: 160 + v // 3)
    image = Image.merge("RGB", (bright, dark, dark) if red else (dark, dark, bright))
    out = io.BytesIO()
    image.resize((width, width * 3 // 4), Image.Resampling.BICUBIC).save(out, "JPEG", quality=92)
    return out.getvalue()


def is_private(body: bytes) -> bool:
    """Whether it shows the red picture, however coarse."""
    try:
        found = Image.open(io.BytesIO(body)).convert("RGB").resize((1, 1)).tobytes()
    except Exception:  # not a picture, or no whole one
        return False
    return found[0] > found[2]


@asynccontextmanager
async def _serving(*handlers: tuple[str, Handler]) -> AsyncIterator[Address]:
    application = web.Application()
    for path, handler in handlers:
        application.router.add_get(path, handler)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield runner.addresses[0][:2]
    finally:
        await runner.cleanup()


async def read(targets: Targets, tally: AttackTally) -> None:
    """Read a picture that another origin gives to the user's cookie alone; through: any of it."""
    private, public = photo(red=True, width=WIDTH), photo(red=False, width=64)

    async def victim(request: web.Request) -> web.Response:
        known = request.cookies.get("sid") == "user"
        fields = {"access-control-allow-origin": "*", "cache-control": "max-age=600"}
        body = private if known else public
        return web.Response(body=body, content_type="image/jpeg", headers=fields)

    async def enter(request: web.Request) -> web.Response:
        return _html("ready", {"set-cookie": "sid=user"})

    async with _serving(("/photo.jpg", victim), ("/", enter)) as bank:
        source = f"http://{text(bank)}/photo.jpg"
        page = f"<img src='{source}' width=300 height=200><script>window.seen=[];"
        page += "new PerformanceObserver(list => seen.push(...list.getEntries().map(e => e.name)))"
        page += ".observe({type: 'resource', buffered: true})</script>ready"

        async def evil(request: web.Request) -> web.Response:
            return _html(page, {})

        async with (
            _serving(("/{name:.*}", evil)) as attacker,
            _tab(targets) as tab,
        ):
            await _visit(tab, f"http://{text(bank)}/")
            for number in range(1_000_000):
                await _visit(tab, f"http://{text(attacker)}/{number}")
                stolen = await tab.evaluate(STEAL)
                tally.tried(len(stolen))
                for body in stolen:
                    if is_private(base64.b64decode(body)):
                        tally.got("another origin's picture, made with the user's cookie")
                await asyncio.sleep(EVERY)


async def have_fetched(targets: Targets, tally: AttackTally) -> None:
    """Name parts elsewhere that the page's own policy forbids; through: one was fetched."""
    asked: list[str] = []

    async def canary(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(text="x")

    headers = {"accept": "text/html,*/*;q=0.8", "upgrade-insecure-requests": "1"}
    proxy = f"http://{text(targets.local)}"
    async with (
        _serving(("/{name:.*}", canary)) as elsewhere,
        _serving(("/{number}", _protected(f"http://{text(elsewhere)}"))) as site,
        aiohttp.ClientSession() as session,
    ):
        for number in range(1_000_000):
            tally.tried()
            with contextlib.suppress(aiohttp.ClientError):
                url = f"http://{text(site)}/{number}"
                async with session.get(url, proxy=proxy, headers=headers) as answer:
                    await answer.read()
            await asyncio.sleep(0.5)
            for path in asked:
                tally.got(f"{PROTECTED[number % len(PROTECTED)]}: {path}")
            asked.clear()


def _protected(there: str) -> Handler:
    """Pages with parts from `there` that their policies forbid."""
    parts = f"<img src={there}/i.png><script src={there}/s.js></script>"
    parts += f"<link rel=stylesheet href={there}/s.css><iframe src={there}/f></iframe>"
    parts += f"<style>@import url({there}/i.css); p {{background: url({there}/b.png)}}</style>"

    async def page(request: web.Request) -> web.Response:
        policy = PROTECTED[int(request.match_info["number"]) % len(PROTECTED)]
        return _html(f"{parts}<p>ready", {"content-security-policy": policy})

    return page


def _html(body: str, headers: dict[str, str]) -> web.Response:
    text_of_page = f"<!doctype html><html><head><title>t</title></head><body>{body}</body></html>"
    return web.Response(text=text_of_page, content_type="text/html", headers=headers)


@asynccontextmanager
async def _tab(targets: Targets) -> AsyncIterator[Tab]:
    if find_chromium() is None:
        raise OSError("no Chromium on this machine")
    async with launch(proxy=f"http://{text(targets.local)}") as browser:
        yield await browser.new_tab()


async def _visit(tab: Tab, url: str) -> None:
    await tab.call("Page.navigate", url=url)
    there = f"location.href === {url!r} && document.readyState !== 'loading'"
    for _ in range(100):
        with contextlib.suppress(BrowserError):
            if await tab.evaluate(there):
                return
        await asyncio.sleep(0.1)
