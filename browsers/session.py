"""`sluice browse`: a local proxy, the one that runs or one of our own, and a browser that uses it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from browsers import launch
from browsers.find import NoBrowser, find
from browsers.nss import StoreError
from browsers.proxy import Proxy
from local_proxy.main import Settings, serving
from local_proxy.status.client import NoAnswer, offer


async def run(url: str, wanted: str | None, settings: Settings, *, headless: bool) -> None:
    """Until the browser is closed or this is cancelled. Raises SystemExit with what is wrong."""
    try:
        browser = find(wanted)
        if browser.family == "chromium" and launch.is_root():
            _say("running as root: Chromium is started without its sandbox")
        async with _proxy(settings) as proxy:
            _say(f"opening {browser.path}; its profile is thrown away when it closes")
            await launch.browse(browser, proxy, absolute(url), headless=headless)
    except (NoBrowser, NoAnswer, StoreError, launch.BrowserFailed) as error:
        raise SystemExit(f"sluice: {error}") from error


@asynccontextmanager
async def _proxy(settings: Settings) -> AsyncIterator[Proxy]:
    """The proxy that listens where the settings say; started when none does. Raises NoAnswer."""
    host, _, port = settings.listen.rpartition(":")
    host = host.strip("[]")
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"
    found = await offer(host, int(port)) if int(port) else None
    if found is not None:
        _say(f"using the local proxy at {settings.listen}")
        yield _as_proxy(host, int(port), found)
        return
    async with serving(settings) as (_, bound):
        _say(f"started a local proxy at {host}:{bound}, for as long as the browser is open")
        started = await offer(host, bound)
        if started is None:
            raise NoAnswer(f"the local proxy at {host}:{bound} ended at once")
        yield _as_proxy(host, bound, started)
