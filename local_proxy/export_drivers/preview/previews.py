"""The previews of one local proxy: who may have one, and what their windows ask for.

A preview's page comes in the place of the file, at its address, as a document of an origin of its
own (CSP, sandbox): no script of the site can reach it, and it has none of the site's cookies.
What it asks for is below PATH on the same host, and behind a key that only it knows.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import parse_qs, quote

import msgspec
import structlog

from local_proxy.documents.incoming_document import IncomingDocument
from local_proxy.documents.packages import Answer, Packages
from local_proxy.export_drivers.markup.csp import CHANNEL_PATH
from local_proxy.export_drivers.preview.eligible_requests import may_be_previewed
from local_proxy.export_drivers.preview.page import page, policy
from local_proxy.export_drivers.preview.window import Showing
from local_proxy.http.error_page import error_page
from local_proxy.http.model import Handler, Request, Response, split_url
from local_proxy.link.components import Component, ComponentFailed
from local_proxy.link.resumption import LOST
from malformed import MALFORMED
from wire.abilities import Takes
from wire.fields import Headers

PATH: Final = CHANNEL_PATH + "preview/"
FIRST: Final = 30.0
"""Seconds for a window to ask for its channel."""
GRACE: Final = 5.0
"""Seconds after the last reader has left, in which a window whose channel broke comes again."""
MAX_BODY: Final = 8_192
_ASKED: Final = re.compile(re.escape(PATH) + r"([\w-]{32})/(events|picture|file|focus)")
_OPEN_ORIGIN: Final[Headers] = [
    ("cache-control", "no-store"),
    ("access-control-allow-origin", "*"),
    ("x-content-type-options", "nosniff"),
]
"""The page has an origin like no other; who knows its key may read what it reads."""
_SIGNATURES: Final = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)

_log = structlog.get_logger("sluice.local")


class NoPreview(Exception):
    """A document comes in parts, but can't be shown or kept here."""


class _Look(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a window says that a person sees."""

    p: int
    m: list[int] = []


@dataclass(eq=False)
class _Window:
    """A preview that somebody has, or had a moment ago."""

    key: str
    number: int
    request: Request
    headers: Headers
    """Of the origin's response, as far as they are known."""
    component: Component
    showing: Showing
    readers: int = 0
    ending: asyncio.TimerHandle | None = field(default=None, repr=False)


class Previews:
    """One for a local proxy."""

    def __init__(
        self,
        packages: Packages,
        *,
        fetch: Handler,
        close_document: Callable[[int], None],
        launch: str,
    ) -> None:
        """`fetch`: asks the core for a file, whole. `close_document`: a window is gone.

        `launch`: where a document can be opened in an office program, before its key.
        """
        self._packages = packages
        self._fetch = fetch
        self._close_document = close_document
        self._launch = launch
        self._answers: dict[int, Answer] = {}
        self._windows: dict[str, _Window] = {}

    def __len__(self) -> int:
        return len(self._windows)

    @property
    def showings(self) -> list[Showing]:
        """What windows show now."""
        return [window.showing for window in self._windows.values()]

    # -- the page ----------------------------------------------------------------------------------

    def in_parts(self, request: Request) -> Request | None:
        """The request for a document in parts; None: this one may not come so."""
        if not may_be_previewed(request) or self._packages.full:
            return None
        return replace(request, takes=request.takes | self._packages.takes | Takes.INLINE)

    def expect(self, component: Component) -> None:
        """It is about to be asked for."""
        self._answers[component.id] = Answer(component)

    def forget(self, component: Component) -> None:
        """It was answered."""
        self._answers.pop(component.id, None)

    async def response(self, request: Request, component: Component) -> Response | None:
        """The page of a document that comes in parts; None: it is none.

        After the component's head has come. Raises NoPreview where the file has to be asked for
        once more, ComponentFailed without a link.
        """
        answer = self._answers.pop(component.id, None)
        if answer is None or not answer.in_parts:
            return None
        assert component.head is not None
        try:
            number, incoming = await self._packages.take(answer, request.headers)
        except ComponentFailed as failure:
            if failure.reason == LOST:
                raise
            _log.info("no preview", url=request.url, why=failure.reason)
            raise NoPreview from failure
        except asyncio.CancelledError:
            self._close_document(component.id)  # its parts would come for nobody
            raise
        window = _Window(
            secrets.token_urlsafe(24),
            number,
            request,
            component.head.headers,
            component,
            Showing(incoming, now=asyncio.get_running_loop().time),
        )
        self._windows[window.key] = window
        self._end_later(window, FIRST)
        incoming.focus(1)
        nonce = secrets.token_urlsafe(16)
        origin, _, _ = split_url(request.url)
        body = page(
            incoming,
            base=f"{PATH}{window.key}/",
            launch=self._launch + window.key if self._is_here(request) else "",
            nonce=nonce,
        )
        headers: Headers = [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "no-store"),
            ("content-security-policy", policy(origin, f"{PATH}{window.key}/", nonce)),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
        ]
        response = Response(200, headers, body.encode())
        response.on_done.append(lambda whole: None if whole else self._end(window))
        return response

    def address(self, key: str) -> tuple[str, str] | None:
        """Address and name of the document of a window that is open; None: there is none."""
        window = self._windows.get(key)
        if window is None:
            return None
        return window.request.url, window.showing.incoming.name

    @staticmethod
    def _is_here(request: Request) -> bool:
        """Whether the window is on this device."""
        return request.reached is not None and request.reached[0] in ("127.0.0.1", "::1")

    # -- what the page asks for --------------------------------------------------------------------

    async def own(self, request: Request) -> Response | None:
        """The answer to what a preview's page asks; None: it is no such request."""
        origin, path, query = split_url(request.url)
        if not path.startswith(PATH):
            return None
        asked = _ASKED.fullmatch(path)
        window = self._windows.get(asked[1]) if asked else None
        if asked is None or window is None or split_url(window.request.url)[0] != origin:
            return error_page(404, "This preview is closed. Open the document's address again.")
        if asked[2] == "focus" and request.method == "POST":
            return await self._focus(window, request)
        if request.method != "GET":
            return error_page(405, "This can only be read.")
        match asked[2]:
            case "events":
                return self._events(window)
            case "picture":
                return await self._picture(window, query)
            case "file":
                return await self._file(window)
        return error_page(405, "This is for the preview itself.")

    def _events(self, window: _Window) -> Response:
        headers = [("content-type", "text/event-stream"), *_OPEN_ORIGIN]
        response = Response(200, headers, _encoded(window.showing))
        return self._read(window, response)

    async def _picture(self, window: _Window, query: str) -> Response:
        fields = parse_qs(query)
        number, level = fields.get("m", [""])[0], fields.get("l", [""])[0]
        data = None
        if number.isascii() and number.isdecimal() and len(number) < 8:
            data = await window.showing.picture(int(number), level)
        if data is None:
            return error_page(404, "This picture is not here.")
        headers: Headers = [
            ("content-type", _type_of(data)),
            ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
            *_OPEN_ORIGIN,
        ]
        return Response(200, headers, data)

    async def _file(self, window: _Window) -> Response:
        """The file that the origin has, as if there were no preview."""
        incoming = window.showing.incoming
        if incoming.failure:
            self._close_document(incoming.document)  # the rest need not come beside it
            asked = window.request
            again = Request("GET", asked.url, asked.headers, original=True, reached=asked.reached)
            response = await self._fetch(again)
            response.headers = _put_away(response.headers, incoming)
            return self._read(window, response)
        headers = _put_away(window.headers, incoming)
        response = Response(200, headers, window.showing.file(), incoming.length)
        return self._read(window, response)

    async def _focus(self, window: _Window, request: Request) -> Response:
        body = bytearray()
        if request.body is not None:
            async for chunk in request.body:
                body += chunk
                if len(body) > MAX_BODY:
                    return error_page(413, "This is too long.")
        try:
            look = msgspec.json.decode(bytes(body), type=_Look)
        except MALFORMED:
            return error_page(400, "This says of no page that it is seen.")
        window.showing.focus(look.p, look.m)
        return Response(204, [("cache-control", "no-store")])

    # -- how long it lives -------------------------------------------------------------------------

    def _read(self, window: _Window, response: Response) -> Response:
        """As long as the response is read the window is open."""
        window.readers += 1
        if window.ending is not None:
            window.ending.cancel()
            window.ending = None

        def over(_: bool) -> None:
            window.readers -= 1
            if not window.readers and window.key in self._windows:
                self._end_later(window, GRACE)

        response.on_done.append(over)
        return response

    def _end_later(self, window: _Window, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        window.ending = loop.call_later(seconds, self._end, window)

    def _end(self, window: _Window) -> None:
        if window.ending is not None:
            window.ending.cancel()
        if self._windows.pop(window.key, None) is not None:
            self._packages.close(window.number, taken=window.component.id)
            self._close_document(window.component.id)

    def close(self) -> None:
        """The proxy ends."""
        for window in list(self._windows.values()):
            if window.ending is not None:
                window.ending.cancel()
        self._windows.clear()


async def _encoded(showing: Showing) -> AsyncIterator[bytes]:
    """An event stream (HTML standard, 9.2) whose channel stays open: its end is the window's."""
    yield b"retry: 1000\n\n"
    async for events in showing.news():
        for event in events:
            yield b"data: " + msgspec.json.encode(event) + b"\n\n"
    while True:
        await asyncio.sleep(GRACE)
        yield b":\n\n"


def _put_away(headers: Headers, incoming: IncomingDocument) -> Headers:
    """The origin's fields, and that a browser keeps the file under its name (RFC 6266)."""
    kept = [(n, v) for n, v in headers if n in ("content-type", "etag", "last-modified")]
    name = f"attachment; filename*=UTF-8''{quote(incoming.name, safe='')}"
    return [
        *kept,
        ("content-disposition", name),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    ]


def _type_of(data: bytes) -> str:
    """By its first bytes; of the rest browsers show only drawings."""
    for signature, found in _SIGNATURES:
        if data.startswith(signature):
            return found
    return "image/webp" if data[8:12] == b"WEBP" else "image/svg+xml"
