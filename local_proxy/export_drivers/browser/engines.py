"""Knows what a browser can do, by what it says of itself. Must not know: pages, pictures."""

from __future__ import annotations

import re
from typing import Final

from local_proxy.http.model import Request
from wire.fields import header

_STRETCHING: Final = re.compile(r"(Chrome|Firefox)/(\d{1,6})\b")
_SINCE: Final = {"Chrome": 120, "Firefox": 128}
"""Not the first that do, but none older was tried."""


def in_gecko(request: Request) -> bool:
    """Whether Firefox asks, or another browser of its engine."""
    return "Gecko/" in _agent(request)


def stretches(request: Request) -> bool:
    """Whether a JPEG is laid out, and named to scripts, in the size that its EXIF gives it (HTML,
    "density-corrected natural width and height")."""
    found = _STRETCHING.search(_agent(request))
    return found is not None and int(found[2]) >= _SINCE[found[1]]


def _agent(request: Request) -> str:
    return header(request.headers, "user-agent")
