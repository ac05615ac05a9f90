"""Which requests may be answered by a preview: a window's own, and nobody's who wants the file.

Pure. Source: Fetch metadata (W3C), 2.1 to 2.4; where browsers send none of it, for http pages, what
else they send with a navigation alone (Upgrade Insecure Requests, 3.2.1).

Of a link with a `download` attribute Chromium asks as of no window. Firefox asks as if it were to
be shown, so there only what people type, or keep as a bookmark, is sure not to be put away: a
preview that was saved under the file's name would be worse than none.
"""

from __future__ import annotations

from local_proxy.http.model import Request, directives
from wire.fields import header


def may_be_previewed(request: Request) -> bool:
    """Whether a person waits in front of a window for what it brings."""
    fields = request.headers
    if request.method != "GET" or request.original or "no-transform" in directives(fields):
        return False
    if "text/html" not in header(fields, "accept") or header(fields, "range"):
        return False
    if header(fields, "sec-purpose") or header(fields, "purpose"):
        return False  # of a page that somebody may want later
    if "Chrome/" not in header(fields, "user-agent"):
        return _opens_window(request) and header(fields, "sec-fetch-site") == "none"
    if header(fields, "sec-fetch-dest"):
        return _opens_window(request)
    return request.url.startswith("http:") and header(fields, "upgrade-insecure-requests") == "1"


def _opens_window(request: Request) -> bool:
    fields = request.headers
    return (
        header(fields, "sec-fetch-dest") == "document"
        and header(fields, "sec-fetch-mode") == "navigate"
    )
