"""One SOCKS 5 client: where it wants to go, and what carries it there (RFC 1928).

It goes on as a CONNECT does (tls/connects.py): TLS in which a browser speaks HTTP is taken off, all
else is an opaque tunnel. What begins as HTTP at port 80 is served as such, by the name that it says
(who asks for an address has looked that up), so that pages are adapted whichever proxy a browser
takes us for. Only connections are made: no BIND, no UDP.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

import structlog

from local_proxy.front.places import Room
from local_proxy.front.socks.words import (
    GREETED,
    LONGEST,
    NO_METHOD,
    SocksError,
    SocksReply,
    SocksTarget,
    greeting,
    reply,
    request,
)
from local_proxy.front.tls.connects import HELLO_TIME, SILENCE, Connects
from local_proxy.http.client_stream import ClientStream
from local_proxy.http.front_limits import FrontLimits
from local_proxy.http.model import Response
from local_proxy.http.request_rules import RefusedRequest, split_authority
from local_proxy.http.responses import dispose

HTTP: Final = 80
METHODS: Final = (b"GET ", b"HEAD ", b"POST ", b"PUT ", b"DELETE ", b"OPTIONS ", b"PATCH ")
"""Beginnings of requests at port 80."""
_REPLIES: Final = {
    403: SocksReply.NOT_ALLOWED,
    502: SocksReply.UNREACHABLE,
    504: SocksReply.UNREACHABLE,
}
log = structlog.get_logger(__name__)
T = TypeVar("T")


class SocksFront(Protocol):
    """What it needs of the front."""

    limits: FrontLimits
    connects: Connects
    room: Room
    tunnels: int
    refused: int

    async def serve_proxy(self, client: ClientStream, early: bytes = b"") -> None:
        """Serve HTTP/1.1."""


class SocksConnection:
    """One client."""

    def __init__(self, front: SocksFront, client: ClientStream) -> None:
        self._front = front
        self._client = client
        self._data = bytearray()
        """What has come and was not understood yet."""
        self._place = front.room.mine()

    async def run(self) -> None:
        """Serve until either end has left. Never raises."""
        try:
            async with asyncio.timeout(self._front.limits.head_time):
                target = await self._target()
            if self._place is not None:
                self._place.is_served()
            await self._go(target)
        except SocksError as error:
            self._front.refused += 1
            log.info("no SOCKS for a client", why=str(error))
            self._client.close(b"" if error.reply is None else reply(error.reply))
        except (TimeoutError, ConnectionError, EOFError):
            self._client.close()
        except asyncio.CancelledError:  # the client has left, or the front closes
            self._client.abort()
        except Exception:
            log.exception("connection failed")
            self._client.abort()

    async def _target(self) -> SocksTarget:
        """Where to. Raises SocksError, EOFError, ConnectionError."""
        if self._place is not None:
            self._place.owes()
        if not await self._read(greeting):
            self._client.close(NO_METHOD)
            raise EOFError
        await self._client.write(GREETED)
        return await self._read(request)

    async def _read(self, read: Callable[[bytes], tuple[T, int] | None]) -> T:
        while (found := read(bytes(self._data[:LONGEST]))) is None:
            data = await self._client.read()
            if not data:
                raise EOFError
            self._data += data
        what, length = found
        del self._data[:length]
        return what

    async def _go(self, target: SocksTarget) -> None:
        try:
            host, port = split_authority(f"{target.host}:{target.port}")
        except RefusedRequest as error:
            raise SocksError(str(error), SocksReply.FAILED) from error
        self._front.tunnels += 1
        if port == HTTP:
            await self._client.write(reply(SocksReply.DONE))
            if await self._speaks_http():
                await self._front.serve_proxy(self._client, bytes(self._data))
                return
        task = asyncio.current_task()
        assert task is not None
        self._client.on_leave = task.cancel
        try:
            way = await self._front.connects.open(host, port, client="")
        finally:
            self._client.on_leave = None
        if isinstance(way, Response):
            await dispose(way, whole=False)
            answer = reply(_REPLIES.get(way.status, SocksReply.FAILED))
            self._client.close(b"" if port == HTTP else answer)
            return
        try:
            if port != HTTP:
                await self._client.write(reply(SocksReply.DONE))
            await way.carry(self._client, bytes(self._data))
        finally:
            await way.close()
        self._client.close()

    async def _speaks_http(self) -> bool:
        """Whether its first bytes are a request; who says nothing waits for the server, and who has
        begun one may be busy."""
        clock = asyncio.get_running_loop().time
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HELLO_TIME if self._data else SILENCE) as deadline:
                while self._may_be_http():
                    data = await self._client.read()
                    if not data:
                        break
                    self._data += data
                    deadline.reschedule(clock() + HELLO_TIME)
        return self._data.startswith(METHODS)

    def _may_be_http(self) -> bool:
        """Whether more bytes could make it a request."""
        data = bytes(self._data)
        return any(one != data and one.startswith(data) for one in METHODS)
