"""Connections whose peers have proved nothing yet: bounded in number, in time, in bytes.

A stranger costs a socket and a few kilobytes, and is told nothing but what TLS says. Where there
are too many, the address that has most of them gives one up, its oldest: a crowd from one place
does not keep a device out that comes from another.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from transport.link.interface import LinkError
from transport.tcp.connection import TcpConnection
from transport.tcp.security import TIMEOUT, ClientSecurity, ServerSecurity
from transport.tcp.sockets import Listener, dial, listen, prepare

MOST: Final = 64
"""Handshakes at a time."""
_LINGER: Final = 5.0
"""Seconds a refused peer has to read why, before its unread bytes would reset the connection."""
_DRAINED: Final = 65_536
"""Bytes read from a refused peer at most."""
_LOG_EVERY: Final = 10.0
"""Seconds between two lines about strangers."""
_log = structlog.get_logger("sluice.link")


@dataclass(frozen=True, slots=True)
class _Stranger:
    task: asyncio.Task[bool]
    network: str


class Handshakes:
    """What is under way between accepting a connection and having a link."""

    def __init__(
        self,
        security: ServerSecurity,
        admitted: Callable[[TcpConnection], None],
        *,
        most: int = MOST,
        timeout: float = TIMEOUT,
    ) -> None:
        """`admitted` owns what it is given. `timeout`: seconds."""
        self._security = security
        self._admitted = admitted
        self._most = most
        self._timeout = timeout
        self._strangers: dict[socket.socket, _Stranger] = {}
        """The oldest first."""
        self._logged_at = float("-inf")
        self._unlogged = 0

    def __len__(self) -> int:
        return len(self._strangers)

    def begin(self, connection: socket.socket, address: str) -> None:
        """Take a connection over that has just been accepted from `address`."""
        if len(self._strangers) >= self._most:
            self._give_one_up()
        connection.setblocking(False)
        task = asyncio.get_running_loop().create_task(self._welcome(connection, address))
        self._strangers[connection] = _Stranger(task, network_of(address))
        task.add_done_callback(lambda task: self._ended(connection, task))

    def close(self) -> None:
        """End them all."""
        for stranger in self._strangers.values():
            stranger.task.cancel()

    def _give_one_up(self) -> None:
        crowds = Counter(stranger.network for stranger in self._strangers.values())
        most = max(crowds.values())
        for connection, stranger in self._strangers.items():
            if crowds[stranger.network] == most:
                stranger.task.cancel()
                del self._strangers[connection]  # it counts no more, though it ends a moment later
                return

    async def _welcome(self, connection: socket.socket, address: str) -> bool:
        """Whether it was let in, and so is somebody else's now."""
        try:
            records = await self._security.secure(connection, timeout=self._timeout)
        except LinkError as error:
            self._log(address, error)
            await _linger(connection)
            return False
        self._admitted(TcpConnection(connection, records))
        return True

    def _ended(self, connection: socket.socket, task: asyncio.Task[bool]) -> None:
        self._strangers.pop(connection, None)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.error("a handshake failed", exc_info=error)
        if task.cancelled() or error is not None or not task.result():
            connection.close()

    def _log(self, address: str, error: LinkError) -> None:
        """A line now and then: strangers must not fill disks."""
        now = asyncio.get_running_loop().time()
        if now - self._logged_at < _LOG_EVERY:
            self._unlogged += 1
            return
        _log.info("a stranger was refused", address=address, reason=str(error), more=self._unlogged)
        self._logged_at, self._unlogged = now, 0


async def dial_secured(
    host: str,
    port: int,
    *,
    security: ClientSecurity | None,
    timeout: float = 30.0,
    congestion: str | None = None,
    interface: str = "",
) -> TcpConnection:
    """A connection to whoever listens there, or with `security` to nobody but whom that knows.

    `timeout`: seconds until it answers; `interface`: over that one alone (Linux). Raises LinkError,
    NotTrusted.
    """
    connected = await dial(host, port, timeout=timeout, interface=interface)
    try:
        prepare(connected, congestion)
        return TcpConnection(connected, await security.secure(connected) if security else None)
    except BaseException:
        connected.close()
        raise


async def listen_secured(
    host: str,
    port: int,
    on_connection: Callable[[TcpConnection], None],
    *,
    security: ServerSecurity | None,
    congestion: str | None = "cubic",
) -> Listener:
    """Hand over each connection, with `security` once its peer has proved who it is.

    Raises LinkError.
    """
    if security is None:
        return await listen(
            host,
            port,
            lambda connected: on_connection(TcpConnection(connected)),
            congestion=congestion,
        )
    handshakes = Handshakes(security, on_connection)

    def accepted(connected: socket.socket) -> None:
        try:
            address = str(connected.getpeername()[0])
        except OSError:  # gone again; its handshake will find out
            address = "nowhere"
        handshakes.begin(connected, address)

    return await listen(host, port, accepted, congestion=congestion, on_close=handshakes.close)


def network_of(address: str) -> str:
    """What one party is likely to have all addresses of: an IPv4 address, an IPv6 /64."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if ip.version == 4 or ip.ipv4_mapped is not None:
        return str(getattr(ip, "ipv4_mapped", None) or ip)
    return str(ipaddress.ip_network((ip, 64), strict=False))


async def _linger(connection: socket.socket) -> None:
    """Let the peer read what was said last, then it closes; if it does not, that's its affair."""
    loop = asyncio.get_running_loop()
    drained = 0
    try:
        connection.shutdown(socket.SHUT_WR)
        async with asyncio.timeout(_LINGER):
            while drained < _DRAINED and (data := await loop.sock_recv(connection, 4096)):
                drained += len(data)
    except (OSError, TimeoutError):
        pass
