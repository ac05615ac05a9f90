"""The local proxy's core: a browser's request in, a response out, whatever way it takes.

Joins fronts, promises, sessions, export drivers and tracking; each of them knows only its own
side. A request goes: our own paths -> promise -> wire -> component -> export driver. Nothing here
touches a socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final, Protocol
from urllib.parse import urlsplit

from local_proxy.export_drivers.browser.driver import BrowserExport
from local_proxy.export_drivers.browser.level_files import NoFile
from local_proxy.export_drivers.browser.pictures import whole_now
from local_proxy.export_drivers.markup import page_marks
from local_proxy.export_drivers.preview.previews import NoPreview, Previews
from local_proxy.http.error_page import error_page
from local_proxy.http.model import Duplex, Request, Response, directives
from local_proxy.kept.wall_clock import wall_clock
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from local_proxy.link.resumption import LOST
from local_proxy.link.tunnel import Tunnel
from local_proxy.link.uplink import Uplink
from local_proxy.promises import origin_bytes
from local_proxy.promises.browser_caches import BrowserCaches
from local_proxy.promises.keeper import KeptPromise, PromiseKeeper, wants_picture
from local_proxy.promises.rules import Whose
from local_proxy.requests.ask import Asking, Observer, too_large
from local_proxy.requests.browser_chatter import is_chatter
from local_proxy.requests.intent import is_navigation, is_sheet, subject_of
from local_proxy.requests.link_down import link_down
from local_proxy.requests.open_documents import Documents
from local_proxy.sites.sites import Mode, Sites
from local_proxy.sites.switches import Switches
from local_proxy.status.setup import is_own
from policies.api.plan import Decision, Subject
from wire.fields import Headers, header
from wire.messages import BACKGROUND, UNATTRIBUTED, Fetch, Takes
from wire.skeleton import LEVELS, Kind, Use

FIRST_OF_ITS_TIER: Final = 1
"""Urgency of what a script waits for: before its like, and after all that is shown coarse."""


class OwnPages(Protocol):
    """Serves the proxy's own host and address (the status page, what browsers need)."""

    async def handle(self, request: Request) -> Response: ...


class ProxyCore:
    """What the fronts talk to (local_proxy.http.model.Core)."""

    def __init__(
        self,
        *,
        uplink: Uplink,
        export: BrowserExport,
        promises: PromiseKeeper,
        documents: Documents,
        observer: Observer,
        pages: OwnPages,
        plan: Callable[[Subject], Decision],
        sites: Sites,
        find: Callable[[int, str], Component | None],
        caches: BrowserCaches,
        previews: Previews,
        patience: float,
        notice: float,
    ) -> None:
        """`patience`: seconds a request waits for a link; `notice`: a page until it says so.

        `find`: what is known of a document's component by its URL.
        """
        self._uplink = uplink
        self._export = export
        self._promises = promises
        self._documents = documents
        self._pages = pages
        self._plan = plan
        self._switches = Switches(sites, documents, find=find, unwanted=self._unwanted)
        self.asking = Asking(
            uplink,
            documents=documents,
            promises=promises,
            export=export,
            observer=observer,
            caches=caches,
        )
        self._caches = caches
        self._previews = previews
        self._patience = patience
        self._notice = min(notice, patience)

    async def handle(self, request: Request) -> Response:
        """Answer it, whatever happens."""
        if is_own(request):
            return await self._pages.handle(request)
        own_address = not request.original  # else its answer goes to another address of ours
        document = self._asked_by(header(request.headers, "referer"))
        own = await self._previews.own(request)
        if own is not None:
            return own
        own = await self._export.own(request)
        if own is not None:
            return self._noted(request, own, document) if self._export.keeps(request) else own
        if document == UNATTRIBUTED and is_chatter(urlsplit(request.url).hostname or ""):
            document = BACKGROUND
        mode = self._switches.mode(request, document)
        if mode is Mode.TEXT_ONLY:
            instead = self._switches.instead(request, document)
            if instead is not None:
                return instead
        if mode is Mode.ADAPT and self._export.to_a_worker(request, document):
            mode = Mode.ORIGINAL
        request.original = request.original or mode is Mode.ORIGINAL
        if own_address:
            self._caches.asked(document, request, now=wall_clock())
        page = is_navigation(request) and not request.original
        request.headers = page_marks.asked(request.headers, page=page)
        now = asyncio.get_running_loop().time()
        made_by = partial(self._documents.initiators, request)
        kept = await self._promises.find(request, made_by, now=now)
        if kept is not None:
            if kept.whose is Whose.OWN or document == UNATTRIBUTED:
                document = kept.component.document
            response = await self._keep(request, kept)
        else:
            response = await self._fetch(request, document, mode)
        if is_sheet(request, response):
            self._documents.lend(request)
        return self._noted(request, response, document) if own_address else response

    def _asked_by(self, referer: str) -> int:
        """The document that a request with this Referer belongs to."""
        document = self._documents.of(referer)
        if document == UNATTRIBUTED:
            return self.asking.come_back(referer)
        self._documents.looked_at(document, now=asyncio.get_running_loop().time())
        return document

    async def connect(self, host: str, port: int, *, tls: bool = False) -> Duplex | Response:
        """Open a tunnel, opaque and a component of its own."""
        session = await self._uplink.wait_session(self._patience)
        if session is None:
            return self._link_down(Request("CONNECT", f"https://{host}:{port}/", []))
        component = Component(
            id=session.new_id(),
            document=BACKGROUND if is_chatter(host) else UNATTRIBUTED,
            url=f"{host}:{port}",
            kind=Kind.OTHER,
        )
        session.request(component, method="CONNECT", headers=[], body=True, levels=False, tls=tls)
        up = session.upload(component.id, tunnel=True)
        try:
            head = await component.wait_head()
        except ComponentFailed as failure:
            return self._failed(Request("CONNECT", f"https://{host}:{port}/", []), failure)
        except asyncio.CancelledError:
            session.cancel(component)
            raise
        if head.status != 200:
            session.cancel(component)
            return error_page(502, f"{host}:{port} could not be reached")
        return Tunnel(component, up, session)

    def close_document(self, document: int) -> None:
        """The document's window is gone."""
        self.asking.close_document(document)

    def _noted(self, request: Request, response: Response, document: int) -> Response:
        """What a browser has taken to its end it may keep."""

        def done(whole: bool) -> None:
            if whole:
                status, headers = response.status, response.headers
                self._caches.delivered(document, request, status, headers, now=wall_clock())

        response.on_done.append(done)
        return response

    # -- where a component comes from --------------------------------------------------------------

    async def _keep(self, request: Request, kept: KeptPromise) -> Response:
        """Answer from a promise."""
        component = kept.component
        if kept.not_modified is not None:
            self._unwanted(component)  # the browser has it: its bytes need not come
            if component.use is Use.DOCUMENT:
                self._documents.frame(component.document, request)
                self._export.open_document(component.id, component.url)
                return self._export.document_response(component.id, kept.not_modified)
            return kept.not_modified
        self.asking.follow(request, component)
        if component.use is Use.DOCUMENT:  # the page of a frame
            self._documents.frame(component.document, request)
            self._export.open_document(component.id, component.url)
        return await self._answer(request, component)

    async def _fetch(self, request: Request, document: int, mode: Mode) -> Response:
        """Ask the remote, and answer from what comes."""
        # People would look at an empty window: a page says why, and loads itself again.
        opens_page = request.method == "GET" and is_navigation(request)
        if opens_page and not await self._uplink.wait_connected(self._notice):
            return self._link_down(request)
        session = await self._uplink.wait_session(self._patience)
        if session is None:
            return self._link_down(request)
        refusal = too_large(request)
        if refusal is not None:
            return refusal
        if self._plan(subject_of(request, document)).fetch == "never":
            return error_page(403, "A policy keeps this from being fetched.")
        site = self._switches.site(request, document)
        expect = self._previews.expect if self._previews.prepare(request) else None
        component = self.asking.ask(session, request, document, site=site, mode=mode, expect=expect)
        self.asking.follow(request, component)
        try:
            response = await self._answer(request, component)
        except NoPreview:
            self.asking.close_document(component.id)
            self._previews.give_up(request)
            return await self._fetch(request, document, Mode.ORIGINAL)
        finally:
            self._previews.forget(component)
        if mode is Mode.TEXT_ONLY and component.use is not Use.DOCUMENT:
            return self._switches.without(request, response, component)
        return response

    # -- how it is answered ------------------------------------------------------------------------

    async def _answer(self, request: Request, component: Component) -> Response:
        try:
            head = await component.wait_head()
            preview = await self._previews.response(request, component)
            if preview is not None:
                return preview
            if component.levels and wants_picture(request):
                picture = await self._export.picture(component, request)
                return self._watched(picture, component)
            if origin_bytes.has(component):
                self._hasten(component)
                return self._watched(origin_bytes.response(component, head), component)
            if component.levels or component.unsettled:
                return await self._restored(request, component, head)
        except ComponentFailed as failure:
            return self._failed(request, failure)
        except asyncio.CancelledError:
            self._left(component)
            raise
        response = self._plain(request, component, head)
        untouched = request.original or "no-transform" in directives(request.headers)
        if component.use is Use.DOCUMENT and not untouched:
            response = self._export.document_response(component.id, response)
        return response

    async def _restored(self, request: Request, component: Component, head: OriginHead) -> Response:
        """The origin's bytes of a picture that crosses the link in others; anew where they can't
        be made of those."""
        self._hasten(component)
        try:
            await origin_bytes.whole(component)
            original = await self._export.original(component)
        except (ComponentFailed, NoFile):
            return await self._anew(request, component)
        return self._watched(whole_now(head, original), component)

    async def _anew(self, request: Request, component: Component) -> Response:
        """The origin's bytes, for who can't be given a picture as it was promised."""
        if not component.promised:
            return error_page(502, "The remote proxy coded what it was not asked to.")
        session = self._uplink.session
        if session is None:
            return self._link_down(request)
        site = self._switches.site(request, component.document)
        again = self.asking.ask(session, request, component.document, site=site)
        return await self._answer(request, again)

    def _hasten(self, component: Component) -> None:
        """A program waits for all of a picture, which its policy may have held or left for last."""
        session = self._uplink.session
        if session is not None and not component.complete:
            session.say(Fetch(component.id, LEVELS[-1], urgency=FIRST_OF_ITS_TIER))

    def _plain(self, request: Request, component: Component, head: OriginHead) -> Response:
        """The origin's own response."""
        if request.method == "HEAD":
            return Response(head.status, head.headers)
        headers: Headers = [
            (name, value) for name, value in head.headers if name != "content-length"
        ]
        response = Response(head.status, headers, _body(component), head.length)
        if request.takes & Takes.TRAILERS:
            response.trailers = lambda: component.trailers
        return self._watched(response, component)

    def _watched(self, response: Response, component: Component) -> Response:
        """Hear of it when the client leaves before the end."""
        response.on_done.append(lambda finished: None if finished else self._left(component))
        return response

    def _left(self, component: Component) -> None:
        """A client left before the end: nobody else can use what was asked for it alone."""
        if not component.promised:
            self._unwanted(component)

    def _unwanted(self, component: Component) -> None:
        """Nobody will be shown it: the rest need not come."""
        if not component.complete:
            self._uplink.abandon(component)

    def _failed(self, request: Request, failure: ComponentFailed) -> Response:
        if failure.reason == LOST:
            return self._link_down(request)
        return error_page(failure.status, failure.reason, retry=failure.retry)

    def _link_down(self, request: Request) -> Response:
        state = self._uplink.state()
        seconds = asyncio.get_running_loop().time() - state.since if state.was_up else None
        return link_down(
            request,
            remote=state.remote,
            reason=state.reason,
            seconds=seconds,
            update=state.update,
        )


async def _body(component: Component) -> AsyncIterator[bytes]:
    async for chunk in component.read():
        yield chunk
