"""Who waits for a browser's reply is told when nobody hears it any more, and does not wait on."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import pytest

from bench.browsers.bidi import BidiBrowser
from bench.browsers.cdp import BrowserError, CdpBrowser
from tests.local_proxy import chromium


class SilentSocket:
    """A WebSocket over which nothing ever comes."""

    def __aiter__(self) -> SilentSocket:
        return self

    async def __anext__(self) -> Any:
        await asyncio.get_running_loop().create_future()

    async def send_json(self, message: Any) -> None:
        pass

    async def send_str(self, message: str) -> None:
        pass


@pytest.mark.parametrize("kind", ["firefox", "chromium", "measured chromium"])
def test_no_reply_is_waited_for_that_nobody_hears(kind: str) -> None:
    async def main() -> None:
        socket: Any = SilentSocket()
        browser: Any
        if kind == "measured chromium":
            browser = CdpBrowser(socket, words=deque())
            listening = browser.read()
        else:
            browser = (BidiBrowser if kind == "firefox" else chromium.Browser)(socket)
            listening = browser.listen()
        listener = asyncio.ensure_future(listening)
        waiting = asyncio.ensure_future(browser.call("session.new"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        listener.cancel()
        async with asyncio.timeout(10):
            with pytest.raises((RuntimeError, BrowserError)):
                await waiting
            with pytest.raises((RuntimeError, BrowserError)):
                await browser.call("session.end")

    asyncio.run(main())
