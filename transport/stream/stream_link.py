"""The link: frames over a connection, chosen one quantum at a time as the gate opens.

A link may have several connections, one after the other and of either kind (`on_lost`, `resume`):
the frames' stream goes on where it was. The protocol is in transport/stream/endpoint.py; this
module knows the loop's clock, neither sockets (transport/tcp/connection.py,
transport/udp/connection.py) nor who makes new connections (transport/stream/dialling_end.py)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from monitor.estimate import BandwidthEstimate
from monitor.samples import TransportSample
from monitor.tcp_view import TcpInfo
from transport.link.connection import Connection, DeliveryReport
from transport.link.interface import Inbox, LinkError, LinkStatistics, NotTrusted, Outbox, PeerFault
from transport.link.records import ProvenPeer
from transport.multipath.device_end import DeviceEnd
from transport.stream.endpoint import Endpoint
from transport.tcp.connection import TcpConnection
from transport.tcp.tcp_sample import reader
from wire.errors import PeerError
from wire.frames import END, FrameWriter

Lost = Callable[[LinkError | None], None]
"""Told when a link has lost its connection, and why; None: the link is closed, for good."""


class StreamLink:
    """One end; implements transport.link.interface.Link, and for its connection Carried."""

    def __init__(
        self,
        connection: Connection,
        *,
        congestion: str | None = "cubic",
        on_lost: Lost | None = None,
        on_use: Callable[[], None] = lambda: None,
        measures: bool = False,
    ) -> None:
        """`connection`: the link owns it from here on. `on_use`: told whenever anything moves.

        `congestion`: of TCP, "cubic", "bbr", or None for the system's default. `on_lost`: the link
        waits for `resume` when its connection breaks; without it, it closes. Raises LinkError when
        the kernel lacks the congestion control. `measures`: over UDP, what others leave of it.
        """
        self._measures = measures
        self._congestion = congestion
        self._on_lost = on_lost
        self._on_use = on_use
        self._loop = asyncio.get_running_loop()
        self._endpoint: Endpoint | None = None
        self._inbox: Inbox | None = None
        self._closed = False
        self._connection: Connection | None = None
        self._peer = connection.peer
        self._kind = connection.kind
        self._connections = 0
        """That it has had."""
        self._crossed = 0
        """Bytes of packets of the connections that it has had before."""
        self._take(connection)

    # -- transport.link.interface.Link -------------------------------------------------------------

    def start(
        self, outbox: Outbox, inbox: Inbox, *, competes: Callable[[], bool] = lambda: True
    ) -> None:
        self._endpoint = Endpoint(
            outbox, now=self._loop.time(), measures=self._measures, competes=competes
        )
        self._inbox = inbox
        if self._closed:
            inbox.link_closed(None)
            return
        self._begin()

    def wake(self) -> None:
        if self._connection is not None and self._endpoint is not None:
            self._connection.wake()

    def close(self, error: LinkError | None = None) -> None:
        if self._closed:
            return
        self._closed = True
        connection, self._connection = self._connection, None
        if connection is not None:
            endpoint = self._endpoint
            words = FrameWriter().encode(END) if endpoint is None else endpoint.farewell()
            connection.finish(words)
            self._crossed += connection.crossed
        if self._on_lost is not None:
            self._on_lost(None)
        if self._inbox is not None:
            self._inbox.link_closed(error)

    def statistics(self) -> LinkStatistics:
        if self._endpoint is None:
            raise RuntimeError("the link has not been started")
        statistics = replace(
            self._endpoint.statistics(self._loop.time()),
            crossed=self.crossed,
            connected=self.connected,
            transport=self._kind,
            facts=self._facts(),
            paths=self._connection.statistics() if isinstance(self._connection, DeviceEnd) else (),
        )
        if statistics.outgoing is None:
            return replace(statistics, outgoing=self._second_opinion())
        return statistics

    # -- connections, one after the other ------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether it is over, for good."""
        return self._closed

    @property
    def local_address(self) -> str | None:
        """What its connection stands and falls with on this machine; None: nothing, or no
        connection."""
        return None if self._connection is None else self._connection.local_address

    @property
    def peer(self) -> ProvenPeer | None:
        """Who is at the other end; None where nobody had to prove it."""
        return self._peer

    @property
    def connection(self) -> Connection | None:
        """What carries its bytes now; None: nothing does."""
        return self._connection

    @property
    def crossed(self) -> int:
        """Bytes of all packets of its connections, both ways, with all headers."""
        now = self._connection.crossed if self._connection is not None else 0
        return self._crossed + now

    @property
    def connected(self) -> bool:
        """Whether something carries bytes now."""
        return self._connection is not None

    @property
    def owed(self) -> bool:
        """Whether the peer owes a report, or as much as a sign that it is there."""
        reports = self._endpoint is not None and self._endpoint.gate.under_way > 0
        return reports or self.unanswered() > 0.0

    def silent(self) -> float:
        """Seconds for which the peer owes a report and nothing of it has come; 0: it owes none."""
        return self._endpoint.silent(self._loop.time()) if self._endpoint is not None else 0.0

    def quiet(self) -> float:
        """Seconds since the last news of the link's own bytes, whether any are owed or not."""
        return self._endpoint.quiet(self._loop.time()) if self._endpoint is not None else 0.0

    @property
    def prompt(self) -> bool:
        """Whether `ask` and `overdue` tell at once if the connection still carries anything."""
        return self._connection is not None and self._connection.prompt

    def overdue(self, times: float) -> bool:
        """A sign of the peer is so late that another connection is worth a try, with `times` as
        much patience as usual."""
        return self._connection is not None and self._connection.overdue(times)

    def unanswered(self) -> float:
        """Seconds for which a sign of the peer is owed, as far as the connection tells at once."""
        return self._connection.unanswered() if self._connection is not None else 0.0

    def ask(self) -> None:
        """Have the peer give a sign of life, where that costs next to nothing."""
        if self._connection is not None:
            self._connection.ask()

    def network_changed(self) -> None:
        """This machine's addresses are not what they were."""
        if self._connection is not None:
            self._connection.network_changed()

    def lose(self, error: LinkError) -> None:
        """The connection is of no use any more, says someone who knows."""
        if self._connection is None:
            return
        self.release()
        if self._on_lost is not None and not self._closed:
            self._on_lost(error)

    def release(self) -> int:
        """Let go of the connection, if there is one; bytes of the peer's stream that are here."""
        if self._connection is not None:
            self._connection.drain()
        self._drop()
        return self._endpoint.lost() if self._endpoint is not None else 0

    def resume(self, connection: Connection, received: int) -> None:
        """Go on over a new connection: the peer has `received` bytes of what was sent.

        Raises LinkError, and the link is closed, when the peer can't have.
        """
        self._drop()
        try:
            if self._endpoint is not None:
                self._endpoint.resume(self._loop.time(), received)
            elif received:
                raise PeerError(f"{received} bytes received of none")
            self._take(connection)
        except (PeerError, LinkError) as error:
            connection.close()
            refusal = LinkError(f"the link can't go on: {error}")
            self.close(refusal)
            raise refusal from error
        if self._endpoint is not None:
            self._begin()

    # -- for people ----------------------------------------------------------------------------

    def tcp_info(self) -> TcpInfo | None:
        """The kernel's view, for people and for comparison; None without one."""
        connection = self._connection
        return connection.tcp_info() if isinstance(connection, TcpConnection) else None

    def _facts(self) -> TransportSample | None:
        """What TCP says of this connection, by a name that no later one of the link has."""
        connection = self._connection
        if not isinstance(connection, TcpConnection):
            return None
        return reader(self._connections, connection.socket)()

    def __repr__(self) -> str:
        where = "closed" if self._closed else self._connection or "waiting"
        return f"<StreamLink {where} {self._endpoint}>"

    def _second_opinion(self) -> BandwidthEstimate | None:
        info = self.tcp_info()
        if info is None or not info.delivery_rate:
            return None
        return BandwidthEstimate(info.delivery_rate, self._loop.time(), 0.1, "tcp_info")

    # -- transport.link.connection.Carried ---------------------------------------------------------

    @property
    def searching(self) -> bool:
        assert self._endpoint is not None
        return self._endpoint.gate.starting

    def next_bytes(self) -> bytes | None:
        assert self._endpoint is not None
        try:
            chunk = self._endpoint.next_chunk(self._loop.time())
        except Exception as error:  # a bug of ours: the loop logs it, once, and the session hears
            self.close(LinkError(f"the session failed to choose what to send: {error}"))
            raise
        if chunk is not None:
            self._on_use()
        return chunk

    def next_time(self) -> float | None:
        assert self._endpoint is not None
        return self._endpoint.next_time(self._loop.time())

    def heard(self, data: bytes, *, age: float = 0.0) -> None:
        assert self._endpoint is not None
        assert self._inbox is not None
        now = self._loop.time()
        arriving = self._connection.arriving if self._connection is not None else 0
        try:
            frames = self._endpoint.receive(now, data, arriving=arriving, age=age)
        except PeerError as error:
            self.failed(error)
            return
        self._on_use()
        if frames:
            self._inbox.frames_received(frames, now=now)
        if self._endpoint.ended:
            self.close()
        if self._endpoint.stirred:
            self.wake()

    @property
    def resumed(self) -> bool:
        return self._endpoint is not None and self._endpoint.resumed

    def part(self, at: int, size: int) -> bytes | None:
        assert self._endpoint is not None
        return self._endpoint.part(self._loop.time(), at, size)

    def next_cell(self, size: int, *, place: int, behind: int, ends: bool) -> bytes | None:
        assert self._endpoint is not None
        now = self._loop.time()
        try:
            cell = self._endpoint.next_cell(now, size, place=place, behind=behind, ends=ends)
        except Exception as error:  # as above
            self.close(LinkError(f"the session failed to choose what to send: {error}"))
            raise
        if cell is not None:
            self._on_use()
        return cell

    def padded(self, size: int, *, place: int) -> None:
        assert self._endpoint is not None
        self._endpoint.padded(size, place=place)

    def heard_cells(self, cells: Sequence[bytes]) -> None:
        assert self._endpoint is not None
        assert self._inbox is not None
        now = self._loop.time()
        try:
            frames = self._endpoint.receive_cells(now, cells)
        except PeerError as error:
            self.failed(error)
            return
        self._on_use()
        if frames:
            self._inbox.frames_received(frames, now=now)
            self.wake()
        if self._endpoint.ended:
            self.close()

    def delivered(self, news: DeliveryReport) -> None:
        assert self._endpoint is not None
        try:
            self._endpoint.delivered(self._loop.time(), news)
        except PeerError as error:
            self.failed(error)
            return
        self._on_use()
        if self._connection is not None:
            gate = self._endpoint.gate
            self._connection.pace(gate.rate, sure=not gate.starting)

    def lost(self, sent_at: float) -> None:
        assert self._endpoint is not None
        self._endpoint.gate.on_lost(self._loop.time(), sent_at)

    def ended(self, error: LinkError | None) -> None:
        """The connection ended without a word of the link's: where connections may change, this one
        broke."""
        assert self._endpoint is not None
        if self._on_lost is not None:
            self.failed(LinkError("the connection ended"))
        elif error is not None:
            self.failed(error)
        else:
            try:
                self._endpoint.end()
            except PeerError as cut:
                self.failed(cut)
            else:
                self.close()

    def failed(self, error: Exception) -> None:
        if isinstance(error, PeerError):
            self.close(PeerFault(f"the peer broke the protocol: {error}"))
        elif isinstance(error, NotTrusted | PeerFault) or self._on_lost is None:
            self.close(error if isinstance(error, LinkError) else LinkError(str(error)))
        else:
            self.lose(error if isinstance(error, LinkError) else LinkError(str(error)))

    # -- inside --------------------------------------------------------------------------------

    def _take(self, connection: Connection) -> None:
        connection.prepare(self._congestion)
        self._connection = connection
        self._connections += 1
        self._peer, self._kind = connection.peer, connection.kind

    def _begin(self) -> None:
        assert self._connection is not None
        assert self._endpoint is not None
        connection = self._connection
        self._endpoint.carried_by(
            chunks=connection.chunks, reports=connection.reports, asked=connection.asked
        )
        self._connection.start(self)

    def _drop(self) -> None:
        """Without a connection from here on."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            self._crossed += connection.crossed
