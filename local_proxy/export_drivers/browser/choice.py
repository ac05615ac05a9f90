"""In which way a browser's request for a picture is answered: swap, multipart, stream, or whole.

The best that this client, this page and this picture allow (ARCHITECTURE, "The port"). Must not
know: what the responses look like (pictures.py), how a page's driver is told (channels.py).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

from local_proxy.export_drivers.browser import browser_copies, pictures
from local_proxy.export_drivers.browser.asker import Asker, shows
from local_proxy.export_drivers.browser.engines import in_gecko, stretches
from local_proxy.export_drivers.browser.level_files import LevelFiles, NoFile
from local_proxy.export_drivers.browser.page import BrowserPage
from local_proxy.export_drivers.browser.pages import Pages
from local_proxy.export_drivers.browser.refetch import Refetch
from local_proxy.export_drivers.markup.script_powers import ScriptPowers
from local_proxy.http.error_page import error_page
from local_proxy.http.model import Request, Response, split_url
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from wire.abilities import Takes
from wire.fields import header
from wire.skeleton import Level, Use

_WAIT_DRIVER: Final = 0.3
"""Seconds for which a coarse picture waits for the page to fetch its driver."""
_WAIT_SCRIPTS: Final = 1.0
"""Seconds for which coarse pictures of a page wait for scripts that its markup names."""
_GROWS: Final = "image/jpeg"
"""The type of a file that browsers show coarse as it comes."""
_OPEN_PARTS: Final = 128
"""Multipart responses held open for one origin; further pictures are swapped. Half of the streams
that a browser may have on its connection there, so that all else is asked for at once."""


class LevelChoice:
    """One for a local proxy."""

    def __init__(
        self,
        *,
        pages: Pages,
        files: LevelFiles,
        refetch: Refetch,
        powers: ScriptPowers,
        multipart: bool | None,
        swap: bool = True,
        growing: Callable[[int], None] = lambda document: None,
    ) -> None:
        """`multipart`: for all clients or for none; None: for those that take it well. `swap`: else
        a page's script may show finer levels; without it each picture is one response, as it comes.
        `growing`: told of a document in which no driver runs, once.
        """
        self._pages = pages
        self._files = files
        self._refetch = refetch
        self._powers = powers
        self._always = multipart
        self._swap = swap
        self._growing = growing
        self._open_parts: Counter[str] = Counter()
        """Multipart responses that are open, by origin."""
        self.swapped = self.multipart = self.streamed = self.whole = 0
        """Pictures answered each way since the start."""

    async def takes(self, request: Request, document: int) -> Takes:
        """Whether a picture that the document asks for stands in an <img> that a script has made
        (Takes.STANDS). Its driver says so as the browser asks; of any other picture that a script
        makes it is not known what will take it, when it has loaded."""
        page = self._pages.of_document(document)
        if page is None or not shows(request):
            return Takes.NOTHING
        if not page.known.is_set():
            return Takes.NOTHING
        if self._powers.read_pixels(page.origin) and not request.multiplexed:
            return Takes.NOTHING
        if not (page.injected and page.alive.is_set()) or page.shut:
            return Takes.NOTHING
        return Takes.STANDS if await page.standing.has(request.url) else Takes.NOTHING

    async def picture(self, component: Component, request: Request) -> Response:
        """The answer to a browser's request for a picture, in the best way there is."""
        try:
            head = await component.wait_head()
            await component.wait(
                lambda: bool(component.levels or component.received) or component.complete
            )
            return await self._picture(component, head, request)
        except NoFile:
            return await self._refetch.response(request, request.url)
        except ComponentFailed as failed:
            return error_page(failed.status, failed.reason, retry=failed.retry)

    async def _picture(self, component: Component, head: OriginHead, request: Request) -> Response:
        """Raises NoFile where only fetching anew can help."""
        final = pictures.final_level(component)
        if final is not None and final.sketch:  # all that is to come, and no file as it is
            await component.wait_level(final.name)
        page = self._pages.of_document(component.document)
        if page is not None and component.other_pixels and not await self._may_be_coarse(page):
            raise NoFile("a script of the page may read what the origin has")
        if component.stopped and await self._may_go_on(page, component, request):
            assert page is not None
            return await self._swapped(component, head, request, page)
        if _finished(component):
            return await self._whole(component, head, request, page)
        if not _takes_levels(component, head, request):
            return await self._stream(component, head, request, page)
        steps = page is None or await self._may_be_coarse(page)
        if _finished(component):
            return await self._whole(component, head, request, page)
        multipart = steps and self._as_multipart(request)
        swap = steps and self._can_swap(page, component)
        if not swap and not multipart:
            if (
                page is not None
                and not steps
                and await self._may_stand_in(page, component, request)
            ):
                return await self._beside(component, head, request, page)
            self._grows(page, component)
            return await self._stream(component, head, request, page)
        await component.wait_level(component.levels[0].name)
        if _finished(component):
            return await self._whole(component, head, request, page)
        if multipart:
            first = await self._files.best(component, small=stretches(request))
            return self._multipart_response(component, head, first, request, page)
        if page is None or not await self._driver_there(page):
            self._grows(page, component)
            return await self._stream(component, head, request, page)
        return await self._swapped(component, head, request, page)

    async def _may_go_on(
        self, page: BrowserPage | None, component: Component, request: Request
    ) -> bool:
        """Whether a picture that was stopped can become finer in place, should somebody want it."""
        return (
            shows(request)
            and page is not None
            and self._can_swap(page, component)
            and await self._may_be_coarse(page)
            and await self._driver_there(page)
        )

    async def _swapped(
        self, component: Component, head: OriginHead, request: Request, page: BrowserPage
    ) -> Response:
        """What is here of it, which the page's driver replaces by what is finer."""
        level, file = await self._files.best(component, small=stretches(request))
        if level == component.levels[-1] and not component.stopped:
            return await self._whole(component, head, request, page)
        self.swapped += 1
        keep = browser_copies.way(page, head, request)
        page.remember(component, level, asker=Asker.of(request), keep=keep)
        if keep is not None and in_gecko(request):
            # Firefox holds pictures by address in memory, too. What it has there it shows again if
            # its cache has the address, whatever the bytes; but never if a redirect led to it.
            address = browser_copies.level_address(request.url, page.name, component.id, level.name)
            return pictures.elsewhere(head, address)
        return pictures.coarse(head, level, file)

    async def _may_be_coarse(self, page: BrowserPage) -> bool:
        """Whether no script of a page reads pixels; one that is not here yet may be one that does.

        Scripts come before pictures, unless their origin takes long for them. That is waited for
        briefly, once; then the page's pictures are responses that grow until they are whole.
        """
        if not page.known.is_set():
            now = asyncio.get_running_loop().time()
            if page.patience is None:
                page.patience = now + _WAIT_SCRIPTS
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(page.known.wait(), max(0.0, page.patience - now))
        return self._knows_harmless(page)

    def _knows_harmless(self, page: BrowserPage) -> bool:
        return page.known.is_set() and not self._powers.read_pixels(page.origin)

    async def _may_stand_in(
        self, page: BrowserPage, component: Component, request: Request
    ) -> bool:
        """Whether the page's driver is to show coarse levels while the picture's own response
        comes. A JPEG's shows by itself what is here. It holds a request for as long: there must be
        more than six."""
        grows = component.levels[-1].content_type == _GROWS
        if grows or not (request.multiplexed and self._can_swap(page, component)):
            return False
        return await self._driver_there(page)

    async def _beside(
        self, component: Component, head: OriginHead, request: Request, page: BrowserPage
    ) -> Response:
        """All of it in one response: to scripts it has loaded when all is here. What is shown by
        then its driver knows."""
        page.remember(component, None, asker=Asker.of(request), keep=None)
        response = await self._stream(component, head, request, page)
        response.on_done.append(lambda _: self._pages.came(page, component))
        return response

    def _as_multipart(self, request: Request) -> bool:
        if self._always is not None:
            return self._always
        origin, _, _ = split_url(request.url)
        return _best_as_multipart(request) and self._open_parts[origin] < _OPEN_PARTS

    def _multipart_response(
        self,
        component: Component,
        head: OriginHead,
        first: tuple[Level, bytes],
        request: Request,
        page: BrowserPage | None,
    ) -> Response:
        self.multipart += 1
        origin, _, _ = split_url(request.url)
        self._open_parts[origin] += 1

        def over(_: bool) -> None:
            self._open_parts[origin] -= 1
            if not self._open_parts[origin]:
                del self._open_parts[origin]

        file_of = partial(self._files.file, small=stretches(request))
        anew = self._refetch.body(request)
        response = pictures.multipart(component, head, first, file_of, anew)
        response.on_done.append(over)
        return self._kept_later(response, component, head, request, page)

    def _can_swap(self, page: BrowserPage | None, component: Component) -> bool:
        if page is None or component.use is not Use.ELEMENT or page.shut or not self._swap:
            return False
        return page.injected and (page.alive.is_set() or not page.given_up)

    async def _driver_there(self, page: BrowserPage) -> bool:
        """Whether the page's script runs; a page without scripts is waited for once."""
        if not page.alive.is_set() and not page.given_up:
            try:
                await asyncio.wait_for(page.alive.wait(), _WAIT_DRIVER)
            except TimeoutError:
                page.given_up = True
        return page.alive.is_set()

    def _grows(self, page: BrowserPage | None, component: Component) -> None:
        """Tell, once for a page, that nothing takes the place of what its pictures show first."""
        if page is not None and not page.growing and component.levels[0].sketch:
            page.growing = True
            self._growing(page.document)

    async def _whole(
        self, component: Component, head: OriginHead, request: Request, page: BrowserPage | None
    ) -> Response:
        """The origin's bytes where they can be had by now. Raises NoFile."""
        self.whole += 1
        final = pictures.final_level(component)
        if final is None:
            return pictures.bare(component, head)
        if component.identical or component.coding or not self._keepable(page, head, request):
            with contextlib.suppress(NoFile):
                return pictures.whole_now(head, await self._files.original(component))
        # A PNG's pixels are here as they are: to be shown they don't wait for its bytes.
        response = pictures.finest(head, final, await self._files.file(component, final))
        return self._kept_later(response, component, head, request, page)

    async def _stream(
        self, component: Component, head: OriginHead, request: Request, page: BrowserPage | None
    ) -> Response:
        await component.wait_settled()
        self.streamed += 1
        if component.coding:
            file_of, anew = self._files.file, self._refetch.body(request)
            response = pictures.whole_level_by_level(component, head, file_of, anew)
        else:
            response = pictures.whole_as_it_comes(component, head)
            if component.identical or not component.levels:
                return response
        return self._kept_later(response, component, head, request, page)

    @staticmethod
    def _keepable(page: BrowserPage | None, head: OriginHead, request: Request) -> bool:
        return (
            page is not None
            and page.alive.is_set()
            and bool(browser_copies.way(page, head, request))
        )

    def _kept_later(
        self,
        response: Response,
        component: Component,
        head: OriginHead,
        request: Request,
        page: BrowserPage | None,
    ) -> Response:
        """A driver may have the browser keep what this response, in other bytes, must not be; and
        may be told of more than it was to end in."""
        if page is None or not page.injected:
            return response
        page.replacing += 1

        def over(whole: bool) -> None:
            keep = browser_copies.way(page, head, request) if whole else None
            stops = whole and component.other_pixels and shows(request)
            self._pages.replaced(
                *(page, component),
                asker=Asker.of(request),
                keep=keep,
                stops=stops and self._can_swap(page, component),
            )

        response.on_done.append(over)
        return response


def _finished(component: Component) -> bool:
    final = pictures.final_level(component)
    return component.complete if final is None else final.end <= component.received


def _takes_levels(component: Component, head: OriginHead, request: Request) -> bool:
    """Whether a coarse picture may answer: scripts and downloads get the file they asked for."""
    return len(component.levels) > 1 and head.status == 200 and shows(request)


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
