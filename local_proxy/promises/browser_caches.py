"""Guesses what each browser keeps, so that nobody sends it what it would not ask for. Pure.

Of what a browser was given to its end, this remembers the address, until when it is fresh, and
whether the browser can ask if it has changed. A guess, for browsers forget and are emptied: the
first request that shows one to be wrong ends all belief about that browser and site, and what was
not sent is asked for as if there were no promises. A client is told by its User-Agent, so two alike
behind one local proxy count as one. Browsers partition their caches by the page's site; hosts here,
which are narrower. `now` is the wall clock's, as browsers reckon.

Sources: RFC 9111, 4; RFC 9110, 15.4.5. Must not know: the link, components.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum
from typing import Final
from urllib.parse import urlsplit

from local_proxy.http.model import Request, directives, max_age
from local_proxy.promises.freshness import constant, freshness, tells_freshness
from local_proxy.promises.windows import Windows
from web.sites import registrable, within
from wire.continuation import Kept
from wire.fields import Headers, header
from wire.names import MAX_NAMES, name_of, names_in

MAX_KEPT: Final = 16_384
"""Responses believed in, of all browsers; those not seen for longest go first."""
MAX_URL: Final = 2048
"""Bytes; longer ones are not remembered."""
_SHARED: Final = ("text/css", "javascript", "ecmascript", "font")
"""In media types that a site's pages mostly share: named for pages not yet seen with them."""
_CONDITIONS: Final = frozenset(("if-none-match", "if-modified-since"))


class Belief(Enum):
    """About one address in one browser."""

    UNKNOWN = 0
    FRESH = 1
    """It will not be asked for."""
    STALE = 2
    """It will be asked whether it has changed."""


Place = tuple[str, str]
"""Client and site."""


@dataclass(slots=True)
class _Entry:
    until: float
    """Fresh before that."""
    lifetime: float
    validator: bool
    page: str
    """By which it was last used."""
    shared: bool
    """More than one page is likely to use it."""


@dataclass(slots=True)
class _Opened:
    """A document, as far as it matters here."""

    place: Place
    page: str
    believes: bool = True
    """False: its reader has asked for all of it anew."""
    validates: bool = False
    """A reload: some browsers ask whether even what is fresh has changed."""
    stale: frozenset[bytes] = frozenset()
    """Names of what the remote was told that it will be asked about."""


class BrowserCaches:
    """The caches of all browsers of one local proxy."""

    def __init__(self, *, max_kept: int = MAX_KEPT) -> None:
        self._max = max_kept
        self._entries: OrderedDict[tuple[Place, str], _Entry] = OrderedDict()
        self._by_place: dict[Place, dict[str, None]] = {}
        """Addresses; the latest noted last."""
        self._documents: dict[int, _Opened] = {}
        self.windows = Windows()
        """What else promises depend on, of each browser."""
        self.spared = self.wrong = 0
        """Since the start: promises that were not wanted, and guesses that were wrong."""

    def __len__(self) -> int:
        return len(self._entries)

    def open(self, document: int, request: Request, *, site: str) -> None:
        """A navigation that opens a document, or goes on with another page. `site`: the host of the
        page in the window."""
        client = header(request.headers, "user-agent")
        if not client:
            return
        # A frame's part of the cache is another than its page's.
        host = urlsplit(request.url).hostname or ""
        place = (client, f"{site} {host}")
        asked = directives(request.headers)
        anew = "no-cache" in asked or "no-cache" in header(request.headers, "pragma")
        opened = _Opened(place, request.url, believes=not anew)
        if document in self._documents:  # the remote goes by what it was told at first
            before = self._documents[document]
            opened.validates, opened.stale = before.validates, before.stale
        elif request.method == "GET":  # of a form's answer a browser asks for the page alone anew
            opened.validates = max_age(request.headers) == 0.0
        self._documents[document] = opened

    def know_site(self, client: str, url: str) -> bool:
        """Whether this browser is believed to keep anything of the site of this address."""
        site = registrable(url)
        hosts = (shown.rpartition(" ")[2] for whose, shown in self._by_place if whose == client)
        return any(within(host, site) for host in hosts)

    def close(self, document: int) -> None:
        """The document is gone; what its browser keeps stays."""
        self._documents.pop(document, None)

    def names(self, document: int, *, now: float) -> Kept | None:
        """What is not to be sent for a document that is asked for: its own parts, then what its
        site's pages share, the latest first; and the window that it is for. None: nothing."""
        opened = self._documents.get(document)
        if opened is None:
            return None
        window = self.windows.of(opened.place[0])
        if not opened.believes:
            return Kept(window=window) if window is not None else None
        own: list[str] = []
        shared: list[str] = []
        for url in reversed(self._by_place.get(opened.place, {})):
            entry = self._entries[opened.place, url]
            if entry.page == opened.page:
                own.append(url)
            elif entry.shared:
                shared.append(url)
        fresh, stale = bytearray(), bytearray()
        for url in (*own, *shared)[:MAX_NAMES]:
            belief = self.belief(document, url, now=now)
            if belief is not Belief.UNKNOWN:
                (fresh if belief is Belief.FRESH else stale).extend(name_of(url))
        opened.stale = names_in(bytes(stale))
        known = fresh or stale or window is not None
        return Kept(bytes(fresh), bytes(stale), window) if known else None

    def withheld(self, document: int, url: str) -> bool:
        """Whether the remote was told to send the head of it alone."""
        opened = self._documents.get(document)
        return opened is not None and name_of(url) in opened.stale

    def belief(self, document: int, url: str, *, now: float) -> Belief:
        """What the browser that has this document will do about an address in it."""
        opened = self._documents.get(document)
        if opened is None or not opened.believes:
            return Belief.UNKNOWN
        entry = self._entries.get((opened.place, url))
        if entry is None:
            return Belief.UNKNOWN
        if now < entry.until and not opened.validates:
            return Belief.FRESH
        return Belief.STALE if entry.validator else Belief.UNKNOWN

    def spare(self, document: int, url: str) -> None:
        """A promise of it was not wanted, for the browser has it: its page uses it."""
        opened = self._documents.get(document)
        entry = self._entries.get((opened.place, url)) if opened is not None else None
        if opened is None or entry is None:
            return
        self.spared += 1
        entry.shared |= entry.page != opened.page
        self._seen(opened.place, url)

    def asked(self, document: int, request: Request, *, now: float) -> None:
        """A browser asks for it: all of it, though it was believed to have it?"""
        opened = self._documents.get(document)
        if opened is None or request.url == opened.page or not _plain(request):
            return
        if self.belief(document, request.url, now=now) is not Belief.UNKNOWN:
            self.wrong += 1
            self._forget(opened.place)

    def delivered(
        self,
        document: int,
        request: Request,
        status: int,
        headers: Headers,
        *,
        now: float,
    ) -> None:
        """A response went to a browser, to its end."""
        opened = self._documents.get(document)
        if opened is None or request.method != "GET" or header(request.headers, "range"):
            return
        if request.url == opened.page:  # asked for by itself, never promised
            return
        key = (opened.place, request.url)
        if status == 304:
            self._renew(key, headers, now)
            return
        found = freshness(headers, now=now) if status == 200 and constant(headers) else None
        if found is None or len(request.url) > MAX_URL:
            self._drop(key)
            return
        before = self._entries.get(key)
        shared = any(name in header(headers, "content-type").lower() for name in _SHARED) or (
            before is not None and (before.shared or before.page != opened.page)
        )
        self._entries[key] = _Entry(
            now + found.left, found.left, found.validator, opened.page, shared
        )
        self._seen(*key)
        while len(self._entries) > self._max:
            self._drop(next(iter(self._entries)))

    def _renew(self, key: tuple[Place, str], headers: Headers, now: float) -> None:
        entry = self._entries.get(key)
        if entry is None:
            return
        if tells_freshness(headers):
            found = freshness(headers, now=now)
            entry.lifetime = found.left if found is not None else 0.0
        entry.until = now + entry.lifetime
        self._seen(*key)

    def _seen(self, place: Place, url: str) -> None:
        self._entries.move_to_end((place, url))
        urls = self._by_place.setdefault(place, {})
        urls.pop(url, None)
        urls[url] = None

    def _forget(self, place: Place) -> None:
        for url in list(self._by_place.get(place, {})):
            self._drop((place, url))

    def _drop(self, key: tuple[Place, str]) -> None:
        if self._entries.pop(key, None) is None:
            return
        place, url = key
        urls = self._by_place[place]
        del urls[url]
        if not urls:
            del self._by_place[place]


def _plain(request: Request) -> bool:
    """Whether a cache that had a fresh response would have answered it, or asked conditionally."""
    names = {name for name, _ in request.headers}
    return (
        request.method == "GET"
        and "range" not in names
        and not names & _CONDITIONS
        and not {"no-cache", "no-store"} & directives(request.headers)
    )
