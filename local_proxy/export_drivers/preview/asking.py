"""Which requests may be answered by a preview: a window's own, and nobody's who wants the file.

Pure. Source: Fetch metadata (W3C), 2.1 to 2.4; where browsers send none of it, for http pages, what
else they send with a navigation alone (Upgrade Insecure Requests, 3.2.1).
"""

from __future__ import annotations

from local_proxy.http import Request, header
from local_proxy.promises import directives


def may_be_previewed(request: Request) -> bool:
    """Whether a person waits in front of a window for what it brings."""
    fields = request.headers
    if request.method != "GET" or request.original or "no-transform" in directives(fields):
        return False
    if "text/html" not in header(fields, "accept") or header(fields, "range"):
        return False
    if header(fields, "sec-purpose") or header(fields, "purpose"):
        return False  # of a page that somebody may want later
    destination = header(fields, "sec-fetch-dest")
    if destination:
        return destination == "document" and header(fields, "sec-fetch-mode") == "navigate"
    return request.url.startswith("http:") and header(fields, "upgrade-insecure-requests") == "1"
