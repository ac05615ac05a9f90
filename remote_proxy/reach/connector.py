"""The guard's edge: lookups and connections that it has judged, for the origin client and tunnels.

The address that was judged is the address that is connected to: lookups give only what the guard
lets through, literals (which meet no resolver) are judged before, and the peer of every connection
after, before a byte is said. So a name that resolves otherwise the second time (DNS rebinding)
gains nothing. Of several addresses those that may be reached are used.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final

import aiohttp
import structlog
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection

from remote_proxy.import_drivers.urls import split
from remote_proxy.reach.connections import Connections, Turn
from remote_proxy.reach.failures import Failure, OriginError
from remote_proxy.reach.guard import Guard, Refusal, loopback
from remote_proxy.reach.hosts import Host, parse
from remote_proxy.reach.lookups import Lookups

LOOKUP: Final = 15.0
"""Seconds for a name, once it is its turn (lookups.py)."""
_log = structlog.get_logger("sluice.remote")


class Reach:
    """What can be reached from here. All methods raise OriginError for what can't."""

    def __init__(
        self, guard: Guard, *, resolver: AbstractResolver | None = None, timeout: float = LOOKUP
    ) -> None:
        """`resolver` None: the system's. `timeout`: seconds for a lookup, without its turn."""
        self.guard = guard
        self._lookups = Lookups(resolver, timeout=timeout)

    async def close(self) -> None:
        """End all lookups."""
        await self._lookups.close()

    def host(self, text: str, port: int, *, tunnel: bool = False) -> Host:
        """The host by its notation, before any lookup."""
        try:
            host = parse(text)
        except ValueError:
            raise OriginError(Failure.PROTOCOL, f"{text} is not a host of the web") from None
        _let(self.guard.host(host, port, tunnel=tunnel))
        if not host.proper:
            raise OriginError(Failure.PROTOCOL, f"{text} is an odd way to write {host.name}")
        return host

    def might(self, url: str) -> bool:
        """Whether nothing is known against a URL: what is not even worth a promise is told apart.
        Never raises."""
        scheme, authority, _, _ = split(url)
        host, colon, port = authority.rpartition(":")
        if not colon or port.endswith("]"):
            host, port = authority, "443" if scheme == "https" else "80"
        try:
            self.host(host, int(port))
        except (OriginError, ValueError):
            return False
        return True

    async def addresses(
        self,
        host: Host,
        port: int,
        *,
        device: str,
        family: socket.AddressFamily = socket.AF_UNSPEC,
        tunnel: bool = False,
    ) -> list[ResolveResult]:
        """Where it may be reached. Raises OSError too, for a name that nobody knows.

        `device`: who asks, for whose other lookups this one may have to wait.
        """
        found = await self._look_up(host, port, family, device)
        judged = [(one, self._judge(host, one["host"], port, tunnel=tunnel)) for one in found]
        open_ones = [one for one, refusal in judged if refusal is None]
        if judged and not open_ones:
            where = ", ".join(one["host"] for one in found)
            _log.warning("a host was refused", host=host.name, port=port, addresses=where)
            _let(judged[0][1])
        return open_ones

    def peer(
        self, host: Host, transport: asyncio.BaseTransport | None, *, tunnel: bool = False
    ) -> None:
        """Whom a connection is with, once it is made."""
        address = transport.get_extra_info("peername") if transport is not None else None
        if address is not None:  # else it is gone already: whoever uses it will notice
            _let(self._judge(host, address[0], address[1], tunnel=tunnel))

    async def _look_up(
        self, host: Host, port: int, family: socket.AddressFamily, device: str
    ) -> list[ResolveResult]:
        literals = (host.address,) if host.address is not None else loopback(host)
        if literals:
            return [_result(host, str(one), port) for one in literals]
        name = host.name + "." if host.absolute else host.name
        return await self._lookups.addresses(name, port, family, device=device)

    def _judge(self, host: Host, address: str, port: int, *, tunnel: bool) -> Refusal | None:
        found = parse(address).address
        if found is None:
            return Refusal(host.name, "a name that resolves to no address")
        return self.guard.address(host, found, port, ours=is_ours(address), tunnel=tunnel)


class TracedRequest:
    """A request on its way through aiohttp, which tells nobody which connection it uses."""

    turn: Turn | None = None


ASKING: Final[ContextVar[TracedRequest | None]] = ContextVar("asking", default=None)
"""Whose connection is being made in this task."""


_TURN: ContextVar[Turn | None] = ContextVar("turn", default=None)
"""Of the connection that is being made in this task."""


class GuardedResolver(AbstractResolver):
    """Lookups as aiohttp asks for them, for one device."""

    def __init__(self, reach: Reach, device: str) -> None:
        self._reach = reach
        self._device = device

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = self._reach.host(host, port)
        looked_up = self._reach.addresses(found, port, device=self._device, family=family)
        turn = _TURN.get()
        return await (turn.behind(looked_up) if turn is not None else looked_up)

    async def close(self) -> None:
        """Nothing is held."""


class GuardedConnector(aiohttp.TCPConnector):
    """Every connection of aiohttp's for one device, new or kept, goes through here."""

    def __init__(
        self, reach: Reach, device: str, connections: Connections, **settings: Any
    ) -> None:
        """`connections`: the device's; they give turns, so aiohttp has no limits of its own."""
        resolver = GuardedResolver(reach, device)
        # Names are remembered by who looks them up: what waits for one must not hold a turn.
        settings |= {"limit": 0, "limit_per_host": 0, "use_dns_cache": False}
        super().__init__(resolver=resolver, **settings)
        self._reach = reach
        self._connections = connections

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        name, port = req.url.raw_host or "", req.url.port or 0
        host = self._reach.host(name, port)
        turn = await self._connections.turn((req.url.scheme, host.name, port))
        _TURN.set(turn)
        try:
            connection = await super().connect(req, traces, timeout)
        except BaseException:
            turn.leave()
            raise
        connection.add_callback(turn.leave)
        try:
            self._reach.peer(host, connection.transport)
        except BaseException:
            connection.close()
            raise
        if (asking := ASKING.get()) is not None:
            asking.turn = turn
        return connection


def is_ours(address: str) -> bool:
    """Whether an address is one of this machine's: the system would speak to it from itself."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))  # a datagram socket: nothing is sent
        return bool(probe.getsockname()[0] == address)
    return False


def _result(host: Host, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(
        hostname=host.name, host=address, port=port, family=family, proto=0, flags=0
    )


def _let(refusal: Refusal | None) -> None:
    if refusal is not None:
        raise OriginError(Failure.FORBIDDEN, str(refusal))
