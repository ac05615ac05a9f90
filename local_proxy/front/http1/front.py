"""The HTTP/1.1 proxy front: browsers' connections in, the core's answers out (RFC 9110, 9112).

Owns framing, limits and the life of a connection: one task each, requests in order. Each request
gets an h11 connection of its own, so that every head passes the strict check of head.py
before h11 sees it. Must not know: components, documents, the slow link.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Final

import structlog

from local_proxy.front.http1.connection import Http1Connection
from local_proxy.front.places import Room
from local_proxy.front.tls.connects import Connects, Https
from local_proxy.http.client_socket import ClientSocket
from local_proxy.http.client_stream import ClientStream, Serve
from local_proxy.http.front_limits import FrontLimits
from local_proxy.http.model import Core

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FrontStatistics:
    """An immutable snapshot."""

    connections: int
    requests: int
    tunnels: int
    refused: int
    """Requests answered by the front itself because they were malformed or over a limit."""


Welcome = Callable[[ClientSocket], Coroutine[None, None, None]]
Admits = Callable[[tuple[str, int] | None, tuple[str, int] | None], bool]
"""Whether to serve a client, by its address and by that of ours which it reached."""
STRANGERS: Final = 10.0
"""Seconds between two lines in the log about clients that are turned away."""


class Http1Front:
    """Listens for browsers and hands their requests to the core."""

    def __init__(
        self,
        core: Core,
        *,
        limits: FrontLimits | None = None,
        https: Https | None = None,
        http2: Serve | None = None,
        welcome: Welcome | None = None,
        admits: Admits = lambda client, reached: True,
    ) -> None:
        """`https` None: tunnels stay opaque. `http2`: who serves it inside TLS.

        `welcome`: who serves a new connection, which may speak something else. Connections of
        whom `admits` does not are closed at once.
        """
        self._admits = admits
        self._said = float("-inf")
        """When the log last told of one who was turned away."""
        self.core = core
        self.limits = limits or FrontLimits()
        serve = {"http/1.1": self.serve} if http2 is None else {"h2": http2, "http/1.1": self.serve}
        self.connects = Connects(core, https=https, serve=serve, idle_time=self.limits.idle_time)
        self._welcome = welcome or self.serve_proxy
        self.requests = self.tunnels = self.refused = 0
        self.room = Room(self.limits.connections)
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"<Http1Front {len(self._tasks)} connections, {self.requests} requests>"

    def statistics(self) -> FrontStatistics:
        return FrontStatistics(len(self._tasks), self.requests, self.tunnels, self.refused)

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Accept connections; the address as bound (port 0: any free). Raises OSError."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: ClientSocket(self._connected), host, port)
        self._servers.append(server)
        address = server.sockets[0].getsockname()
        return str(address[0]), int(address[1])

    async def serve_proxy(self, client: ClientStream, early: bytes = b"") -> None:
        """Serve a client that takes us for its proxy. Never raises. `early`: what was read of it
        already."""
        await Http1Connection(self, client, early=early).run()

    async def serve(self, client: ClientStream, origin: str) -> None:
        """Serve a client whose TLS has been taken off (local_proxy.http.client_stream.Serve)."""
        await Http1Connection(self, client, origin=origin).run()

    async def close(self) -> None:
        """Stop listening, end every connection, and return when the last task has."""
        for server in self._servers:
            server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for server in self._servers:
            await server.wait_closed()
        self._servers.clear()

    def _connected(self, client: ClientSocket) -> None:
        if not self._admits(client.peer_address, client.local_address):
            self._turn_away(client)
            return
        admitted = self.room.make()
        work = self._welcome(client) if admitted else Http1Connection(self, client).turn_away()
        task = asyncio.get_running_loop().create_task(work, name="http1 connection")
        if admitted:
            self.room.enter(client, task)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _turn_away(self, client: ClientSocket) -> None:
        self.refused += 1
        now = asyncio.get_running_loop().time()
        if now - self._said >= STRANGERS:
            self._said = now
            address = client.peer_address
            log.warning(
                "a device that is not in allow_clients was turned away",
                client=address[0] if address is not None else "unknown",
            )
        client.abort()
