"""Reads a request's purpose from its own fields. Pure.

Sources: Fetch metadata (W3C), 2.1; what browsers write where they send none of it. Must not know:
what was promised, sites' switches, the link.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from local_proxy.http.model import Request, Response
from local_proxy.promises.keeper import wants_picture
from policies.api.plan import Subject
from wire.applications import Application
from wire.fields import header
from wire.messages import BACKGROUND, UNATTRIBUTED
from wire.skeleton import Kind, Use

_DESTINATIONS: Final = {
    "audio": Kind.MEDIA,
    "font": Kind.FONT,
    "script": Kind.SCRIPT,
    "style": Kind.STYLE,
    "video": Kind.MEDIA,
}
"""Sec-Fetch-Dest that tells the kind (Fetch metadata, 2.1)."""


_FROM_PAGES: Final = ("same-origin", "same-site", "cross-site")
"""Sec-Fetch-Site of what some page has asked for (Fetch metadata, 2.4)."""


def application_of(request: Request, document: int) -> Application:
    """Whose request it is; `document`: the one that it belongs to."""
    if document == BACKGROUND:
        return Application.BACKGROUND
    if document != UNATTRIBUTED or is_navigation(request):
        return Application.BROWSER
    from_page = header(request.headers, "sec-fetch-site") in _FROM_PAGES  # which tells no Referer
    return Application.BROWSER if from_page else Application.OTHER


def is_navigation(request: Request) -> bool:
    """Whether a browser loads a page (or a frame) with this. Plain clients never match."""
    destination = header(request.headers, "sec-fetch-dest")
    if destination:
        return destination in ("document", "iframe", "frame") or by_worker(request)
    return (
        request.method in ("GET", "POST")
        and header(request.headers, "accept").startswith("text/html")
        and header(request.headers, "upgrade-insecure-requests") == "1"
    )


def by_worker(request: Request) -> bool:
    """Whether a service worker passes on what loads a page (or a frame): no script can make such a
    request of its own (Fetch, 5.4), and the worker has the answer before the page."""
    asked = header(request.headers, "sec-fetch-mode"), header(request.headers, "sec-fetch-dest")
    return asked == ("navigate", "empty")


def in_frame(request: Request) -> bool:
    """Whether the page is to be shown inside another one."""
    return header(request.headers, "sec-fetch-dest") in ("iframe", "frame")


def is_window(request: Request) -> bool:
    """Whether it loads a page into a window, and nothing but the page will do: over http a frame
    may ask just so."""
    return request.method == "GET" and _fills_window(request)


def is_form(request: Request) -> bool:
    """Whether a page's form is sent by it, whose answer is for the window, or leads to what is."""
    return request.method == "POST" and _fills_window(request)


def _fills_window(request: Request) -> bool:
    window = header(request.headers, "sec-fetch-dest", "document") == "document"
    return window and not request.original and is_navigation(request)


def is_speculative(request: Request) -> bool:
    """Whether a browser asks for what nobody has gone to yet, and perhaps nobody will (Fetch, 3.6:
    Sec-Purpose)."""
    return header(request.headers, "sec-purpose").startswith("prefetch")


def is_film(request: Request) -> bool:
    """Whether an <audio> or a <video> asks for it: what a script fetches is the script's. Browsers
    that say nothing of that, as over http, want no coding, or name the types that they play."""
    destination = header(request.headers, "sec-fetch-dest")
    if destination:
        return destination in ("audio", "video")
    plays = header(request.headers, "accept").startswith(("audio/", "video/"))
    uncoded = header(request.headers, "accept-encoding").startswith("identity;")
    return plays or (uncoded and bool(header(request.headers, "range")))


def is_sound(request: Request) -> bool:
    """Whether it is an <audio> that asks, or a script's Audio."""
    return header(request.headers, "sec-fetch-dest") == "audio"


def saves_data(request: Request) -> bool:
    """Whether the user asks for less data (Save Data API, 2.1)."""
    tokens = header(request.headers, "save-data").lower().split(";")
    return tokens[0].strip() == "on"


def subject_of(request: Request, document: int) -> Subject:
    """What the plan can know of a request before there is an answer."""
    if is_navigation(request):
        return Subject(component=0, document=0, kind=Kind.TEXT, use=Use.DOCUMENT)
    kind = _DESTINATIONS.get(header(request.headers, "sec-fetch-dest"), Kind.OTHER)
    if wants_picture(request):
        kind = Kind.IMAGE
    elif header(request.headers, "accept").startswith("text/css"):
        kind = Kind.STYLE
    return Subject(component=0, document=document, kind=kind, use=Use.OTHER)


def is_sheet(request: Request, response: Response) -> bool:
    """Whether a page gets a style sheet with it, which names itself as Referer of its parts."""
    if header(response.headers, "content-type").lower().startswith("text/css"):
        return True
    asked = header(request.headers, "sec-fetch-dest"), header(request.headers, "accept")
    return asked[0] == "style" or asked[1].startswith("text/css")


def is_module(request: Request) -> bool:
    """Whether a page, or a module, imports a module, which names itself as Referer likewise."""
    asked = (header(request.headers, name) for name in ("sec-fetch-dest", "sec-fetch-mode"))
    return tuple(asked) == ("script", "cors")


def referring_host(request: Request) -> str:
    """The host of the page that it comes from; empty: none is named."""
    try:
        return urlsplit(header(request.headers, "referer")).hostname or ""
    except ValueError:  # not a URL: anybody can send any Referer
        return ""
