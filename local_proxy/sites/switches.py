"""Applies a site's switch to one request, and stands in for what the site goes without.

Joins the switches (sites.py) with the documents that requests belong to. Must not know: the link,
how answers are written.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from local_proxy.http.model import Request, Response
from local_proxy.link.components import Component
from local_proxy.requests.intent import in_frame, is_navigation, referring_host, subject_of
from local_proxy.requests.open_documents import Documents
from local_proxy.sites.day_budget import DayBudget
from local_proxy.sites.placeholder import UNLOADED, kind_of, unloaded
from local_proxy.sites.sites import Mode, Sites
from wire.fields import header
from wire.skeleton import Kind


class Switches:
    """The sites' switches, as requests meet them."""

    def __init__(
        self,
        sites: Sites,
        documents: Documents,
        *,
        find: Callable[[int, str], Component | None],
        unwanted: Callable[[Component], None],
        left_out: Callable[[int, str], None],
        budget: DayBudget | None = None,
    ) -> None:
        """`find`: what is known of a document's component by its URL. `unwanted` is told which
        components nobody will be shown, and `left_out` which pictures of which documents.
        `budget`: what may cross in a day; None: there is none."""
        self._budget = budget
        self._sites = sites
        self._documents = documents
        self._find = find
        self._unwanted = unwanted
        self._left_out = left_out

    def site(self, request: Request, document: int) -> str:
        """The host of the page that this is for; a page in a window of its own is that page."""
        host = urlsplit(request.url).hostname or ""
        if is_navigation(request) and not in_frame(request):
            return host
        page = self._documents.get(document)
        if page is not None:
            return page.site
        return referring_host(request) or host

    def within(self, site: str) -> float | None:
        """Seconds in which the pictures of a page of this site are to be there, if so wanted."""
        return self._sites.within(site)

    def mode(self, request: Request, document: int) -> Mode:
        """What the site's switch says. Over a TLS that was taken off before: the original."""
        site = self.site(request, document)
        if is_navigation(request) and not in_frame(request):
            self._sites.seen(site)
        parts = urlsplit(request.url)
        mode = self._sites.mode(parts.hostname or "", page=site)
        if self._budget is not None:
            mode = self._budget.mode(mode)
        if mode is Mode.TUNNEL:
            return Mode.ORIGINAL if parts.scheme == "https" else Mode.ADAPT
        if mode is Mode.TEXT_ONLY and request.original:
            return Mode.ORIGINAL  # somebody wants just this one
        return mode

    def instead(self, request: Request, document: int) -> Response | None:
        """What stands for something that a text-only site goes without; None: ask for it."""
        kind = subject_of(request, document).kind
        if kind not in UNLOADED:
            return None
        known = self._find(document, request.url)
        width, height = (known.width, known.height) if known is not None else (0, 0)
        if known is not None and known.promised:  # as the page itself is adapted
            self._unwanted(known)
        return self._unloaded(request, kind, document, width=width, height=height)

    def _unloaded(
        self,
        request: Request,
        kind: Kind,
        document: int,
        *,
        width: int = 0,
        height: int = 0,
    ) -> Response:
        if kind is Kind.IMAGE:
            self._left_out(document, request.url)
        return unloaded(request, kind, width=width, height=height)

    def spared(self, request: Request, component: Component) -> Response:
        """Stands in for what a budget has no room for."""
        kind, head = component.kind, component.head
        if head is not None:
            kind = kind_of(header(head.headers, "content-type"))
        return self._unloaded(
            *(request, kind, component.document),
            width=component.width,
            height=component.height,
        )

    def without(self, request: Request, response: Response, component: Component) -> Response:
        """The response, unless its type tells that a text-only site goes without it."""
        kind = kind_of(header(response.headers, "content-type"))
        if request.method != "GET" or response.status >= 300 or kind not in UNLOADED:
            return response
        self._unwanted(component)
        return self._unloaded(request, kind, component.document)
