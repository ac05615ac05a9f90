"""Keeps a page with our tag in it apart from the origin's own bytes in a browser's cache.

A page that was shown is in the cache under its address, where a script's fetch and a service worker
find it as well (RFC 9111, 4.1). So its response varies by fields that only the loading of a
page has, and its entity tag has a mark: what was kept with our tag is never taken for what the
origin has. Pure. Must not know: pages, what is put into them.
"""

from __future__ import annotations

import re
from typing import Final

from wire.fields import Headers, header

VARY: Final = "sec-fetch-dest, upgrade-insecure-requests, service-worker-navigation-preload"
"""Fields by which browsers tell the loading of a page from a script's request (the first is not
said to http sites, the second is said to all), and from a service worker's."""
_MARK: Final = ";sluice"
_TAG: Final = re.compile(r'(?:W/)?"([^"]{0,1024})"')


def marked(headers: Headers) -> Headers:
    """The fields of a page that has our tag. A page without entity tag gets one, if browsers might
    ask about it by its date."""
    out: Headers = []
    for name, value in headers:
        if name == "etag":
            tag = _TAG.fullmatch(value.strip())
            if tag is not None:
                out.append((name, f'W/"{tag[1]}{_MARK}"'))
            continue  # one that is none would be asked about as it stands
        out.append((name, value))
    if not header(out, "etag") and header(out, "last-modified"):
        out.append(("etag", f'W/"{_MARK}"'))
    out.append(("vary", VARY))
    return out


def asked(headers: Headers, *, page: bool) -> Headers:
    """The fields of a request, as its origin may hear them.

    `page`: a page is asked for that may have our tag, so that the browser may go on showing what it
    has. Anybody else is told the origin's bytes, whatever a browser has kept.
    """
    tags = header(headers, "if-none-match")
    if _MARK not in tags:
        return headers
    dropped = {"if-none-match"} if page else {"if-none-match", "if-modified-since"}
    out = [(name, value) for name, value in headers if name not in dropped]
    if page:
        kept = [tag[1].removesuffix(_MARK) for tag in _TAG.finditer(tags)]
        if any(kept):
            out.append(("if-none-match", ", ".join(f'W/"{tag}"' for tag in kept if tag)))
    return out
