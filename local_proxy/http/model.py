"""The model of HTTP between a front and the proxy core, whatever version the front speaks.

A front owns sockets and syntax. The core owns meaning: it never sees a socket, a front never sees a
component.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Final, Protocol

from web.caching.fields import CacheControl
from wire.fields import Headers
from wire.origin_request import OriginRequest

WITHIN: Final = "sluice-within"
"""The field by which a client says in how many seconds it wants its answer. It is for us alone: no
origin gets it."""


def directives(headers: Headers) -> frozenset[str]:
    """Names of the Cache-Control directives, in lower case."""
    return frozenset(CacheControl.of(headers).arguments)


def max_age(headers: Headers) -> float | None:
    """Seconds of Cache-Control's max-age, 0 where it can't be read; None: there is none."""
    return CacheControl.of(headers).seconds("max-age")


def split_url(url: str) -> tuple[str, str, str]:
    """Origin, path and query of an absolute URL, as they stand there; it refuses none."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    path, _, query = (slash + path).partition("?")
    return f"{scheme}://{authority}", path, query


class ClientUrgency:
    """How soon a client wants a response, which it may change (RFC 9218, 4.1 and 7)."""

    def __init__(self, now: int = 3) -> None:
        """`now`: 0 (first) to 7."""
        self.now = now
        self._heard: list[Callable[[int], None]] = []

    def follow(self, hear: Callable[[int], None]) -> None:
        """`hear` is told of each change."""
        self._heard.append(hear)

    def change(self, urgency: int) -> None:
        """The client wants it sooner or later than it said before."""
        if urgency != self.now:
            self.now = urgency
            for hear in self._heard:
                hear(urgency)


@dataclass(frozen=True, slots=True)
class Request(OriginRequest):
    """A request as a front read it: what the origin is to be asked, and the client that asks."""

    _: KW_ONLY
    body: AsyncIterator[bytes] | None = None
    """None: the request has no body. Reading it sends `100 Continue` where the client waits."""
    reached: tuple[str, int] | None = None
    """Address and port of ours that the client connected to; None: unknown."""
    peer: tuple[str, int] | None = None
    """Address and port of the client; None: unknown."""
    multiplexed: bool = False
    """It shares its connection with any number of others (HTTP/2)."""
    urgency: ClientUrgency = field(default_factory=ClientUrgency)
    original: bool = False
    """It's to have the origin's bytes, whatever else could be done (local_proxy/sites/sites.py)."""
    on_hint: Callable[[int, Headers], None] | None = None
    """Called with interim responses, where the client takes them."""
    within: float | None = None
    """Seconds in which the client wants its answer; None: it does not say, or may not
    (local_proxy/requests/asked_time.py)."""
    due: float | None = None
    """When these are over, on the loop's clock."""

    def for_origin(self) -> OriginRequest:
        """The part of it that goes to the origin."""
        said = {one.name: getattr(self, one.name) for one in fields(OriginRequest)}
        return OriginRequest(**said | {"has_body": self.body is not None})


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


class Unanswered(ConnectionError):
    """There is none, and its client is to see that by itself: fronts break the connection off, or
    the stream, before any answer. So a script's fetch fails as it does without a network."""


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

    async def connect(
        self, host: str, port: int, *, tls: bool = False, early: bytes = b""
    ) -> Duplex | Response:
        """Open a tunnel, or say why not. `tls`: made and verified at the other end. `early`: what
        the server gets first, which goes with the question and saves a round trip."""


Handler = Callable[[Request], Awaitable[Response]]
