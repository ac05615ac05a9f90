"""Answers the driver in a page: itself, its event channel, finer levels; and its beacons.

These requests come to whatever host the page is of. Must not know: how a picture was first
answered, what a beacon is good for.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from importlib import resources
from typing import Final

from local_proxy.export_drivers.browser import browser_copies, left_out, pictures
from local_proxy.export_drivers.browser.asker import shows
from local_proxy.export_drivers.browser.channels import Channels
from local_proxy.export_drivers.browser.engines import stretches
from local_proxy.export_drivers.browser.level_files import LevelFiles, NoFile
from local_proxy.export_drivers.browser.page import AGAIN, BrowserPage
from local_proxy.export_drivers.browser.pages import Pages
from local_proxy.export_drivers.browser.refetch import Refetch
from local_proxy.export_drivers.markup.csp import CHANNEL_PATH, DRIVER_PATH
from local_proxy.http.error_page import error_page
from local_proxy.http.model import Request, Response, split_url
from local_proxy.tracking_drivers.browser import MAX_BEACON, Tracker, parse_beacon, report
from wire.continuation import Window
from wire.fields import header

_LEVEL: Final = re.compile(r"[?&]sluice-level=([\w-]{1,64})\.(\d{1,12})\.(\w{1,16})$")
_PRIVATE: Final = (
    ("cache-control", "no-store"),
    ("cross-origin-resource-policy", "same-origin"),
    ("vary", "*"),  # Cache Storage takes no such answer (Service Workers, Cache.put)
)
_SAID: Final = (("cache-control", "no-store"), ("cross-origin-resource-policy", "cross-origin"))
"""Of an answer in which there is nothing."""
MAX_KEY: Final = 64
"""Bytes of a driver's key and what ends it, in front of what it says."""
_SCRIPT: Final = {
    "sec-fetch-dest": "script",
    "sec-fetch-mode": "no-cors",
    "sec-fetch-site": "same-origin",
}
"""What browsers say of the request of a page's own script element, whose answer nobody can read."""


class DriverRequests:
    """One for a local proxy: the drivers of all its pages."""

    def __init__(
        self,
        *,
        now: Callable[[], float],
        pages: Pages,
        channels: Channels,
        files: LevelFiles,
        refetch: Refetch,
        tracker: Tracker,
        window: Callable[[str, Window], None],
        host: str,
    ) -> None:
        """`now`: seconds, monotonic. `window` is told of a client's window. `host` is the proxy's
        own name: over http a browser has six connections to the page's."""
        self._beacons_to = f"http://{host}{CHANNEL_PATH}beacon"
        self._now = now
        self._pages = pages
        self._channels = channels
        self._files = files
        self._refetch = refetch
        self._tracker = tracker
        self._window = window
        self._driver_text = _script("driver.js")
        for part in ("keeping", "channel", "left_out", "films", "made", "fonts"):
            self._driver_text = self._driver_text.replace(
                f"  // @{part.upper()}@\n", _script(f"{part}.js")
            )
        self.levels_served = self.beacons = self.bad_beacons = self.kept = 0
        """Since the start."""

    def is_beacon(self, request: Request) -> bool:
        """Whether it says something at the proxy's own name."""
        return request.url == self._beacons_to

    async def answer(self, request: Request) -> Response | None:
        """The answer to what our driver asks, on whatever host; None: it isn't ours."""
        mark = browser_copies.mark(request)
        if mark is not None:
            return await self._kept(request, *mark)
        match = _LEVEL.search(request.url)
        if match:
            plain = request.url[: match.start()]
            return await self._level(request, plain, match[1], int(match[2]), match[3])
        origin, path, query = split_url(request.url)
        if not path.startswith(CHANNEL_PATH):
            return None
        if path == DRIVER_PATH and request.method == "GET" and query.startswith("d="):
            return self._driver(request, origin, query[2:])
        if path not in (CHANNEL_PATH + "events", CHANNEL_PATH + "beacon"):
            return _nothing("There is nothing at this address.")
        if request.method != "POST" or request.body is None:
            return _nothing("Only the driver of a page asks this.")
        key, _, said = (await _read(request.body)).partition(b"\n")
        page = self._pages.of_key(key.decode("latin-1"))
        said_origin = header(request.headers, "origin", origin)
        own = self.is_beacon(request)
        if page is None or page.origin != said_origin or not (own or page.origin == origin):
            return _nothing("No page that is open asks this.")
        if path.endswith("events"):
            return self._channel(page)
        answer = self._beacon(page, said, client=header(request.headers, "user-agent"))
        if own:
            answer.headers = [*_SAID]
        return answer

    def _driver(self, request: Request, origin: str, ticket: str) -> Response:
        """The driver, to a page's script element alone: its key is not for the page's scripts."""
        said = {name: header(request.headers, name) for name in _SCRIPT}
        certain = said == _SCRIPT
        page = None
        if certain or not any((*said.values(), header(request.headers, "origin"))):
            page = self._pages.claim(ticket, origin=origin, certain=certain)
        text = "document.currentScript?.remove();"
        if page is not None:
            text = self._driver_text.replace("@KEY@", page.key).replace("@NAME@", page.name)
            text = text.replace("@AT_ONCE_TO@", self._at_once_to(page))
            text = text.replace("@SAVES@", "no" if page.films is None else "yes")
        headers = [("content-type", "text/javascript; charset=utf-8"), *_PRIVATE]
        return Response(200, headers, text.encode())

    def _at_once_to(self, page: BrowserPage) -> str:
        """Where its driver says what can't wait for one of the page's own connections."""
        http = page.origin.startswith("http:") and page.fetches(self._beacons_to)
        return self._beacons_to if http else f"{page.origin}{CHANNEL_PATH}beacon"

    async def _level(
        self, request: Request, plain: str, page_name: str, number: int, name: str
    ) -> Response:
        page = self._pages.of_name(page_name)
        box = left_out.asked(plain, name)
        if box is not None:
            drawn = page is not None and shows(request)
            return box if drawn else _nothing("Only the driver of a page asks this.")
        picture = page.pictures.get(number) if page is not None else None
        if page is None or picture is None or picture.component.url != plain or name == AGAIN:
            return await self._refetch.response(request, plain, known=page is not None)
        if not (shows(request) and picture.asker.may_see(request, own=page.owns(plain))):
            # It is another's request by its fields, and gets what its origin has for these; no
            # service worker may keep it under an address of ours.
            answer = await self._refetch.response(request, plain, known=False)
            answer.headers = [*answer.headers, ("vary", "*")]
            return answer
        component = picture.component
        level = component.level(name)
        if level is None or level.end > component.received or component.head is None:
            return await self._refetch.response(request, plain)
        final = level == component.levels[-1]
        try:
            file = await self._files.file(component, level, small=stretches(request))
        except NoFile as error:
            if final:
                return await self._refetch.response(request, plain)
            return error_page(503, f"A finer level will come: {error}")
        if component.levels.index(level) <= picture.delivered:
            return pictures.once_more(component.head, level, file)
        self.levels_served += 1
        if final:
            picture.served_at = self._now()
        readable = picture.asker.origin == page.origin
        return pictures.finer(component.head, level, file, readable=readable)

    async def _kept(self, request: Request, key: str, number: int) -> Response:
        """The picture as its origin has it, for the browser to keep; never by way of the link."""
        page = self._pages.of_key(key)
        picture = page.pictures.get(number) if page is not None else None
        if page is None or picture is None or picture.component.url != request.url:
            return browser_copies.nothing(request)
        if picture.keep is None:
            return browser_copies.nothing(request)
        component = picture.component
        if not component.restorable or component.head is None:
            return browser_copies.nothing(request)
        varies = "cookie" in header(component.head.headers, "vary").lower()
        if not picture.asker.may_keep(request, own=page.owns(request.url), varies=varies):
            return browser_copies.nothing(request)
        picture.keep = None
        try:
            original = await self._files.original(component)
        except NoFile:
            return browser_copies.nothing(request)
        self.kept += 1
        return pictures.to_keep(component.head, original)

    def _beacon(self, page: BrowserPage, said: bytes, *, client: str) -> Response:
        beacon = parse_beacon(said)
        if beacon is None:
            self.bad_beacons += 1
            return error_page(400, "This is not a beacon of the driver.")
        self.beacons += 1
        if not beacon.c:
            page.closed_at = None
        if beacon.o and not self._tracker.original(page.document, beacon.o):
            page.want(beacon.o)
        if beacon.n:
            page.standing.say(beacon.n, now=self._now())
        if beacon.w is not None and all(beacon.w):
            self._window(client, Window(*beacon.w))
        report(beacon, document=page.document, tracker=self._tracker)
        films, comes = page.films, False
        if films is not None and beacon.x is not None:
            comes = films.tap(beacon.x, now=self._now())
        return Response(202 if comes else 204, list(_PRIVATE))

    def _channel(self, page: BrowserPage) -> Response:
        page.closed_at = None
        headers = [("content-type", "text/event-stream"), *_PRIVATE]
        return Response(200, headers, self._channels.events(page))


def _script(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _nothing(reason: str) -> Response:
    """For who is not, or not any more, a page's driver. Cache Storage does not take it."""
    answer = error_page(404, reason)
    answer.headers.append(("vary", "*"))
    return answer


async def _read(body: AsyncIterator[bytes]) -> bytes:
    """What a driver says, and no more than a beacon may be."""
    said = bytearray()
    async for chunk in body:
        said += chunk
        if len(said) > MAX_BEACON + MAX_KEY:
            break
    return bytes(said)
