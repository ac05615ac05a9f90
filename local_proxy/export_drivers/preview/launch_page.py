"""A document that a browser previews, opened in an office program of this device.

The power to start a program never lies in a page at a site's address: what is there the site's
scripts can come to read (a service worker sees its navigations; for http pages nothing tells a
window from a script). So the preview only links to a page of the proxy's own host, which no other
page can read, frame or press; its button carries a secret that is good once, and only browsers on
this device are heard.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import structlog

from local_proxy.http.model import Request, Response
from web.templates import template
from wire.fields import Headers, header

PATH: Final = "/documents/open/"
MAX_BODY: Final = 512
MAX_SECRETS: Final = 64
MAX_RUNNING: Final = 8
MAX_LINES: Final = 20
"""Of what a program says that are kept."""
REFRESH: Final = 2
"""Seconds between two looks at a program that runs."""
_COMMAND: Final = Path(__file__).resolve().parents[3] / "sluice.py"
"""The program that this is a part of, whatever else is installed."""
_LOOPBACK: Final = ("127.0.0.1", "::1")
_HEADERS: Final[Headers] = [
    ("content-type", "text/html; charset=utf-8"),
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
     "form-action 'self'; frame-ancestors 'none'"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "same-origin"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
]  # fmt: skip
_QUESTION: Final = template(__package__, "launch_question.html")
_STATE: Final = template(__package__, "launch_state.html")
_REFUSAL: Final = template(__package__, "launch_refusal.html")
_log = structlog.get_logger("sluice.local")

Start = Callable[[str], Awaitable[asyncio.subprocess.Process]]
Find = Callable[[str], tuple[str, str] | None]


async def open_document(url: str, *, proxy: str) -> asyncio.subprocess.Process:
    """Start the office program for the document there. Raises OSError.

    `proxy`: host:port of the local proxy that fetches it.
    """
    downloads = Path.home() / "Downloads"
    return await asyncio.create_subprocess_exec(
        *(sys.executable, str(_COMMAND), "open", "--proxy", proxy, "--", url),
        cwd=downloads if downloads.is_dir() else None,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


class StartedProgram:
    """A program that was started."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: deque[str] = deque(maxlen=MAX_LINES)
        self.code: int | None = None
        self.task = asyncio.ensure_future(self._follow())

    def end(self) -> None:
        """The program ends, even where nobody has begun to follow it."""
        if self._process.returncode is None:
            self._process.terminate()
        self.task.cancel()

    async def _follow(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.read(4096):
                self.lines += line.decode("utf-8", "replace").splitlines()
            self.code = await self._process.wait()
        except asyncio.CancelledError:
            if self._process.returncode is None:
                self._process.terminate()
                await self._process.wait()
            raise


class Launching:
    """Answers at PATH of the proxy's own host."""

    def __init__(self, find: Find, start: Start) -> None:
        """`find`: address and name of a previewed document by its key."""
        self._find = find
        self.start = start
        """Starts the program for an address."""
        self._secrets: dict[str, str] = {}
        """Those of pages that can still be pressed, by the document's key."""
        self.running: dict[str, StartedProgram] = {}
        """By the documents' keys."""

    async def handle(self, request: Request) -> Response:
        """Answers the request. Never raises."""
        if request.reached is None or request.reached[0] not in _LOOPBACK:
            return _said(403, "Only a browser on this device can start programs here.")
        key = urlsplit(request.url).path.removeprefix(PATH)
        found = self._find(key)
        run = self.running.get(key)
        if run is not None and (request.method == "GET" or run.code is None):
            return _state(run)
        if found is None:
            return _said(404, "This preview is closed. Open the document's address again.")
        if request.method == "GET":
            return self._question(key, *found)
        if request.method != "POST" or not self._is_pressed(key, request, await _body(request)):
            return _said(403, "Only the button of this page can do that; load it again.")
        return await self._open(key, found[0])

    def close(self) -> None:
        """The proxy ends, and what it started with it."""
        for run in self.running.values():
            run.end()

    def _question(self, key: str, url: str, name: str) -> Response:
        secret = secrets.token_urlsafe(24)
        self._secrets[key] = secret
        while len(self._secrets) > MAX_SECRETS:
            del self._secrets[next(iter(self._secrets))]
        host = urlsplit(url).netloc
        return _page(200, _QUESTION.render(name=name, host=host, secret=secret))

    def _is_pressed(self, key: str, request: Request, body: bytes) -> bool:
        parts = urlsplit(request.url)
        own = f"{parts.scheme}://{parts.netloc}"
        secret = self._secrets.get(key, "")
        given = parse_qs(body.decode("ascii", "replace")).get("secret", [""])[0]
        pressed = (
            bool(secret)
            and header(request.headers, "sec-fetch-site", "same-origin") == "same-origin"
            and header(request.headers, "origin") == own
            and hmac.compare_digest(given.encode(), secret.encode())
        )
        if pressed:
            del self._secrets[key]
        return pressed

    async def _open(self, key: str, url: str) -> Response:
        self.running = {k: run for k, run in self.running.items() if run.code is None}
        if len(self.running) >= MAX_RUNNING:
            return _said(503, "Too many documents are open; close one of them.")
        try:
            self.running[key] = StartedProgram(await self.start(url))
        except OSError as error:
            _log.warning("no office program could be started", why=str(error))
            return _said(500, f"It could not be started: {error.strerror or error}")
        return Response(303, [("location", PATH + key), ("cache-control", "no-store")])


async def _body(request: Request) -> bytes:
    body = bytearray()
    if request.body is not None:
        async for chunk in request.body:
            body += chunk
            if len(body) > MAX_BODY:
                return b""
    return bytes(body)


def _state(run: StartedProgram) -> Response:
    title = "It is opening" if run.code is None else "It has ended"
    if run.code:
        title = "It could not be opened"
    refresh = REFRESH if run.code is None else None
    return _page(200, _STATE.render(title=title, lines="\n".join(run.lines), refresh=refresh))


def _said(status: int, text: str) -> Response:
    return _page(status, _REFUSAL.render(text=text))


def _page(status: int, text: str) -> Response:
    return Response(status, list(_HEADERS), text.encode())
