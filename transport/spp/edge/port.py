"""One UDP socket and the connections on it: who gets which datagram, and what waits to go.

No task: a reader hands each datagram to the connection that it names, or to whoever deals with
strangers. What the kernel does not take waits in one short list, and nobody makes more until it is
gone. It knows neither keys nor what is in a datagram.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from transport.link.records import ProvenPeer
from transport.spp.core.packets import CONNECTION_ID, SEALED
from transport.spp.core.paths import Address
from transport.spp.edge.sockets import DatagramSocket, TooLarge
from transport.spp.handshake.seal import Forged

_TURN: Final = 64
"""Reads of the socket before others have their turn."""
Strangers = Callable[[bytes, Address, float], None]
"""What becomes of a datagram that is no connection's: it, whence, now. Raises Forged."""


class Tenant(Protocol):
    """A connection, as its port knows it."""

    peer: ProvenPeer

    def take(self, datagram: bytes, address: Address, *, age: float, now: float) -> bool:
        """A datagram names this connection; `turn` follows. Was it authentic?"""

    def turn(self) -> None:
        """Datagrams have come, or the socket takes some again."""

    def too_large(self, size: int) -> None:
        """The machine's network takes no datagrams of that size."""

    def end(self) -> None:
        """The port closes."""


class Port:
    """A socket and the connections on it."""

    def __init__(self, own: DatagramSocket, strangers: Strangers) -> None:
        self.links: dict[bytes, Tenant] = {}
        self.closed: Callable[[], None] = lambda: None
        """Called when the last connection has ended."""
        self.garbage = 0
        """Datagrams that were nobody's."""
        self._socket = own
        self._strangers = strangers
        self._unsent: deque[tuple[bytes, Address]] = deque()
        self._held_up: dict[Tenant, None] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(own, self._readable)

    @property
    def address(self) -> Address:
        return self._socket.address

    @property
    def blocked(self) -> bool:
        """The kernel takes nothing more."""
        return bool(self._unsent)

    @property
    def queued(self) -> int:
        """Bytes in the kernel."""
        return self._socket.queued if self._socket.fileno() >= 0 else 0

    def send(self, datagrams: list[bytes], address: Address, link: Tenant | None) -> None:
        """Now, or as soon as the kernel takes them; `link` has its turn then."""
        if self._socket.fileno() < 0:
            return
        while datagrams and not self._unsent:
            try:
                sent = self._socket.send(datagrams, address)
            except TooLarge as error:
                if link is not None:
                    link.too_large(error.size)
                # All of its size share its fate: they are lost, and come again smaller.
                left = datagrams[error.sent :]
                datagrams = [one for one in left if len(one) < error.size]
                continue
            datagrams = datagrams[sent:]
            if datagrams:
                break
        if datagrams and link is not None:
            if not self._unsent:
                self._loop.add_writer(self._socket, self._writable)
            self._unsent.extend((one, address) for one in datagrams)
            self._held_up[link] = None

    def forget(self, own: bytes) -> None:
        """A connection has ended."""
        link = self.links.pop(own, None)
        if link is not None:
            self._held_up.pop(link, None)
        if not self.links:
            self.closed()

    def close(self) -> None:
        """Ends all connections."""
        for link in list(self.links.values()):
            link.end()
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket.close()
        self._unsent.clear()

    def _readable(self) -> None:
        now = self._loop.time()
        touched: dict[Tenant, None] = {}
        for _ in range(_TURN):
            if self._socket.fileno() < 0:  # what came has ended the last connection
                return
            arrivals = self._socket.receive()
            if arrivals is None:
                break
            for datagram, address, age in arrivals:
                link = None
                if len(datagram) > CONNECTION_ID and datagram[0] == SEALED:
                    link = self.links.get(datagram[1 : 1 + CONNECTION_ID])
                if link is None:
                    self._stranger(datagram, address, now)
                elif link.take(datagram, address, age=age, now=now):
                    touched[link] = None
        for link in touched:
            link.turn()

    def _stranger(self, datagram: bytes, address: Address, now: float) -> None:
        try:
            self._strangers(datagram, address, now)
        except Forged:
            self.garbage += 1

    def _writable(self) -> None:
        while self._unsent:
            datagram, address = self._unsent[0]
            try:
                if not self._socket.send([datagram], address):
                    return
            except TooLarge:
                pass
            self._unsent.popleft()
        self._loop.remove_writer(self._socket)
        held_up, self._held_up = self._held_up, {}
        for link in held_up:
            link.turn()
