"""The browser's export driver: pictures coarse at once, then finer in place, unseen by the page.

Three ways, one interface (HATS, section 2; ARCHITECTURE, "A page load"): *swap* answers with a
coarse picture and lets the driver script in the page show finer ones by a style rule; *multipart*
sends each level as a part of one response; *stream* leaves one progressive response open. Which of
them: choice.py; what the driver in the page asks: driver_requests.py. Must not know: sockets, HTTP
versions, the slow link.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from local_proxy.export_drivers.browser import browser_copies
from local_proxy.export_drivers.browser.channels import Channels
from local_proxy.export_drivers.browser.choice import LevelChoice
from local_proxy.export_drivers.browser.driver_requests import DriverRequests
from local_proxy.export_drivers.browser.level_files import Decode, Enlarge, LevelFiles, Restore
from local_proxy.export_drivers.browser.pages import Pages
from local_proxy.export_drivers.browser.refetch import Refetch
from local_proxy.export_drivers.markup import script_powers
from local_proxy.export_drivers.markup.csp import DRIVER_PATH
from local_proxy.export_drivers.markup.driver_tag import tagged
from local_proxy.export_drivers.markup.script_powers import ScriptPowers
from local_proxy.export_drivers.markup.service_workers import ServiceWorkers
from local_proxy.http.model import Handler, Request, Response, split_url
from local_proxy.link.components import Component
from local_proxy.requests.intent import by_worker, is_navigation
from local_proxy.tracking_drivers.browser import Tracker
from wire.abilities import Takes
from wire.continuation import Window
from wire.fields import header
from wire.skeleton import Level


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
    kept: int
    """Pictures given once more, for browsers to keep."""
    fetched_again: int
    beacons: int
    bad_beacons: int
    decoded: int
    undecoded: int
    """Levels whose coding on the link was undone, and was not for all trying."""
    restored: int
    unrestored: int
    """Pictures of which the origin's bytes were made of another form, and were not."""


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
        enlarge: Enlarge | None = None,
        restore: Restore | None = None,
        growing: Callable[[int], None] = lambda document: None,
        window: Callable[[str, Window], None] = lambda client, window: None,
        host: str = "sluice.local",
    ) -> None:
        """`now`: seconds, monotonic. `fetch`: asks the core for a picture once more, whole.

        `secret`: makes the driver's address for a page; keep it, and pages that a browser cached
        before a restart find their driver again. `multipart`: for all clients or for none; None:
        for those that are known to take it well. `swap`: see Choice. `decode`: undoes the coding of
        pictures that have one; `enlarge` makes files of sketches, `restore` the origin's bytes of
        another form. `growing`: told of a document in which no driver runs, once.
        `window`: of a client's window, when a page says how large it is. `host`: the proxy's own
        name.
        """
        self._now = now
        self.pages = Pages(now=now, secret=secret or secrets.token_bytes(32))
        """Those that browsers have open, or may bring back."""
        self._powers = ScriptPowers()
        self._workers = ServiceWorkers()
        self._files = LevelFiles(decode, enlarge, restore)
        self._refetch = Refetch(fetch)
        self._channels = Channels()
        self._choice = LevelChoice(
            pages=self.pages,
            files=self._files,
            refetch=self._refetch,
            powers=self._powers,
            multipart=multipart,
            swap=swap,
            growing=growing,
        )
        self._requests = DriverRequests(
            now=now,
            pages=self.pages,
            channels=self._channels,
            files=self._files,
            refetch=self._refetch,
            tracker=tracker,
            window=window,
            host=host,
        )

    def __repr__(self) -> str:
        return f"<BrowserExport {len(self.pages)} pages>"

    def statistics(self) -> ExportStatistics:
        return ExportStatistics(
            pages=len(self.pages),
            drivers=sum(page.alive.is_set() for page in self.pages),
            coarse=sum(not p.final() for page in self.pages for p in page.pictures.values()),
            channels=len(self._channels),
            swapped=self._choice.swapped,
            multipart=self._choice.multipart,
            streamed=self._choice.streamed,
            whole=self._choice.whole,
            levels_served=self._requests.levels_served,
            kept=self._requests.kept,
            fetched_again=self._refetch.count,
            beacons=self._requests.beacons,
            bad_beacons=self._requests.bad_beacons,
            decoded=self._files.decoded,
            undecoded=self._files.failed,
            restored=self._files.restored,
            unrestored=self._files.lost,
        )

    def open_document(
        self, document: int, url: str, *, saves: bool = False, to_worker: bool = False
    ) -> None:
        """A browser asks for this page: remember what becomes of it. `saves`: as little as may be
        is to cross for it. `to_worker`: a service worker may get it."""
        self.pages.open(document, url, saves=saves).to_worker = to_worker

    def move_document(self, document: int, url: str, *, to_worker: bool = False) -> None:
        """The document is this page now, to which its own has led."""
        self.pages.move(document, url).to_worker = to_worker

    def close_document(self, document: int) -> None:
        """The page was left; a browser may still bring it back from its back/forward cache."""
        self.pages.leave(document)

    def document_response(self, document: int, response: Response) -> Response:
        """The page's response with the driver in it, where that can be."""
        page = self.pages.of_document(document)
        if page is None or page.to_worker or self._workers.answer(page.origin):
            return response
        before = self.pages.same(page) if response.status == 304 else None
        if before is not None:  # what the browser holds of it has the policies that it had then
            page.connections, page.restricted = before.connections, before.restricted
        driver = f"{DRIVER_PATH}?d={self.pages.ticket(page)}"
        return tagged(response, page, driver=driver)

    async def picture(self, component: Component, request: Request) -> Response:
        """The answer to a browser's request for a picture, in the best way there is."""
        return await self._choice.picture(component, request)

    async def takes(self, request: Request, document: int) -> Takes:
        """What its driver says of a picture that the document asks for (Takes.STANDS)."""
        return await self._choice.takes(request, document)

    def leave_out(self, document: int, url: str) -> None:
        """Nothing of this picture comes, says a switch or a budget; its page has a box there, which
        brings it at a tap."""
        page = self.pages.of_document(document)
        if page is not None:
            page.leave_out(url.partition("#")[0])

    def film(self, document: int, url: str, *, sound: bool = False) -> bool:
        """Whether a film, or a `sound`, is to come. Where a page's reader saves data it waits for a
        tap, which a driver must run to tell of."""
        page = self.pages.of_document(document)
        if page is None or page.films is None or not page.alive.is_set():
            return True
        return page.films.comes(url, sound=sound, now=self._now())

    async def file(self, component: Component, level: Level) -> bytes:
        """A level of a picture, which is here, as a whole file. Raises NoFile."""
        return await self._files.file(component, level)

    async def original(self, component: Component) -> bytes:
        """The origin's own bytes of a picture that is here. Raises NoFile."""
        return await self._files.original(component)

    def keeps(self, request: Request) -> bool:
        """Whether a driver asks this for its browser's cache."""
        return browser_copies.mark(request) is not None

    async def own(self, request: Request) -> Response | None:
        """The answer to what our driver asks, on whatever host; None: it isn't ours."""
        if header(request.headers, "service-worker") == "script":
            self._workers.expect(request.url)
        self._look_for_takers(request)
        return await self._requests.answer(request)

    async def said(self, request: Request) -> Response | None:
        """The answer to a beacon of our driver at the proxy's own name; None: it is none."""
        return await self._requests.answer(request) if self._requests.is_beacon(request) else None

    def look_again(self, components: Iterable[Component]) -> None:
        """Their document is another page by now, of which their scripts are."""
        for component in components:
            component.looked_at, component.looked_last = 0, b""
            self.look(component)

    def look(self, component: Component) -> None:
        """It was promised, or more of it is here: see what the scripts in it can do."""
        if self._workers.look(component):
            return
        page = self.pages.of_document(component.document)
        self._powers.look(component, page.origin if page is not None else "")
        if page is not None and script_powers.are_of_markup(component):
            page.expect(component, known=self._powers.read_pixels(page.origin))

    def worker_waits(self, request: Request, document: int) -> bool:
        """Whether it is one that asks, or that will be given what Chromium asks while it starts.

        What scripts fetch in other modes may be theirs.
        """
        if by_worker(request):
            return True
        if is_navigation(request):
            return self._workers.take_pages(split_url(request.url)[0])
        mode = header(request.headers, "sec-fetch-mode")
        return mode == "no-cors" and self.to_a_worker(request, document)

    def _look_for_takers(self, request: Request) -> None:
        """See whether pages, and pictures that they ask for, go to a service worker."""
        if by_worker(request):
            self._workers.asked_page(split_url(request.url)[0])
        asked = header(request.headers, "accept"), header(request.headers, "sec-fetch-dest")
        if asked[0].startswith("image/") and asked[1] == "empty":
            origin = split_url(request.url)[0]
            if header(request.headers, "referer").startswith(f"{origin}/"):
                self._workers.asked_picture(origin)

    def takes_of_page(self, request: Request) -> Takes:
        """What its parts come as, when this asks for a page."""
        own_whole = self._workers.take_pictures(split_url(request.url)[0])
        return Takes.OWN_WHOLE if own_whole else Takes.NOTHING

    def to_a_worker(self, request: Request, document: int) -> bool:
        """Whether a service worker may get the answer and put it away, whoever asks.

        `document`: the one that asks. Of pages Chromium asks itself while a worker starts, and
        gives it what comes; all else a worker asks for says that it is for nothing on the page.
        """
        if by_worker(request) or header(request.headers, "service-worker-navigation-preload"):
            return True
        if is_navigation(request):
            return self._workers.answer(split_url(request.url)[0])
        page = self.pages.of_document(document)
        origin = page.origin if page is not None else ""
        if header(request.headers, "sec-fetch-dest", "empty") == "empty":
            return self._workers.answer(origin)
        return self._workers.may_take(origin)
