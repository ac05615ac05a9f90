"""WebSockets in HTTP/1.1: a request that asks for another protocol, as a tunnel to its server.

The remote connects (with TLS, for https) and asks there for the switch at once, since the question
goes with the wish for a tunnel. Handed back is whatever the server says: 101 and a stream of bytes,
or an ordinary response. Only WebSockets: other protocols are offered hop by hop and a proxy may not
pass them on (RFC 9110, 7.8; RFC 6455, 4). For every front. Must not know: sockets of clients, what
the bytes are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import h11

from local_proxy.http.error_page import error_page
from local_proxy.http.model import WITHIN, Core, Duplex, Request, Response
from local_proxy.http.request_rules import MAX_HEAD, end_to_end
from wire.fields import Headers, without

PROTOCOL: Final = "websocket"
_UNTOLD: Final = ("alt-svc", "content-length")
"""Fields of an answer that stay here: a way past the proxies, and what the front says itself."""
HEAD_TIME: Final = 300.0
"""Seconds for the server's answer, as for any other (remote_proxy.origin.client)."""


@dataclass(slots=True)
class Switched:
    """The server speaks the other protocol from here."""

    headers: Headers
    """Of its 101, without `connection` and `upgrade`."""
    far: Duplex
    """Its caller closes it."""


def asks(event: h11.Request) -> bool:
    """Whether a request as it came, without a body, asks for a WebSocket."""
    headers = _decoded(event)
    return (
        event.method == b"GET"
        and "upgrade" in _tokens(headers, "connection")
        and PROTOCOL in _tokens(headers, "upgrade")
        and not any(name == "content-length" and int(value) for name, value in headers)
    )


def switch(answer: Switched) -> h11.InformationalResponse:
    """The 101 for the client."""
    fields = [*answer.headers, ("connection", "Upgrade"), ("upgrade", PROTOCOL)]
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]
    return h11.InformationalResponse(
        status_code=101, headers=encoded, reason=b"Switching Protocols"
    )


async def open_websocket(core: Core, request: Request) -> Switched | Response:
    """Ask the server for the switch. `request` has end-to-end fields only."""
    url = urlsplit(request.url)
    tls = url.scheme == "https"
    host = url.hostname or ""
    host = f"[{host}]" if ":" in host else host
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
    port = url.port or (443 if tls else 80)
    try:
        question = _question(http, request)
    except h11.LocalProtocolError as error:
        return error_page(400, f"No server can be asked this: {error}.")
    far = await core.connect(host, port, tls=tls, early=question)
    if isinstance(far, Response):
        return far
    try:
        async with asyncio.timeout(HEAD_TIME):
            answer = await _answer(http, far)
    except (h11.ProtocolError, TimeoutError) as error:
        await far.close()
        late = isinstance(error, TimeoutError)
        why = "took too long to answer" if late else "sent something that is not valid HTTP"
        return error_page(504 if late else 502, f"{url.netloc} {why}.")
    except BaseException:
        await far.close()
        raise
    return answer


def _question(http: h11.Connection, request: Request) -> bytes:
    """The request for the switch, as it goes to the server."""
    target = "/" + request.url.split("/", 3)[3]
    kept = without(request.headers, (WITHIN,))
    fields = [*kept, ("connection", "Upgrade"), ("upgrade", PROTOCOL)]
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]
    head = h11.Request(method=request.method, target=target, headers=encoded)
    return (http.send(head) or b"") + (http.send(h11.EndOfMessage()) or b"")


async def _answer(http: h11.Connection, far: Duplex) -> Switched | Response:
    """What the server says to that. Raises h11.ProtocolError."""
    while not isinstance(event := await _next(http, far), h11.Response):
        if isinstance(event, h11.InformationalResponse) and event.status_code == 101:
            headers = _decoded(event)
            if PROTOCOL not in _tokens(headers, "upgrade"):
                raise h11.RemoteProtocolError("a switch to something else")
            return Switched(end_to_end(headers), _Begun(far, http.trailing_data[0]))
        if not isinstance(event, h11.InformationalResponse):
            raise h11.RemoteProtocolError("no answer")
    headers = _decoded(event)
    lengths = [int(value) for name, value in headers if name == "content-length"]
    chunked = any(name == "transfer-encoding" for name, _ in headers)
    kept = [(name, value) for name, value in end_to_end(headers) if name not in _UNTOLD]
    length = lengths[0] if lengths and not chunked else None
    return Response(event.status_code, kept, _Rest(http, far), length)


class _Rest(AsyncGenerator[bytes, None]):
    """The body of an answer that is no switch. Closes its tunnel, even if nobody begins to read."""

    def __init__(self, http: h11.Connection, far: Duplex) -> None:
        self._http = http
        self._far: Duplex | None = far

    async def asend(self, value: None) -> bytes:
        if self._far is not None:
            if isinstance(event := await _next(self._http, self._far), h11.Data):
                return bytes(event.data)
            await self.aclose()
        raise StopAsyncIteration

    async def athrow(self, *error: Any) -> bytes:
        await self.aclose()
        raise error[0]

    async def aclose(self) -> None:
        far, self._far = self._far, None
        if far is not None:
            await far.close()


async def _next(http: h11.Connection, far: Duplex) -> object:
    while (event := http.next_event()) is h11.NEED_DATA:
        http.receive_data(await far.read())
    return event


class _Begun:
    """A stream of which some bytes have been read already (local_proxy.http.model.Duplex)."""

    def __init__(self, far: Duplex, begun: bytes) -> None:
        self._far = far
        self._begun = begun

    async def read(self) -> bytes:
        if self._begun:
            begun, self._begun = self._begun, b""
            return begun
        return await self._far.read()

    async def write(self, data: bytes) -> None:
        await self._far.write(data)

    async def end(self) -> None:
        await self._far.end()

    async def close(self) -> None:
        await self._far.close()


def _decoded(event: h11.Request | h11.Response | h11.InformationalResponse) -> Headers:
    return [(name.decode("ascii"), value.decode("latin-1")) for name, value in event.headers]


def _tokens(headers: Headers, name: str) -> set[str]:
    values = (value for key, value in headers if key.lower() == name)
    return {token.strip().lower() for value in values for token in value.split(",")}
