"""One HTTP/1.1 client: its requests, one after the other, and their answers (RFC 9112).

Who accepts connections is elsewhere (front.py), what a request's head may be too (head.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final, Protocol

import h11
import structlog

from local_proxy.front.http1.body import RequestBody, chunked, refusal, too_large
from local_proxy.front.http1.chunks import ChunkCheck
from local_proxy.front.http1.head import check_head, head_end, to_request
from local_proxy.front.http1.upgrade import Switched, asks, open_websocket, switch
from local_proxy.front.places import Room
from local_proxy.front.tls.connects import Connects
from local_proxy.http.client_stream import ClientStream
from local_proxy.http.error_page import error_page, phrase
from local_proxy.http.front_limits import FrontLimits
from local_proxy.http.model import Core, Request, Response, Unanswered
from local_proxy.http.pump import pump
from local_proxy.http.request_rules import MAX_HEAD, RefusedRequest, end_to_end, split_authority
from local_proxy.http.responses import bodyless, dispose, keeps_length
from wire.fields import Headers

log = structlog.get_logger(__name__)

_LINGER: Final = 1.0
"""Seconds in which a refused client may read our answer before the connection is reset."""


class FrontState(Protocol):
    """What connections share: the core, the ways through tunnels, the counts."""

    core: Core
    limits: FrontLimits
    connects: Connects
    room: Room
    requests: int
    tunnels: int
    refused: int


class Broken(Exception):
    """The response can't be completed: the client must see that it isn't whole."""


class Http1Connection:
    """One client's requests, one after the other."""

    def __init__(
        self,
        front: FrontState,
        client: ClientStream,
        *,
        origin: str | None = None,
        early: bytes = b"",
    ) -> None:
        """`origin`: what it is connected to, inside TLS; None: to the proxy. `early`: what was read
        of it."""
        self._front = front
        self._origin = origin
        self._limits = front.limits
        self._client = client
        self._pending = bytearray(early)
        """Bytes of the client that belong to requests not begun yet."""
        self._place = front.room.mine()
        self._asked = False
        """It has made a request."""

    async def run(self) -> None:
        """Serve until the client leaves, errs, or is told to close. Never raises."""
        try:
            while await self._next_exchange():
                pass
            self._client.close()
        except (Broken, ConnectionError):
            self._client.close()
        except asyncio.CancelledError:  # the client has left, or the front closes
            self._client.abort()
        except Exception:
            log.exception("connection failed")
            self._client.abort()

    async def turn_away(self) -> None:
        """Say that there are too many connections already."""
        try:
            reason = f"More than {self._limits.connections} connections are open."
            await self._refuse(h11.Connection(h11.SERVER), RefusedRequest(503, reason))
        except ConnectionError:
            pass
        finally:
            self._client.close()

    # -- reading -----------------------------------------------------------------------------

    async def _next_exchange(self) -> bool:
        """One request and its response; False when the connection must close."""
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=2 * MAX_HEAD)
        try:
            head = await self._read_head()
            if head is None:
                return False
            check_head(head)
            http.receive_data(head)
            event = http.next_event()
            assert isinstance(event, h11.Request)
            check = ChunkCheck(limit=self._limits.body) if chunked(event) else None
            if self._pending:
                if check is not None:
                    check.feed(bytes(self._pending))
                http.receive_data(bytes(self._pending))
                self._pending.clear()
            return await self._watched(http, event, check)
        except RefusedRequest as refused:
            await self._refuse(http, refused)
        except h11.RemoteProtocolError as error:
            await self._refuse(http, refusal(error))
        return False

    async def _read_head(self) -> bytes | None:
        """The bytes of the next request's head; None when the client has no more requests."""
        loop = asyncio.get_running_loop()
        pending, searched = self._pending, 0
        self._is_due(begun=bool(pending) or not self._asked)
        first = self._limits.head_time if pending else self._limits.idle_time
        try:
            async with asyncio.timeout(first) as deadline:
                while True:
                    while pending.startswith(b"\r\n"):  # RFC 9112, 2.2
                        del pending[:2]
                    end = head_end(pending, searched=searched)
                    if end >= 0:
                        break
                    searched = len(pending)
                    data = await self._client.read()
                    if not data:
                        return None
                    if not pending:
                        deadline.reschedule(loop.time() + self._limits.head_time)
                        self._is_due(begun=True)
                    pending += data
        except TimeoutError:
            if pending:
                raise RefusedRequest(408, "The request's header did not come in time.") from None
            return None
        head = bytes(pending[:end])
        del pending[:end]
        self._asked = True
        if self._place is not None:
            self._place.is_served()
        return head

    def _is_due(self, *, begun: bool) -> None:
        """A request is to come; whether the client owes it, or may be silent."""
        if self._place is not None:
            (self._place.owes if begun else self._place.idles)()

    # -- answering ---------------------------------------------------------------------------

    async def _watched(
        self, http: h11.Connection, event: h11.Request, check: ChunkCheck | None
    ) -> bool:
        """Answer, and stop at once when the client leaves before the end."""
        if event.method == b"CONNECT":
            if self._origin is not None:
                raise RefusedRequest(405, "There is no proxy inside this connection.")
            return await self._tunnel(http, event)
        if check is None and event.http_version == b"1.1" and asks(event):
            return await self._upgrade(http, event)
        task = asyncio.current_task()
        assert task is not None
        if self._client.ended:  # a client that has closed its side counts as gone
            return False
        self._client.on_leave = task.cancel
        try:
            await self._answer(http, event, check)
        finally:
            self._client.on_leave = None
        return await self._finish(http)

    async def _answer(
        self, http: h11.Connection, event: h11.Request, check: ChunkCheck | None
    ) -> None:
        self._front.requests += 1
        request = replace(
            to_request(event, origin=self._origin),
            reached=self._client.local_address,
            peer=self._client.peer_address,
        )
        length = next((int(v) for n, v in event.headers if n == b"content-length"), 0)
        if length > self._limits.body:
            raise too_large()
        body = RequestBody(http, self._client, check, limit=self._limits.body)
        if length or check is not None:
            request = replace(request, body=body)
        else:
            http.next_event()  # the end of a message without a body
        try:
            response = await self._handled(request, body)
            await self._respond(http, response, method=event.method)
        finally:
            body.over = True

    async def _handled(self, request: Request, body: RequestBody) -> Response:
        """The core's answer; its exceptions become pages. Raises Refused for a bad body, and
        Unanswered."""
        try:
            response = await self._front.core.handle(request)
        except Unanswered:
            raise
        except Exception as error:
            if body.refusal is None:
                log.exception("core failed", url=request.url)
            response = error_page(502, f"The proxy failed: {type(error).__name__}.")
        if body.refusal is not None:
            await dispose(response, whole=False)
            raise body.refusal
        return response

    async def _finish(self, http: h11.Connection) -> bool:
        """After a response: whether another request may follow."""
        while http.their_state is h11.SEND_BODY:
            if http.next_event() is h11.NEED_DATA:
                await self._linger()  # the core did not want the whole body
                return False
        if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
            return False
        self._pending += http.trailing_data[0]
        return True

    async def _respond(
        self, http: h11.Connection, response: Response, *, method: bytes = b"GET"
    ) -> None:
        """Write it all. Raises Broken when it can't be written in full."""
        whole, body = False, response.body
        try:
            try:
                head = http.send(_head(response, method))
            except h11.LocalProtocolError as error:
                log.warning("response can't be written", status=response.status, why=str(error))
                bad = error_page(502, "The server's answer has a malformed header.")
                head, body = http.send(_head(bad, method)), bad.body
            if bodyless(response, method.decode()):
                body = b""
            await self._write_body(http, head or b"", body, response)
            whole = True
        except h11.LocalProtocolError as error:
            raise Broken(f"the body does not have its length: {error}") from error
        except (Broken, ConnectionError):
            raise
        except Exception as error:
            log.warning("response broke off", why=repr(error))
            if http.their_http_version == b"1.0" and response.length is None:
                self._client.abort()  # only a reset tells that it isn't whole
            raise Broken(repr(error)) from error
        finally:
            await dispose(response, whole=whole)

    async def _write_body(
        self,
        http: h11.Connection,
        head: bytes,
        body: AsyncIterator[bytes] | bytes,
        response: Response,
    ) -> None:
        if isinstance(body, bytes):
            data = http.send(h11.Data(data=body)) if body else b""
            await self._client.write(head + (data or b"") + (http.send(h11.EndOfMessage()) or b""))
            return
        await self._client.write(head)
        async for chunk in body:
            await self._send(http, h11.Data(data=chunk))
        await self._send(http, _end(response))

    async def _send(self, http: h11.Connection, event: h11.Event) -> None:
        await self._client.write(http.send(event) or b"")

    async def _refuse(self, http: h11.Connection, refused: RefusedRequest) -> None:
        """Tell the client what it did wrong, and let it read that before we close."""
        self._front.refused += 1
        if http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        page = error_page(refused.status, refused.reason)
        page.headers.append(("connection", "close"))
        await self._respond(http, page)
        await self._linger()

    async def _linger(self) -> None:
        """Read on for a moment: closing with bytes unread would reset what we wrote."""
        self._client.end()
        try:
            async with asyncio.timeout(_LINGER):
                while await self._client.read():
                    pass
        except TimeoutError:
            pass

    # -- tunnels -----------------------------------------------------------------------------

    async def _tunnel(self, http: h11.Connection, event: h11.Request) -> bool:
        host, port = split_authority(event.target.decode("ascii"))
        agent = next((v.decode("latin-1") for n, v in event.headers if n == b"user-agent"), "")
        self._front.tunnels += 1
        http.next_event()
        task = asyncio.current_task()
        assert task is not None
        self._client.on_leave = task.cancel
        try:
            way = await self._front.connects.open(host, port, client=agent)
        finally:
            self._client.on_leave = None
        if isinstance(way, Response):
            await self._respond(http, way)
            return await self._finish(http)
        try:
            await self._send(
                http, h11.Response(status_code=200, headers=[], reason="Connection established")
            )
            http.next_event()
            await way.carry(self._client, http.trailing_data[0])
        finally:
            await way.close()
        return False

    async def _upgrade(self, http: h11.Connection, event: h11.Request) -> bool:
        """A WebSocket, which is a tunnel once the server has agreed."""
        self._front.tunnels += 1
        request = to_request(event, origin=self._origin)
        http.next_event()
        task = asyncio.current_task()
        assert task is not None
        self._client.on_leave = task.cancel
        try:
            answer = await self._opened(request)
            if isinstance(answer, Response):
                await self._respond(http, answer)
        finally:
            self._client.on_leave = None
        if isinstance(answer, Response):
            return await self._finish(http)
        try:
            await self._send(http, switch(answer))
            http.next_event()
            early = http.trailing_data[0]
            await pump(self._client, answer.far, early, idle_time=self._limits.idle_time)
        finally:
            await answer.far.close()
        return False

    async def _opened(self, request: Request) -> Switched | Response:
        try:
            return await open_websocket(self._front.core, request)
        except Exception as error:
            log.exception("core failed", url=request.url)
            return error_page(502, f"The proxy failed: {type(error).__name__}.")


def _end(response: Response) -> h11.EndOfMessage:
    """The end of a body, with trailers where there are chunks to carry them (RFC 9112, 7.1.2)."""
    if response.trailers is None or response.length is not None:
        return h11.EndOfMessage()
    fields = [
        (name.encode("latin-1"), value.encode("latin-1"))
        for name, value in end_to_end(response.trailers())
    ]
    try:
        return h11.EndOfMessage(headers=fields)
    except h11.LocalProtocolError as error:
        log.info("trailers left out", why=str(error))
        return h11.EndOfMessage()


def _head(response: Response, method: bytes) -> h11.Response:
    """The head as it is written: end-to-end fields, and the length where it is known."""
    headers: Headers = []
    for name, value in end_to_end(response.headers):
        if name != "content-length" or keeps_length(response, method.decode()):
            headers.append((name, value))
    length = len(response.body) if isinstance(response.body, bytes) else response.length
    if length is not None and not bodyless(response, method.decode()):
        headers.append(("content-length", str(length)))
    if any(name == "connection" and value == "close" for name, value in response.headers):
        headers.append(("connection", "close"))
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return h11.Response(
        status_code=response.status, headers=encoded, reason=phrase(response.status)
    )
