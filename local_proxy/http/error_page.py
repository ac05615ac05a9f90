"""The pages that people see when there is nothing else to show. Pure.

Must not know: who asks, which HTTP version, or why; the caller says it in one sentence.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from local_proxy.http.model import Response
from web.templates import template

_PAGE: Final = template(__package__, "error_page.html")


def phrase(status: int) -> str:
    """The status in words (RFC 9110, 15); empty for a code that has none."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def error_page(status: int, reason: str, *, retry: int = 0) -> Response:
    """A small page that says what went wrong, never kept by a cache.

    `retry`: seconds after which asking again makes sense (`Retry-After`: RFC 9110, 10.2.3); 0:
    nobody knows. It is known of a device's limits by time (remote_proxy/reach/limits.py), and while
    the link is down, when requests/link_down.py answers; not of an origin that took too long, nor
    of a limit that ends with another request."""
    text = _PAGE.render(title=f"{status} {phrase(status)}".strip(), reason=reason)
    return Response(
        status,
        [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "no-store"),
            *([("retry-after", str(retry))] if retry else []),
        ],
        text.encode(),
    )
