"""How long a browser may use a response that it keeps without asking again. Pure.

Sources: RFC 9111, 3 (what may be stored), 4.2 (freshness), 5.2; the heuristic is what Chromium and
Firefox both use. Where they differ the shorter answer is given: to think a response stale that is
fresh costs a few bytes, the opposite a round trip. Must not know: who keeps what.
"""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final

from local_proxy.http.model import directives, max_age
from web.caching.fields import age_said
from wire.fields import Headers, header

HEURISTIC: Final = 0.1
"""Of the time since Last-Modified (RFC 9111, 4.2.2)."""
MAX_HEURISTIC: Final = 7 * 86_400.0
"""Seconds; Firefox goes no further."""
_CONSTANT: Final = frozenset(
    ("", "accept", "accept-encoding", "accept-language", "origin", "user-agent")
)
"""Fields in Vary that are the same whenever a page of one browser asks for the same."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """The freshness of one response."""

    left: float
    """Seconds for which nothing is asked; 0: it is stale already."""
    validator: bool
    """The browser can ask whether it has changed."""


def freshness(headers: Headers, *, now: float) -> Freshness | None:
    """The freshness of a 200 that comes now, by the wall clock, seconds; None: to keep it makes no
    sense.

    That is: it may not be stored, or would be asked for whole each time.
    """
    named = directives(headers)
    if "no-store" in named or "*" in _varying(headers):
        return None
    validator = bool(header(headers, "etag") or header(headers, "last-modified"))
    left = max(0.0, _lifetime(headers, named, now) - _age(headers, now))
    return Freshness(left, validator) if left or validator else None


def keepable(headers: Headers) -> bool:
    """Whether it makes sense that a browser keeps this 200, had it come when it was made."""
    return _when_made(headers) is not None


def left_when_made(headers: Headers) -> float:
    """Seconds for which it was fresh when it was made, by whatever clock its origin has."""
    found = _when_made(headers)
    return found.left if found else 0.0


def age_on_arrival(headers: Headers) -> float:
    """Seconds since its origin made it, as the caches on its way have counted."""
    return _age(headers, _made(headers))


def _when_made(headers: Headers) -> Freshness | None:
    return freshness(headers, now=_made(headers))


def _made(headers: Headers) -> float:
    date = _time(headers, "date")
    return 0.0 if date is None else date


def constant(headers: Headers) -> bool:
    """Whether each page that asks for it again gets what the browser keeps (RFC 9111, 4.1)."""
    return _varying(headers) <= _CONSTANT


def tells_freshness(headers: Headers) -> bool:
    """Whether it says for how long, as a 304 may or may not."""
    return bool(header(headers, "cache-control") or header(headers, "expires"))


def _varying(headers: Headers) -> set[str]:
    return {name.strip().lower() for name in header(headers, "vary").split(",")}


def _lifetime(headers: Headers, named: frozenset[str], now: float) -> float:
    if "no-cache" in named:
        return 0.0
    said = max_age(headers)
    if said is not None:
        return said
    if not named and "no-cache" in header(headers, "pragma").lower():
        return 0.0
    date = _time(headers, "date")
    date = now if date is None else date
    if header(headers, "expires"):
        expires = _time(headers, "expires")
        return 0.0 if expires is None else max(0.0, expires - date)
    modified = _time(headers, "last-modified")
    if modified is None or "must-revalidate" in named:
        return 0.0
    return min(max(0.0, HEURISTIC * (date - modified)), MAX_HEURISTIC)


def _age(headers: Headers, now: float) -> float:
    """RFC 9111, 4.2.3."""
    date = _time(headers, "date")
    apparent = max(0.0, now - date) if date is not None else 0.0
    return max(apparent, age_said(headers))


def _time(headers: Headers, name: str) -> float | None:
    """Seconds since the epoch; None: there is none, or it can't be read."""
    text = header(headers, name)
    if not text:
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
