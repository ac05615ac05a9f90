"""Promises: responses that come without being asked, and when a browser's request may have one.

The remote proxy fetches what a page will need and promises it (design, section 4). A promise is
no cache entry: it stands for the request that the browser is about to make during this very page
load, and it may answer that request only if the origin could not tell the two apart.

Sources: RFC 9110, 12.5.5 (Vary) and 13.1 (conditions); RFC 9111, 4 (what a stored response may
answer); RFC 9113, 8.4: a pushed response that may not be stored "MAY be made available to the
application separately"; the preload cache of HTML and Fetch, which serves `no-store` once.

Decisions, and why:
- `no-cache`, `max-age=0`, `private`, or no freshness at all do not hinder: the response is of this
  load, as fresh as the browser's own request would have made it, and for this one user.
- `no-store` and `Set-Cookie` make a promise good for one request: as many as the origin answered.
- So do responses that are not fresh any more, and requests for one newer than is here: whoever asks
  once more than caches may answer wants to hear of changes (a script that polls, a reload).
- A page that asks for a picture twice before all of it is here gets one: to a browser it is the one
  that it has asked for (HTML, "list of available images" and preloads), but that Chromium, which is
  sent it as parts that replace each other, asks anew for the <img> behind a preload.
- Redirects are promised as the redirects they are; their targets are promises of their own.
- Errors that another request might not meet (401, 403, 429, 5xx) are never passed on.
- The Referer must be of the same origin: hosts answer by it. It may be missing where the request
  proves by other fields which page makes it, as a page's policy may be learnt too late.
- To another document than its own a promise is what a cache shared by pages would have (RFC 9111,
  3): fresh, of a request without credentials, and neither `private` nor to be asked about.

Pure: takes `now`; knows no socket, no component's bytes.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Final

from local_proxy.http.model import directives, max_age
from local_proxy.promises.freshness import age_on_arrival, left_when_made
from web.sites import origin_of
from wire.fields import Headers, header

LIFETIME: Final = 300.0
"""Seconds a promise may wait for its request; Chromium gave pushed responses as long."""
MAX_PROMISES: Final = 8_192
"""Promises of one device, all documents together; the oldest go first."""

_USABLE: Final = frozenset((200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 410))
"""Statuses that another request for the same would get again (RFC 9110, 15.1, and redirects)."""
_UNANSWERABLE: Final = ("authorization", "range", "if-range", "if-match", "if-unmodified-since")
_UNSHARED: Final = frozenset(("no-cache", "no-store", "private"))
"""Directives of answers that are for the page alone for which they were fetched."""
_ETAG: Final = re.compile(r'(?:W/)?("[^"]*")')


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """What the origin answered to the prefetch."""

    status: int
    headers: Headers
    at: float
    """When it became known, seconds."""


@dataclass(eq=False, slots=True)
class Promised:
    """One response under way for a document."""

    component: int
    document: int
    url: str
    request_headers: Headers
    """All that the prefetch sent and Vary may name: the shared ones and `accept`."""
    made_at: float
    """Seconds."""
    head: ResponseHead | None = None
    held: int = 0
    """Bytes held for it; kept up to date by whoever holds them."""
    uses: int = 0

    @property
    def single_use(self) -> bool:
        """It may answer one request only, because the origin meant it for one."""
        if self.head is None:
            return False
        names = {name for name, _ in self.head.headers}
        return "set-cookie" in names or "no-store" in directives(self.head.headers)


class Whose(Enum):
    """Whose promise it is, as the request sees it."""

    OWN = 0
    """Of the document that makes the request."""
    PEER = 1
    """Of one that may have made it as well: nothing in the request tells."""
    OTHER = 2
    """Of another one of the same site."""


@dataclass(frozen=True, slots=True)
class PromiseVerdict:
    """Whether a promise may answer a request."""

    use: bool
    reason: str
    """For logs and the status page."""
    final: bool = True
    """False: ask again when the response's head is known; nothing speaks against it so far."""
    not_modified: bool = False
    """Answer 304 with the promise's headers: the browser has the very same body."""


def may_use(
    promise: Promised,
    request_headers: Headers,
    method: str,
    url: str,
    now: float,
    *,
    whose: Whose = Whose.OWN,
    coming: bool = False,
) -> PromiseVerdict:
    """Whether the promise may answer this request. `coming`: of a picture, all of which is not here
    yet."""
    refused = _request_refused(promise, request_headers, method, url, now)
    refused = refused or _maker_refused(promise, request_headers, whose)
    if refused:
        return PromiseVerdict(False, refused)
    if promise.head is None:
        return PromiseVerdict(True, "head not known yet", final=False)
    refused = _response_refused(promise, promise.head, request_headers)
    if not refused and whose is not Whose.OWN and _is_for_one(promise.head):
        refused = "of another document, and not to be shared"
    if not refused and (promise.uses or whose is Whose.OTHER):
        coming = coming and whose is Whose.OWN
        refused = _reuse_refused(promise, promise.head, request_headers, now, coming=coming)
    if refused:
        return PromiseVerdict(False, refused)
    if promise.head.status == 200 and _unmodified(request_headers, promise.head.headers):
        return PromiseVerdict(True, "not modified", not_modified=True)
    return PromiseVerdict(True, "kept")


def _request_refused(
    promise: Promised, headers: Headers, method: str, url: str, now: float
) -> str | None:
    if method != "GET":
        return "method is not GET"
    if url.partition("#")[0] != promise.url.partition("#")[0]:
        return "another URL"
    if now - promise.made_at > LIFETIME:
        return "too old"
    for name in _UNANSWERABLE:
        if header(headers, name):
            return f"request has {name}"
    if header(headers, "content-length", "0") != "0" or header(headers, "transfer-encoding"):
        return "request has a body"
    if "only-if-cached" in directives(headers):
        return "request is for caches only"
    for name in ("cookie", "origin"):
        if _value(headers, name) != _value(promise.request_headers, name):
            return f"{name} differs"
    return None


def _maker_refused(promise: Promised, headers: Headers, whose: Whose) -> str | None:
    """What the two requests say of who makes them."""
    sent, asked = header(promise.request_headers, "referer"), header(headers, "referer")
    if origin_of(sent) != origin_of(asked) and (asked or whose is Whose.OTHER):
        return "referer differs"
    window = header(headers, "sec-fetch-dest") == "document"
    if window and header(promise.request_headers, "sec-fetch-dest") != "document":
        return "a page in a window, and promises are of parts"
    before, now = (
        (header(fields, "sec-fetch-site"), header(fields, "sec-fetch-mode") == "navigate")
        for fields in (promise.request_headers, headers)
    )
    if before[0] and now[0] and before != now:
        return "sec-fetch-site or -mode differs"
    if whose is not Whose.OWN and header(promise.request_headers, "cookie"):
        return "of another document, and its request had cookies"
    return None


def _is_for_one(head: ResponseHead) -> bool:
    """Whether no cache might give it to another page."""
    return bool(_UNSHARED & directives(head.headers)) or bool(header(head.headers, "set-cookie"))


def _response_refused(promise: Promised, head: ResponseHead, headers: Headers) -> str | None:
    if head.status not in _USABLE:
        return f"status {head.status}"
    if promise.single_use and promise.uses:
        return "already used, good for one request"
    for name in _varying(head.headers):
        if name == "*":
            return "vary: *"
        if _value(headers, name) != _value(promise.request_headers, name):
            return f"vary: {name} differs"
    return None


def _reuse_refused(
    promise: Promised, head: ResponseHead, headers: Headers, now: float, *, coming: bool
) -> str | None:
    """What has answered already is a stored response to all others (RFC 9111, 4 and 5.2.1)."""
    asked = directives(headers)
    if "no-cache" in asked or (not asked and "no-cache" in header(headers, "pragma").lower()):
        return "already used, and the request is for none that is stored"
    held = now - promise.made_at
    if held >= left_when_made(head.headers) and not coming:
        return "already used, and not fresh any more"
    wanted = max_age(headers)
    if wanted is not None and held + age_on_arrival(head.headers) >= wanted:
        return "already used, and older than the request allows"
    return None


def _varying(headers: Headers) -> Iterable[str]:
    """Field names in Vary, without Accept-Encoding: the pair of proxies owns the coding."""
    names = (name.strip().lower() for name in header(headers, "vary").split(","))
    return (name for name in names if name and name != "accept-encoding")


def _value(headers: Headers, name: str) -> str:
    """A field's value as Vary compares it: repeated ones joined, white space normalised."""
    if name == "cookie":  # The one field that HTTP/2 may cut (RFC 9113, 8.2.3).
        return "; ".join(value.strip() for key, value in headers if key == name)
    return ",".join(" ".join(part.split()) for part in header(headers, name).split(","))


def _unmodified(request: Headers, response: Headers) -> bool:
    """RFC 9110, 13.2.2: If-None-Match decides where there is one, by weak comparison."""
    wanted = header(request, "if-none-match")
    if wanted:
        own = _ETAG.fullmatch(header(response, "etag").strip())
        return own is not None and own[1] in _ETAG.findall(wanted)
    since, modified = header(request, "if-modified-since"), header(response, "last-modified")
    if not since or not modified:
        return False
    try:
        return parsedate_to_datetime(modified) <= parsedate_to_datetime(since)
    except (ValueError, TypeError, OverflowError):
        return False


@dataclass(frozen=True, slots=True)
class PromiseStatistics:
    """An immutable snapshot; counts since the session began, but for `open` and `held`."""

    open: int
    held: int
    """Bytes held for open promises."""
    made: int
    kept: int
    """Promises that answered at least one request."""
    answers: int
    """Requests that a promise answered."""
    wasted: int
    """Promises that went without having answered one."""


class PromiseTable:
    """The promises of one session, by document and URL. Bounded in number; in bytes by `trim`."""

    def __init__(self, *, max_promises: int = MAX_PROMISES) -> None:
        self._max = max_promises
        self._open: OrderedDict[tuple[int, str], Promised] = OrderedDict()
        self._by_url: dict[str, list[Promised]] = {}
        self._made = self._kept = self._answers = self._wasted = 0

    def __len__(self) -> int:
        return len(self._open)

    def add(self, promised: Promised) -> list[Promised]:
        """Take a promise in; those that had to go for it. A second one for the same is one."""
        url = promised.url.partition("#")[0]
        key = (promised.document, url)
        if key in self._open:
            return [promised] if self._open[key] is not promised else []
        self._open[key] = promised
        self._by_url.setdefault(url, []).append(promised)
        self._made += 1
        gone = []
        while len(self._open) > self._max:
            gone.append(self._drop(next(iter(self._open.values()))))
        return gone

    def find(self, url: str, now: float) -> list[Promised]:
        """The promises for this URL, of whatever document, the latest first.

        Those that are spent are still found, so that `may_use` can say why not.
        """
        found = reversed(self._by_url.get(url.partition("#")[0], []))
        return [promised for promised in found if now - promised.made_at <= LIFETIME]

    def take(self, promised: Promised) -> None:
        """It answers a request. Other requests of the document may share it (single_use: not)."""
        self._kept += promised.uses == 0
        self._answers += 1
        promised.uses += 1

    def fail(self, promised: Promised) -> list[Promised]:
        """It will not be kept: the remote gave it up. What goes: that, unless it had gone before,
        and another may be in its place."""
        key = (promised.document, promised.url.partition("#")[0])
        return [self._drop(promised)] if self._open.get(key) is promised else []

    def close_document(self, document: int) -> list[Promised]:
        """The document is gone, and its promises with it."""
        return [self._drop(one) for one in list(self._open.values()) if one.document == document]

    def expire(self, now: float) -> list[Promised]:
        """Drop what has waited too long; oldest first."""
        old = [one for one in self._open.values() if now - one.made_at > LIFETIME]
        return [self._drop(one) for one in old]

    def trim(self, *, max_bytes: int) -> list[Promised]:
        """Drop the oldest until at most so many bytes are held, used ones before unused ones."""
        held = sum(one.held for one in self._open.values())
        gone: list[Promised] = []
        for one in sorted(self._open.values(), key=lambda one: one.uses == 0):
            if held <= max_bytes:
                break
            if one.held:
                held -= one.held
                gone.append(self._drop(one))
        return gone

    def statistics(self) -> PromiseStatistics:
        held = sum(one.held for one in self._open.values())
        return PromiseStatistics(
            len(self._open), held, self._made, self._kept, self._answers, self._wasted
        )

    def _drop(self, promised: Promised) -> Promised:
        url = promised.url.partition("#")[0]
        del self._open[promised.document, url]
        same = self._by_url[url]
        same.remove(promised)
        if not same:
            del self._by_url[url]
        self._wasted += promised.uses == 0
        return promised
