"""The origin client: one request to one server, as the browser would have made it.

aiohttp does HTTP/1.1, TLS and pooling; this module decides what may go wrong and for how long. It
follows no redirects, keeps no cookies, decodes nothing (see decoder.py), re-writes no URL. The
guard says what may be reached (reach/connector.py). A body that stops short raises, so that nobody
takes it for whole (response.py). Sources: RFC 9110, 7.6.1 (hop-by-hop), RFC 9112, 6 (message
length); design, goal 2: no fixed timeout fires while bytes still move.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from remote_proxy.origin import one_answer
from remote_proxy.origin.pools import Pools
from remote_proxy.origin.response import CHUNK, WatchedResponse, body_of
from remote_proxy.origin.trailers import TrailerReader
from remote_proxy.origin.upload import sending_restarts_the_clock, uploaded
from remote_proxy.reach.certificates import client_context
from remote_proxy.reach.connections import Connections
from remote_proxy.reach.connector import ASKING, GuardedConnector, Reach, TracedRequest
from remote_proxy.reach.failures import Failure, OriginError, translated
from remote_proxy.reach.guard import Guard
from remote_proxy.reach.limits import Count
from wire.abilities import Takes
from wire.fields import Headers, of_connection, without
from wire.origin_request import OriginRequest

"""Names in lower case, in order, repeated as they came."""

_HOP_BY_HOP: Final = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te"),
        *("proxy-connection", "trailer", "transfer-encoding", "upgrade", "expect", "host"),
    )
)
"""`expect` and `host` too: the one is answered before we are asked, the other follows the URL."""


_REPEATABLE: Final = ("GET", "HEAD", "OPTIONS", "TRACE")
"""Safe methods (RFC 9110, 9.2.1): asked again when a kept connection turns out to be closed."""

_STREAMS: Final = ("text/event-stream", "multipart/x-mixed-replace")
"""Types of answers without an end: server-sent events (HTML, 9.2), pictures of a camera."""

_EXPECTING: Final = ("PATCH", "POST", "PUT")
"""Methods that servers may refuse without a length (RFC 9110, 15.5.12)."""


@dataclass(frozen=True, slots=True)
class OriginConfig:
    """Limits. Times are seconds, sizes bytes."""

    connect_timeout: float = 15.0
    """For the name, and again for TCP and TLS to each address."""
    head_silence: float = 60.0
    """Without a byte, after the request is sent."""
    head_timeout: float = 300.0
    """For the whole head, however it drips."""
    idle_timeout: float = 120.0
    """Without a byte of the body while we are ready to read."""
    upload_idle_timeout: float = 120.0
    """Without the server taking a byte of the request's body."""
    per_host: int = 12
    """Connections, without those that stay open (reach/connections.py); a browser uses 6, but asks
    for one page at a time."""
    total: int = 256
    """Connections for one device."""
    turn_timeout: float = 60.0
    """For a connection, while no other request to the server gets one either."""
    max_line: int = 16 << 10
    """Of the status line."""
    max_field: int = 32 << 10
    """Of one header field."""
    max_fields: int = 256


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """A request on its way to the origin, for a device. Its URL goes out byte for byte."""

    request: OriginRequest
    body: AsyncIterator[bytes] | None = None
    device: str = ""
    """Whose connections to use."""
    count: Count = lambda amount: None
    """Of the bytes of bodies, both ways."""
    interim: Callable[[int, Headers], None] | None = None
    """Told of interim answers but 100 and 101, without hop-by-hop fields."""


@dataclass(frozen=True, slots=True)
class OriginResponse:
    """A response whose head has come. Read `body` to its end, or `close`."""

    status: int
    reason: str
    headers: Headers
    """Without hop-by-hop fields."""
    body: AsyncIterator[bytes]
    """Raises OriginError if it stops short."""
    length: int | None
    """Bytes of `body` as announced; None: unknown."""
    close: Callable[[], None]
    """Give the rest up; harmless after the end."""
    trailers: Callable[[], Headers] = list
    """What came behind the body, once that has been read to its end."""


class _Method(str):
    """A method as it is: aiohttp would write it in upper case (RFC 9110, 9.1: another method)."""

    __slots__ = ()

    def upper(self) -> str:
        return self


class _Asking(aiohttp.ClientRequest):
    """A request that says no length of a body which it does not have, as its client said none.

    aiohttp says zero with all methods but GET's like; RFC 9110, 8.6, only where the method expects
    a body, which over HTTP/2 may go unsaid.
    """

    def update_body_from_data(self, body: Any, _stacklevel: int = 3) -> None:
        if body is not None or self.method in _EXPECTING:
            super().update_body_from_data(body, _stacklevel + 1)


class Origin:
    """The connections to all origins. `async with`."""

    def __init__(
        self,
        config: OriginConfig | None = None,
        *,
        guard: Guard | None = None,
        resolver: AbstractResolver | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`guard` None: only the public internet is open. `resolver` None: the system's."""
        self._config = config or OriginConfig()
        self.reach = Reach(
            guard or Guard(), resolver=resolver, timeout=self._config.connect_timeout
        )
        self._tls = tls
        self.pools = Pools(self._open, self._connections)
        self._entered = False

    @property
    def tls(self) -> ssl.SSLContext:
        """How origins are judged, in tunnels too."""
        if self._tls is None:
            self._tls = client_context()
        return self._tls

    async def __aenter__(self) -> Self:
        self._entered = True
        return self

    def _connections(self) -> Connections:
        config = self._config
        return Connections(
            per_server=config.per_host, total=config.total, patience=config.turn_timeout
        )

    def _open(self, device: str, connections: Connections, reuse: bool) -> aiohttp.ClientSession:
        config = self._config
        connector = GuardedConnector(
            self.reach,
            device,
            connections,
            ssl=self._tls or True,
            force_close=not reuse,
        )
        one_answer.install(connector)
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=config.connect_timeout, sock_read=config.head_silence
            ),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            auto_decompress=False,
            requote_redirect_url=False,
            trust_env=False,
            read_bufsize=CHUNK,
            max_line_size=config.max_line,
            max_field_size=config.max_field,
            max_headers=config.max_fields,
            request_class=_Asking,
            response_class=WatchedResponse,
            trace_configs=[sending_restarts_the_clock(config)],
        )

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._entered = False
        await self.pools.close()
        await self.reach.close()

    async def fetch(self, forwarded: ForwardedRequest) -> OriginResponse:
        """The head of the response. Raises OriginError."""
        if not self._entered:
            raise RuntimeError("Origin is used outside of its `async with`")
        # A request that may change something never goes out on a connection that the server may
        # be closing at that moment: it could not be repeated.
        request = forwarded.request
        session = self.pools.session(forwarded.device, reuse=request.method in _REPEATABLE)
        url, body = _url(request.url), forwarded.body
        beside = _beside(forwarded)
        one_answer.BESIDE.set(beside)
        asking = TracedRequest()
        ASKING.set(asking)
        with translated(url.raw_host or ""):
            # The clock stands while the request waits for a free connection: others move bytes.
            async with asyncio.timeout(None) as clock:
                response = await session.request(
                    _Method(request.method),
                    url,
                    headers=_outgoing(forwarded),
                    data=body
                    and uploaded(body, request.headers, clock, self._config, forwarded.count),
                    allow_redirects=False,
                    trace_request_ctx=clock,
                )
        if asking.turn is not None:
            # aiohttp's own reading of the field raises what Python's email package does.
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            asking.turn.answered(stays=kind in _STREAMS)
        return self._response(forwarded, response, url.raw_host or "", beside.trailers)

    def _response(
        self,
        forwarded: ForwardedRequest,
        response: aiohttp.ClientResponse,
        host: str,
        trailers: TrailerReader | None,
    ) -> OriginResponse:
        headers = [
            (name.decode("latin-1").lower(), value.decode("latin-1"))
            for name, value in response.raw_headers
        ]
        chunked = any(name == "transfer-encoding" for name, _ in headers)
        headers = [
            (name, value)
            for name, value in end_to_end(headers)
            if not (chunked and name == "content-length")
        ]
        headers = [(n, _plain(v) if n == "content-length" else v) for n, v in headers]
        bodiless = forwarded.request.method == "HEAD" or response.status in (204, 304)
        length = 0 if bodiless else None if chunked else response.content_length
        if response.connection is not None and response.connection.protocol is not None:
            # From here on the body's own patience counts (body_of).
            response.connection.protocol.read_timeout = None
            response.connection.protocol.start_timeout()
        return OriginResponse(
            response.status,
            response.reason or "",
            headers,
            body_of(
                response,
                host,
                self._config.idle_timeout,
                forwarded.count,
                until_close=length is None and not chunked,
            ),
            length,
            response.close,
            lambda: trailers.fields if trailers is not None else [],
        )


def _plain(length: str) -> str:
    """A length as everybody reads it: leading zeros are an origin's right (RFC 9110, 8.6), and to
    refuse the answer for them would break sites; who gets it could take them for octal."""
    return length.lstrip("0") or "0" if length.isascii() and length.isdigit() else length


def end_to_end(headers: Headers) -> Headers:
    """Without the fields that concern one connection only (RFC 9110, 7.6.1)."""
    return without(headers, _HOP_BY_HOP | of_connection(headers))


def _beside(forwarded: ForwardedRequest) -> one_answer.Beside:
    told, takes = forwarded.interim, forwarded.request.takes

    def interim(status: int, headers: Headers) -> None:
        assert told is not None
        told(status, [field for field in end_to_end(headers) if field[0] != "content-length"])

    return one_answer.Beside(
        interim if told is not None and takes & Takes.HINTS else None,
        TrailerReader() if takes & Takes.TRAILERS else None,
    )


def _url(text: str) -> URL:
    """The URL with its path and query as one opaque path: yarl would drop an empty query."""
    text = text.partition("#")[0]
    if not text.isascii() or any(ord(char) <= 0x20 or char == "\x7f" for char in text):
        raise OriginError(Failure.PROTOCOL, "the address has characters that it must not have")
    scheme, separator, rest = text.partition("://")
    cut = next((at for at, char in enumerate(rest) if char in "/?"), len(rest))
    authority, target = rest[:cut].rpartition("@")[2], rest[cut:]
    if not target.startswith("/"):
        target = "/" + target
    try:
        base = URL(f"{scheme.lower()}://{authority}", encoded=True)
        if not separator or base.scheme not in ("http", "https") or not base.raw_host:
            raise ValueError("not http")
        return URL.build(scheme=base.scheme, authority=authority, path=target, encoded=True)
    except ValueError:
        raise OriginError(Failure.PROTOCOL, "the address is not one of the web") from None


def _outgoing(forwarded: ForwardedRequest) -> list[tuple[str, str]]:
    request, headers = forwarded.request, []
    for name, value in end_to_end(request.headers):
        if name == "content-length" and forwarded.body is None and value != "0":
            continue
        try:
            # Fields are bytes that were read as Latin-1; aiohttp writes UTF-8.
            headers.append((name, value.encode("latin-1").decode("utf-8")))
        except UnicodeError:
            headers.append((name, value))
    if request.takes & Takes.TRAILERS:  # our own: of this hop (RFC 9110, 10.1.4)
        once = request.method not in _REPEATABLE  # its connection is used for nothing else
        headers += [("te", "trailers"), ("connection", "close, TE" if once else "TE")]
    return headers
