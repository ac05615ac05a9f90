"""The model of HTTP between a front and the proxy core, whatever version the front speaks.

A front (front.py; later connection.py) owns sockets and syntax. The core owns meaning: it never
sees a socket, a front never sees a component."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from wire.fields import Headers, header
from wire.messages import Takes

MAX_AGE: Final = float(1 << 31)
"""Seconds that stand for any more (RFC 9111, 1.2.2)."""
_MAX_AGE: Final = re.compile(r'(?:^|[,\s])max-age\s*=\s*"?(\d+)', re.IGNORECASE)


def directives(headers: Headers) -> frozenset[str]:
    """Names of the Cache-Control directives, in lower case."""
    items = header(headers, "cache-control").split(",")
    return frozenset(item.partition("=")[0].strip().lower() for item in items)


def max_age(headers: Headers) -> float | None:
    """Seconds of Cache-Control's max-age, 0 where it can't be read; None: there is none."""
    if "max-age" not in directives(headers):
        return None
    found = _MAX_AGE.search(header(headers, "cache-control"))
    return min(float(found[1]), MAX_AGE) if found else 0.0


def split_url(url: str) -> tuple[str, str, str]:
    """Origin, path and query of an absolute URL, as they stand there; it refuses none."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    path, _, query = (slash + path).partition("?")
    return f"{scheme}://{authority}", path, query


@dataclass(slots=True)
class Request:
    """A request as the front read it; hop-by-hop fields are removed."""

    method: str
    url: str
    """Absolute: scheme://host[:port]/path[?query]; never a fragment."""
    headers: Headers
    body: AsyncIterator[bytes] | None = None
    """None: the request has no body. Reading it sends `100 Continue` where the client waits."""
    reached: tuple[str, int] | None = None
    """Address and port of ours that the client connected to; None: unknown."""
    peer: tuple[str, int] | None = None
    """Address and port of the client; None: unknown."""
    multiplexed: bool = False
    """It shares its connection with any number of others (HTTP/2)."""
    urgency: int = 3
    """0 (first) to 7, as the client has it now (RFC 9218, 4.1); the client may change it."""
    incremental: bool = False
    """Parts of the response are of use to the client (RFC 9218, 4.2)."""
    original: bool = False
    """It's to have the origin's bytes, whatever else could be done (local_proxy/sites/sites.py)."""
    takes: Takes = Takes.NOTHING
    """What the client takes besides the response's head and body."""
    on_hint: Callable[[int, Headers], None] | None = None
    """Called with interim responses, where the client takes them."""
    on_urgency: list[Callable[[int], None]] = field(default_factory=list)
    """Called with the new urgency when the client changes it."""


@dataclass(slots=True)
class Response:
    """A response for the front to write; the front frames the body (length or chunked)."""

    status: int
    headers: Headers
    body: AsyncIterator[bytes] | bytes = b""
    length: int | None = None
    """Bytes of `body` if known and it is an iterator; None: chunked."""
    on_done: list[Callable[[bool], None]] = field(default_factory=list)
    """Called once with True when all was written, False when the client left before."""
    trailers: Callable[[], Headers] | None = None
    """What is to be written behind the body, asked once that has ended; None: nothing."""


class Duplex(Protocol):
    """The far end of a CONNECT tunnel, as the front sees it."""

    async def read(self) -> bytes:
        """Some bytes towards the client; empty at the end."""

    async def write(self, data: bytes) -> None:
        """Bytes from the client; returns when there is room for more."""

    async def end(self) -> None:
        """The client has no more to send (half-close); reading goes on."""

    async def close(self) -> None:
        """Both directions are over; called once, last, whatever happened."""


class Core(Protocol):
    """What a front talks to."""

    async def handle(self, request: Request) -> Response:
        """Answer it. Must not raise; cancelled when the client leaves before the head is out."""

    async def connect(self, host: str, port: int, *, tls: bool = False) -> Duplex | Response:
        """Open a tunnel, or say why not. `tls`: made and verified at the other end."""


Handler = Callable[[Request], Awaitable[Response]]
