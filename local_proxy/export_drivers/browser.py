"""The browser's export driver: pictures coarse at once, then finer in place, unseen by the page.

Three ways, one interface (HATS, section 2; ARCHITECTURE, browsers): *swap* answers with a coarse
picture and lets the driver script in the page show finer ones by a style rule; *multipart* sends
each level as a part of one response; *stream* leaves one progressive response open. Must not know:
sockets, HTTP versions, the slow link.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from importlib import resources
from typing import Final

import msgspec

from local_proxy.components import Component, ComponentFailed, Head
from local_proxy.csp import DRIVER_PATH, MetaPolicies, adjust_headers
from local_proxy.error_page import error_page
from local_proxy.export_drivers import pictures
from local_proxy.export_drivers.level_files import Decode, LevelFiles, NoFile
from local_proxy.export_drivers.page import AGAIN, Page, Step
from local_proxy.http import Handler, Headers, Request, Response, header
from local_proxy.injection import Injector, injectable, script_tag
from local_proxy.promises import directives
from local_proxy.tracking_drivers.browser import MAX_BEACON, Tracker, parse_beacon, report
from wire.skeleton import Level, Use

PATH: Final = "/.well-known/sluice/"
_LEVEL: Final = re.compile(r"[?&]sluice-level=([\w-]{1,64})\.(\d{1,12})\.(\w{1,16})$")
_WAIT_DRIVER: Final = 0.3
"""Seconds for which a coarse picture waits for the page to fetch its driver."""
_KEEPALIVE: Final = 25.0
"""Seconds of silence on an event channel before a comment is sent."""
_IDLE: Final = 2.0
"""Seconds without anything to tell after which a channel ends until another picture is loaded. It
is one of a browser's six connections; and Firefox keeps no page for "back" that has one open."""
_CHANNELS: Final = 2
"""Event channels held open for one origin: a browser has six HTTP/1.1 connections a host, for all
its windows and frames together. Further drivers get the state and come again."""
_DONE: Final = b"event: done\ndata: 0\n\n"
_RETRY_MS: Final = 400
"""How soon these come again."""
_GRACE: Final = 60.0
"""Seconds for which a final level can be asked again after it was served."""
_OPEN_PARTS: Final = 128
"""Multipart responses held open for one origin; further pictures are swapped. Half of the streams
that a browser may have on its connection there, so that all else is asked for at once."""
_FORGET: Final = 600.0
"""Seconds for which a left page is remembered: as long as Chromium may bring it back."""
_LEFT_PAGES: Final = 64
"""Left pages remembered at most."""


@dataclass(frozen=True, slots=True)
class ExportStatistics:
    """An immutable snapshot; counts since the start unless said otherwise."""

    pages: int
    """Pages remembered now, left ones included."""
    drivers: int
    """Pages of these that have fetched their driver."""
    coarse: int
    """Pictures now shown coarser than they will be."""
    channels: int
    """Event channels open now."""
    swapped: int
    multipart: int
    streamed: int
    whole: int
    """Pictures answered each way."""
    levels_served: int
    fetched_again: int
    beacons: int
    bad_beacons: int
    decoded: int
    undecoded: int
    """Levels whose coding on the link was undone, and was not for all trying."""


class BrowserExport:
    """One for a local proxy: all its pages in all browsers."""

    def __init__(
        self,
        *,
        now: Callable[[], float],
        tracker: Tracker,
        fetch: Handler,
        secret: bytes | None = None,
        multipart: bool | None = None,
        swap: bool = True,
        decode: Decode | None = None,
    ) -> None:
        """`now`: seconds, monotonic. `fetch`: asks the core for a picture once more, whole.

        `secret`: makes the driver's address for a page; keep it, and pages that a browser cached
        before a restart find their driver again. `multipart`: for all clients or for none; None:
        for those that _best_as_multipart knows to take it well. `swap`: else a page's script may
        show finer levels; without it each picture is one response, as it comes.
        `decode`: undoes the coding of pictures that have one.
        """
        self._now = now
        self._tracker = tracker
        self._fetch = fetch
        self._secret = secret or secrets.token_bytes(32)
        self._multipart = multipart
        self._swap = swap
        self._files = LevelFiles(decode)
        self._pages: dict[int, Page] = {}
        self._by_key: dict[str, Page] = {}
        self._by_ticket: dict[str, list[Page]] = {}
        self._channels: Counter[str] = Counter()
        self._open_parts: Counter[str] = Counter()
        """Multipart responses that are open, by origin."""
        self._counts: Counter[str] = Counter()
        driver = resources.files(__package__).joinpath("driver.js")
        self._driver_text = driver.read_text("utf-8")

    def __repr__(self) -> str:
        return f"<BrowserExport {len(self._pages)} pages>"

    def statistics(self) -> ExportStatistics:
        pages = self._pages.values()
        counted = ("swapped", "multipart", "streamed", "whole", "levels_served", "fetched_again")
        counts = [self._counts[name] for name in (*counted, "beacons", "bad_beacons")]
        counts += self._files.decoded, self._files.failed
        return ExportStatistics(
            len(pages),
            sum(page.alive.is_set() for page in pages),
            sum(not p.final() for page in pages for p in page.pictures.values()),
            self._channels.total(),
            *counts,
        )

    # -- documents ---------------------------------------------------------------------------

    def open_document(self, document: int, url: str) -> None:
        """A browser asks for this page: remember what becomes of it."""
        self._sweep()
        if document in self._pages:
            return
        page = Page(document, url.partition("#")[0], key=secrets.token_urlsafe(12))
        self._pages[document] = page
        self._by_key[page.key] = page
        self._by_ticket.setdefault(self._ticket(page.url), []).append(page)

    def close_document(self, document: int) -> None:
        """The page was left; a browser may still bring it back from its back/forward cache."""
        page = self._pages.get(document)
        if page is not None:
            page.closed_at = self._now()
        self._sweep()

    def document_response(self, document: int, response: Response) -> Response:
        """The page's response with the driver in it, where that can be."""
        page = self._pages.get(document)
        if page is None or not _may_carry_driver(response):
            return response
        adjusted = adjust_headers(response.headers, origin=page.origin)
        if adjusted is None:
            return response
        headers, nonce = _rewritten(adjusted[0]), adjusted[1]
        page.injected = True
        if response.status == 304:  # what the browser holds has the tag, its fields are renewed
            return replace(response, headers=headers)
        tag = script_tag(f"{DRIVER_PATH}?d={self._ticket(page.url)}", nonce=nonce)
        if isinstance(response.body, bytes):
            injector, metas = Injector(tag), MetaPolicies(origin=page.origin)
            metas.feed(response.body)
            page.shut = metas.shut
            body = injector.feed(response.body) + injector.end()
            return replace(response, headers=headers, body=body, length=None, trailers=None)
        body_as_it_comes = _with_driver(page, tag, response.body)
        return replace(response, headers=headers, body=body_as_it_comes, length=None, trailers=None)

    def _ticket(self, url: str) -> str:
        """The same for the same page, so that a cached page's tag stays good; unguessable."""
        return hmac.new(self._secret, url.encode(), "sha256").hexdigest()[:24]

    def _sweep(self) -> None:
        """Forget pages left long ago, and pictures whose last level was served long ago."""
        now = self._now()
        left = [page for page in self._pages.values() if page.closed_at is not None]
        left.sort(key=lambda page: page.closed_at or 0.0)
        surplus = max(0, len(left) - _LEFT_PAGES)
        for index, page in enumerate(left):
            if index < surplus or now - (page.closed_at or 0.0) > _FORGET:
                self._drop(page)
        for page in self._pages.values():
            for number, picture in list(page.pictures.items()):
                if picture.served_at is not None and now - picture.served_at > _GRACE:
                    page.forget(number)

    def _drop(self, page: Page) -> None:
        page.forget_all()
        del self._pages[page.document], self._by_key[page.key]
        ticket = self._ticket(page.url)
        self._by_ticket[ticket].remove(page)
        if not self._by_ticket[ticket]:
            del self._by_ticket[ticket]

    # -- pictures ----------------------------------------------------------------------------

    async def picture(self, component: Component, request: Request) -> Response:
        """The answer to a browser's request for a picture, in the best way there is."""
        try:
            head = await component.wait_head()
            await component.wait(
                lambda: bool(component.levels or component.received) or component.complete
            )
            return await self._picture(component, head, request)
        except NoFile:
            return await self._again(request, request.url)
        except ComponentFailed as failed:
            return error_page(failed.status, failed.reason, retry=failed.retry)

    async def _picture(self, component: Component, head: Head, request: Request) -> Response:
        """Raises NoFile where only fetching anew can help."""
        if _finished(component):
            return await self._whole(component, head)
        page = self._pages.get(component.document)
        if not _takes_levels(component, head, request):
            return self._stream(component, head, request)
        multipart = self._as_multipart(request)
        swap = self._can_swap(page, component)
        if not swap and not multipart:
            return self._stream(component, head, request)
        await component.wait_level(component.levels[0].name)
        if _finished(component):
            return await self._whole(component, head)
        if multipart:
            first = await self._files.best(component)
            return self._multipart_response(component, head, first, request)
        if page is None or not await self._driver_there(page):
            return self._stream(component, head, request)
        level, file = await self._files.best(component)
        if level == component.levels[-1]:
            return await self._whole(component, head)
        self._counts["swapped"] += 1
        page.remember(component, level)
        return pictures.coarse(head, level, file)

    def _as_multipart(self, request: Request) -> bool:
        if self._multipart is not None:
            return self._multipart
        return _best_as_multipart(request) and self._open_parts[_origin(request)] < _OPEN_PARTS

    def _multipart_response(
        self, component: Component, head: Head, first: tuple[Level, bytes], request: Request
    ) -> Response:
        self._counts["multipart"] += 1
        origin = _origin(request)
        self._open_parts[origin] += 1

        def over(_whole: bool) -> None:
            self._open_parts[origin] -= 1
            if not self._open_parts[origin]:
                del self._open_parts[origin]

        file_of, anew = self._files.file, self._anew(request)
        response = pictures.multipart(component, head, first, file_of, anew)
        response.on_done.append(over)
        return response

    def _can_swap(self, page: Page | None, component: Component) -> bool:
        if page is None or component.use is not Use.ELEMENT or page.shut or not self._swap:
            return False
        return page.injected and (page.alive.is_set() or not page.given_up)

    async def _driver_there(self, page: Page) -> bool:
        """Whether the page's script runs; a page without scripts is waited for once."""
        if not page.alive.is_set() and not page.given_up:
            try:
                await asyncio.wait_for(page.alive.wait(), _WAIT_DRIVER)
            except TimeoutError:
                page.given_up = True
        return page.alive.is_set()

    async def _whole(self, component: Component, head: Head) -> Response:
        """Raises NoFile."""
        final = pictures.final_level(component)
        file = await self._files.file(component, final) if final is not None else b""
        self._counts["whole"] += 1
        if final is None:
            return pictures.bare(component, head)
        return pictures.whole_now(head, final, file)

    def _stream(self, component: Component, head: Head, request: Request) -> Response:
        self._counts["streamed"] += 1
        if component.coding:
            file_of, anew = self._files.file, self._anew(request)
            return pictures.whole_level_by_level(component, head, file_of, anew)
        return pictures.whole_as_it_comes(component, head)

    def _anew(self, request: Request) -> pictures.Anew:
        """How to have a picture whose last level can't be decoded."""

        async def anew() -> bytes:
            return await pictures.body_of(await self._again(request, request.url))

        return anew

    # -- our own addresses -------------------------------------------------------------------

    async def own(self, request: Request) -> Response | None:
        """The answer to what our driver asks, on whatever host; None: it isn't ours."""
        match = _LEVEL.search(request.url)
        if match:
            plain = request.url[: match.start()]
            return await self._level(request, plain, match[1], int(match[2]), match[3])
        origin, path, query = _split(request.url)
        if not path.startswith(PATH):
            return None
        name, _, value = query.partition("=")
        if path == DRIVER_PATH and request.method == "GET" and name == "d":
            return self._driver(origin, value)
        page = self._by_key.get(value) if name == "d" else None
        if page is None or page.origin != origin:
            return error_page(404, "No page that is open asks this.")
        if path == PATH + "events" and request.method == "GET":
            return self._channel(page)
        if path == PATH + "beacon" and request.method == "POST":
            return await self._beacon(page, request)
        return error_page(404, "There is nothing at this address.")

    def _driver(self, origin: str, ticket: str) -> Response:
        """The driver for the newest page of this address that has none yet."""
        pages = [page for page in self._by_ticket.get(ticket, []) if page.origin == origin]
        free = [page for page in pages if not page.claimed] or pages
        text = "document.currentScript.remove();"
        if free:
            page = free[-1]
            page.claimed, page.injected, page.closed_at = True, True, None
            # Who fetches the script runs it. To wait for its first report would be wrong: that may
            # need a connection which pictures that wait for the driver hold.
            page.alive.set()
            text = self._driver_text.replace("@KEY@", page.key)
        headers = [("content-type", "text/javascript; charset=utf-8"), *_PRIVATE]
        return Response(200, headers, text.encode())

    async def _level(
        self, request: Request, plain: str, key: str, number: int, name: str
    ) -> Response:
        page = self._by_key.get(key)
        picture = page.pictures.get(number) if page is not None else None
        if page is None or picture is None or picture.component.url != plain or name == AGAIN:
            return await self._again(request, plain, known=page is not None)
        component = picture.component
        level = component.level(name)
        if level is None or level.end > component.received or component.head is None:
            return await self._again(request, plain)
        final = level == component.levels[-1]
        try:
            file = await self._files.file(component, level)
        except NoFile as error:
            if final:
                return await self._again(request, plain)
            return error_page(503, f"A finer level will come: {error}")
        self._counts["levels_served"] += 1
        if final:
            picture.served_at = self._now()
        return pictures.finer(component.head, level, file)

    async def _again(self, request: Request, plain: str, *, known: bool = True) -> Response:
        """Fetch a picture whole whose component is gone: better late than coarse for ever.

        `known`: a driver of ours asks, which overrules a site's switch.
        """
        self._counts["fetched_again"] += 1
        headers = [(n, v) for n, v in request.headers if n != "sec-fetch-dest"]
        # As a script's fetch: such requests never get levels.
        fields = [*headers, ("sec-fetch-dest", "empty")]
        whole = Request(request.method, plain, fields, original=known)
        return await self._fetch(whole)

    async def _beacon(self, page: Page, request: Request) -> Response:
        body = bytearray()
        if request.body is not None:
            async for chunk in request.body:
                body += chunk
                if len(body) > MAX_BEACON:
                    break
        beacon = parse_beacon(bytes(body))
        if beacon is None:
            self._counts["bad_beacons"] += 1
            return error_page(400, "This is not a beacon of the driver.")
        self._counts["beacons"] += 1
        if not beacon.c:
            page.closed_at = None
        if beacon.o and not self._tracker.original(page.document, beacon.o):
            page.want(beacon.o)
        report(beacon, document=page.document, tracker=self._tracker)
        return Response(204, [("cache-control", "no-store")])

    def _channel(self, page: Page) -> Response:
        page.closed_at = None
        headers = [("content-type", "text/event-stream"), *_PRIVATE]
        return Response(200, headers, self._events(page))

    async def _events(self, page: Page) -> AsyncIterator[bytes]:
        """All that a driver should know, then what is new, while the channel is the page's."""
        channel = page.channel = object()
        told: dict[int, int] = {}
        yield f"retry: {_RETRY_MS}\n\n".encode()
        if self._channels[page.origin] >= _CHANNELS:
            yield _encoded(page.steps(told))
            if not page.pending():
                yield _DONE
            return
        self._channels[page.origin] += 1
        try:
            while page.channel is channel:
                page.changed.clear()
                if steps := page.steps(told):
                    yield _encoded(steps)
                    continue
                try:
                    patience = _KEEPALIVE if page.pending() else _IDLE
                    await asyncio.wait_for(page.changed.wait(), patience)
                except TimeoutError:
                    if not page.pending():
                        yield _DONE
                        return
                    yield b":\n\n"
        finally:
            self._channels[page.origin] -= 1


_PRIVATE: Final = (("cache-control", "no-store"), ("cross-origin-resource-policy", "same-origin"))
_TOUCHED: Final = frozenset(
    ("content-length", "accept-ranges", "content-md5", "digest", "repr-digest", "content-digest")
)


def _encoded(steps: list[Step]) -> bytes:
    """Events of an event stream (HTML standard, 9.2), one a picture."""
    return b"".join(
        b"data: "
        + msgspec.json.encode({"u": step.url, "c": step.component, "l": step.level})
        + b"\n\n"
        for step in steps
    )


def _finished(component: Component) -> bool:
    final = pictures.final_level(component)
    return component.complete if final is None else final.end <= component.received


def _takes_levels(component: Component, head: Head, request: Request) -> bool:
    """Whether a coarse picture may answer: scripts and downloads get the file they asked for."""
    return (
        len(component.levels) > 1
        and head.status == 200
        and request.method == "GET"
        and header(request.headers, "accept").lower().startswith("image/")
        and header(request.headers, "sec-fetch-dest", "image") == "image"
        and not header(request.headers, "range")
    )


def _best_as_multipart(request: Request) -> bool:
    """Chromium, inside TLS, over HTTP/2: elsewhere swap does better.

    Over HTTP/1.1 each open response holds one of six connections. For http pages Chromium asks six
    pictures of a host at a time even when its proxy speaks HTTP/2, so that the seventh and with it
    `load` would wait for the first to be fine. Firefox locks a URL while its response is open.
    """
    return (
        request.multiplexed
        and request.url.startswith("https:")
        and "Chrome/" in header(request.headers, "user-agent")
    )


def _may_carry_driver(response: Response) -> bool:
    headers = response.headers
    if "no-transform" in directives(headers):  # RFC 9111, 5.2.2.6
        return False
    if response.status == 304:
        return injectable(header(headers, "content-type", "text/html"))
    return (
        response.status not in (204, 206)
        and injectable(header(headers, "content-type"))
        and header(headers, "content-encoding", "identity") == "identity"
        and not header(headers, "content-disposition").lower().startswith("attachment")
    )


def _rewritten(headers: Headers) -> Headers:
    """Fields of a body that gains our tag: the same page to a person, not the same bytes."""
    kept = [(name, value) for name, value in headers if name not in _TOUCHED]
    return [(n, f"W/{v}" if n == "etag" and not v.startswith("W/") else v) for n, v in kept]


async def _with_driver(page: Page, tag: bytes, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    injector, metas = Injector(tag), MetaPolicies(origin=page.origin)
    async for chunk in body:
        metas.feed(chunk)
        page.shut = metas.shut
        if data := injector.feed(chunk):
            yield data
    if data := injector.end():
        yield data


def _origin(request: Request) -> str:
    return _split(request.url)[0]


def _split(url: str) -> tuple[str, str, str]:
    """Origin, path and query of an absolute URL."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    path, _, query = (slash + path).partition("?")
    return f"{scheme}://{authority}", path, query
