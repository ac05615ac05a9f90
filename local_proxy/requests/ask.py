"""Asks the remote for what a browser wants: the request over the link, and its body behind it.

A navigation opens a document. Must not know: promises, how answers are written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol
from urllib.parse import urlsplit

from local_proxy.export_drivers.browser.driver import BrowserExport
from local_proxy.http.error_page import error_page
from local_proxy.http.model import Request, Response
from local_proxy.kept.wall_clock import wall_clock
from local_proxy.link.components import Component
from local_proxy.link.dictionaries import Dictionaries
from local_proxy.link.request_bodies import RequestBodies, is_worth_coding
from local_proxy.link.session import LocalSession
from local_proxy.link.uplink import Uplink
from local_proxy.promises.browser_caches import BrowserCaches
from local_proxy.promises.keeper import wants_picture
from local_proxy.requests.asked_time import takes_level, time_of_answer
from local_proxy.requests.document_events import DocumentEvents
from local_proxy.requests.intent import (
    application_of,
    in_frame,
    is_navigation,
    is_speculative,
    saves_data,
)
from local_proxy.requests.open_documents import Documents
from local_proxy.sites.sites import Mode
from web.sites import registrable, within
from wire.abilities import CODED_BODIES, GOES_ON, PREFLIGHTS, Takes
from wire.fields import MAX_REQUEST, header, size
from wire.messages import UNATTRIBUTED, Fetch, Raise, Treatment
from wire.origin_request import OriginRequest
from wire.skeleton import LEVELS, Kind, Use

MAX_FIELDS: Final = 1000
"""Of a request: HPACK counts 32 bytes for each beside its own, and the peer takes 128 KB in all
(RFC 7541, 4.1; wire.session.MAX_HEADER_BYTES)."""
REACTION: Final = 1.0
"""Seconds that a page waits for what policies have decided for it before it is asked for, at most:
as long as a policy may take. Whoever asks meanwhile waits as well (LocalSession.undecided)."""
_SCRIPTED: Final = "Mozilla/"
"""How clients name themselves that show pages and run their scripts, all of them: others need not
be told what these can do, nor be shown a camera's picture."""
TREATMENTS: Final = {Mode.ORIGINAL: Treatment.ORIGINAL, Mode.TEXT_ONLY: Treatment.TEXT_ONLY}


class Observer(Protocol):
    """Who hears of documents (policies, statistics). Must not raise."""

    def document_opened(
        self, document: int, url: str, *, save_data: bool, within: float | None
    ) -> None: ...
    async def reacted(self) -> None:
        """Until those who decide by it have reacted to what was told."""

    def document_moved(self, document: int, url: str) -> None: ...
    def document_came_back(self, document: int, url: str) -> None: ...
    def visible(self, document: int, visible: bool) -> None: ...
    def component_requested(self, component: Component) -> None: ...


class Asking:
    """The requests of one local proxy, and the documents that they open."""

    def __init__(
        self,
        uplink: Uplink,
        *,
        documents: Documents,
        export: BrowserExport,
        observer: Observer,
        caches: BrowserCaches,
        events: DocumentEvents,
        dictionaries: Dictionaries,
    ) -> None:
        self._uplink = uplink
        self._dictionaries = dictionaries
        self._documents = documents
        self._export = export
        self._observer = observer
        self._caches = caches
        self._events = events
        self._bodies = RequestBodies()

    @property
    def uploading(self) -> int:
        """Bodies on their way up."""
        return len(self._bodies)

    async def ask(
        self,
        request: Request,
        document: int,
        *,
        site: str = "",
        mode: Mode = Mode.ADAPT,
        within: float | None = None,
        expect: Callable[[Component], None] | None = None,
        patience: float = 0.0,
        may_move: bool = False,
    ) -> Component | None:
        """Ask the remote for it; a navigation opens a document, which belongs to `site`. It
        `may_move`: where the page leads to another one, that may be promised.

        `within`: seconds in which the document's pictures are wanted; None: when they are there.
        `expect` is given the component before it is asked for. `patience`: seconds to wait for a
        link; None is returned if there is none.
        """
        navigation = is_navigation(request)
        saves = navigation and (saves_data(request) or mode is Mode.SAVER)
        takes = Takes.MOVED if may_move else Takes.NOTHING
        if wants_picture(request):
            takes = await self._export.takes(request, document)
        while True:
            session = await self._uplink.wait_session(patience)
            if session is None or not _may_be_asked(session, request):
                return None
            component = _component(session.new_id(), request, document)
            component.rationed = mode is Mode.SAVER and not request.original and not navigation
            if not navigation:
                break
            self._open_document(component, request, site, within, saves=saves)
            if not saves and within is None:
                break
            with session.undecided():
                if await self._decided(session, component):
                    break
        if request.body is not None and session.remote_accepts(CODED_BODIES):
            takes |= Takes.CODED if is_worth_coding(request.headers) else Takes.NOTHING
        asked = self._asked(request, component, document, mode, takes=takes)
        component.on_hint = request.on_hint
        if expect is not None:
            expect(component)
        session.request(component, asked)
        _hasten(session, component, time_of_answer(request))
        self._observer.component_requested(component)
        if request.body is not None:
            coded = bool(asked.takes & Takes.CODED)
            self._bodies.send(
                request.body, session, component.id, headers=request.headers, coded=coded
            )
        return component

    async def _decided(self, session: LocalSession, opened: Component) -> bool:
        """Let policies decide what comes of a document before it is asked for: the remote fetches
        a page's parts as soon as it knows of them. False: the session ended meanwhile, and with it
        the document."""
        try:
            async with asyncio.timeout(REACTION):
                await self._observer.reacted()
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            self._events.close(opened.id)
            raise
        if self._uplink.session is session:
            return True
        self._events.close(opened.id)
        return False

    def _asked(
        self, request: Request, component: Component, document: int, mode: Mode, *, takes: Takes
    ) -> OriginRequest:
        """What the remote is asked."""
        asked = replace(
            request.for_origin(),
            levels=wants_picture(request) or takes_level(request),
            application=application_of(request, document),
        )
        asked = replace(asked, takes=asked.takes | takes)
        if takes_level(request):
            asked = replace(asked, takes=asked.takes | Takes.LEVEL)
        if component.use is not Use.DOCUMENT:
            return asked
        if header(request.headers, "user-agent").startswith(_SCRIPTED):
            asked = replace(asked, takes=asked.takes | Takes.SCRIPTS | Takes.CAMERAS)
        asked = replace(asked, takes=asked.takes | self._export.takes_of_page(request))
        treatment = Treatment.TEXT_ONLY if is_speculative(request) else Treatment.ADAPTED
        return replace(
            asked,
            treatment=TREATMENTS.get(mode, treatment),
            # Its parts come as promises: a browser told of them would ask for them, too.
            takes=asked.takes & ~Takes.HINTS,
            kept=self._caches.names(component.id, now=wall_clock()),
        )

    def follow(self, request: Request, component: Component) -> None:
        """Raise it while the client wants it sooner than it first said (RFC 9218, 7).

        What a browser says at first is its own guess at what policies decide here, so it moves
        nothing; a change means that something happened in the page. Moved back is only what was
        raised by this.
        """
        first, raised = request.urgency.now, False

        def moved(urgency: int) -> None:
            nonlocal raised
            session, sooner = self._uplink.session, urgency < first
            if session is not None and not component.complete and sooner != raised:
                raised = sooner
                session.say(Raise(component.id, int(sooner)))

        request.urgency.follow(moved)

    def is_new(self, request: Request) -> bool:
        """Whether nothing is known to be here of the site that a browser asks for: neither in it
        nor as a text that another could be coded against."""
        if not header(request.headers, "user-agent").startswith(_SCRIPTED):
            return False
        client, site = header(request.headers, "user-agent"), registrable(request.url)
        origins = {text.owner.origin for text in self._dictionaries.shelf}
        texts = any(within(urlsplit(origin).hostname or "", site) for origin in origins)
        return not texts and not self._caches.know_site(client, request.url)

    def move(self, page: Component, request: Request, *, site: str) -> None:
        """A document goes on with this page, which its own has led to and `request` asks for."""
        self._documents.close(page.document)
        self._remember(page.document, page.url, request, site)
        to_worker = self._export.to_a_worker(request, page.document)
        self._export.move_document(page.document, page.url, to_worker=to_worker)
        self._observer.document_moved(page.document, page.url)

    def _open_document(
        self,
        component: Component,
        request: Request,
        site: str,
        within: float | None,
        *,
        saves: bool,
    ) -> None:
        document, url = component.id, component.url
        self._remember(document, url, request, site)
        to_worker = self._export.to_a_worker(request, document)
        self._export.open_document(document, url, saves=saves, to_worker=to_worker)
        self._observer.document_opened(document, url, save_data=saves, within=within)
        if is_speculative(request):  # behind what somebody reads
            self._observer.visible(document, False)

    def _remember(self, document: int, url: str, request: Request, site: str) -> None:
        """The document shows this page."""
        partition = self._documents.partition(request, framed=in_frame(request), document=document)
        client = header(request.headers, "user-agent")
        forgotten = self._documents.open(
            document,
            url,
            now=asyncio.get_running_loop().time(),
            site=site,
            partition=partition,
            client=client,
        )
        for old in forgotten:
            self._events.close(old.id)
        place = None if partition.alone else (client, "\n".join(partition))
        self._dictionaries.opened(document, url, place=place)
        self._caches.open(document, request, site=site)

    def come_back(self, referer: str) -> int:
        """The document of a page that was let go, and now asks for something: it is another one.

        Nobody knows whether it is on the screen again, or a tab in the background asks by itself.
        UNATTRIBUTED if there is none, or no session to number it.
        """
        gone, session = self._documents.let_go(referer), self._uplink.session
        if gone is None or session is None:
            return UNATTRIBUTED
        document, now = session.new_id(), asyncio.get_running_loop().time()
        page = gone.pages[0]
        for forgotten in self._documents.open(
            *(document, gone.url),
            now=now,
            site=gone.site,
            partition=page.partition,
            client=page.client,
        ):
            self._events.close(forgotten.id)
        self._documents.shown(document, False, now=now)
        self._observer.document_came_back(document, gone.url)
        return document


def _component(number: int, request: Request, document: int) -> Component:
    """What a request asks for; a navigation is a document of its own."""
    if is_navigation(request):
        return Component(*(number, number), url=request.url, kind=Kind.TEXT, use=Use.DOCUMENT)
    return Component(*(number, document), url=request.url, kind=Kind.OTHER, use=Use.OTHER)


def too_large(request: Request) -> Response | None:
    """What answers a request whose fields can't cross the link; None: they can."""
    if size(request.headers) > MAX_REQUEST:
        return error_page(431, f"The request's header is longer than {MAX_REQUEST} bytes.")
    if len(request.headers) > MAX_FIELDS:
        return error_page(431, f"The request's header has more than {MAX_FIELDS} fields.")
    return None


def _may_be_asked(session: LocalSession, request: Request) -> bool:
    """Whether the remote can do for it what must be done."""
    return not request.takes & Takes.PREFLIGHT or session.remote_accepts(PREFLIGHTS)


def _hasten(session: LocalSession, component: Component, due: float | None) -> None:
    """Have it before what has no time, as long as it can be here by `due`; late, if it can't."""
    left = 0.0 if due is None else due - asyncio.get_running_loop().time()
    if left > 0 and session.remote_accepts(GOES_ON):
        session.say(Fetch(component.id, LEVELS[-1], timer=left, goes_on=True))
