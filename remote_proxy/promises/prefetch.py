"""Which finds are fetched before the browser asks, and with what headers.

A prefetch must be the request that the browser itself is about to make, or the promise made of it
is refused on the other side (local_proxy/promises/rules.py) and the bytes are wasted. Where that
request cannot be known, it is left to the browser.

Sources: Fetch (headers, credentials), Referrer Policy, RFC 6265bis 5.7 (cookies); the fields are
those that Chromium 156 was seen to send. Pure: no socket, no clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from remote_proxy.import_drivers.found import BrowserTraits, Found, browser_traits
from remote_proxy.import_drivers.scope import REFERRER_POLICIES
from remote_proxy.import_drivers.urls import origin
from remote_proxy.origin.cookies import cookie_after
from remote_proxy.promises.protections import TOP, Embedding, Protections, destination
from wire.continuation import Window
from wire.fields import Fields
from wire.skeleton import Kind, Use

MAX_PREFETCHES: Final = 256
"""Of one document."""
_MAX_REFERER: Final = 4096
"""Bytes; a longer referrer is cut to its origin (Referrer Policy, 8.3)."""
_DEFAULT_POLICY: Final = "strict-origin-when-cross-origin"
SAME_IN_EVERY_REQUEST: Final = (
    *("user-agent", "accept-language", "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform"),
    *("dnt", "sec-gpc", "save-data"),
)
"""Fields that a browser sends for a document and its parts alike."""


class NotFetched(StrEnum):
    """Why something is not prefetched."""

    KNOWN = "already considered"
    LIMIT = "enough for this document"
    LAZY = "its browser may never ask for it"
    MEDIA = "sound and film come when played"
    SCHEME = "not seen by the local proxy, or mixed content"
    FORBIDDEN = "the page forbids it, or its browser would ask for it otherwise"
    REFERRER = "browsers differ about the referrer"
    AUTHORIZATION = "the document needed authorization"
    COOKIES = "the browser's next cookies cannot be known"


@dataclass(frozen=True, slots=True)
class Document:
    """The document whose parts are prefetched."""

    url: str
    request_headers: Fields
    """What the browser sent for it."""
    response_headers: Fields
    """What the origin answered."""
    sees_tls: bool = False
    """The local proxy sees requests inside TLS, so that https promises of http pages can be met."""
    embedding: Embedding = TOP
    window: Window | None = None
    """In which it will stand, as far as its device knows."""
    protections: Protections = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        protections = Protections(self.url, self.response_headers, self.embedding)
        object.__setattr__(self, "protections", protections)

    @property
    def browser(self) -> BrowserTraits:
        """Who asked for it, as far as its parts depend on that."""
        accept = _first(self.request_headers, "accept")
        return browser_traits(self.window, _first(self.request_headers, "user-agent"), accept)


@dataclass(frozen=True, slots=True)
class Prefetch:
    """A GET request to make. `headers` are all but `accept` and the coding, which the origin
    client adds; finds with equal `headers` may share one Skeleton message."""

    url: str
    headers: tuple[tuple[str, str], ...]
    accept: str
    found: Found


def plan(document: Document, found: Found) -> Prefetch | NotFetched:
    """The request for one find."""
    if found.kind is Kind.MEDIA:
        return NotFetched.MEDIA
    if not _scheme_allowed(document, found.url):
        return NotFetched.SCHEME
    same_origin = origin(found.url) == origin(document.url)
    own_only = found.terms.credentials or found.terms.mode == "same-origin"
    if (own_only and not same_origin) or document.protections.forbid(found):
        return NotFetched.FORBIDDEN
    headers = [
        (name, value) for name, value in document.request_headers if name in SAME_IN_EVERY_REQUEST
    ]
    if same_origin:
        if _first(document.request_headers, "authorization"):
            return NotFetched.AUTHORIZATION
        cookie = _cookie(document, found)
        if cookie is None:
            return NotFetched.COOKIES
        if cookie:
            headers.append(("cookie", cookie))
    if found.cors and (not same_origin or "Chrome/" in _first(headers, "user-agent")):
        # Within the origin too, Chromium says so of fonts, modules and `crossorigin`.
        headers.append(("origin", origin(document.url)))
    referer = _referer(document, found)
    if referer is None:
        return NotFetched.REFERRER
    if referer:
        headers.append(("referer", referer))
    headers += _reload(document)
    if same_origin and _first(document.request_headers, "sec-fetch-mode"):
        headers += _fetch_metadata(found)
    return Prefetch(found.url, tuple(sorted(headers)), found.accept, found)


class Prefetcher:
    """The rules for one document, with its bounds; each URL is granted once."""

    def __init__(self, document: Document, *, limit: int = MAX_PREFETCHES) -> None:
        self._document = document
        self._limit = limit
        self._granted: set[str] = set()

    def known(self, url: str) -> None:
        """It is on its way."""
        self._granted.add(url)

    def consider(self, found: Found) -> Prefetch | NotFetched:
        """What to do about a find."""
        if found.url in self._granted:
            return NotFetched.KNOWN
        if found.lazy:
            return NotFetched.LAZY
        if len(self._granted) >= self._limit:
            return NotFetched.LIMIT
        made = plan(self._document, found)
        if isinstance(made, Prefetch):
            self._granted.add(found.url)
        return made


def _scheme_allowed(document: Document, url: str) -> bool:
    """Same scheme; https for an http page too where the local proxy would see the request."""
    own, other = document.url.partition(":")[0], url.partition(":")[0]
    return own == other or (document.sees_tls and own == "http" and other == "https")


def _cookie(document: Document, found: Found) -> str | None:
    """The Cookie field within the origin; None: it cannot be known.

    Whether a document that another site's page shows, or leads to, may set cookies depends on the
    browser, on what kind of cookies they are, and on what a browser says of neither to anybody.
    """
    answer = document.response_headers
    if _first(answer, "clear-site-data"):
        return None
    if _first(answer, "set-cookie") and _from_elsewhere(document):
        return None
    return cookie_after(document.url, document.request_headers, answer, found.url)


def _from_elsewhere(document: Document) -> bool:
    own = origin(document.url)
    if document.embedding.ancestors:
        return any(origin(url) != own for url in document.embedding.ancestors)
    referer = _first(document.request_headers, "referer")
    told = _first(document.request_headers, "sec-fetch-dest") == "document"
    return bool(referer) and not told and origin(referer) != own


def _referer(document: Document, found: Found) -> str | None:
    """The Referer field, empty if there is none; None: it can't be known.

    What a style asks for goes, by browser and by kind of style, under the page's policy, that of
    the sheet or the default: it is asked for where these make no difference.
    """
    terms = found.terms
    policies = {found.referrer_policy or _policy_of(document.response_headers)}
    if terms.style:
        policies |= {terms.sheet_policy or _DEFAULT_POLICY, _DEFAULT_POLICY}
    agent = _first(document.request_headers, "user-agent")
    if "Chrome/" not in agent and ("Firefox/" in agent or "Safari/" in agent):
        policies.add(_DEFAULT_POLICY)  # They let no page tell other sites more than that.
    if not policies <= REFERRER_POLICIES:
        return None
    fields = {_referer_by(policy, terms.sheet or document.url, found.url) for policy in policies}
    return fields.pop() if len(fields) == 1 else None


def _referer_by(policy: str, source: str, url: str) -> str:
    """Referrer Policy, 8.3. A style sheet's parts are referred to by the sheet."""
    source = source.partition("#")[0]
    if source.partition("://")[2].partition("/")[0].rpartition("@")[1]:
        source = origin(source) + "/" + source.partition("://")[2].partition("/")[2]
    short = origin(source) + "/"
    full = source if len(source) <= _MAX_REFERER else short
    same = origin(source) == origin(url)
    downgrade = source.startswith("https:") and url.startswith("http:")
    match policy:
        case "no-referrer":
            return ""
        case "same-origin":
            return full if same else ""
        case "origin":
            return short
        case "unsafe-url":
            return full
        case "no-referrer-when-downgrade":
            return "" if downgrade else full
        case "strict-origin":
            return "" if downgrade else short
        case "origin-when-cross-origin":
            return full if same else short
    return full if same else "" if downgrade else short


def _policy_of(headers: Fields) -> str:
    """The last policy of the Referrer-Policy header that is known, or the default."""
    return referrer_policy(headers) or _DEFAULT_POLICY


def referrer_policy(headers: Fields) -> str:
    """The last policy of the Referrer-Policy header that is known, or empty."""
    named = [
        word.strip().lower()
        for name, value in headers
        if name == "referrer-policy"
        for word in value.split(",")
    ]
    return next((word for word in reversed(named) if word in REFERRER_POLICIES), "")


def _reload(document: Document) -> list[tuple[str, str]]:
    """A forced reload asks caches on the way for everything anew, parts included."""
    if "no-cache" not in _first(document.request_headers, "cache-control"):
        return []
    return [("cache-control", "no-cache"), ("pragma", "no-cache")]


def _fetch_metadata(found: Found) -> list[tuple[str, str]]:
    """Sec-Fetch-*, within the origin only: "same-site" cannot be told from "cross-site" here, and
    a server may refuse a request that claims the wrong one."""
    mode = "cors" if found.cors else "no-cors"
    if found.use is Use.DOCUMENT:
        mode = "navigate"
    fields = [
        ("sec-fetch-site", "same-origin"),
        ("sec-fetch-mode", found.terms.mode or mode),
        ("sec-fetch-dest", destination(found)),
    ]
    if found.use is Use.DOCUMENT:
        fields.append(("upgrade-insecure-requests", "1"))
    return fields


def _first(headers: Fields, name: str) -> str:
    return next((value for key, value in headers if key == name), "")
