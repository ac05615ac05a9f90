"""SPP over UDP: the thin edge between connections (core/) and a socket, on an asyncio loop.

    async with await listen("0.0.0.0", 4433, on_link, keys=server_keys) as listener: ...
    link = await connect("remote.test", 4433, keys=client_keys)
    await link.ready()
    link.send(b"...")
    for payload in await link.receive(): ...

What runs then: link.py; what shares a socket: port.py; who a peer is: handshake/.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Final

import structlog

from transport.link.interface import LinkError, NotTrusted
from transport.spp.congestion.interface import Congestion
from transport.spp.core.connection import SppConnection
from transport.spp.core.paths import Address
from transport.spp.core.sender import HEADERS
from transport.spp.core.settings import SppSettings
from transport.spp.edge.link import SppLink
from transport.spp.edge.port import Port
from transport.spp.edge.sockets import DatagramSocket
from transport.spp.handshake.door import Admitted, Door
from transport.spp.handshake.exchange import ClientHandshake, Established
from transport.spp.handshake.keys import ClientKeys, ServerKeys

TIMEOUT: Final = 20.0
"""Seconds for a handshake."""
_FIRST_WAIT: Final = 0.5
"""Seconds until the first HELLO is sent again; then twice as long each time."""
_LONGEST_WAIT: Final = 4.0
MOST_PER_DEVICE: Final = 8
"""Connections; a device that begins another one ends its oldest."""
_LOG_EVERY: Final = 10.0
"""Seconds between two lines about strangers."""
_AWAY: Final = 3600.0
"""Seconds without news after which a listening end forgets a device."""
_log = structlog.get_logger("sluice.spp")


class SppListener:
    """Accepts connections until closed; an async context manager."""

    def __init__(
        self,
        own: DatagramSocket,
        on_link: Callable[[SppLink], None],
        *,
        keys: ServerKeys,
        settings: SppSettings,
        congestion: Callable[[], Congestion] | None,
    ) -> None:
        self._on_link = on_link
        self._settings = settings
        self._congestion = congestion
        self._loop = asyncio.get_running_loop()
        self._port = Port(own, self._knock)
        now = self._loop.time()
        chance = secrets.token_bytes
        self._keys = keys
        self._door = Door(keys, taken=self._port.links, chance=chance, now=now)
        self._logged_at = float("-inf")

    @property
    def address(self) -> Address:
        """Host and port that it listens on."""
        return self._port.address

    @property
    def links(self) -> int:
        """Connections there are."""
        return len(self._port.links)

    @property
    def garbage(self) -> int:
        """Datagrams so far that belonged to nobody."""
        return self._port.garbage

    def end_unknown(self) -> None:
        """End the connections of devices that `keys` no longer lets in."""
        for link in list(self._port.links.values()):
            if not self._keys.knows(link.peer):
                link.end()

    def close(self) -> None:
        """End all connections, too: they share the socket."""
        self._port.close()

    async def __aenter__(self) -> SppListener:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _knock(self, datagram: bytes, address: Address, now: float) -> None:
        try:
            answer, admitted = self._door.knock(datagram, address, now)
        except LinkError as error:
            if now - self._logged_at >= _LOG_EVERY:
                self._logged_at = now
                _log.info("a stranger was refused", address=address[0], reason=str(error))
            return
        if answer is not None:
            self._port.send([answer], address, None)
        if admitted is not None:
            self._admit(admitted, address, now)

    def _admit(self, admitted: Admitted, address: Address, now: float) -> None:
        established, round_trip = admitted
        same = [one for one in self._port.links.values() if one.peer == established.peer]
        if len(same) >= MOST_PER_DEVICE:
            same[0].end()
        connection = SppConnection(
            now=now,
            seal=established.seal,
            settings=self._settings,
            congestion=self._congestion() if self._congestion else None,
            round_trip=round_trip,
            address=address,
        )
        link = SppLink(self._port, established, connection, address)
        self._port.links[established.own] = link
        self._on_link(link)
        link.ping()  # shows the device that it is let in


async def listen(
    host: str,
    port: int,
    on_link: Callable[[SppLink], None],
    *,
    keys: ServerKeys,
    settings: SppSettings | None = None,
    congestion: Callable[[], Congestion] | None = None,
    own: socket.socket | None = None,
    offload: bool = True,
) -> SppListener:
    """Take connections of `keys`' devices; `on_link` is given each. `own`: a socket, not bound.

    Raises LinkError.
    """
    bound = own
    try:
        if bound is None:
            bound, address = await _socket(host, port)
        else:
            address = (host, port)
        bound.bind(address)
    except OSError as error:
        if bound is not None:
            bound.close()
        reason = error.strerror or error
        raise LinkError(f"can't listen on {host}:{port} (UDP): {reason}") from error
    return SppListener(
        DatagramSocket(bound, offload=offload),
        on_link,
        keys=keys,
        settings=settings or SppSettings(idle=_AWAY),
        congestion=congestion,
    )


async def connect(
    host: str,
    port: int,
    *,
    keys: ClientKeys,
    settings: SppSettings | None = None,
    congestion: Congestion | None = None,
    timeout: float = TIMEOUT,
    interface: str = "",
    own: socket.socket | None = None,
    offload: bool = True,
    crossed: Callable[[int], None] = lambda size: None,
) -> SppLink:
    """A connection to the remote of `keys`; `timeout` seconds for it to answer. `interface`: over
    which alone it goes; empty: as the system's routes say.

    It comes after one round trip: payloads may go at once, though the remote may still not know
    this device (`until_confirmed`). `crossed` hears of the bytes, with headers, of each packet
    that is none of the connection's: the connection counts its own. Raises LinkError, WrongPeer.
    """
    dialling = None
    try:
        if own is None:
            own, address = await _socket(host, port)
        else:
            address = (host, port)
        if interface:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        dialling = _Dialling(DatagramSocket(own, offload=offload), address, keys, crossed)
        async with asyncio.timeout(timeout):
            return await dialling.link(settings or SppSettings(), congestion)
    except BaseException as error:
        if dialling is not None:
            dialling.close()
        elif own is not None:
            own.close()
        if isinstance(error, TimeoutError):
            what = f"{host}:{port} (UDP) did not answer within {timeout:g} s"
            raise LinkError(what) from error
        if isinstance(error, OSError):
            raise LinkError(f"{host}:{port} (UDP): {error.strerror or error}") from error
        raise


class _Dialling:
    """A device's handshake on a socket of its own."""

    def __init__(
        self,
        own: DatagramSocket,
        address: Address,
        keys: ClientKeys,
        crossed: Callable[[int], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._crossed = crossed
        self._handshake = ClientHandshake(keys, chance=secrets.token_bytes)
        self._address = address
        self._established: asyncio.Future[Established] = self._loop.create_future()
        self._link: SppLink | None = None
        self._sent_at: float | None = None
        """When the hello went that is answered; None: it went more than once, so nobody knows which
        one was (Karn; RFC 6298, 3)."""
        self._shown = False
        """It was asked to show that it hears what is sent to its address."""
        self._port = Port(own, self._received)

    async def link(self, settings: SppSettings, congestion: Congestion | None) -> SppLink:
        """Until the remote has proved who it is. Raises LinkError, WrongPeer."""
        wait = _FIRST_WAIT
        self._sent_at = self._loop.time()
        while not self._established.done():
            self._hello()
            await asyncio.wait([self._established], timeout=wait)
            wait = min(2 * wait, _LONGEST_WAIT)
            if not self._established.done():
                self._sent_at = None
        established = self._established.result()
        now = self._loop.time()
        connection = SppConnection(
            now=now,
            seal=established.seal,
            settings=settings,
            congestion=congestion,
            round_trip=None if self._sent_at is None else now - self._sent_at,
        )
        self._link = SppLink(self._port, established, connection, self._address)
        self._port.links[established.own] = self._link
        self._port.closed = self._port.close
        self._link.prove(self._handshake.proof)
        return self._link

    def close(self) -> None:
        self._established.cancel()
        self._port.close()

    def _hello(self) -> None:
        hello = self._handshake.hello()
        self._crossed(len(hello) + HEADERS)
        self._port.send([hello], self._address, None)

    def _received(self, datagram: bytes, address: Address, now: float) -> None:
        """Takes in a datagram. Raises Forged."""
        self._crossed(len(datagram) + HEADERS)
        if self._link is not None and self._link.forgotten(datagram):
            return
        try:
            outcome = self._handshake.received(datagram)
        except NotTrusted as error:
            if self._link is not None:
                if not self._link.confirmed:
                    self._link.refused(error)
            elif not self._established.done():
                self._established.set_exception(error)
            return
        except LinkError as error:
            if not self._established.done():
                self._established.set_exception(error)
            return
        if isinstance(outcome, Established):
            if not self._established.done():
                self._established.set_result(outcome)
        elif outcome:  # who is asked to show his address begins anew, once
            self._sent_at = None if self._shown else self._loop.time()
            self._shown = True
            self._hello()


async def _socket(host: str, port: int) -> tuple[socket.socket, Address]:
    """For the first of a host's addresses. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    family, kind, protocol, _, address = found[0]
    return socket.socket(family, kind, protocol), (str(address[0]), int(address[1]))
