"""A headless Firefox for tests, over WebDriver BiDi: no more of it than the tests need.

The same few calls as chromium.py has. Protocol: https://www.w3.org/TR/webdriver-bidi/
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

from browsers import find, firefox, launch
from browsers.proxy import Proxy

EXECUTABLE = next(filter(None, map(shutil.which, firefox.NAMES)), None)
SIZE = {"width": 900, "height": 700}
_START = 60.0
"""Seconds from fork to a listening socket; 2 s is usual, a cold disk takes more."""


class Browser:
    """One process and its BiDi socket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._sent = 0
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.tabs: dict[str, Tab] = {}

    async def listen(self) -> None:
        """Hand out replies and events until the socket closes."""
        async for message in self._socket:
            data = message.json()
            if data["type"] == "event":
                params = data["params"]
                context = params.get("context") or params.get("source", {}).get("context")
                if context in self.tabs:
                    self.tabs[context].happened(data["method"], params)
            elif (reply := self._replies.pop(data["id"], None)) is not None and not reply.done():
                reply.set_result(data)

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._sent += 1
        reply = self._replies[self._sent] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._sent, "method": method, "params": params})
        data = await reply
        if data["type"] == "error":
            raise RuntimeError(f"{method}: {data['error']}: {data['message']}")
        result: dict[str, Any] = data["result"]
        return result

    @contextlib.asynccontextmanager
    async def tab(self) -> AsyncIterator[Tab]:
        user = (await self.call("browser.createUserContext"))["userContext"]
        context = (await self.call("browsingContext.create", type="tab", userContext=user))[
            "context"
        ]
        tab = self.tabs[context] = Tab(self, context)
        await self.call("browsingContext.setViewport", context=context, viewport=SIZE)
        try:
            yield tab
        finally:
            await self.call("browser.removeUserContext", userContext=user)


class Tab:
    """One tab with a cookie jar and a cache of its own."""

    def __init__(self, browser: Browser, context: str) -> None:
        self.browser = browser
        self._context = context
        self.complaints: list[str] = []
        """Console errors, warnings and uncaught exceptions."""

    def happened(self, method: str, params: dict[str, Any]) -> None:
        if method == "log.entryAdded" and params["level"] in ("error", "warn"):
            self.complaints.append(str(params["text"]))

    async def go(self, url: str) -> None:
        """Navigate and wait for the load event."""
        context = self._context
        await self.browser.call(
            "browsingContext.navigate", context=context, url=url, wait="complete"
        )

    async def back(self) -> None:
        """To the page before this one, when it shows."""
        await self.browser.call("browsingContext.traverseHistory", context=self._context, delta=-1)

    async def evaluate(self, expression: str) -> Any:
        """The value of a primitive, after any promise that it is."""
        result = await self.browser.call(
            "script.evaluate",
            expression=expression,
            target={"context": self._context},
            awaitPromise=True,
        )
        if result["type"] == "exception":
            raise RuntimeError(str(result["exceptionDetails"]["text"]))
        return result["result"].get("value")

    async def painted(self) -> None:
        """A few frames later."""
        await asyncio.sleep(0.04)

    async def screenshot(self) -> bytes:
        shot = await self.browser.call("browsingContext.captureScreenshot", context=self._context)
        return base64.b64decode(shot["data"])


@contextlib.asynccontextmanager
async def launched(*, proxy: str, certificate: bytes | None = None) -> AsyncIterator[Browser]:
    """A browser whose every request goes to `proxy` (host:port), as `sluice browse` sets it up."""
    assert EXECUTABLE is not None
    host, _, port = proxy.rpartition(":")
    through = Proxy(host=host, port=int(port), certificate_pem=certificate)
    async with (
        launch.profile(find.Browser(EXECUTABLE, "firefox")) as folder,
        _process(folder, through) as address,
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{address}/session", max_msg_size=0) as socket,
        asyncio.TaskGroup() as tasks,
    ):
        browser = Browser(socket)
        listener = tasks.create_task(browser.listen())
        await browser.call("session.new", capabilities={})
        await browser.call("session.subscribe", events=["log.entryAdded"])
        yield browser
        listener.cancel()


@contextlib.asynccontextmanager
async def _process(folder: Path, proxy: Proxy) -> AsyncIterator[str]:
    """Firefox; the address of its socket."""
    assert EXECUTABLE is not None
    near = "http://localhost/"
    command = await launch.prepare(
        find.Browser(EXECUTABLE, "firefox"), folder, proxy, near, headless=True
    )
    log = folder / "log"
    with log.open("wb") as out:
        async with launch.running(
            [EXECUTABLE, "--remote-debugging-port=0", *command[:-1], "about:blank"],
            folder,
            out.fileno(),
        ):
            async with asyncio.timeout(_START):
                while not (address := _listening(log.read_text("utf-8", "replace"))):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            yield address


def _listening(text: str) -> str:
    _, found, rest = text.partition("WebDriver BiDi listening on ")
    return rest.split()[0].replace("ws://", "http://") if found and "\n" in rest else ""


def certificates_can_be_added() -> bool:
    """Whether `launched` can be given a certificate."""
    return shutil.which("certutil") is not None
