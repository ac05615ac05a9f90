"""Which documents are open, and which one a request belongs to. Pure.

A navigation opens a document; its id is the id of the component that carries the page. Requests
name their document by their Referer; browsers trim it across origins to the origin alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urldefrag

from local_proxy.http.model import Request
from local_proxy.promises.initiators import (
    ANYBODY,
    MAX_FRAMES,
    InitiatorPage,
    Initiators,
    Lent,
    Partition,
    alone,
    initiators,
    partition_of,
)
from web.sites import origin_of, site_of
from wire.messages import UNATTRIBUTED

MAX_DOCUMENTS: Final = 256
"""Documents remembered; the one that nobody has looked at for longest is forgotten first."""
UNSEEN: Final = 3600.0
"""Seconds without anybody looking at it, after which a document is let go when another is opened:
what it still waits for would come before what is on the screen."""


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """A page that a browser has, or had a moment ago."""

    id: int
    url: str
    opened: float
    site: str = ""
    """The host whose switch holds for it and for all it loads: of a frame, its page's."""
    pages: list[InitiatorPage] = field(default_factory=list)
    """Itself, and those of its frames whose pages were promised with it."""


class Documents:
    """Open documents, the latest navigation last."""

    def __init__(self) -> None:
        self._documents: dict[int, OpenDocument] = {}
        self._lent = Lent()
        self._by_url: dict[str, dict[int, None]] = {}
        self._by_origin: dict[str, dict[int, None]] = {}
        """Documents by the addresses and origins of their pages."""
        self._looked: dict[int, float] = {}
        """When somebody last looked at a document, or it loaded something; the latest last."""
        self._on_screen: dict[int, bool] = {}
        """What tracking has told: these are looked at all the time, or not by loading something."""
        self._let_go: dict[str, OpenDocument] = {}
        """By URL, those that nobody had looked at for long: their tabs may still be there."""

    def __len__(self) -> int:
        return len(self._documents)

    def __iter__(self) -> Iterator[OpenDocument]:
        return iter(list(self._documents.values()))

    def open(
        self,
        document: int,
        url: str,
        *,
        now: float,
        site: str = "",
        partition: Partition = ANYBODY,
        client: str = "",
    ) -> list[OpenDocument]:
        """A navigation; returns the documents that were forgotten: unseen, or to make room.

        `client`: the User-Agent of its browser.
        """
        url = urldefrag(url).url
        page = InitiatorPage(document, url, origin_of(url), partition, client)
        self._documents[document] = OpenDocument(document, url, now, site, [page])
        self._index(page)
        self._let_go.pop(url, None)
        self._looked[document] = now
        return self._forget(now)

    def frame(self, document: int, request: Request) -> None:
        """A frame of the document was given its page, which had been promised with it."""
        around = self._documents.get(document)
        if around is None:
            return
        main, url = around.pages[0], urldefrag(request.url).url
        partition = Partition(main.partition.top, site_of(url))
        if len(around.pages) > MAX_FRAMES:
            self._leave(around, around.pages[1])
        page = InitiatorPage(document, url, origin_of(url), partition, main.client)
        around.pages.append(page)
        self._index(page)

    def initiators(self, request: Request) -> Initiators:
        """Who may have made it."""
        return initiators(request, self._pages(), self._lent)

    def partition(self, request: Request, *, framed: bool, document: int) -> Partition:
        """The partition of the page that this request opens as `document`; `framed`: in a frame."""
        return partition_of(request, self.initiators(request), framed=framed, document=document)

    def lend(self, request: Request) -> None:
        """A style sheet, or a module, goes to whoever makes this request."""
        self._lent.give(request.url, self.initiators(request).partition)

    def _pages(self) -> Iterator[InitiatorPage]:
        for document in reversed(self._documents.values()):
            yield from reversed(document.pages)

    def get(self, document: int) -> OpenDocument | None:
        """The document of that id, while it is open."""
        return self._documents.get(document)

    def close(self, document: int) -> OpenDocument | None:
        """Forget a document."""
        closed = self._documents.pop(document, None)
        if closed is not None:
            if closed.pages[0].partition == alone(document, site_of(closed.url)):
                self._lent.forget(closed.pages[0].partition)
            for page in closed.pages:
                _discard(self._by_url, page.url, document)
                _discard(self._by_origin, page.origin, document)
            self._looked.pop(document, None)
            self._on_screen.pop(document, None)
        return closed

    def looked_at(self, document: int, *, now: float) -> None:
        """Somebody does something in it, or something in it loads."""
        if document in self._looked and self._on_screen.get(document, True):
            self._look(document, now)

    def shown(self, document: int, on_screen: bool, *, now: float) -> None:
        """Its tab was shown or hidden."""
        if document in self._documents:
            self._look(document, now)
            self._on_screen[document] = on_screen

    def let_go(self, referer: str) -> OpenDocument | None:
        """The document of that URL that was let go while its tab was there; None: none was."""
        return self._let_go.get(referer.partition("#")[0])

    def of(self, referer: str) -> int:
        """The document that sent a request with this Referer; UNATTRIBUTED if none fits.

        The newest page with that URL; else, as style sheets and frames send Referers of their own,
        the newest page of that origin.
        """
        if not referer:
            return UNATTRIBUTED
        url, origin = referer.partition("#")[0], origin_of(referer)
        if not origin:  # not a URL: anybody can send any Referer
            return UNATTRIBUTED
        same = self._by_url.get(url) or self._by_origin.get(origin)
        if not same:
            return UNATTRIBUTED
        return max(reversed(same), key=lambda document: self._documents[document].opened)

    def _index(self, page: InitiatorPage) -> None:
        """Remember a document by its page, or by one of its frames'; the newest last."""
        for index, key in ((self._by_url, page.url), (self._by_origin, page.origin)):
            index.setdefault(key, {})[page.document] = None

    def _leave(self, document: OpenDocument, page: InitiatorPage) -> None:
        """One of its frames is forgotten; another may be of the same address or origin."""
        document.pages.remove(page)
        if all(one.url != page.url for one in document.pages):
            _discard(self._by_url, page.url, document.id)
        if all(one.origin != page.origin for one in document.pages):
            _discard(self._by_origin, page.origin, document.id)

    def _look(self, document: int, now: float) -> None:
        self._looked.pop(document, None)
        self._looked[document] = now

    def _forget(self, now: float) -> list[OpenDocument]:
        """What nobody has looked at for long, and what is too much."""
        gone = []
        for _ in range(len(self._documents) - 1):  # never the one that opens
            document, looked = next(iter(self._looked.items()))
            too_many = len(self._documents) > MAX_DOCUMENTS
            if not too_many and now - looked < UNSEEN:
                break
            if not too_many and self._on_screen.get(document):
                self._look(document, now)
                continue
            closed = self.close(document)
            assert closed is not None
            self._let_go[closed.url] = closed
            gone.append(closed)
        while len(self._let_go) > MAX_DOCUMENTS:
            del self._let_go[next(iter(self._let_go))]
        return gone


def _discard(index: dict[str, dict[int, None]], key: str, document: int) -> None:
    """Take it out; what is empty goes. Of several pages with one key the first takes it out."""
    same = index.get(key)
    if same is not None:
        same.pop(document, None)
        if not same:
            del index[key]
