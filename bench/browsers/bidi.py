"""Drives a headless Firefox over WebDriver BiDi, with nothing in between.

The profile is the one that `sluice browse` makes. Knows processes, tabs and protocol messages;
knows nothing of pages, links or metrics. Protocol: https://www.w3.org/TR/webdriver-bidi/
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import aiohttp

from browsers import find, firefox, launch
from browsers.proxy import Proxy

EXECUTABLE = next(filter(None, map(shutil.which, firefox.NAMES)), None)
SIZE: Final = {"width": 900, "height": 700}
"""CSS pixels of a new tab."""
_START: Final = 60.0
"""Seconds from fork to a listening socket; 2 s is usual, a cold disk takes more."""
_EVENTS: Final = ("log.entryAdded", "network.responseCompleted", "network.fetchError")
_GIVEN_UP: Final = "NS_BINDING_ABORTED"
"""The page itself no longer wanted it."""
_LEFT: Final = "nobody hears Firefox any more"
_DISCARD: Final = "127.0.0.1:9"
_NO_PROXY: Final = {"network.proxy.type": 0}


class BidiBrowser:
    """One process and its BiDi socket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._sent = 0
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._heard = True
        """Somebody hands out replies, or will."""
        self.tabs: dict[str, BidiTab] = {}

    async def listen(self) -> None:
        """Hand out replies and events until the socket closes, or nobody wants them."""
        try:
            async for message in self._socket:
                self._heard_of(message.json())
        finally:
            self._heard = False
            for reply in self._replies.values():
                if not reply.done():
                    reply.set_exception(RuntimeError(_LEFT))

    def _heard_of(self, data: dict[str, Any]) -> None:
        if data["type"] == "event":
            params = data["params"]
            context = params.get("context") or params.get("source", {}).get("context")
            if context in self.tabs:
                self.tabs[context].happened(data["method"], params)
        elif (reply := self._replies.pop(data["id"], None)) is not None and not reply.done():
            reply.set_result(data)

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """What it returns. Raises RuntimeError, also when nobody hears the reply any more."""
        if not self._heard:
            raise RuntimeError(_LEFT)
        self._sent += 1
        reply = self._replies[self._sent] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._sent, "method": method, "params": params})
        data = await reply
        if data["type"] == "error":
            raise RuntimeError(f"{method}: {data['error']}: {data['message']}")
        result: dict[str, Any] = data["result"]
        return result

    @contextlib.asynccontextmanager
    async def tab(self) -> AsyncIterator[BidiTab]:
        user = (await self.call("browser.createUserContext"))["userContext"]
        context = (await self.call("browsingContext.create", type="tab", userContext=user))[
            "context"
        ]
        tab = self.tabs[context] = BidiTab(self, context)
        await tab.viewport(**SIZE)
        try:
            yield tab
        finally:
            await self.call("browser.removeUserContext", userContext=user)


class BidiTab:
    """One tab with a cookie jar and a cache of its own."""

    def __init__(self, browser: BidiBrowser, context: str) -> None:
        self.browser = browser
        self.context = context
        self.complaints: list[str] = []
        """Console errors, warnings, uncaught exceptions, and loads that failed."""

    def happened(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "log.entryAdded" if params["level"] in ("error", "warn"):
                self.complaints.append(str(params["text"]))
            case "network.fetchError" if params["errorText"] != _GIVEN_UP:
                self.complaints.append(f"{params['errorText']} {params['request']['url']}")
            case "network.responseCompleted" if params["response"]["status"] >= 400:
                self.complaints.append(f"{params['response']['status']} {params['request']['url']}")

    async def viewport(self, *, width: int, height: int) -> None:
        """Lay out as if the window were this large, CSS pixels; one device pixel each."""
        await self.browser.call(
            "browsingContext.setViewport",
            context=self.context,
            viewport={"width": width, "height": height},
            devicePixelRatio=1.0,
        )

    async def go(self, url: str) -> None:
        """Navigate and wait for the load event."""
        context = self.context
        await self.browser.call(
            "browsingContext.navigate", context=context, url=url, wait="complete"
        )

    async def back(self) -> None:
        """To the page before this one, when it shows."""
        await self.browser.call("browsingContext.traverseHistory", context=self.context, delta=-1)

    async def evaluate(self, expression: str) -> Any:
        """The value of a primitive, after any promise that it is."""
        result = await self.browser.call(
            "script.evaluate",
            expression=expression,
            target={"context": self.context},
            awaitPromise=True,
        )
        if result["type"] == "exception":
            raise RuntimeError(str(result["exceptionDetails"]["text"]))
        return result["result"].get("value")

    async def painted(self) -> None:
        """A few frames later."""
        await asyncio.sleep(0.04)

    async def screenshot(self) -> bytes:
        shot = await self.browser.call("browsingContext.captureScreenshot", context=self.context)
        return base64.b64decode(shot["data"])


@contextlib.asynccontextmanager
async def launched(
    *,
    proxy: str | None,
    certificate: bytes | None = None,
    preferences: Mapping[str, firefox.Preference] | None = None,
) -> AsyncIterator[BidiBrowser]:
    """A browser whose every request goes to `proxy` (host:port), as `sluice browse` sets it up.

    `proxy` None: it goes to the sites themselves. `certificate`: PEM of an authority to trust.
    """
    assert EXECUTABLE is not None
    host, _, port = (proxy or _DISCARD).rpartition(":")
    through = Proxy(host=host, port=int(port), certificate_pem=certificate)
    more = {**({} if proxy else _NO_PROXY), **(preferences or {})}
    async with (
        launch.profile(find.Browser(EXECUTABLE, "firefox")) as folder,
        _process(folder, through, more) as address,
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{address}/session", max_msg_size=0) as socket,
        asyncio.TaskGroup() as tasks,
    ):
        browser = BidiBrowser(socket)
        listener = tasks.create_task(browser.listen())
        await browser.call("session.new", capabilities={})
        await browser.call("session.subscribe", events=list(_EVENTS))
        yield browser
        listener.cancel()


@contextlib.asynccontextmanager
async def _process(
    folder: Path, proxy: Proxy, more: Mapping[str, firefox.Preference]
) -> AsyncIterator[str]:
    """Firefox; the address of its socket. `more`: preferences beside those for the proxy."""
    assert EXECUTABLE is not None
    near = "http://localhost/"
    command = await launch.prepare(
        find.Browser(EXECUTABLE, "firefox"), folder, proxy, near, headless=True
    )
    with (folder / "user.js").open("a", encoding="utf-8") as settings:
        settings.write(firefox.user_js(dict(more)))
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
