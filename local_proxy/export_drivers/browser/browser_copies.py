"""Final pictures for the browser's own cache: the driver asks for each once more, of us alone.

What was shown coarse, or as parts that replace each other, no browser keeps. Once a picture is as
fine as it gets, the driver asks its own address with `cache: "reload"` (Fetch, 4.6), and is
answered from what is held, with the origin's caching fields: from then on the browser has what it
would have had without us. The request is marked by a field that a script may set without CORS
being asked (Fetch, 2.2.2, "no-CORS-safelisted request-header") and that browsers never send: so
no other request of a page is taken for one. Must not know: pages beyond one, levels.
"""

from __future__ import annotations

import re
from typing import Final

from local_proxy.export_drivers.browser.engines import in_gecko
from local_proxy.export_drivers.browser.page import BrowserPage, PictureRequest
from local_proxy.http.model import Request, Response, split_url
from local_proxy.link.components import OriginHead
from local_proxy.promises.freshness import keepable
from wire.fields import Headers, header

MARK: Final = "content-language"
MAX_VALUE: Final = 128
"""Bytes of a value that a script may set without CORS being asked."""
_MARK: Final = re.compile(r"sluice\.([0-9a-f]{24})\.(\d{1,12})")
_UNSAFE: Final = re.compile(r"[^\x20-\x7e]|[\"():<>?@\[\\\]{}]")


def way(page: BrowserPage, head: OriginHead, request: Request) -> PictureRequest | None:
    """How the page may ask for this picture once more to keep it; None: it had better not."""
    accept = header(request.headers, "accept")
    if len(accept) > MAX_VALUE or _UNSAFE.search(accept):
        return None
    if in_gecko(request) and split_url(request.url)[0] != page.origin:
        return None  # there scripts' fetches have a cache of their own for other origins
    if head.status != 200 or not keepable(head.headers) or not page.fetches(request.url):
        return None
    mode = header(request.headers, "sec-fetch-mode")
    return PictureRequest(accept, mode == "cors" or bool(header(request.headers, "origin")))


def mark(request: Request) -> tuple[str, int] | None:
    """Page and component of a request to keep a picture; None: it is no such request."""
    found = _MARK.fullmatch(header(request.headers, MARK))
    return (found[1], int(found[2])) if found and request.method == "GET" else None


def level_address(url: str, name: str, component: int, level: str) -> str:
    """Where a page's driver finds a level of a picture (driver_requests.py)."""
    return f"{url}{'&' if '?' in url else '?'}sluice-level={name}.{component}.{level}"


def nothing(request: Request) -> Response:
    """To one for which nothing is held: nothing crosses the link for it, no console tells of it."""
    headers: Headers = [("cache-control", "no-store")]
    if origin := header(request.headers, "origin"):
        headers.append(("access-control-allow-origin", origin))
        headers.append(("access-control-allow-credentials", "true"))
    return Response(204, headers)
