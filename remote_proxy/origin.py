"""The origin client: one request to one server, as the browser would have made it.

aiohttp does HTTP/1.1, TLS and pooling; this module decides what may go wrong and for how long. It
follows no redirects, keeps no cookies, decodes nothing (see decoding.py), re-writes no URL. A body
that stops short raises, so that nobody takes it for whole. Sources: RFC 9110, 7.6.1 (hop-by-hop),
RFC 9112, 6 (message length); design, goal 2: no fixed timeout fires while bytes still move.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace, TracebackType
from typing import Any, Final, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection
from yarl import URL

from remote_proxy import one_answer
from remote_proxy.failures import Failure, OriginError, translated

Headers = list[tuple[str, str]]
"""Names in lower case, in order, repeated as they came."""
Allow = Callable[[str, str], bool]
"""Whether a host may be reached at an IP address; asked for every address before it is used."""

CHUNK: Final = 64 << 10
"""Bytes of a body handed on at a time, at most."""

_HOP_BY_HOP: Final = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te"),
        *("proxy-connection", "trailer", "transfer-encoding", "upgrade", "expect", "host"),
    )
)
"""`expect` and `host` too: the one is answered before we are asked, the other follows the URL."""


_REPEATABLE: Final = ("GET", "HEAD", "OPTIONS", "TRACE")
"""Safe methods (RFC 9110, 9.2.1): asked again when a kept connection turns out to be closed."""


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
    """Connections; a browser uses 6, but asks for one page at a time."""
    total: int = 256
    max_line: int = 16 << 10
    """Of the status line."""
    max_field: int = 32 << 10
    """Of one header field."""
    max_fields: int = 256


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What to ask for. `url` is absolute and goes out byte for byte."""

    method: str
    url: str
    headers: Headers
    body: AsyncIterator[bytes] | None = None


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


class _Method(str):
    """A method as it is: aiohttp would write it in upper case (RFC 9110, 9.1: another method)."""

    __slots__ = ()

    def upper(self) -> str:
        return self


class Origin:
    """The connections to all origins. `async with`."""

    def __init__(
        self,
        config: OriginConfig | None = None,
        *,
        allow: Allow | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._config = config or OriginConfig()
        self._allow: Allow = allow or (lambda host, ip: True)
        self._tls = tls
        self._pooled: aiohttp.ClientSession | None = None
        self._fresh: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        # A request that may change something never goes out on a connection that the server may
        # be closing at that moment: it could not be repeated.
        self._pooled, self._fresh = self._open(reuse=True), self._open(reuse=False)
        return self

    def _open(self, *, reuse: bool) -> aiohttp.ClientSession:
        config = self._config
        connector = aiohttp.TCPConnector(
            limit=config.total,
            limit_per_host=config.per_host,
            resolver=_GuardedResolver(self._allow, config.connect_timeout),
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
            response_class=_Response,
            trace_configs=[_sending_restarts_the_clock(config)],
        )

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for session in (self._pooled, self._fresh):
            if session is not None:
                await session.close()

    async def fetch(self, request: FetchRequest) -> OriginResponse:
        """The head of the response. Raises OriginError."""
        session = self._pooled if request.method in _REPEATABLE else self._fresh
        if session is None:
            raise RuntimeError("Origin is used outside of its `async with`")
        url = _url(request.url)
        self._check_literal(url)
        with translated(url.raw_host or ""):
            # The clock stands while the request waits for a free connection: others move bytes.
            async with asyncio.timeout(None) as clock:
                response = await session.request(
                    _Method(request.method),
                    url,
                    headers=_outgoing(request),
                    data=_uploaded(request, clock, self._config),
                    allow_redirects=False,
                    trace_request_ctx=clock,
                )
        return self._response(request, response, url.raw_host or "")

    def _check_literal(self, url: URL) -> None:
        """Address literals meet no resolver."""
        host = (url.raw_host or "").strip("[]")
        if _is_address(host) and not self._allow(host, host):
            raise OriginError(Failure.FORBIDDEN, f"{host} must not be reached from here")

    def _response(
        self, request: FetchRequest, response: aiohttp.ClientResponse, host: str
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
        bodiless = request.method == "HEAD" or response.status in (204, 304)
        length = 0 if bodiless else None if chunked else response.content_length
        if response.connection is not None and response.connection.protocol is not None:
            # From here on the body's own patience counts (_body).
            response.connection.protocol.read_timeout = None
            response.connection.protocol.start_timeout()
        return OriginResponse(
            response.status,
            response.reason or "",
            headers,
            _body(
                response,
                host,
                self._config.idle_timeout,
                until_close=length is None and not chunked,
            ),
            length,
            response.close,
        )


def end_to_end(headers: Headers) -> Headers:
    """Without the fields that concern one connection only (RFC 9110, 7.6.1)."""
    named = {
        token.strip().lower()
        for name, value in headers
        if name == "connection"
        for token in value.split(",")
    }
    return [(name, value) for name, value in headers if name not in _HOP_BY_HOP | named]


class _Response(aiohttp.ClientResponse):
    """Knows how its connection ended: to aiohttp, a reset ends a body without length as well as a
    close does, and the half that came would pass for the whole."""

    ended: asyncio.Future[None] | None = None

    async def start(self, connection: Connection) -> Self:
        protocol = connection.protocol
        self.ended = protocol.closed if protocol is not None else None
        if self.ended is not None:
            # Once per connection, lest asyncio complain of an exception nobody looked at.
            self.ended.remove_done_callback(_looked_at)
            self.ended.add_done_callback(_looked_at)
        await super().start(connection)
        return self

    @property
    def was_reset(self) -> bool:
        ended = self.ended
        return (
            ended is not None and ended.done() and not ended.cancelled() and bool(ended.exception())
        )


def _looked_at(ended: asyncio.Future[None]) -> None:
    if not ended.cancelled():
        ended.exception()


class _GuardedResolver(AbstractResolver):
    """The system's resolver, and what the guard lets through of its answers."""

    def __init__(self, allow: Allow, timeout: float) -> None:
        self._resolver = aiohttp.ThreadedResolver()
        self._allow = allow
        self._timeout = timeout

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        try:
            async with asyncio.timeout(self._timeout):
                found = await self._resolver.resolve(host, port, family)
        except TimeoutError:
            raise OriginError(Failure.TIMEOUT, f"looking {host} up took too long") from None
        allowed = [one for one in found if self._allow(host, one["host"])]
        if found and not allowed:
            raise OriginError(Failure.FORBIDDEN, f"{host} must not be reached from here")
        return allowed

    async def close(self) -> None:
        await self._resolver.close()


def _sending_restarts_the_clock(config: OriginConfig) -> aiohttp.TraceConfig:
    """The head's time runs from the last byte of the request that was sent."""

    async def restart(_: aiohttp.ClientSession, context: SimpleNamespace, __: Any) -> None:
        _set(context.trace_request_ctx, config.head_timeout)

    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(restart)
    trace.on_request_chunk_sent.append(restart)
    return trace


def _set(clock: asyncio.Timeout, seconds: float | None) -> None:
    """Let the request fail so long from now; None: never. Nothing, once its head has come."""
    when = None if seconds is None else asyncio.get_running_loop().time() + seconds
    with suppress(RuntimeError):
        clock.reschedule(when)


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


def _outgoing(request: FetchRequest) -> list[tuple[str, str]]:
    headers = []
    for name, value in end_to_end(request.headers):
        if name == "content-length" and request.body is None and value != "0":
            continue
        try:
            # Fields are bytes that were read as Latin-1; aiohttp writes UTF-8.
            headers.append((name, value.encode("latin-1").decode("utf-8")))
        except UnicodeError:
            headers.append((name, value))
    return headers


def _uploaded(
    request: FetchRequest, clock: asyncio.Timeout, config: OriginConfig
) -> AsyncIterator[bytes] | None:
    if request.body is None:
        return None
    announced = next((value for name, value in request.headers if name == "content-length"), "")
    return _upload(request.body, int(announced) if announced.isdecimal() else None, clock, config)


async def _upload(
    body: AsyncIterator[bytes],
    announced: int | None,
    clock: asyncio.Timeout,
    config: OriginConfig,
) -> AsyncIterator[bytes]:
    """The request's body; fails where its length is not the one announced, lest both ends wait.

    The clock runs while the server is to take a chunk, and stands while we wait for the next one,
    which comes over the slow link.
    """
    sent = 0
    _set(clock, None)
    async for chunk in body:
        sent += len(chunk)
        if announced is not None and sent > announced:
            raise OriginError(Failure.PROTOCOL, "the upload is longer than announced")
        _set(clock, config.upload_idle_timeout)
        yield chunk
        _set(clock, None)
    if announced is not None and sent < announced:
        raise OriginError(Failure.PROTOCOL, "the upload ended before its announced length")
    _set(clock, config.head_timeout)


async def _body(
    response: aiohttp.ClientResponse, host: str, idle: float, *, until_close: bool
) -> AsyncIterator[bytes]:
    try:
        with translated(host):
            while True:
                async with asyncio.timeout(idle):
                    chunk = await response.content.read(CHUNK)
                if not chunk:
                    break
                yield chunk
        if until_close and _was_reset(response):
            raise OriginError(Failure.RESET, f"{host} broke the connection off")
    except OriginError as error:
        if error.kind is Failure.PROTOCOL and _was_reset(response):
            raise OriginError(Failure.RESET, f"{host} broke the connection off") from error
        raise
    finally:
        if response.content.at_eof():
            response.release()
        else:
            response.close()


def _was_reset(response: aiohttp.ClientResponse) -> bool:
    """Whether the connection was lost under a body that only its end would have delimited, or
    before its announced end."""
    return isinstance(response, _Response) and response.was_reset


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host.partition("%")[0])
        except (OSError, ValueError):
            continue
        return True
    return False
