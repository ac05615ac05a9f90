"""Serves http://sluice.local/: the live page, its event stream, /status.json and /metrics.

Reads a snapshot when somebody asks, and does nothing while nobody does. The page is three files
without anything from elsewhere, under a content security policy that says so; other sites can
neither read nor frame it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from typing import Final
from urllib.parse import urlsplit

import msgspec
import structlog

from local_proxy.front.owner import Owner
from local_proxy.http.model import Handler, Request, Response
from local_proxy.status.control import CHANGE, READ, ControlPage
from local_proxy.status.metrics import CONTENT_TYPE, exposition
from local_proxy.status.setup import PLACES, Setup
from local_proxy.status.snapshot import HistoryStatus, StatusSnapshot
from wire.fields import Headers

INTERVAL: Final = 0.5
"""Seconds between two events of a stream."""
DOCUMENTS: Final = "/documents"
LAUNCHING: Final = "/documents/open/"
PUBLIC: Final = (*PLACES, "/status.css")
"""What any client may have: how to set itself up, in which nothing is secret."""
_NOT_YOURS: Final = (
    b"This page is for the user who runs this proxy, on the device itself. How to use the proxy: "
    b"/setup.\n"
)
MAX_STREAMS: Final = 16
"""Open pages at a time."""
_OVERLAP: Final = 4
"""Buckets that are sent again, because they may still have been filling."""
_GUARD: Final[Headers] = [
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'none'; script-src 'self'; style-src 'self'; "
     "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
     "frame-ancestors 'none'"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
]  # fmt: skip
_FILES: Final = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/status.css": ("page.css", "text/css; charset=utf-8"),
    "/status.js": ("page.js", "text/javascript; charset=utf-8"),
    "/chart.js": ("chart.js", "text/javascript; charset=utf-8"),
    "/control.js": ("control.js", "text/javascript; charset=utf-8"),
}

_encoder = msgspec.json.Encoder()
_log = structlog.get_logger(__name__)


class StatusPage:
    """Answers every request to the proxy's own host that nobody else does."""

    def __init__(
        self,
        snapshot: Callable[[], StatusSnapshot],
        *,
        setup: Setup | None = None,
        control: ControlPage | None = None,
        documents: Handler | None = None,
        launching: Handler | None = None,
        owner: Owner | None = None,
        interval: float = INTERVAL,
    ) -> None:
        """`snapshot` is called on the event loop and must be quick. `documents` answers POSTs to
        /documents and below it, `launching` what comes to LAUNCHING. `owner`: who alone is shown
        more than PUBLIC; None: nobody else asks."""
        self._owner = owner
        self._snapshot = snapshot
        self._setup = setup or Setup()
        self._control = control
        self._documents = documents
        self._launching = launching
        self._interval = interval
        self._streams = 0

    async def handle(self, request: Request) -> Response:
        """Answers the request. Never raises."""
        path = urlsplit(request.url).path or "/"
        if self._owner is not None and path not in PUBLIC:
            greeting = self._owner.greets(request)
            if greeting is not None:
                return greeting
            if not await self._owner.asks(request):
                return _answer(403, _NOT_YOURS)
        if self._control is not None and request.method == "POST" and path in CHANGE:
            status, body = await self._control.change(request)
            return _answer(status, body, "application/json")
        if self._launching is not None and path.startswith(LAUNCHING):
            return await self._launching(request)
        if self._documents is not None and request.method == "POST" and path.startswith(DOCUMENTS):
            return await self._documents(request)
        if request.method not in ("GET", "HEAD"):
            return _answer(405, b"Only GET and HEAD.\n", extra=[("allow", "GET, HEAD")])
        try:
            if self._control is not None and path in READ:
                response = _answer(200, await self._control.read(request), "application/json")
            else:
                response = self._get(path, request)
        except Exception:  # a fault in the snapshot must not look like a fault of the proxy
            _log.exception("no status")
            response = _answer(500, b"The status could not be put together; the log says why.\n")
        if request.method == "HEAD":
            response.body = b""
        return response

    def _get(self, path: str, request: Request) -> Response:
        if path in _FILES:
            name, content_type = _FILES[path]
            return _answer(200, files(__package__).joinpath(name).read_bytes(), content_type)
        if path == "/status.json":
            return _answer(200, _encoder.encode(self._snapshot()), "application/json")
        if path == "/metrics":
            return _answer(200, exposition(self._snapshot()).encode(), CONTENT_TYPE)
        if path == "/events":
            return self._stream()
        if path in PLACES and (found := self._setup.answer(path, request)) is not None:
            return _answer(200, *found)
        places = ", ".join(("/", "/status.json", "/events", "/metrics", *READ, *PLACES))
        return _answer(404, f"There is nothing here; see {places}.\n".encode())

    def _stream(self) -> Response:
        if self._streams >= MAX_STREAMS:
            text = b"Too many status pages are open.\n"
            return _answer(503, text, extra=[("retry-after", "5")])
        headers = [("content-type", "text/event-stream"), *_GUARD]
        return Response(200, headers, self._events())

    async def _events(self) -> AsyncIterator[bytes]:
        """Everything once, then what is new; for as long as it is read."""
        if self._streams >= MAX_STREAMS:
            return
        self._streams += 1
        try:
            yield b"retry: 2000\n\n"
            known = 0
            while True:
                status = self._snapshot()
                news, known = _since(status, known)
                yield b"event: status\ndata: " + _encoder.encode(news) + b"\n\n"
                await asyncio.sleep(self._interval)
        finally:
            self._streams -= 1


def _since(status: StatusSnapshot, known: int) -> tuple[StatusSnapshot, int]:
    """The snapshot without the buckets before number `known`, and the number to ask for next."""
    history, paths = status.history, status.paths
    after = max(history.first + history.buckets - _OVERLAP, known)
    return msgspec.structs.replace(
        status,
        history=_recent(history, known),
        paths=None if paths is None else _recent(paths, known),
    ), after


def _recent(history: HistoryStatus, known: int) -> HistoryStatus:
    skip = min(max(known - history.first, 0), history.buckets)
    if not skip:
        return history
    return HistoryStatus(
        bucket=history.bucket,
        first=history.first + skip,
        buckets=history.buckets - skip,
        series={number: counts[skip:] for number, counts in history.series.items()},
        labels=history.labels,
    )


def _answer(
    status: int,
    body: bytes,
    content_type: str = "text/plain; charset=utf-8",
    *,
    extra: Headers | None = None,
) -> Response:
    return Response(status, [("content-type", content_type), *_GUARD, *(extra or [])], body)
