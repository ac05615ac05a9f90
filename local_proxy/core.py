"""The local proxy's core: a browser's request in, a response out, whatever way it takes.

Joins fronts, promises, sessions, export drivers and tracking; each of them knows only its own
side. A request goes: our own paths -> promise -> wire -> component -> export driver. Nothing here
touches a socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final, Protocol
from urllib.parse import urlsplit

import structlog

from local_proxy.chatter import is_chatter
from local_proxy.components import Component, ComponentFailed, Head
from local_proxy.documents import Documents
from local_proxy.error_page import error_page
from local_proxy.export_drivers.browser import BrowserExport
from local_proxy.http import Duplex, Headers, Request, Response, header
from local_proxy.placeholder import UNLOADED, kind_of, unloaded
from local_proxy.promise_keeper import Kept, PromiseKeeper, wants_picture
from local_proxy.promises import directives
from local_proxy.resumption import LOST
from local_proxy.session import LocalSession
from local_proxy.sites import Mode, Sites
from local_proxy.status.link_down import link_down
from local_proxy.status.setup import is_own
from local_proxy.tunnel import Tunnel
from local_proxy.uplink import Uplink
from policies.plan import Decision, Subject
from transport.outgoing import Outgoing
from wire.messages import BACKGROUND, UNATTRIBUTED, Raise, Treatment
from wire.skeleton import Kind, Use

_DESTINATIONS: Final = {
    "audio": Kind.MEDIA,
    "font": Kind.FONT,
    "script": Kind.SCRIPT,
    "style": Kind.STYLE,
    "video": Kind.MEDIA,
}
"""Sec-Fetch-Dest that tells the kind (Fetch metadata, 2.1)."""
MAX_HEADERS: Final = 50_000
"""Bytes of a request's fields: with its URL they must fit a frame (wire.messages.MAX_MESSAGE)."""
FIELD: Final = 8
"""Bytes that HPACK adds to a field at most, for its lengths (RFC 7541, 6.2)."""
MAX_FIELDS: Final = 1000
"""Of a request: HPACK counts 32 bytes for each beside its own, and the peer takes 128 KB in all
(RFC 7541, 4.1; wire.session.MAX_HEADER_BYTES)."""
_TREATMENTS: Final = {Mode.ORIGINAL: Treatment.ORIGINAL, Mode.TEXT_ONLY: Treatment.TEXT_ONLY}
_log = structlog.get_logger("sluice.local")


class OwnPages(Protocol):
    """Serves the proxy's own host and address (the status page, what browsers need)."""

    async def handle(self, request: Request) -> Response: ...


class Observer(Protocol):
    """Who hears of documents (policies, statistics). Must not raise."""

    def document_opened(self, document: int, url: str) -> None: ...
    def document_closed(self, document: int) -> None: ...
    def component_requested(self, component: Component) -> None: ...


def is_navigation(request: Request) -> bool:
    """Whether a browser loads a page (or a frame) with this. Plain clients never match."""
    destination = header(request.headers, "sec-fetch-dest")
    if destination:
        return destination in ("document", "iframe", "frame")
    return (
        request.method in ("GET", "POST")
        and header(request.headers, "accept").startswith("text/html")
        and header(request.headers, "upgrade-insecure-requests") == "1"
    )


class ProxyCore:
    """What the fronts talk to (local_proxy.http.Core)."""

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
        self._observer = observer
        self._pages = pages
        self._plan = plan
        self._sites = sites
        self._find = find
        self._patience = patience
        self._notice = min(notice, patience)
        self._uploads: set[asyncio.Task[None]] = set()

    async def handle(self, request: Request) -> Response:
        """Answer it, whatever happens."""
        if is_own(request):
            return await self._pages.handle(request)
        own = await self._export.own(request)
        if own is not None:
            return own
        document = self._documents.of(header(request.headers, "referer"))
        if document == UNATTRIBUTED and is_chatter(urlsplit(request.url).hostname or ""):
            document = BACKGROUND
        mode = self._mode(request, document)
        if mode is Mode.TEXT_ONLY and (kind := _subject(request, document).kind) in UNLOADED:
            return self._unloaded(request, document, kind)
        request.original = request.original or mode is Mode.ORIGINAL
        now = asyncio.get_running_loop().time()
        kept = await self._promises.find(request, document=document, now=now)
        if kept is not None:
            return await self._keep(request, kept)
        # People would look at an empty window: a page says why, and loads itself again.
        opens_page = request.method == "GET" and is_navigation(request)
        if opens_page and not await self._uplink.wait_connected(self._notice):
            return self._link_down(request)
        session = await self._uplink.wait_session(self._patience)
        if session is None:
            return self._link_down(request)
        if sum(len(name) + len(value) + FIELD for name, value in request.headers) > MAX_HEADERS:
            return error_page(431, f"The request's header is longer than {MAX_HEADERS} bytes.")
        if len(request.headers) > MAX_FIELDS:
            return error_page(431, f"The request's header has more than {MAX_FIELDS} fields.")
        if self._plan(_subject(request, document)).fetch == "never":
            return error_page(403, "A policy keeps this from being fetched.")
        component = self._ask(session, request, document, mode)
        self._follow(request, component)
        response = await self._answer(request, component)
        if mode is Mode.TEXT_ONLY and component.use is not Use.DOCUMENT:
            return self._without(request, response, component)
        return response

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

    # -- where a component comes from --------------------------------------------------------------

    async def _keep(self, request: Request, kept: Kept) -> Response:
        """Answer from a promise."""
        component = kept.component
        if kept.not_modified is not None:
            self._left(component, shared=False)  # the browser has it: its bytes need not come
            return kept.not_modified
        self._follow(request, component)
        if component.use is Use.DOCUMENT:  # the page of a frame
            self._export.open_document(component.id, component.url)
        return await self._answer(request, component)

    def _ask(
        self, session: LocalSession, request: Request, document: int, mode: Mode = Mode.ADAPT
    ) -> Component:
        """Ask the remote for it; a navigation opens a document."""
        component_id = session.new_id()
        navigation = is_navigation(request)
        opener, document = document, component_id if navigation else document
        component = Component(
            id=component_id,
            document=document,
            url=request.url,
            kind=Kind.TEXT if navigation else Kind.OTHER,
            use=Use.DOCUMENT if navigation else Use.OTHER,
        )
        if navigation:
            self._open_document(component, self._site(request, opener))
        session.request(
            component,
            method=request.method,
            headers=request.headers,
            body=request.body is not None,
            levels=wants_picture(request),
            treatment=_TREATMENTS.get(mode, Treatment.ADAPTED) if navigation else Treatment.ADAPTED,
        )
        self._observer.component_requested(component)
        if request.body is not None:
            up = session.upload(component_id)
            task = asyncio.ensure_future(_upload(request.body, up, session))
            self._uploads.add(task)
            task.add_done_callback(self._uploads.discard)
        return component

    def _follow(self, request: Request, component: Component) -> None:
        """Raise it while the client wants it sooner than it first said (RFC 9218, 7).

        What a browser says at first is its own guess at what policies decide here, so it moves
        nothing; a change means that something happened in the page. Moved back is only what was
        raised by this.
        """
        first, raised = request.urgency, False

        def moved(urgency: int) -> None:
            nonlocal raised
            session, sooner = self._uplink.session, urgency < first
            if session is not None and not component.complete and sooner != raised:
                raised = sooner
                session.say(Raise(component.id, int(sooner)))

        request.on_urgency.append(moved)

    def _open_document(self, component: Component, site: str) -> None:
        now = asyncio.get_running_loop().time()
        for forgotten in self._documents.open(component.id, component.url, now=now, site=site):
            self.close_document(forgotten.id)
        self._export.open_document(component.id, component.url)
        self._observer.document_opened(component.id, component.url)

    def close_document(self, document: int) -> None:
        """The document's window is gone."""
        self._documents.close(document)
        self._promises.close_document(document)
        self._export.close_document(document)
        self._observer.document_closed(document)
        self._uplink.close_document(document)

    # -- sites -------------------------------------------------------------------------------------

    def _site(self, request: Request, document: int) -> str:
        """The host of the page that this is for; a page in a window of its own is that page."""
        host = urlsplit(request.url).hostname or ""
        if is_navigation(request) and not _in_frame(request):
            return host
        page = self._documents.get(document)
        if page is not None:
            return page.site
        return _host_of(header(request.headers, "referer")) or host

    def _mode(self, request: Request, document: int) -> Mode:
        """What the site's switch says. Over a TLS that was taken off before: the original."""
        site = self._site(request, document)
        if is_navigation(request) and not _in_frame(request):
            self._sites.seen(site)
        parts = urlsplit(request.url)
        mode = self._sites.mode(parts.hostname or "", page=site)
        if mode is Mode.TUNNEL:
            return Mode.ORIGINAL if parts.scheme == "https" else Mode.ADAPT
        if mode is Mode.TEXT_ONLY and request.original:
            return Mode.ORIGINAL  # somebody wants just this one
        return mode

    def _unloaded(self, request: Request, document: int, kind: Kind) -> Response:
        known = self._find(document, request.url)
        width, height = (known.width, known.height) if known is not None else (0, 0)
        if known is not None and known.promised:  # as the page itself is adapted
            self._left(known, shared=False)
        return unloaded(request, kind, width=width, height=height)

    def _without(self, request: Request, response: Response, component: Component) -> Response:
        """The response, unless its type tells that a text-only site goes without it."""
        kind = kind_of(header(response.headers, "content-type"))
        if request.method != "GET" or response.status >= 300 or kind not in UNLOADED:
            return response
        self._left(component)
        return unloaded(request, kind)

    # -- how it is answered ------------------------------------------------------------------------

    async def _answer(self, request: Request, component: Component) -> Response:
        try:
            head = await component.wait_head()
            if component.levels and wants_picture(request):
                picture = await self._export.picture(component, request)
                return self._watched(picture, component)
            if component.coding:
                return await self._anew(request, component)
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

    async def _anew(self, request: Request, component: Component) -> Response:
        """The origin's bytes, for who can't be given a picture as it was promised."""
        if not component.promised:
            return error_page(502, "The remote proxy coded what it was not asked to.")
        session = self._uplink.session
        if session is None:
            return self._link_down(request)
        return await self._answer(request, self._ask(session, request, component.document))

    def _plain(self, request: Request, component: Component, head: Head) -> Response:
        """The origin's own response."""
        if request.method == "HEAD":
            return Response(head.status, head.headers)
        headers: Headers = [
            (name, value) for name, value in head.headers if name != "content-length"
        ]
        body = _body(component)
        return self._watched(Response(head.status, headers, body, head.length), component)

    def _watched(self, response: Response, component: Component) -> Response:
        """Hear of it when the client leaves before the end."""
        response.on_done.append(lambda finished: None if finished else self._left(component))
        return response

    def _left(self, component: Component, *, shared: bool = True) -> None:
        """A client left before the end: nobody else can use what was asked for it alone."""
        if not component.complete and not (shared and component.promised):
            self._uplink.abandon(component)

    def _failed(self, request: Request, failure: ComponentFailed) -> Response:
        if failure.reason == LOST:
            return self._link_down(request)
        return error_page(failure.status, failure.reason)

    def _link_down(self, request: Request) -> Response:
        state = self._uplink.state()
        seconds = asyncio.get_running_loop().time() - state.since if state.was_up else None
        return link_down(request, remote=state.remote, reason=state.reason, seconds=seconds)


def _subject(request: Request, document: int) -> Subject:
    """What the plan can know of a request before there is an answer."""
    if is_navigation(request):
        return Subject(component=0, document=0, kind=Kind.TEXT, use=Use.DOCUMENT)
    kind = _DESTINATIONS.get(header(request.headers, "sec-fetch-dest"), Kind.OTHER)
    if wants_picture(request):
        kind = Kind.IMAGE
    elif header(request.headers, "accept").startswith("text/css"):
        kind = Kind.STYLE
    return Subject(component=0, document=document, kind=kind, use=Use.OTHER)


def _in_frame(request: Request) -> bool:
    return header(request.headers, "sec-fetch-dest") in ("iframe", "frame")


def _host_of(referer: str) -> str:
    try:
        return urlsplit(referer).hostname or ""
    except ValueError:  # not a URL: anybody can send any Referer
        return ""


async def _body(component: Component) -> AsyncIterator[bytes]:
    async for chunk in component.read():
        yield chunk


async def _upload(body: AsyncIterator[bytes], up: Outgoing, session: LocalSession) -> None:
    """A request's body, up the link at the pace of its credit.

    One that breaks off is cut, so that the origin does not take it for whole; its client is
    answered by the front, which knows what was wrong with it.
    """
    try:
        async for chunk in body:
            up.write(chunk)
            await up.room()
            if up.closed:  # nobody wants the rest, of which there may be no end
                return
    except Exception as error:
        session.cut_upload(up.component, str(error))
    else:
        up.finish()
