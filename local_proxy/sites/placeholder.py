"""Answers for what a text-only site does not load. Pure.

A transparent GIF whose logical screen has the picture's size (GIF89a, 18) and whose one image is a
single pixel (20): 43 bytes, laid out by browsers as the picture would be.
"""

from __future__ import annotations

import struct
from typing import Final

from local_proxy.http.error_page import error_page
from local_proxy.http.model import Request, Response
from wire.fields import Headers, header
from wire.skeleton import Kind

UNLOADED: Final = frozenset((Kind.IMAGE, Kind.MEDIA, Kind.FONT))
"""Kinds that a text-only site goes without."""
_PIXEL: Final = bytes.fromhex(
    "800000 000000 000000"  # two colours
    "21f9040100000000"  # the first is transparent; no animation
    "2c000000000100010000"  # an image of 1 x 1
    "02024401003b"
)
_PREFIXES: Final = {"image/": Kind.IMAGE, "audio/": Kind.MEDIA, "video/": Kind.MEDIA}
_TEXTS: Final = ("image/svg+xml",)
"""Drawings: little text, and many are buttons."""


def gif(width: int, height: int) -> bytes:
    """A transparent picture; 0: a size that is not known is 1."""
    size = (min(max(side, 1), 0xFFFF) for side in (width, height))
    return b"GIF89a" + struct.pack("<HH", *size) + _PIXEL


def unloaded(request: Request, kind: Kind, *, width: int = 0, height: int = 0) -> Response:
    """The answer to a request for something of such a kind."""
    if kind is not Kind.IMAGE:
        return error_page(403, "This site is set to text only.")
    headers: Headers = [("content-type", "image/gif"), ("cache-control", "no-store")]
    if origin := header(request.headers, "origin"):  # a page may ask for it by CORS (Fetch, 3.3)
        headers.append(("access-control-allow-origin", origin))
        headers.append(("access-control-allow-credentials", "true"))
    return Response(200, headers, gif(width, height))


def kind_of(content_type: str) -> Kind:
    """One of UNLOADED, or OTHER, by the media type of a response."""
    essence = content_type.partition(";")[0].strip().lower()
    if essence in _TEXTS:
        return Kind.OTHER
    if essence.startswith("font/") or "font-" in essence:
        return Kind.FONT
    return next((k for start, k in _PREFIXES.items() if essence.startswith(start)), Kind.OTHER)
