"""A connection that runs: a core (core/connection.py) on a port (port.py). One timer, no task."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from transport.link.interface import LinkError, LinkExpired, PeerFault
from transport.link.records import ProvenPeer
from transport.spp.congestion.interface import Congestion
from transport.spp.core.connection import SppConnection
from transport.spp.core.paths import Address
from transport.spp.core.segments import ArrivedSegment
from transport.spp.core.sender import HEADERS
from transport.spp.core.settings import Delivered, IdleTimeout, Statistics
from transport.spp.edge.port import Port
from transport.spp.handshake.exchange import Established
from wire.errors import PeerError


class SppLink:
    """A connection that runs. Not for threads."""

    def __init__(
        self, port: Port, established: Established, connection: SppConnection, remote: Address
    ) -> None:
        self.peer: ProvenPeer = established.peer
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
        self._reset = established.reset
        self._refused: LinkError | None = None
        self.crossed = 0
        """Bytes of packets with their headers that were sent, or came for it from anybody."""
        self.changed: Callable[[], None] = lambda: None
        """Called when something has come, arrived or ended, or may be sent again."""

    @property
    def segment(self) -> int:
        """Bytes of a payload that fills a datagram at present."""
        return self._connection.segment

    @property
    def open(self) -> bool:
        """Payloads can be sent."""
        return self._connection.open

    @property
    def doubtful(self) -> bool:
        """The patience has ended since the last news of the peer."""
        return self._connection.doubtful

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
        self._leave_soon()
        return number

    def send_segment(self, segment: bytes) -> None:
        """Accept a segment that nobody acknowledges. Raises LocalError."""
        self._connection.send_segment(segment)
        self._leave_soon()

    def segments(self) -> list[ArrivedSegment]:
        """What has come of them since the last call."""
        return self._connection.segments()

    def room(self) -> int:
        """Bytes of payloads that would leave at once."""
        return 0 if self._port.blocked else self._connection.room(self._loop.time())

    @property
    def waiting(self) -> int:
        """Bytes that were accepted and have not been sent for the first time."""
        return self._connection.backlog(self._loop.time())

    @property
    def unacknowledged(self) -> int:
        """Bytes that were accepted and that the peer may not have."""
        return self._connection.unacknowledged

    @property
    def patience(self) -> float:
        """Seconds after which an acknowledgement is late."""
        return self._connection.patience

    @property
    def round_trip(self) -> float | None:
        """Seconds, smoothed; None: nothing was measured yet."""
        return self._connection.round_trip

    def unanswered(self) -> float:
        """Seconds for which the peer owes an acknowledgement and none has come; 0: owes none."""
        return self._connection.unanswered(self._loop.time())

    def silent(self) -> float:
        """Seconds since anything of the peer came."""
        return self._connection.silent(self._loop.time())

    def backlog(self) -> int:
        """Bytes that were accepted and are not on the wire, those in the kernel included."""
        return self._connection.backlog(self._loop.time()) + self._port.queued

    def acked(self) -> list[Delivered]:
        """What has arrived over there since the last call."""
        return self._connection.acked()

    @property
    def congestion(self) -> Congestion:
        """Its control, as it was made with."""
        return self._connection.congestion

    def room_at(self) -> float | None:
        """When the pace lets the next payload go, if only that is missing; None: it is not."""
        return self._connection.room_at() if self.room_is_paced() else None

    def flush(self) -> None:
        """Send what window and pace let go now, rather than at the end of this turn."""
        self._flush()

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

    def forgotten(self, datagram: bytes) -> bool:
        """If that is the peer's word that it knows no such connection, this one is over."""
        if self._reset is None or not self.open or not self._reset.says(datagram):
            return False
        self.refused(LinkError("the other end has forgotten the connection: it was restarted"))
        return True

    def take(self, datagram: bytes, address: Address, *, age: float, now: float) -> bool:
        """A datagram names this connection; `turn` follows. Was it authentic?"""
        self.crossed += len(datagram) + HEADERS
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

    def _leave_soon(self) -> None:
        """With what else is sent in this turn of the loop."""
        if not self._flush_soon:
            self._flush_soon = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Send what is due; be called when more is."""
        self._flush_soon = False
        now = self._loop.time()
        for address, datagram in self._connection.challenges_to_send(now):
            self._send([datagram], address)
        while not self._port.blocked:
            datagrams = self._connection.datagrams_to_send(now)
            if not datagrams:
                break
            if self._proof and (self._proof_due or self.doubtful):
                self._proof_due = False
                datagrams.insert(0, self._proof)
            elif self._reset is not None and self._connection.doubts():
                datagrams.append(self._reset.query)
            self._send(datagrams, self._connection.paths.address or self._remote)
        if self._connection.finished(now):
            self._end()
        else:
            self._set_timer(now)

    def _send(self, datagrams: list[bytes], address: Address) -> None:
        self.crossed += sum(map(len, datagrams)) + HEADERS * len(datagrams)
        self._port.send(datagrams, address, self)

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
        self.changed()
