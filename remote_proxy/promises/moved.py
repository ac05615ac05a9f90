"""Foretells the request that a browser makes next where a page has moved, as far as that can be.

`http://site` leads to `https://site`, which leads to `https://www.site`, and a form that was taken
leads to a page that says so: each costs a round trip of the slow link. Within a site the next
request is the last one with another address and no body, so the remote proxy makes it at once, and
promises its answer. Where it may be another one, a cookie more or less, it is left to the browser:
the local proxy compares, and what was fetched in vain was asked twice.

Sources: Fetch, 4.4 (HTTP-redirect fetch); Fetch metadata, 2.3 (the whole chain counts); RFC 9110,
15.4. Pure: no socket, no clock.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from remote_proxy.import_drivers.urls import resolve, split
from remote_proxy.origin.cookies import cookie_after
from remote_proxy.promises.prefetch import SAME_IN_EVERY_REQUEST
from web.sites import origin_of, registrable, relation
from wire.fields import REDIRECTS, Fields, header
from wire.origin_request import OriginRequest

_OTHERWISE: Final = ("authorization", "range", "if-match", "if-unmodified-since", "if-range")
"""Fields with which it is no plain request for a page."""
_AS_IT_WAS: Final = frozenset(
    (*SAME_IN_EVERY_REQUEST, "cache-control", "pragma", "upgrade-insecure-requests")
)
_FORM_LEADS_ON: Final = (301, 302, 303)
"""Statuses after which a form's browser asks by GET (Fetch, 4.4, 12)."""


class NextRequest(NamedTuple):
    """A GET for a page, as its browser will make it."""

    url: str
    headers: tuple[tuple[str, str], ...]
    """All that an origin may vary by, `accept` aside, sorted by name."""


def is_own_form(asked: OriginRequest) -> bool:
    """Whether a page has sent a form to its own origin. Another site's goes without cookies that
    are sent with what it leads to, and with what that needs (RFC 6265bis, 5.2: Lax)."""
    own = header(asked.headers, "origin") == origin_of(asked.url)
    return asked.method == "POST" and own


def next_request(asked: OriginRequest, status: int, answer: Fields) -> NextRequest | None:
    """What follows this answer; None: nothing, or nobody can tell."""
    url = _target(asked, status, answer)
    if url is None or any(header(asked.headers, name) for name in _OTHERWISE):
        return None
    cookie, referer = _cookie(asked, answer, url), header(asked.headers, "referer")
    if cookie is None or (referer and header(answer, "referrer-policy")):
        return None
    fields = [(name, value) for name, value in asked.headers if name in _AS_IT_WAS]
    if cookie:
        fields.append(("cookie", cookie))
    if referer:
        fields.append(("referer", _referer(referer, asked.url, url)))
    return NextRequest(url, tuple(sorted(fields + _metadata(asked, url))))


def _target(asked: OriginRequest, status: int, answer: Fields) -> str | None:
    """Where it leads to, within its site and to nothing that was made for this once."""
    location = header(answer, "location")
    form = asked.method == "POST"
    if status not in (_FORM_LEADS_ON if form else REDIRECTS) or header(answer, "clear-site-data"):
        return None
    if not (is_own_form(asked) or asked.method == "GET"):
        return None
    url = resolve(asked.url, location) if location.isascii() else None
    if url is None or (url == asked.url and not form):
        return None
    if origin_of(url) == origin_of(asked.url):
        return url
    if url.startswith("http:") and asked.url.startswith("https:"):
        return None
    if registrable(url) != registrable(asked.url):
        return None
    query = split(url)[3]
    return url if not query or query == split(asked.url)[3] else None


def _cookie(asked: OriginRequest, answer: Fields, url: str) -> str | None:
    """The Cookie field; None: it can't be known. Cookies are of hosts, whatever the port."""
    sets = bool(header(answer, "set-cookie"))
    if _host(url) != _host(asked.url):
        return None if sets or header(asked.headers, "cookie") else ""
    site = header(asked.headers, "sec-fetch-site", "none")
    if sets and site not in ("none", "same-origin"):
        return None  # whether another site's link may set them depends on the cookies
    return cookie_after(asked.url, asked.headers, answer, url)


def _host(url: str) -> str:
    authority = split(url)[1]
    return authority.rpartition("@")[2].rpartition(":")[0] if ":" in authority else authority


def _referer(referer: str, before: str, url: str) -> str:
    """Kept along the way, and cut where the page that it names is another origin's by now."""
    named = origin_of(referer)
    return f"{named}/" if named == origin_of(before) != origin_of(url) else referer


def _metadata(asked: OriginRequest, url: str) -> list[tuple[str, str]]:
    """Sec-Fetch-*; a page over plain http is asked for without them."""
    said = header(asked.headers, "sec-fetch-site")
    if not url.startswith("https:") and not said:
        return []
    referer = header(asked.headers, "referer")
    if not said:
        said = relation(origin_of(referer), url) if referer else "none"
    elif said == "same-origin":
        said = relation(origin_of(asked.url), url)
    fields = [("sec-fetch-site", said), ("sec-fetch-mode", "navigate")]
    fields.append(("sec-fetch-dest", "document"))
    user = header(asked.headers, "sec-fetch-user")
    return [*fields, ("sec-fetch-user", user)] if user else fields
