"""One request on one HTTP/2 stream, from its field section to the end of its response.

The HTTP/2 counterpart of what http1/front.py does between two heads; a task each. Must not know:
h2's connection, other streams, components.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Final, Protocol

import structlog
from h2.errors import ErrorCodes

from local_proxy.front.http1.upgrade import open_websocket
from local_proxy.front.http2 import websocket
from local_proxy.front.http2.head import (
    EncodedFields,
    Malformed,
    connect_target,
    content_length,
    expects_continue,
    head_fields,
    response_fields,
    to_request,
    trailer_fields,
    unwritable,
    user_agent,
)
from local_proxy.front.http2.streams import Http2Stream
from local_proxy.front.tls.connects import Connects
from local_proxy.http.error_page import error_page
from local_proxy.http.model import Core, Request, Response, Unanswered
from local_proxy.http.pump import pump
from local_proxy.http.request_rules import RefusedRequest
from local_proxy.http.responses import bodyless, dispose
from wire.fields import Headers

log = structlog.get_logger(__name__)

_PIECE: Final = 65536
"""Bytes of a body that is here in full, which are copied to the stream at a time."""


class FrontTally(Protocol):
    """Counts of a front."""

    requests: int
    tunnels: int
    refused: int


@dataclass(frozen=True, slots=True)
class Http2Exchange:
    """What all exchanges of one connection have in common."""

    core: Core
    tally: FrontTally
    body: int
    """Bytes of a request's body; answered 413 above."""
    connects: Connects | None
    """What becomes of a CONNECT; None: there is none here."""
    idle_time: float
    """Seconds that a half-closed WebSocket may wait for bytes."""
    origin: str | None
    """The only origin that the connection was made for; None: any (a proxy's connection)."""

    async def run(self, stream: Http2Stream, fields: EncodedFields) -> None:
        """Serve one request. Raises nothing; cancelled when the client resets the stream."""
        try:
            await self._serve(stream, fields)
        except Malformed as error:
            self.tally.refused += 1
            log.info("malformed request", why=str(error))
            stream.abort(ErrorCodes.PROTOCOL_ERROR)
        except Unanswered:
            stream.abort()
        except ConnectionError:
            pass
        except Exception:
            log.exception("exchange failed")
            stream.abort()
        finally:
            stream.close()

    async def _serve(self, stream: Http2Stream, fields: EncodedFields) -> None:
        request = None
        try:
            if websocket.asks(fields):
                await self._websocket(stream, fields)
                return
            target = connect_target(fields)
            if target is not None:
                await self._tunnel(stream, *target, client=user_agent(fields))
                return
            request = replace(
                to_request(fields, origin=self.origin),
                reached=stream.local_address,
                peer=stream.peer_address,
                on_hint=lambda status, headers: _inform(stream, status, headers),
            )
            await self._answer(stream, request, fields)
        except RefusedRequest as refused:
            self.tally.refused += 1
            page = error_page(refused.status, refused.reason)
            await _respond(stream, page, method=request.method if request else "GET")

    # -- requests ----------------------------------------------------------------------------

    async def _answer(self, stream: Http2Stream, request: Request, fields: EncodedFields) -> None:
        self.tally.requests += 1
        length = content_length(fields)
        if length is not None and length > self.body:
            raise _too_large()
        stream.on_urgency = request.urgency.change
        body = None
        if not stream.ended or stream.unread:
            body = _Body(stream, limit=self.body, waiting=expects_continue(fields))
            request = replace(request, body=body)
        response = await self._handled(request, body)
        await _respond(stream, response, method=request.method)

    async def _handled(self, request: Request, body: _Body | None) -> Response:
        """The core's answer; its exceptions become pages. Raises Refused for a bad body, and
        Unanswered."""
        try:
            response = await self.core.handle(request)
        except Unanswered:
            raise
        except Exception as error:
            if body is None or body.refusal is None:
                log.exception("core failed", url=request.url)
            response = error_page(502, f"The proxy failed: {type(error).__name__}.")
        if body is not None and body.refusal is not None:
            await dispose(response, whole=False)
            raise body.refusal
        return response

    # -- tunnels -----------------------------------------------------------------------------

    async def _tunnel(self, stream: Http2Stream, host: str, port: int, *, client: str) -> None:
        if self.connects is None:
            raise RefusedRequest(421, "This connection was made for another host.")
        self.tally.tunnels += 1
        way = await self.connects.open(host, port, client=client)
        if isinstance(way, Response):
            await _respond(stream, way, method="CONNECT")
            return
        try:
            stream.send_head([(b":status", b"200")])
            await way.carry(stream, b"")
        finally:
            await way.close()

    async def _websocket(self, stream: Http2Stream, fields: EncodedFields) -> None:
        """RFC 8441, 5: a tunnel once the server has agreed."""
        key = secrets.token_bytes(16)
        request = websocket.to_websocket(fields, origin=self.origin, key=key)
        self.tally.tunnels += 1
        answer = await open_websocket(self.core, request)
        if isinstance(answer, Response):
            kept = websocket.no_socket(answer)
            if kept is not answer:
                await dispose(answer, whole=False)
            await _respond(stream, kept, method="GET")
            return
        try:
            headers = websocket.agreed(answer, key=key)
            if headers is None:
                page = error_page(502, "The server did not answer the WebSocket's key.")
                await _respond(stream, page, method="GET")
                return
            stream.send_head(head_fields(200, headers))
            await pump(stream, answer.far, b"", idle_time=self.idle_time)
        finally:
            await answer.far.close()


class _Body:
    """A request's body as it comes; says that it is wanted first where the client may wait."""

    def __init__(self, stream: Http2Stream, *, limit: int, waiting: bool) -> None:
        self._stream = stream
        self._left = limit
        self._waiting = waiting
        self.refusal: RefusedRequest | None = None
        """What was wrong with it, once that is known."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self.refusal is not None:
            raise self.refusal
        if self._waiting and not self._stream.unread:
            self._stream.go_on()
        self._waiting = False
        data = await self._stream.read()
        if self._stream.lost:
            raise ConnectionResetError("the client has reset the stream")
        if not data:
            raise StopAsyncIteration
        self._left -= len(data)
        if self._left < 0:
            self.refusal = _too_large()
            raise self.refusal
        return data


class _Broken(Exception):
    """The response does not have the length that it says."""


async def _respond(stream: Http2Stream, response: Response, *, method: str) -> None:
    """Write it all; one that breaks off resets its stream. Raises nothing but cancellation."""
    whole = False
    try:
        body = response.body
        try:
            fields = response_fields(response, method)
        except ValueError as error:
            log.warning("response can't be written", status=response.status, why=str(error))
            bad = unwritable()
            fields, body = response_fields(bad, method), bad.body
        if bodyless(response, method):
            body = b""
        if isinstance(body, bytes):
            stream.send_head(fields, end=not body)
            for at in range(0, len(body), _PIECE):
                last = at + _PIECE >= len(body)
                write = stream.write_last if last else stream.write
                await write(body[at : at + _PIECE])
        else:
            stream.send_head(fields)
            await _write_body(stream, body, response)
        whole = True
    except ConnectionError:
        pass
    except Exception as error:
        log.warning("response broke off", why=repr(error))
        stream.abort()
    finally:
        await dispose(response, whole=whole)


async def _write_body(stream: Http2Stream, body: AsyncIterator[bytes], response: Response) -> None:
    """Pull the body at the pace at which the client takes it."""
    sent, length = 0, response.length
    async for chunk in body:
        sent += len(chunk)
        if length is not None and sent > length:
            raise _Broken(f"more than {length} bytes")
        if chunk:
            await stream.write(chunk)
    if length is not None and sent < length:
        raise _Broken(f"{sent} of {length} bytes")
    trailers = _trailers(response)
    if trailers:
        await stream.write_trailers(trailers)
    else:
        await stream.write_last(b"")


def _trailers(response: Response) -> EncodedFields:
    try:
        return trailer_fields(response.trailers()) if response.trailers is not None else []
    except ValueError as error:
        log.info("trailers left out", why=str(error))
        return []


def _inform(stream: Http2Stream, status: int, headers: Headers) -> None:
    """Pass an interim response on; one that can't be written is nobody's loss."""
    if 101 < status < 200:
        with contextlib.suppress(ValueError, ConnectionError):
            stream.inform(head_fields(status, headers))


def _too_large() -> RefusedRequest:
    return RefusedRequest(413, "The request's body is larger than this proxy allows.")
