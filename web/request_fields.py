"""Tells which fields of a request say nothing of who asks. Pure.

Sources: Fetch, 2.2.2 (`sec-` fields, which no script can set); what Chromium and Firefox were seen
to send.
"""

from __future__ import annotations

from typing import Final

from wire.fields import Fields

USUAL: Final = frozenset(
    (
        *("accept", "accept-encoding", "accept-language", "cache-control", "connection"),
        *("content-length", "content-type", "cookie", "dnt", "host", "if-modified-since"),
        *("if-none-match", "origin", "pragma", "priority", "range", "referer", "save-data"),
        *("te", "upgrade-insecure-requests", "user-agent", "x-requested-with"),
    )
)
"""These say nothing of who asks, but for cookies, which are looked at."""


def unusual(asked: Fields) -> frozenset[str]:
    """Names of all other fields. Any of them may be a token by which a script logs in, or what a
    proxy says to servers that believe it."""
    return frozenset(name for name, _ in asked if name not in USUAL and not name.startswith("sec-"))
