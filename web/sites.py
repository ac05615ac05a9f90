"""Tells origins and sites apart as browsers draw the line. Pure.

Sources: HTML, 7.1.1 (origins; "schemelessly same site" and the scheme beside it), URL, 3.2
("registrable domain"), Fetch metadata, 2.3 (Sec-Fetch-Site); publicsuffix.org's list, in the
version that the library brings. Must not know: requests, documents.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

_SUFFIXES: Final = PublicSuffixList()
"""Read at the start: it takes a tenth of a second, which no request should wait for."""
_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_ADDRESS: Final = re.compile(r".*:.*|.*\.(0x[0-9a-f]*|[0-9]+)|0x[0-9a-f]*|[0-9]+")
"""IPv6, and what browsers read as IPv4: a name whose last label is a number (URL, 3.5)."""
_AUTHORITY: Final = re.compile(r"[a-zA-Z]{2,5}://[^/?#\\\\]{1,300}(?=[/?#]|$)")
"""Scheme and authority; a host has 253 characters at most (RFC 1035, 2.3.4)."""
REMEMBERED: Final = 1024
"""Answers kept, by scheme and authority: a busy page has parts at a few dozen hosts."""


def origin_of(url: str) -> str:
    """scheme://host[:port] as browsers write it; empty: there is none, `null` or no URL."""
    found = _AUTHORITY.match(url)
    return _origin(found[0]) if found else ""


def site_of(url: str) -> str:
    """Scheme and registrable domain, or the host where it has none; empty: no URL of the web."""
    return _site(origin_of(url))


def registrable(url: str) -> str:
    """The same without its scheme: what is one site however it is reached."""
    return site_of(url).partition("://")[2]


def within(host: str, name: str) -> bool:
    """Whether the host is one of the site of that name, which `registrable` gave."""
    return bool(name) and (host == name or host.endswith(f".{name}"))


def relation(origin: str, url: str) -> str:
    """What a browser says in Sec-Fetch-Site of a request for `url` that this origin makes."""
    if origin == origin_of(url):
        return "same-origin"
    return "same-site" if site_of(origin) == site_of(url) else "cross-site"


@lru_cache(REMEMBERED)
def _origin(authority: str) -> str:
    try:
        parts = urlsplit(authority)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if not host or parts.scheme not in _PORTS:
        return ""
    host = f"[{host}]" if ":" in host else host
    own = port is None or port == _PORTS[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if own else f":{port}")


@lru_cache(REMEMBERED)
def _site(origin: str) -> str:
    if not origin:
        return ""
    host = (urlsplit(origin).hostname or "").removesuffix(".")
    if not _ADDRESS.fullmatch(host):
        host = _SUFFIXES.privatesuffix(host) or host
    return f"{origin.partition('://')[0]}://{host}"
