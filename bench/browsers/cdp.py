"""Drives a headless Chromium over the Chrome DevTools Protocol, with nothing in between.

Raw CDP because a driver library changes what is measured: Playwright's `connect_over_cdp`, for
one, makes every tab report "visible". Knows processes, tabs and protocol messages; knows nothing
of page loads, links or metrics. Protocol: https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import tempfile
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from bench.pairs.bound import bound
from emulation.worlds.hosts import HERE, EmulatedHost
from emulation.worlds.inside import connector

Params = dict[str, Any]
Handler = Callable[[Params], None]

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
START_TIMEOUT: Final = 60.0
"""Seconds from fork to a listening DevTools socket; 1-2 s is usual. A cold disk takes more, and a
machine with ten times as many busy processes as processors more than 20."""
CALL_TIMEOUT: Final = 60.0
"""Seconds for one answer; a full-height screenshot on a busy machine takes several."""
MAX_MESSAGE: Final = 256 << 20
"""Bytes; a lossless screenshot of a long page, in base64, is tens of megabytes."""

# Chromium calls its vendor's hosts even when headless. Through a proxy that would cost bytes of
# the link under test, so they bypass the proxy, and the resolver rules then let them fail. What is
# missing here is counted by bench/browsers/chatter.py.
VENDOR_HOSTS: Final = (
    "*.google.com",
    "*.googleapis.com",
    "*.googleusercontent.com",
    "*.gstatic.com",
    "*.gvt1.com",
    "start.duckduckgo.com",  # Debian's Chromium warms up its search engine at once.
)

_FLAGS: Final = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--password-store=basic",
    "--use-mock-keychain",
    # A tab behind another must keep its timers honest: the bench times it.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    # Software compositing draws the same pixels on every machine.
    "--disable-gpu",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--mute-audio",
    "--disable-dev-shm-usage",
    "--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication,"
    "CertificateTransparencyComponentUpdater,InterestFeedContentSuggestions,HttpsUpgrades,"
    "HttpsFirstBalancedModeAutoEnable,Prerender2,SpeculationRulesPrefetchFuture",
)
_LISTENING: Final = re.compile(r"DevTools listening on (ws://\S+)")


class BrowserError(Exception):
    """Chromium did not start, left, or refused a command; the text carries its last words."""


def find_chromium() -> str | None:
    """Path of a Chromium on this machine, or None. `CHROMIUM` in the environment goes first;
    `none`: as if there were none."""
    named = os.environ.get("CHROMIUM")
    if named == "none":
        return None
    return next(filter(None, map(shutil.which, ((named,) if named else ()) + NAMES)), None)


def arguments(
    *, profile: str, proxy: str | None, resolve: Mapping[str, str], root: bool
) -> list[str]:
    """Chromium's command line without the executable.

    `proxy` ("host:port", or with a scheme) gets all http and https, loopback too. `resolve` maps
    a host name to "host:port"; every other name fails, so nothing leaves the machine by itself.
    """
    rules = [f"MAP {name} {address}" for name, address in resolve.items()]
    rules += ["MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1", "EXCLUDE localhost"]
    flags = [*_FLAGS, f"--user-data-dir={profile}", f"--host-resolver-rules={','.join(rules)}"]
    if proxy:
        flags += [f"--proxy-server={proxy}"]
        flags += [f"--proxy-bypass-list={';'.join(('<-loopback>', *VENDOR_HOSTS))}"]
    else:
        flags += ["--no-proxy-server"]
    return flags + (["--no-sandbox"] if root else [])


def as_a_user(*command: str, root: bool) -> tuple[str, ...]:
    """`command`, for root without the right to raise priorities (setpriv, of Debian's util-linux).

    Chromium's drawing threads take nice -8 where they may, six times the share of all else on the
    machine: no user's may, and figures are the same whoever measures.
    """
    setpriv = shutil.which("setpriv") if root else None
    if setpriv is None:
        return command
    return (setpriv, "--inh-caps=-sys_nice", "--bounding-set=-sys_nice", *command)


@dataclass(slots=True)
class Tab:
    """One page target with its own session on the shared socket."""

    browser: CdpBrowser
    target: str
    session: str
    handlers: dict[str, list[Handler]] = field(default_factory=lambda: defaultdict(list))

    async def call(self, method: str, **params: Any) -> Params:
        """The command's result. Raises BrowserError."""
        return await self.browser.call(method, session=self.session, **params)

    def on(self, event: str, handler: Handler) -> None:
        """Call `handler` with each such event's params; it must not block and must not raise."""
        self.handlers[event].append(handler)

    def remove(self, event: str, handler: Handler) -> None:
        self.handlers[event].remove(handler)

    async def evaluate(self, expression: str) -> Any:
        """The JSON value of a JavaScript expression; promises are awaited."""
        result = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            text = details.get("exception", {}).get("description", details.get("text"))
            raise BrowserError(f"script failed: {text}")
        return result["result"].get("value")

    async def viewport(self, *, width: int, height: int, scale: float = 1) -> None:
        """Lay out as if the window were this large, CSS pixels; `scale` device pixels each."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )

    async def screenshot(self) -> bytes:
        """A PNG of the viewport."""
        result = await self.call("Page.captureScreenshot", format="png", optimizeForSpeed=True)
        return base64.b64decode(result["data"])

    async def bring_to_front(self) -> None:
        await self.call("Page.bringToFront")

    async def close(self) -> None:
        await self.browser.call("Target.closeTarget", targetId=self.target)


class CdpBrowser:
    """A running Chromium behind one WebSocket. Made by `launch`."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, words: deque[str]) -> None:
        self._socket = socket
        self._words = words
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Params]] = {}
        self._tabs: dict[str, Tab] = {}
        self._closed: BrowserError | None = None

    @property
    def last_words(self) -> str:
        """The end of Chromium's stderr, for error messages."""
        return "\n".join(self._words)

    async def call(self, method: str, *, session: str | None = None, **params: Any) -> Params:
        """The result of one command. Raises BrowserError when it fails or Chromium is gone."""
        if self._closed:
            raise self._closed
        number = next(self._ids)
        message: Params = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        future: asyncio.Future[Params] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            await self._socket.send_str(json.dumps(message))
            async with asyncio.timeout(CALL_TIMEOUT):
                return await future
        except (TimeoutError, ConnectionError) as error:
            raise BrowserError(f"{method}: no answer; {self.last_words}") from error
        finally:
            self._waiting.pop(number, None)

    async def new_tab(self, *, background: bool = False) -> Tab:
        """An empty tab, in front unless `background`."""
        target = (await self.call("Target.createTarget", url="about:blank", background=background))[
            "targetId"
        ]
        answer = await self.call("Target.attachToTarget", targetId=target, flatten=True)
        tab = Tab(self, target, answer["sessionId"])
        self._tabs[tab.session] = tab
        await tab.call("Page.enable")
        await tab.call("Runtime.enable")
        return tab

    async def read(self) -> None:
        """Deliver answers and events until the socket closes; `launch` runs this as a task."""
        try:
            async for message in self._socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    self._deliver(json.loads(message.data))
        finally:
            self._closed = BrowserError(f"Chromium left; {self.last_words}")
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(self._closed)

    def _deliver(self, message: Params) -> None:
        if "id" in message:
            future = self._waiting.get(message["id"])
            if future is None or future.done():
                return
            if "error" in message:
                future.set_exception(BrowserError(str(message["error"].get("message"))))
            else:
                future.set_result(message.get("result", {}))
            return
        tab = self._tabs.get(message.get("sessionId", ""))
        for handler in list(tab.handlers[message["method"]]) if tab else ():
            handler(message["params"])


@asynccontextmanager
async def launch(
    *,
    proxy: str | None = None,
    resolve: Mapping[str, str] | None = None,
    extra: Sequence[str] = (),
    executable: str | None = None,
    host: EmulatedHost = HERE,
) -> AsyncIterator[CdpBrowser]:
    """A Chromium with a fresh profile; it and its children are gone when the block is left.

    It runs on `host`, and is told what to do at that host's own loopback.

    Raises BrowserError when there is none or it does not start.
    """
    path = executable or find_chromium()
    if path is None:
        raise BrowserError(
            f"no Chromium here: none of {', '.join(NAMES)}; set CHROMIUM to its path"
        )
    with tempfile.TemporaryDirectory(prefix="bench-chromium-", ignore_cleanup_errors=True) as home:
        root = os.geteuid() == 0
        flags = arguments(profile=home, proxy=proxy, resolve=resolve or {}, root=root)
        process = await asyncio.create_subprocess_exec(
            *bound(*host.command(*as_a_user(path, *flags, *extra, root=root))),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        words: deque[str] = deque(maxlen=40)
        try:
            url = await _devtools_url(process, words)
            # Plain tasks: a group would wrap the caller's own exceptions.
            drain = asyncio.create_task(_drain(process, words))
            async with aiohttp.ClientSession(connector=connector(host)) as http:
                socket = await http.ws_connect(url, max_msg_size=MAX_MESSAGE)
                browser = CdpBrowser(socket, words)
                reader = asyncio.create_task(browser.read())
                try:
                    yield browser
                finally:
                    with contextlib.suppress(BrowserError):
                        await browser.call("Browser.close")
                    await socket.close()
                    drain.cancel()
                    await asyncio.wait((reader, drain))
        finally:
            await _end(process)


async def _devtools_url(process: asyncio.subprocess.Process, words: deque[str]) -> str:
    assert process.stderr is not None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_TIMEOUT):
            while line := await process.stderr.readline():
                text = line.decode(errors="replace").rstrip()
                if match := _LISTENING.search(text):
                    return match.group(1)
                if "dbus/" not in text:
                    words.append(text)
    raise BrowserError("Chromium did not start: " + "\n".join(words))


async def _drain(process: asyncio.subprocess.Process, words: deque[str]) -> None:
    """Keep the pipe empty: a full one would stop Chromium."""
    assert process.stderr is not None
    while chunk := await process.stderr.read(65536):
        # A machine without D-Bus makes Chromium say so dozens of times.
        lines = chunk.decode(errors="replace").splitlines()
        words.extend(line for line in lines if "dbus/" not in line)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let Chromium leave by itself, then end its process group, renderers and all."""
    ended = asyncio.ensure_future(process.wait())
    await asyncio.wait([ended], timeout=3)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await ended
