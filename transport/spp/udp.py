"""SPP over UDP: the thin edge between connections (core.py) and a socket, on an asyncio loop.

    async with await listen("0.0.0.0", 4433, on_link, keys=server_keys) as listener: ...
    link = await connect("remote.test", 4433, keys=client_keys)
    await link.ready()
    link.send(b"...")
    for payload in await link.receive(): ...

A port is one socket and no task: its reader hands each datagram to the connection that it names,
or to the door; a connection has one timer. What the kernel does not take waits in one short list,
and nobody makes more until it is gone. Who a peer is: handshake.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Final

import structlog

from transport.link import LinkError, LinkExpired, NotTrusted, PeerFault
from transport.records import Peer
from transport.spp.congestion.interface import Congestion
from transport.spp.core import SppConnection
from transport.spp.door import Admitted, Door
from transport.spp.handshake import ClientHandshake, Established
from transport.spp.keys import ClientKeys, ServerKeys
from transport.spp.packets import CONNECTION_ID, SEALED
from transport.spp.paths import Address
from transport.spp.seal import Forged
from transport.spp.settings import Delivered, IdleTimeout, Settings, Statistics
from transport.spp.sockets import DatagramSocket, TooLarge
from wire.errors import PeerError

TIMEOUT: Final = 20.0
"""Seconds for a handshake."""
_FIRST_WAIT: Final = 0.5
"""Seconds until the first HELLO is sent again; then twice as long each time."""
_LONGEST_WAIT: Final = 4.0
_TURN: Final = 64
"""Reads of the socket before others have their turn."""
MOST_PER_DEVICE: Final = 8
"""Connections; a device that begins another one ends its oldest."""
_LOG_EVERY: Final = 10.0
"""Seconds between two lines about strangers."""
_AWAY: Final = 3600.0
"""Seconds without news after which a listening end forgets a device."""
_log = structlog.get_logger("sluice.spp")

Strangers = Callable[[bytes, Address, float], None]
"""What becomes of a datagram that is no connection's: it, whence, now."""


class SppLink:
    """A connection that runs. Not for threads."""

    def __init__(
        self, port: _Port, established: Established, connection: SppConnection, remote: Address
    ) -> None:
        self.peer: Peer = established.peer
        self._port = port
        self._own = established.own
        self._connection = connection
        self._remote = remote
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._flush_soon = False
        self._proof = b""
        self._proof_due = False
        self._refused: LinkError | None = None

    @property
    def segment(self) -> int:
        """Bytes of a payload that fills a datagram at present."""
        return self._connection.segment

    @property
    def open(self) -> bool:
        """Payloads can be sent."""
        return self._connection.open

    @property
    def confirmed(self) -> bool:
        """The peer has shown that it has let this end in."""
        return not self._proof

    @property
    def error(self) -> LinkError | None:
        """Why it is over; None: it is not, or an end closed it on purpose."""
        error = self._refused or self._connection.error
        if error is None or isinstance(error, LinkError):
            return error
        kind = {PeerError: PeerFault, IdleTimeout: LinkExpired}.get(type(error), LinkError)
        return kind(str(error))

    def send(self, payload: bytes) -> int:
        """Accept a payload; its number. Raises Refused beyond the buffer, LocalError otherwise."""
        number = self._connection.send(payload, self._loop.time())
        if not self._flush_soon:  # with what else is sent in this turn of the loop
            self._flush_soon = True
            self._loop.call_soon(self._flush)
        return number

    def room(self) -> int:
        """Bytes of payloads that would leave at once."""
        return 0 if self._port.blocked else self._connection.room(self._loop.time())

    def backlog(self) -> int:
        """Bytes that were accepted and are not on the wire, those in the kernel included."""
        return self._connection.backlog(self._loop.time()) + self._port.queued

    def acked(self) -> list[Delivered]:
        """What has arrived over there since the last call."""
        return self._connection.acked()

    def received(self) -> list[bytes]:
        """Payloads that are here."""
        payloads = self._connection.received()
        if payloads:
            self._flush()  # the window may have moved on
        return payloads

    def ping(self) -> None:
        """Ask for a sign of life, and show the peer our address."""
        self._connection.ping()
        self._flush()

    async def receive(self) -> list[bytes]:
        """Payloads, one at least; none: the connection was closed on purpose. Raises LinkError."""
        while not (payloads := self.received()) and self.open:
            await self._change()
        if not payloads and self.error is not None:
            raise self.error
        return payloads

    async def ready(self, size: int = 1) -> None:
        """Until so many bytes would leave at once. Raises LinkError if it is over."""
        while self.room() < size:
            self._check()
            due = self._connection.room_at()
            await self._change(until=due if self.room_is_paced() else None)

    def room_is_paced(self) -> bool:
        """Only time is missing until there is room."""
        due = self._connection.room_at()
        return due is not None and due > self._loop.time()

    async def delivered(self) -> None:
        """Until the peer has everything. Raises LinkError if it is over before."""
        while self._connection.unacknowledged:
            self._check()
            await self._change()

    async def until_confirmed(self) -> None:
        """Until the peer has let this end in. Raises LinkError, NotTrusted."""
        while not self.confirmed:
            self._check()
            await self._change()

    def statistics(self) -> Statistics:
        """An immutable snapshot."""
        return self._connection.statistics(self._loop.time())

    def close(self) -> None:
        """Over at once; await `delivered` before if that matters."""
        self._connection.close(self._loop.time())
        self._flush()

    async def closed(self) -> None:
        """Until it is over and who still sends has been told; of a client, the socket is gone."""
        while self._port.links.get(self._own) is self:
            await self._change()

    def __repr__(self) -> str:
        return f"<SppLink {self.peer.name or self.peer.id[:8]} {self._connection!r}>"

    # The port's.

    def prove(self, proof: bytes) -> None:
        """Send this before others until the peer answers."""
        self._proof, self._proof_due = proof, True
        self.ping()

    def refused(self, error: LinkError) -> None:
        """The peer does not let this end in."""
        self._refused = error
        self._connection.close(self._loop.time())
        self._end()

    def take(self, datagram: bytes, address: Address, *, age: float, now: float) -> bool:
        """A datagram names this connection; `turn` follows. Was it authentic?"""
        authentic = self._connection.datagram_received(
            datagram, now, address=address, arrived=now - age
        )
        if authentic:
            self._proof = b""
        return authentic

    def turn(self) -> None:
        """Datagrams have come, or the socket takes some again."""
        self._flush()
        self._wake()

    def end(self) -> None:
        """The port closes."""
        self._connection.close(self._loop.time())
        self._flush()
        self._end()

    def _flush(self) -> None:
        """Send what is due; be called when more is."""
        self._flush_soon = False
        now = self._loop.time()
        for address, datagram in self._connection.challenges_to_send(now):
            self._port.send([datagram], address, self)
        while not self._port.blocked:
            datagrams = self._connection.datagrams_to_send(now)
            if not datagrams:
                break
            if self._proof and (self._proof_due or self._connection.doubtful):
                self._proof_due = False
                datagrams.insert(0, self._proof)
            self._port.send(datagrams, self._connection.paths.address or self._remote, self)
        if self._connection.finished(now):
            self._end()
        else:
            self._set_timer(now)

    def too_large(self, size: int) -> None:
        self._connection.datagram_refused(size, self._loop.time())

    def _set_timer(self, now: float) -> None:
        if self._port.blocked:
            return  # it comes back when the socket takes something
        due = self._connection.deadline()
        timer = self._timer
        if timer is not None:
            if due is not None and timer.when() <= due:
                return  # it will look again
            timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._timed_out)

    def _timed_out(self) -> None:
        self._timer = None
        now = self._loop.time()
        due = self._connection.deadline()
        if due is not None and due <= now:
            self._connection.timeout(now)
        self.turn()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._port.forget(self._own)
        self._wake()

    def _check(self) -> None:
        if not self.open:
            raise self.error or LinkError("the connection was closed")

    async def _change(self, *, until: float | None = None) -> None:
        """Until something has happened, or that time."""
        waiter = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout_at(until):
                await waiter
        except TimeoutError:
            pass
        finally:
            with contextlib.suppress(ValueError):
                self._waiters.remove(waiter)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


class _Port:
    """A socket and the connections on it."""

    def __init__(self, own: DatagramSocket, strangers: Strangers) -> None:
        self.links: dict[bytes, SppLink] = {}
        self.closed: Callable[[], None] = lambda: None
        """Called when the last connection has ended."""
        self.garbage = 0
        """Datagrams that were nobody's."""
        self._socket = own
        self._strangers = strangers
        self._unsent: deque[tuple[bytes, Address]] = deque()
        self._held_up: dict[SppLink, None] = {}
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

    def send(self, datagrams: list[bytes], address: Address, link: SppLink | None) -> None:
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
                datagrams = [one for one in datagrams if len(one) < error.size]
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
        """End all."""
        for link in list(self.links.values()):
            link.end()
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket.close()
        self._unsent.clear()

    def _readable(self) -> None:
        now = self._loop.time()
        touched: dict[SppLink, None] = {}
        for _ in range(_TURN):
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


class SppListener:
    """Accepts connections until closed; an async context manager."""

    def __init__(
        self,
        own: DatagramSocket,
        on_link: Callable[[SppLink], None],
        *,
        keys: ServerKeys,
        settings: Settings,
        congestion: Callable[[], Congestion] | None,
    ) -> None:
        self._on_link = on_link
        self._settings = settings
        self._congestion = congestion
        self._loop = asyncio.get_running_loop()
        self._port = _Port(own, self._knock)
        now = self._loop.time()
        chance = secrets.token_bytes
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
        """Datagrams so far that were nobody's."""
        return self._port.garbage

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
    settings: Settings | None = None,
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
        settings=settings or Settings(idle=_AWAY),
        congestion=congestion,
    )


async def connect(
    host: str,
    port: int,
    *,
    keys: ClientKeys,
    settings: Settings | None = None,
    congestion: Congestion | None = None,
    timeout: float = TIMEOUT,
    own: socket.socket | None = None,
    offload: bool = True,
) -> SppLink:
    """A connection to the remote of `keys`; `timeout` seconds for it to answer.

    It comes after one round trip: payloads may go at once, though the remote may still not know
    this device (`until_confirmed`). Raises LinkError, WrongPeer.
    """
    dialling = None
    try:
        if own is None:
            own, address = await _socket(host, port)
        else:
            address = (host, port)
        dialling = _Dialling(DatagramSocket(own, offload=offload), address, keys)
        async with asyncio.timeout(timeout):
            return await dialling.link(settings or Settings(), congestion)
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

    def __init__(self, own: DatagramSocket, address: Address, keys: ClientKeys) -> None:
        self._loop = asyncio.get_running_loop()
        self._handshake = ClientHandshake(keys, chance=secrets.token_bytes)
        self._address = address
        self._established: asyncio.Future[Established] = self._loop.create_future()
        self._link: SppLink | None = None
        self._sent_at = self._loop.time()
        self._port = _Port(own, self._received)

    async def link(self, settings: Settings, congestion: Congestion | None) -> SppLink:
        """Until the remote has proved who it is. Raises LinkError, WrongPeer."""
        wait = _FIRST_WAIT
        while not self._established.done():
            self._hello()
            await asyncio.wait([self._established], timeout=wait)
            wait = min(2 * wait, _LONGEST_WAIT)
        established = self._established.result()
        now = self._loop.time()
        connection = SppConnection(
            now=now,
            seal=established.seal,
            settings=settings,
            congestion=congestion,
            round_trip=now - self._sent_at,
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
        self._sent_at = self._loop.time()
        self._port.send([self._handshake.hello()], self._address, None)

    def _received(self, datagram: bytes, address: Address, now: float) -> None:
        """Raises Forged."""
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
        elif outcome:
            self._hello()


async def _socket(host: str, port: int) -> tuple[socket.socket, Address]:
    """For the first of a host's addresses. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    family, kind, protocol, _, address = found[0]
    return socket.socket(family, kind, protocol), (str(address[0]), int(address[1]))
