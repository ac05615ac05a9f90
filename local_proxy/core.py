"""The local proxy's core: a browser's request in, a response out, whatever way it takes.

Joins fronts, promises, sessions, export drivers, tracking and policies; each of them knows only
this module's side of it. A request goes: our own paths -> promise -> wire -> component -> export
driver. Nothing here touches a socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final
from urllib.parse import urlsplit

import structlog

from local_proxy.components import Component, ComponentFailed, Head
from local_proxy.documents import Documents
from local_proxy.error_page import error_response
from local_proxy.export_drivers.browser import BrowserExport
from local_proxy.http import Duplex, Headers, Request, Response, header
from local_proxy.promises import Promised, PromiseTable
from local_proxy.session import LocalSession
from local_proxy.tunnel import Tunnel
from local_proxy.uplink import Uplink
from transport.outgoing import Outgoing
from wire.skeleton import Kind, Use

HOST: Final = "sluice.local"
"""The local proxy's own host: status page, JSON, metrics."""
MAX_URL: Final = 8192
_HIDDEN: Final = frozenset({"connection", "keep-alive", "proxy-connection", "transfer-encoding"})
_log = structlog.get_logger("sluice.local")
OwnPages = Callable[[Request], "asyncio.Future[Response]"]


def is_navigation(request: Request) -> bool:
    """Whether a browser loads a page (or a frame) with this. Plain clients never match."""
    destination = header(request.headers, "sec-fetch-dest")
    if destination:
        return destination in ("document", "iframe", "frame")
    return (
        request.method in ("GET", "POST")
        and header(request.headers, "accept").startswith("text/html")
        and header(request.headers, "upgrade-insecure-requests") == "1"
    )


def wants_picture(request: Request) -> bool:
    """Whether a browser asks this to render a picture: only such may be coarse first."""
    return request.method == "GET" and header(request.headers, "accept").startswith("image/")
