"""Who may have made a request: which open documents, and of which top-level site. Pure.

A browser keeps sites apart: what a page of one has loaded, pages of others can't tell by the time
that something takes. A request names its maker by `Origin`, by Sec-Fetch-Site or by its Referer.
The Referer is a style sheet's where that names the part, and any page may use any site's sheet; so
it is remembered to whom sheets were given. (Modules name themselves, too, but with an `Origin`.)

Sources: Fetch metadata, 2.3; Referrer Policy, 8.3, and CSSOM for sheets; Fetch, 2.9 (network
partition keys). Must not know: promises, components, the link.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from local_proxy.http.model import Request
from web.sites import origin_of, relation, site_of
from wire.fields import Headers, header

MAX_LENT: Final = 4096
"""Addresses of sheets remembered; those not given for longest go first."""
MAX_LENT_URL: Final = 2048
"""Bytes; longer addresses count as given to everybody."""
MAX_FRAMES: Final = 64
"""Pages of frames remembered for a document; the oldest go first."""
_ALONE: Final = "document "
MANY: Final = 2
"""Partitions that are told apart of those that have a sheet."""


class Partition(NamedTuple):
    """What browsers keep apart: the site in the address bar, and that of the page or frame in it.

    As Chromium's network isolation key; Firefox and Safari look at the first alone.
    """

    top: str
    own: str

    @property
    def alone(self) -> bool:
        """Whether it is one page's, which shares with no other, or nobody's that is known."""
        return not self.top or self.top.startswith(_ALONE)


ANYBODY: Final = Partition("", "")
"""The partition of requests that do not tell who makes them."""


@dataclass(frozen=True, slots=True)
class InitiatorPage:
    """A page in a window or in a frame."""

    document: int
    """The document whose promises are for it: of a frame that was promised, the page around it."""
    url: str
    """Without fragment."""
    origin: str
    partition: Partition
    client: str
    """The User-Agent of its browser."""


@dataclass(frozen=True, slots=True)
class Initiators:
    """The documents whose promises may answer a request."""

    own: int | None = None
    """The one that is most likely to have made it."""
    peers: frozenset[int] = frozenset()
    """Others that may have: nothing in the request tells them apart."""
    others: frozenset[int] = frozenset()
    """Others of the same partition."""
    partition: Partition = ANYBODY
    mixed: bool = False
    """`own` and `peers` are not all of one partition: pages of one origin under several tops."""


NOBODY: Final = Initiators()


class Lent:
    """To whom sheets were given, which name themselves as Referer of their parts."""

    def __init__(self, *, max_lent: int = MAX_LENT) -> None:
        self._max = max_lent
        self._to: OrderedDict[str, frozenset[Partition]] = OrderedDict()

    def give(self, url: str, partition: Partition) -> None:
        """A page of that partition has it now."""
        for key in (url, origin_of(url) + "/"):  # browsers trim Referers to the origin
            if len(key) > MAX_LENT_URL:
                continue
            to = self._to.get(key, frozenset())
            self._to[key] = to | {partition if len(to) < MANY else ANYBODY}
            self._to.move_to_end(key)
        while len(self._to) > self._max:
            self._to.popitem(last=False)

    def forget(self, partition: Partition) -> None:
        """It was that of one page, which is gone."""
        for url, to in list(self._to.items()):
            if partition in to:
                self._to[url] = to - {partition}

    def to(self, url: str) -> frozenset[Partition]:
        """Who has it, as far as is known; ANYBODY stands for any more."""
        if len(url) > MAX_LENT_URL:
            return frozenset((ANYBODY,))
        return self._to.get(url, frozenset())


def initiators(request: Request, pages: Iterable[InitiatorPage], lent: Lent) -> Initiators:
    """Who may have made it. `pages`: those that are open, the newest first."""
    headers = request.headers
    client, referer = header(headers, "user-agent"), header(headers, "referer").partition("#")[0]
    origin, sure = _origin_named(headers, request.url, referer)
    open_here = [page for page in pages if page.client == client]
    if not origin:  # no page, or one that has borrowed another's sheet
        return _of_sheet(referer, open_here, lent)
    own = [page for page in open_here if page.origin == origin]
    if not _trimmed(referer, request.url):
        exact = [page for page in own if page.url == referer]
        own, sure = exact or own, sure or bool(exact)
    partitions = {page.partition for page in own}
    if not sure and not lent.to(referer) <= partitions:
        return NOBODY if own else _of_sheet(referer, open_here, lent)
    return _among(own, open_here)


def _origin_named(headers: Headers, url: str, referer: str) -> tuple[str, bool]:
    """The origin of the page that makes a request, empty if it does not tell, and whether that is
    sure: a Referer may be a sheet's."""
    named = header(headers, "origin")
    if named:
        return origin_of(named), True  # `null` has none
    said = header(headers, "sec-fetch-site")
    if said == "same-origin":
        return origin_of(url), True
    origin = origin_of(referer)
    if said and origin and relation(origin, url) != said:
        return "", False
    return origin, False


def _trimmed(referer: str, url: str) -> bool:
    """Whether the Referer says no more than an origin."""
    origin = origin_of(referer)
    return referer == origin + "/" and origin != origin_of(url)


def _of_sheet(referer: str, pages: list[InitiatorPage], lent: Lent) -> Initiators:
    """The pages of the only partition that has the sheet, if it's one."""
    partitions = lent.to(referer) if referer else frozenset()
    if len(partitions) != 1 or ANYBODY in partitions:
        return NOBODY
    return _among([page for page in pages if page.partition in partitions], pages)


def _among(own: list[InitiatorPage], pages: list[InitiatorPage]) -> Initiators:
    if not own:
        return NOBODY
    first, partitions = own[0], {page.partition for page in own}
    peers = frozenset(page.document for page in own) - {first.document}
    if len(partitions) > 1:
        return Initiators(first.document, peers, mixed=True)
    alike = {page.document for page in pages if page.partition == first.partition}
    others = frozenset(alike) - peers - {first.document}
    return Initiators(first.document, peers, others, first.partition)


def partition_of(
    request: Request, made_by: Initiators, *, framed: bool, document: int
) -> Partition:
    """The partition of a page that this request opens as `document`.

    `framed`: it says that it is for a frame. One that says nothing (http) may be for a frame too:
    if another site's page names itself, the page is kept apart from all others. So may one that a
    service worker passes on, and where no page names itself it may be any page's.
    """
    own = site_of(request.url)
    destination = header(request.headers, "sec-fetch-dest")
    if destination == "document":
        return Partition(own, own)
    if made_by.partition != ANYBODY and (framed or made_by.partition.top == own):
        return Partition(made_by.partition.top, own)
    if not framed and not header(request.headers, "referer") and not destination:
        return Partition(own, own)
    return alone(document, own)


def alone(document: int, own: str) -> Partition:
    """The partition of a page that shares with no other."""
    return Partition(f"{_ALONE}{document}", own)
