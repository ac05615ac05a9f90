"""A headless Chromium for tests, over its debugging socket: no more of it than the tests need."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import shutil
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Any

import aiohttp

EXECUTABLE = shutil.which("chromium") or shutil.which("chromium-browser")
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--mute-audio", "--hide-scrollbars", "--window-size=900,700"),
    *("--remote-debugging-port=0", "--force-color-profile=srgb", "--disable-default-apps"),
)

LEFT = "nobody hears Chromium any more"


class Browser:
    """One process and its debugging socket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._heard = True
        """Somebody hands out replies, or will."""
        self.tabs: dict[str, Tab] = {}

    async def listen(self) -> None:
        """Hand out replies and events until the socket closes, or nobody wants them."""
        try:
            async for message in self._socket:
                data = message.json()
                if "id" in data:
                    reply = self._replies.pop(data["id"])
                    if not reply.done():
                        reply.set_result(data)
                elif data.get("sessionId") in self.tabs:
                    self.tabs[data["sessionId"]].happened(data["method"], data["params"])
        finally:
            self._heard = False
            for reply in self._replies.values():
                if not reply.done():
                    reply.set_exception(RuntimeError(LEFT))

    async def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        if not self._heard:
            raise RuntimeError(LEFT)
        number = max(self._replies, default=0) + 1
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": params}
        await self._socket.send_json(message | ({"sessionId": session} if session else {}))
        data = await reply
        if "error" in data:
            raise RuntimeError(f"{method}: {data['error']}")
        result: dict[str, Any] = data["result"]
        return result

    @contextlib.asynccontextmanager
    async def tab(self) -> AsyncIterator[Tab]:
        context = (await self.call("Target.createBrowserContext"))["browserContextId"]
        target = await self.call("Target.createTarget", url="about:blank", browserContextId=context)
        attached = await self.call(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        tab = self.tabs[attached["sessionId"]] = Tab(self, attached["sessionId"])
        for domain in ("Page", "Runtime", "Log"):
            await tab.call(f"{domain}.enable")
        try:
            yield tab
        finally:
            await self.call("Target.disposeBrowserContext", browserContextId=context)


class Tab:
    """One tab with a profile of its own."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self._counts: dict[str, int] = defaultdict(int)
        self._changed = asyncio.Event()
        self.complaints: list[str] = []
        """Console errors, warnings and uncaught exceptions."""

    def happened(self, method: str, params: dict[str, Any]) -> None:
        self._counts[method] += 1
        if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        self._changed.set()

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        return await self._browser.call(method, self._session, **params)

    async def go(self, url: str) -> None:
        """Navigate and wait for the load event."""
        await self._until("Page.loadEventFired", self.call("Page.navigate", url=url))

    async def back(self) -> None:
        """To the page before this one."""
        history = await self.call("Page.getNavigationHistory")
        entry = history["entries"][history["currentIndex"] - 1]["id"]
        await self.navigated(self.call("Page.navigateToHistoryEntry", entryId=entry))

    async def navigated(self, action: Awaitable[object]) -> None:
        """Wait until another document shows, be it one that was kept."""
        await self._until("Page.frameNavigated", action)

    async def _until(self, event: str, action: Awaitable[object]) -> None:
        before = self._counts[event]
        await action
        while self._counts[event] == before:
            self._changed.clear()
            await self._changed.wait()

    async def evaluate(self, expression: str) -> Any:
        """The value, after any promise that it is."""
        result = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    async def painted(self) -> None:
        """A few frames later. Not by a timer of the page's: pages under test may break them."""
        await asyncio.sleep(0.04)

    async def screenshot(self) -> bytes:
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])


@contextlib.asynccontextmanager
async def launched(
    *, proxy: str, flags: Sequence[str] = (), pac: str = ""
) -> AsyncIterator[Browser]:
    """A browser whose every request goes to `proxy` (host:port, or a URL), or as `pac` says."""
    assert EXECUTABLE is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = await asyncio.create_subprocess_exec(
            EXECUTABLE,
            *_FLAGS,
            f"--user-data-dir={folder}",
            f"--proxy-pac-url={pac}"
            if pac
            else f"--proxy-server={proxy if '://' in proxy else 'http://' + proxy}",
            *flags,
            "--proxy-bypass-list=<-loopback>",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            port = await _port(process)
            async with (
                aiohttp.ClientSession() as session,
                session.ws_connect(f"http://127.0.0.1:{port[0]}{port[1]}", max_msg_size=0) as ws,
                asyncio.TaskGroup() as tasks,
            ):
                browser = Browser(ws)
                listener = tasks.create_task(browser.listen())
                yield browser
                listener.cancel()
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _port(process: asyncio.subprocess.Process) -> tuple[str, str]:
    """Port and path of the debugging socket, as the process announces them."""
    assert process.stderr is not None
    async for line in process.stderr:
        _, found, address = line.decode().strip().partition("DevTools listening on ws://")
        if found:
            host, _, path = address.partition("/")
            return host.rpartition(":")[2], "/" + path
    raise RuntimeError("the browser ended before it listened")
