"""Draws the box that stands in a page for a picture that was left out. Pure.

A drawing (SVG 2) of the size that the picture has there: dashes, and the words that its page has
for it. The driver in the page asks for it at the picture's own address, where policies let pictures
come from. Must not know: why it was left out.
"""

from __future__ import annotations

import html
import re
from typing import Final
from urllib.parse import unquote

from local_proxy.http.model import Response

_KIND: Final = re.compile(r"(box|wait)(\d{1,5})x(\d{1,5})")
_WORDS: Final = re.compile(r"[?&]sluice-alt=([^&]*)$")
MAX_WORDS: Final = 200
"""Characters of a page's words that are shown."""
LOW: Final = 56
"""Height in pixels below which all is in one line."""
NARROW: Final = 72
"""Width in pixels below which there is no room for words."""
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document has (XML 1.0, 2.2)."""
_HEADERS: Final = (
    ("content-type", "image/svg+xml"),
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
    ("cross-origin-resource-policy", "cross-origin"),
    ("vary", "*"),  # Cache Storage takes no such answer (Service Workers, Cache.put)
    ("x-content-type-options", "nosniff"),
)
_STYLE: Final = (
    "@keyframes w{50%{opacity:.3}}body{margin:0;box-sizing:border-box;width:100%;height:100%;"
    "display:flex;align-items:center;justify-content:center;gap:2px 8px;padding:2px 6px;"
    "overflow:hidden;border:1px dashed #888;border-radius:4px;background:#8882;color:#767676;"
    "font:13px/1.3 system-ui,sans-serif;text-align:center}svg{flex:none}"
    "b{font-weight:400;opacity:.8;white-space:nowrap}.wait{animation:w 1.2s infinite}"
)
_ICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="16" fill="none" stroke="#767676">'
    '<rect x=".5" y=".5" width="19" height="15" rx="2"/><circle cx="6" cy="5" r="1.5"/>'
    '<path d="M1 13l5-4 3 2 5-5 5 5"/></svg>'
)


def asked(plain: str, kind: str) -> Response | None:
    """The answer where a driver asks for a box: `plain` is the picture's address with the words,
    `kind` the last part of the mark. None: it asks for no box."""
    box = _KIND.fullmatch(kind)
    if box is None:
        return None
    said = _WORDS.search(plain)
    words = unquote(said[1], errors="replace") if said is not None else ""
    drawn = drawing(*(int(box[2]), int(box[3])), words=words, waits=box[1] == "wait")
    return Response(200, list(_HEADERS), drawn.encode())


def drawing(width: int, height: int, *, words: str, waits: bool) -> str:
    """An SVG document of so many pixels. `waits`: a reader has asked for the picture, and it is on
    its way."""
    low = height < LOW
    parts = [_ICON] if not low or width < NARROW or not words else []
    if width >= NARROW:
        shown = " ".join(_NO_XML.sub("", words)[:MAX_WORDS].split())
        parts += [f"<span>{html.escape(shown)}</span>"] * bool(shown)
        parts += ["<b>loading …</b>"] * waits
    direction = "row" if low else "column"
    name = ' class="wait"' if waits else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f"<style>{_STYLE}</style>"
        '<foreignObject width="100%" height="100%">'
        f'<body xmlns="http://www.w3.org/1999/xhtml" style="flex-direction:{direction}"{name}>'
        f"{''.join(parts)}</body></foreignObject></svg>"
    )
