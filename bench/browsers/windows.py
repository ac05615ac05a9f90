"""A browser's window, whichever the browser: what it takes to look at a page and hear it complain.

Knows both drivers (bench/browsers/cdp.py, bench/browsers/bidi.py) and an endpoint; not what is done
with a page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Literal, Protocol

from bench.browsers import bidi
from bench.browsers.cdp import BrowserError, Tab, find_chromium
from bench.origins.endpoint import PageAccess
from bench.pages.page_load import opened

BrowserName = Literal["chromium", "firefox"]

_HTTP1_FLAG: Final = "--disable-http2"
_HTTP1_PREFERENCES: Final = {"network.http.http2.enabled": False}
_LOAD: Final = 60.0
"""Seconds until a page's load event at most."""


class ConsoleTab(Protocol):
    """One tab with what was said in its console."""

    complaints: list[str]

    async def viewport(self, *, width: int, height: int) -> None:
        """CSS pixels; one device pixel each."""

    async def go(self, url: str) -> None:
        """Navigate, and wait for the load event."""

    async def evaluate(self, expression: str) -> Any:
        """The value of a primitive, after any promise that it is."""

    async def screenshot(self) -> bytes:
        """A PNG of the viewport."""


@asynccontextmanager
async def window(
    endpoint: PageAccess, browser: BrowserName, *, http1: bool = False
) -> AsyncIterator[ConsoleTab]:
    """A window of a browser with a fresh profile that trusts the endpoint's authority.

    `http1`: it offers no HTTP/2. Raises BrowserError when there is no such browser.
    """
    opening = _chromium if browser == "chromium" else _firefox
    async with opening(endpoint, http1=http1) as found:
        yield found


def missing(browser: BrowserName) -> str:
    """What has to be installed for such a window; empty: nothing."""
    if browser == "chromium":
        return "" if find_chromium() else "no Chromium on this machine"
    if bidi.EXECUTABLE is None:
        return "no Firefox on this machine"
    return "" if bidi.certificates_can_be_added() else "no certutil (libnss3-tools)"


@asynccontextmanager
async def _chromium(endpoint: PageAccess, *, http1: bool) -> AsyncIterator[ConsoleTab]:
    flags = [_HTTP1_FLAG] if http1 else []
    async with opened(endpoint, *flags) as browser:
        found = _ChromiumWindow(await browser.new_tab())
        await found.listen()
        yield found


class _ChromiumWindow:
    """A Chromium tab as a Window."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab
        self._loaded = asyncio.Event()
        self.complaints: list[str] = []
        self.viewport = tab.viewport
        self.evaluate = tab.evaluate
        self.screenshot = tab.screenshot

    async def listen(self) -> None:
        for event, handler in (
            ("Log.entryAdded", self._entry),
            ("Runtime.consoleAPICalled", self._called),
            ("Runtime.exceptionThrown", self._thrown),
            ("Page.loadEventFired", lambda _: self._loaded.set()),
        ):
            self._tab.on(event, handler)
        await self._tab.call("Log.enable")

    async def go(self, url: str) -> None:
        self._loaded.clear()
        result = await self._tab.call("Page.navigate", url=url)
        if "errorText" in result:
            raise BrowserError(f"{url}: {result['errorText']}")
        async with asyncio.timeout(_LOAD):
            await self._loaded.wait()

    def _entry(self, params: dict[str, Any]) -> None:
        said = params["entry"]
        if said["level"] == "error":
            self.complaints.append(f"{said['text']} {said.get('url', '')}".strip())

    def _called(self, params: dict[str, Any]) -> None:
        if params["type"] == "error":
            words = (str(value.get("value", value.get("description"))) for value in params["args"])
            self.complaints.append("console: " + " ".join(words))

    def _thrown(self, params: dict[str, Any]) -> None:
        self.complaints.append("uncaught: " + params["exceptionDetails"]["text"])


@asynccontextmanager
async def _firefox(endpoint: PageAccess, *, http1: bool) -> AsyncIterator[ConsoleTab]:
    if why := missing("firefox"):
        raise BrowserError(why)
    proxy = endpoint.proxy.removeprefix("http://") if endpoint.proxy else None
    preferences = _HTTP1_PREFERENCES if http1 else {}
    async with (
        bidi.launched(
            proxy=proxy, certificate=endpoint.authority, preferences=preferences
        ) as browser,
        browser.tab() as tab,
    ):
        yield tab
