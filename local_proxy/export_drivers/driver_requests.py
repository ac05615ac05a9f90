"""What the driver in a page asks of us: itself, its event channel, finer levels; and its beacons.

These requests come to whatever host the page is of. Must not know: how a picture was first
answered, what a beacon is good for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from typing import Final

from local_proxy.csp import CHANNEL_PATH, DRIVER_PATH
from local_proxy.error_page import error_page
from local_proxy.export_drivers import keeping, pictures
from local_proxy.export_drivers.channels import Channels
from local_proxy.export_drivers.engines import stretches
from local_proxy.export_drivers.level_files import LevelFiles, NoFile
from local_proxy.export_drivers.page import AGAIN, Page
from local_proxy.export_drivers.pages import Pages
from local_proxy.export_drivers.refetch import Refetch
from local_proxy.http import Request, Response, split_url
from local_proxy.tracking_drivers.browser import MAX_BEACON, Tracker, parse_beacon, report

_LEVEL: Final = re.compile(r"[?&]sluice-level=([\w-]{1,64})\.(\d{1,12})\.(\w{1,16})$")
_PRIVATE: Final = (("cache-control", "no-store"), ("cross-origin-resource-policy", "same-origin"))


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
    ) -> None:
        """`now`: seconds, monotonic."""
        self._now = now
        self._pages = pages
        self._channels = channels
        self._files = files
        self._refetch = refetch
        self._tracker = tracker
        driver, part = (
            resources.files(__package__).joinpath(name).read_text("utf-8")
            for name in ("driver.js", "keeping.js")
        )
        self._driver_text = driver.replace("  // @KEEPING@\n", part)
        self.levels_served = self.beacons = self.bad_beacons = self.kept = 0
        """Since the start."""

    async def answer(self, request: Request) -> Response | None:
        """The answer to what our driver asks, on whatever host; None: it isn't ours."""
        mark = keeping.mark(request)
        if mark is not None:
            return await self._kept(request, *mark)
        match = _LEVEL.search(request.url)
        if match:
            plain = request.url[: match.start()]
            return await self._level(request, plain, match[1], int(match[2]), match[3])
        origin, path, query = split_url(request.url)
        if not path.startswith(CHANNEL_PATH):
            return None
        name, _, value = query.partition("=")
        if path == DRIVER_PATH and request.method == "GET" and name == "d":
            return self._driver(origin, value)
        page = self._pages.of_key(value) if name == "d" else None
        if page is None or page.origin != origin:
            return error_page(404, "No page that is open asks this.")
        if path == CHANNEL_PATH + "events" and request.method == "GET":
            return self._channel(page)
        if path == CHANNEL_PATH + "beacon" and request.method == "POST":
            return await self._beacon(page, request)
        return error_page(404, "There is nothing at this address.")

    def _driver(self, origin: str, ticket: str) -> Response:
        page = self._pages.claim(ticket, origin=origin)
        text = "document.currentScript.remove();"
        if page is not None:
            text = self._driver_text.replace("@KEY@", page.key)
        headers = [("content-type", "text/javascript; charset=utf-8"), *_PRIVATE]
        return Response(200, headers, text.encode())

    async def _level(
        self, request: Request, plain: str, key: str, number: int, name: str
    ) -> Response:
        page = self._pages.of_key(key)
        picture = page.pictures.get(number) if page is not None else None
        if page is None or picture is None or picture.component.url != plain or name == AGAIN:
            return await self._refetch.response(request, plain, known=page is not None)
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
            return pictures.coarse(component.head, level, file)
        self.levels_served += 1
        if final:
            picture.served_at = self._now()
        return pictures.finer(component.head, level, file)

    async def _kept(self, request: Request, key: str, number: int) -> Response:
        """The picture as it is shown, for the browser to keep; never by way of the link."""
        page = self._pages.of_key(key)
        picture = page.pictures.get(number) if page is not None else None
        if picture is None or picture.component.url != request.url or picture.keep is None:
            return keeping.nothing(request)
        component = picture.component
        final = component.levels[-1]
        if final.end > component.received or component.head is None:
            return keeping.nothing(request)
        picture.keep = None
        try:
            file = await self._files.file(component, final)
        except NoFile:
            return keeping.nothing(request)
        self.kept += 1
        return pictures.to_keep(component.head, final, file)

    async def _beacon(self, page: Page, request: Request) -> Response:
        body = bytearray()
        if request.body is not None:
            async for chunk in request.body:
                body += chunk
                if len(body) > MAX_BEACON:
                    break
        beacon = parse_beacon(bytes(body))
        if beacon is None:
            self.bad_beacons += 1
            return error_page(400, "This is not a beacon of the driver.")
        self.beacons += 1
        if not beacon.c:
            page.closed_at = None
        if beacon.o and not self._tracker.original(page.document, beacon.o):
            page.want(beacon.o)
        report(beacon, document=page.document, tracker=self._tracker)
        return Response(204, [("cache-control", "no-store")])

    def _channel(self, page: Page) -> Response:
        page.closed_at = None
        headers = [("content-type", "text/event-stream"), *_PRIVATE]
        return Response(200, headers, self._channels.events(page))
