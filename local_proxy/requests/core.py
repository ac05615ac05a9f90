"""The local proxy's core: a browser's request in, a response out, whatever way it takes.

A request comes to decisions in a row, and the first that has an answer gives it: our own pages, our
own drivers, a site's switch, a promise, the link (ARCHITECTURE.md, "A page load"). Each of them
knows only its own side. Nothing here touches a socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol
from urllib.parse import urlsplit

from local_proxy.export_drivers.browser.driver import BrowserExport
from local_proxy.export_drivers.markup import page_marks
from local_proxy.export_drivers.preview.previews import NoPreview, Previews
from local_proxy.http.error_page import error_page
from local_proxy.http.model import Duplex, Request, Response, Unanswered
from local_proxy.kept.wall_clock import wall_clock
from local_proxy.link.components import Component, ComponentFailed
from local_proxy.link.tunnel import Tunnel
from local_proxy.link.uplink import Uplink
from local_proxy.promises.browser_caches import BrowserCaches
from local_proxy.promises.keeper import KeptPromise, PromiseKeeper
from local_proxy.promises.rules import Whose
from local_proxy.requests import asked_time
from local_proxy.requests.ask import Asking, too_large
from local_proxy.requests.browser_chatter import is_chatter
from local_proxy.requests.component_answers import ComponentAnswers
from local_proxy.requests.document_events import DocumentEvents
from local_proxy.requests.intent import (
    application_of,
    is_film,
    is_form,
    is_module,
    is_navigation,
    is_sheet,
    is_sound,
    is_speculative,
    is_window,
    saves_data,
    subject_of,
)
from local_proxy.requests.moved_pages import MovedPages
from local_proxy.requests.open_documents import Documents
from local_proxy.requests.preflights import AnsweredPreflights
from local_proxy.requests.reached_servers import ReachedServers
from local_proxy.sites.sites import Mode
from local_proxy.sites.switches import Switches
from local_proxy.status.setup import is_own
from policies.api.plan import Decision, Subject
from wire.abilities import PREFLIGHTS, Takes
from wire.fields import header
from wire.messages import BACKGROUND, UNATTRIBUTED
from wire.origin_request import OriginRequest
from wire.skeleton import Kind, Use

_MOMENT: Final = 1.0
"""Seconds to wait for a link that has been gone for long, where an answer may be had elsewhere."""


class OwnPages(Protocol):
    """Serves the proxy's own host and address (the status page, what browsers need)."""

    async def handle(self, request: Request) -> Response: ...


@dataclass(frozen=True, slots=True)
class PlacedRequest:
    """A request of which it is known whose it is, and what its site is to get."""

    request: Request
    document: int
    mode: Mode
    kept: bool
    """A browser may keep the answer under this address; else it goes to another one of ours."""
    worker: bool = False
    """A service worker waits for it, which may have an answer of its own."""


class ProxyCore:
    """What the fronts talk to (local_proxy.http.model.Core)."""

    def __init__(
        self,
        *,
        uplink: Uplink,
        export: BrowserExport,
        previews: Previews,
        promises: PromiseKeeper,
        documents: Documents,
        caches: BrowserCaches,
        switches: Switches,
        asking: Asking,
        events: DocumentEvents,
        pages: OwnPages,
        plan: Callable[[Subject], Decision],
        patience: float,
        notice: float,
        sees_tls: bool,
    ) -> None:
        """`patience`: seconds a request waits for a link; `notice`: a page until it says so.
        `sees_tls`: requests for https sites come here, too."""
        self._uplink = uplink
        self._export = export
        self._previews = previews
        self._promises = promises
        self._documents = documents
        self._caches = caches
        self._switches = switches
        self._asking = asking
        self._events = events
        self._pages = pages
        self._plan = plan
        self._sees_tls = sees_tls
        self._moved = MovedPages(promises, events)
        self._reached = ReachedServers()
        self.preflights = AnsweredPreflights()
        self._patience = patience
        self._notice = min(notice, patience)
        self._answers = ComponentAnswers(
            *(uplink, export, previews), again=self._again, spared=switches.spared
        )

    async def handle(self, request: Request) -> Response:
        """Answer it, whatever happens."""
        if is_own(request):
            said = await self._export.said(request)
            return said or await self._pages.handle(request)
        document = self._asked_by(header(request.headers, "referer"))
        now = asyncio.get_running_loop().time()
        try:
            request = asked_time.read(request, from_page=document != UNATTRIBUTED, now=now)
        except asked_time.BadTime as bad:
            return error_page(400, str(bad))
        own = await self._by_drivers(request, document)
        if own is not None:
            return own
        placed = self._placed(request, document)
        instead = self._left_out(placed) or self._leave(placed)
        if instead is not None:
            return instead
        placed = self._prepared(placed)
        kept = await self._promised(placed)
        if kept is not None:
            placed = _in_document(placed, kept)
            response = await self._keep(placed.request, kept)
        else:
            response = await self._over_the_link(placed)
        if is_sheet(placed.request, response) or is_module(placed.request):
            self._documents.lend(placed.request)
        return self._noted(placed, response) if placed.kept else response

    # -- decisions, in their order -----------------------------------------------------------------

    def _asked_by(self, referer: str) -> int:
        """The document that a request with this Referer belongs to."""
        document = self._documents.of(referer)
        if document == UNATTRIBUTED:
            return self._asking.come_back(referer)
        self._documents.looked_at(document, now=asyncio.get_running_loop().time())
        return document

    async def _by_drivers(self, request: Request, document: int) -> Response | None:
        """What our own drivers in a page ask for; None: it is not theirs."""
        own = await self._previews.own(request)
        if own is not None:
            return own
        own = await self._export.own(request)
        if own is None or not self._export.keeps(request):
            return own
        return self._noted(PlacedRequest(request, document, Mode.ADAPT, kept=True), own)

    def _placed(self, request: Request, document: int) -> PlacedRequest:
        """Whose it is, and what the switch of its site says."""
        if document == UNATTRIBUTED and is_chatter(urlsplit(request.url).hostname or ""):
            document = BACKGROUND
        mode = self._switches.mode(request, document)
        return PlacedRequest(request, document, mode, kept=not request.original)

    def _left_out(self, placed: PlacedRequest) -> Response | None:
        """What stands for what a text-only site goes without, or a saver's until it is tapped;
        None: it is to be had."""
        request, document = placed.request, placed.document
        if placed.mode is Mode.TEXT_ONLY:
            return self._switches.instead(request, document)
        url, sound = request.url, is_sound(request)
        if is_film(request) and not self._export.film(document, url, sound=sound):
            return error_page(403, "This site saves data: a film comes when it is tapped.")
        return None

    def _leave(self, placed: PlacedRequest) -> Response | None:
        """What a preflight gets here; None: its origin is to answer it, or it is none."""
        session = self._uplink.session
        if placed.mode is Mode.ORIGINAL or session is None:
            return None
        if not session.remote_accepts(PREFLIGHTS):
            return None
        return self.preflights.answer(placed.request, now=asyncio.get_running_loop().time())

    def _prepared(self, placed: PlacedRequest) -> PlacedRequest:
        """The request as it goes on: whether to the origin's own bytes, and without our marks."""
        request, mode = placed.request, placed.mode
        page = is_navigation(request)
        kept = self._export.to_a_worker(request, placed.document)
        worker = self._export.worker_waits(request, placed.document) and not request.original
        if kept and mode is Mode.ADAPT and not page:  # what a page consists of comes as ever
            mode = Mode.ORIGINAL
        request = replace(request, original=request.original or mode is Mode.ORIGINAL)
        if placed.kept:
            self._caches.asked(placed.document, request, now=wall_clock())
        tagged = page and not kept and not request.original
        headers = page_marks.asked(request.headers, page=tagged)
        request = self.preflights.follow(replace(request, headers=headers))
        return replace(placed, request=request, mode=mode, worker=worker)

    async def _promised(self, placed: PlacedRequest) -> KeptPromise | None:
        """The promise that answers it; None: there is none that may."""
        moved = await self._moved_to(placed)
        if moved is not None:
            return moved
        if placed.request.takes & Takes.PREFLIGHT:
            return None  # its origin is to say whether it may be asked
        if asked_time.time_of_answer(placed.request) is not None:
            return None  # it comes in a form, and to a level, that a page has chosen
        now = asyncio.get_running_loop().time()
        made_by = partial(self._documents.initiators, placed.request)
        return await self._promises.find(placed.request, made_by, now=now)

    def _may_move(self, placed: PlacedRequest) -> bool:
        """Whether the page that its page leads to may come before it is asked for."""
        request = placed.request
        seen = self._sees_tls or request.url.startswith("https:")
        plain = placed.mode is Mode.ADAPT and not (placed.worker or saves_data(request))
        window = is_window(request) or is_form(request)
        if not (seen and plain and window) or is_speculative(request):
            return False
        return self._switches.within(self._switches.site(request, placed.document)) is None

    async def _moved_to(self, placed: PlacedRequest) -> KeptPromise | None:
        """The page that a document has led to, if it is what this asks for."""
        kept = await self._moved.find(placed.request, may=self._may_move(placed))
        if kept is not None:
            site = self._switches.site(placed.request, placed.document)
            self._asking.move(kept.component, placed.request, site=site)
            self._export.look_again(self._promises.of_document(kept.component.document))
        return kept

    async def _keep(self, request: Request, kept: KeptPromise) -> Response:
        """Answer from a promise."""
        component = kept.component
        if kept.not_modified is not None:
            self._uplink.abandon(component)  # the browser has it: its bytes need not come
        else:
            self._asking.follow(request, component)
        if component.moved:
            response = kept.not_modified or await self._answers.answer(request, component)
            self._moved.leads_on(component.document, request, response)
            return response
        if component.use is Use.DOCUMENT:  # the page of a frame
            self._documents.frame(component.document, request)
            to_worker = self._export.to_a_worker(request, component.id)
            self._export.open_document(component.id, component.url, to_worker=to_worker)
        if kept.not_modified is None:
            return await self._answers.answer(request, component)
        if component.use is Use.DOCUMENT:
            return self._export.document_response(component.id, kept.not_modified)
        return kept.not_modified

    async def _over_the_link(self, placed: PlacedRequest) -> Response:
        """Ask the remote, and answer from what comes."""
        request = placed.request
        if placed.worker and not await self._uplink.wait_connected(self._worth_waiting()):
            raise Unanswered("there is no link")
        # People would look at an empty window: a page says why, and loads itself again.
        opens_page = request.method == "GET" and is_navigation(request)
        if opens_page and not await self._uplink.wait_connected(self._notice):
            return self._answers.link_down(request)
        refusal = too_large(request)
        if refusal is not None:
            return refusal
        if self._plan(subject_of(request, placed.document)).fetch == "never":
            return error_page(403, "A policy keeps this from being fetched.")
        in_parts = self._previews.in_parts(request)
        site = self._switches.site(request, placed.document)
        leads_on = is_form(request) or self._asking.is_new(request)
        may_move = leads_on and self._may_move(placed)
        component = await self._asking.ask(
            in_parts or request,
            placed.document,
            site=site,
            mode=placed.mode,
            within=request.within or self._switches.within(site),
            expect=self._previews.expect if in_parts is not None else None,
            patience=self._patience,
            may_move=may_move,
        )
        if component is None:
            return self._answers.link_down(request)
        self._asking.follow(request, component)
        try:
            response = await self._answers.answer(request, component)
        except NoPreview:
            self._events.close(component.id)
            whole = replace(request, original=True)
            return await self._over_the_link(replace(placed, request=whole, mode=Mode.ORIGINAL))
        finally:
            self._previews.forget(component)
        if may_move:
            self._moved.leads_on(component.id, request, response)
        self.preflights.answered_with(request, response)
        if placed.mode is Mode.TEXT_ONLY and component.use is not Use.DOCUMENT:
            return self._switches.without(request, response, component)
        return response

    def _worth_waiting(self) -> float:
        """Seconds for which it is for a link where somebody else may have an answer."""
        state = self._uplink.state()
        gone = asyncio.get_running_loop().time() - state.since
        return min(self._notice, _MOMENT) if gone > self._notice else self._notice

    def _noted(self, placed: PlacedRequest, response: Response) -> Response:
        """What a browser has taken to its end it may keep."""

        def done(whole: bool) -> None:
            if whole:
                status, headers = response.status, response.headers
                self._caches.delivered(
                    placed.document, placed.request, status, headers, now=wall_clock()
                )

        response.on_done.append(done)
        return response

    async def _again(self, request: Request, component: Component) -> Component | None:
        """The same of the origin, unpromised; None: there is no link."""
        site = self._switches.site(request, component.document)
        return await self._asking.ask(request, component.document, site=site)

    # -- tunnels -----------------------------------------------------------------------------------

    async def connect(
        self, host: str, port: int, *, tls: bool = False, early: bytes = b""
    ) -> Duplex | Response:
        """Open a tunnel, opaque and a component of its own."""
        request = Request("CONNECT", f"https://{host}:{port}/", [])
        session = await self._uplink.wait_session(self._patience)
        if session is None:
            return self._answers.link_down(request)
        component = Component(
            id=session.new_id(),
            document=BACKGROUND if is_chatter(host) else UNATTRIBUTED,
            url=f"{host}:{port}",
            kind=Kind.OTHER,
        )
        whose = application_of(request, component.document)
        asked = OriginRequest(
            *("CONNECT", component.url, []), has_body=True, tls=tls, application=whose
        )
        session.request(component, asked)
        loop, opened = asyncio.get_running_loop(), None
        if not tls and self._reached.lately(host, port, now=loop.time()):
            opened = partial(self._stands, host, port)
        up = session.upload(component.id, tunnel=True)
        tunnel = Tunnel(component, up, session, opened=opened)
        if early:
            tunnel.say(early)
        if opened is not None:
            return tunnel
        try:
            head = await component.wait_head()
        except ComponentFailed as failure:
            return self._answers.failed(request, failure)
        except asyncio.CancelledError:
            session.cancel(component)
            raise
        if head.status != 200:
            session.cancel(component)
            return error_page(502, f"{host}:{port} could not be reached")
        self._reached.reached(host, port, now=loop.time())
        return tunnel

    def _stands(self, host: str, port: int, there: bool) -> None:
        """A tunnel that was taken for open is there, or is not."""
        if there:
            self._reached.reached(host, port, now=asyncio.get_running_loop().time())
        else:
            self._reached.lost(host)


def _in_document(placed: PlacedRequest, kept: KeptPromise) -> PlacedRequest:
    """Whose it is when a promise answers it: the document's to which that was made, if it says."""
    if kept.whose is Whose.OWN or placed.document == UNATTRIBUTED:
        return replace(placed, document=kept.component.document)
    return placed
