"""The TCP link: a raw non-blocking socket, the gate, one quantum chosen per callback.

An asyncio transport would buffer what was chosen, so there is none: `add_writer` on the socket,
TCP_NOTSENT_LOWAT so that the kernel asks only when it has next to nothing unsent, and the quantum
chosen inside the callback (measured: 118 ms where a transport's buffer gave 484 ms).

A link may have several connections, one after the other (`on_lost`, `resume`): the frames' stream
goes on where it was. The protocol is in transport/endpoint.py; this module knows sockets and the
loop's clock, and not who makes new connections (transport/lasting.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from transport import tcp_info
from transport.connection import Connection
from transport.endpoint import Endpoint
from transport.link import (
    BandwidthEstimate,
    Inbox,
    LinkError,
    LinkStatistics,
    NotTrusted,
    Outbox,
    PeerFault,
)
from transport.quantum import chunks_of
from transport.records import Peer, Records
from transport.tcp import prepare, reason, segment
from wire.errors import PeerError
from wire.frames import END, FrameWriter

_READ: Final = 65_536
"""Bytes read per callback."""

Lost = Callable[[LinkError | None], None]
"""Told when a link has lost its connection, and why; None: the link is closed, for good."""


class TcpLink:
    """One end; implements transport.link.Link."""

    def __init__(
        self,
        connection: Connection,
        *,
        congestion: str | None = "cubic",
        on_lost: Lost | None = None,
    ) -> None:
        """`connection`: connected; the link owns it from here on.

        `congestion`: "cubic", "bbr", or None for the system's default. `on_lost`: the link waits
        for `resume` when its connection breaks; without it, it closes. Raises LinkError when the
        kernel lacks the congestion control.
        """
        self._congestion = congestion
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._endpoint: Endpoint | None = None
        self._inbox: Inbox | None = None
        self._socket: socket.socket | None = None
        self._records: Records = connection.records
        self._early = b""
        """What the peer said behind the preamble, or behind the handshake."""
        self._remainder = b""
        """Of a chunk that the kernel took in part."""
        self._writing = False
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._take(connection)

    # -- transport.link.Link -------------------------------------------------------------------

    def start(self, outbox: Outbox, inbox: Inbox) -> None:
        self._endpoint = Endpoint(outbox, now=self._loop.time())
        self._inbox = inbox
        if self._closed:
            inbox.link_closed(None)
            return
        self._listen()

    def wake(self) -> None:
        if self._writing or self._socket is None or self._endpoint is None:
            return
        self._writing = True
        self._loop.add_writer(self._socket, self._writable)

    def close(self, error: LinkError | None = None) -> None:
        if self._closed:
            return
        self._closed = True
        if self._socket is not None:
            # A peer that misses it finds out when it asks.
            with contextlib.suppress(OSError, LinkError):
                end = self._records.protect(FrameWriter().encode(END))
                self._socket.send(self._remainder + end + self._records.farewell())
        self._drop()
        if self._on_lost is not None:
            self._on_lost(None)
        if self._inbox is not None:
            self._inbox.link_closed(error)

    def statistics(self) -> LinkStatistics:
        if self._endpoint is None:
            raise RuntimeError("the link has not been started")
        statistics = replace(
            self._endpoint.statistics(self._loop.time()), connected=self._socket is not None
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
        """The connection's address on this machine; None between two connections."""
        return None if self._socket is None else str(self._socket.getsockname()[0])

    @property
    def peer(self) -> Peer | None:
        """Who is at the other end; None where nobody had to prove it."""
        return self._records.peer

    @property
    def connected(self) -> bool:
        """Whether something carries bytes now."""
        return self._socket is not None

    def silent(self) -> float:
        """Seconds for which the peer owes a report and nothing of it has come; 0: it owes none."""
        return self._endpoint.silent(self._loop.time()) if self._endpoint is not None else 0.0

    def lose(self, error: LinkError) -> None:
        """The connection is of no use any more, says someone who knows."""
        if self._socket is None:
            return
        self.release()
        if self._on_lost is not None:
            self._on_lost(error)

    def release(self) -> int:
        """Let go of the connection, if there is one; bytes of the peer's stream that are here."""
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
            self._listen()

    # -- for people ----------------------------------------------------------------------------

    def tcp_info(self) -> tcp_info.TcpInfo | None:
        """The kernel's view, for people and for comparison; None without a connection."""
        return None if self._socket is None else tcp_info.read(self._socket)

    def __repr__(self) -> str:
        where = "closed" if self._closed else self._socket.fileno() if self._socket else "waiting"
        return f"<TcpLink {where} {self._endpoint}>"

    def _second_opinion(self) -> BandwidthEstimate | None:
        info = self.tcp_info()
        if info is None or not info.delivery_rate:
            return None
        return BandwidthEstimate(info.delivery_rate, self._loop.time(), 0.1, "tcp_info")

    # -- the socket ----------------------------------------------------------------------------

    def _take(self, connection: Connection) -> None:
        prepare(connection.socket, self._congestion)
        self._socket = connection.socket
        self._records, self._early = connection.records, connection.early()

    def _listen(self) -> None:
        assert self._socket is not None
        assert self._endpoint is not None
        self._endpoint.chunks = chunks_of(
            record=self._records.overhead, segment=segment(self._socket)
        )
        self._loop.add_reader(self._socket, self._readable)
        self._loop.call_soon(self._hear_early, self._socket)
        self.wake()

    def _drop(self) -> None:
        """Without a connection from here on."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._writing, self._remainder = False, b""
        connection, self._socket = self._socket, None
        if connection is not None:
            self._loop.remove_reader(connection)
            self._loop.remove_writer(connection)
            connection.close()

    def _writable(self) -> None:
        """The kernel takes bytes: one quantum, chosen now."""
        assert self._endpoint is not None
        try:
            chunk = self._remainder or self._endpoint.next_chunk(self._loop.time())
            if chunk and not self._remainder and self._socket is not None:
                chunk = self._records.protect(chunk)
        except Exception as error:  # a bug of ours: the loop logs it, once, and the session hears
            self.close(LinkError(f"the session failed to choose what to send: {error}"))
            raise
        if self._socket is None:  # closed by the outbox, when it was asked
            return
        if chunk is None:
            self._rest()
            return
        try:
            sent = self._socket.send(chunk)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._broke(LinkError(f"the connection broke: {reason(error)}"))
            return
        self._remainder = chunk[sent:]

    def _rest(self) -> None:
        """Nothing may or wants to go: until a report, a wake or the next time."""
        assert self._endpoint is not None
        assert self._socket is not None
        self._writing = False
        self._loop.remove_writer(self._socket)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._endpoint.next_time(self._loop.time())
        if due is not None:
            self._timer = self._loop.call_at(due, self.wake)

    def _readable(self) -> None:
        assert self._socket is not None
        try:
            data = self._socket.recv(_READ)
        except BlockingIOError:
            return
        except OSError as error:
            self._broke(LinkError(f"the connection broke: {reason(error)}"))
            return
        try:
            if not data:
                self._end()
                return
            plain, reply = self._records.unprotect(data)
        except PeerError as error:
            self.close(PeerFault(f"the peer broke the protocol: {error}"))
            return
        except NotTrusted as error:
            self.close(error)
            return
        except LinkError as error:
            self._broke(error)
            return
        self._remainder += reply
        self._hear(plain)

    def _hear_early(self, connection: socket.socket) -> None:
        """What came before anybody listened, if that is still the connection."""
        if self._socket is not connection:
            return
        try:
            plain, reply = self._records.unprotect(b"")
        except LinkError as error:
            self._broke(error)
            return
        self._remainder += reply
        early, self._early = self._early, b""
        if early or plain:
            self._hear(early + plain)

    def _hear(self, plain: bytes) -> None:
        """Bytes of the peer's stream."""
        assert self._endpoint is not None
        assert self._inbox is not None
        now = self._loop.time()
        try:
            frames = self._endpoint.receive(now, plain, arriving=self._records.arriving)
        except PeerError as error:
            self.close(PeerFault(f"the peer broke the protocol: {error}"))
            return
        if frames:
            self._inbox.frames_received(frames, now=now)
        if self._endpoint.ended:
            self.close()
        self.wake()

    def _end(self) -> None:
        """The peer's bytes ended without a word: where connections may change, this one broke."""
        assert self._endpoint is not None
        if self._on_lost is not None:
            self._broke(LinkError("the connection ended"))
        else:
            self._records.ended()
            self._endpoint.end()
            self.close()

    def _broke(self, error: LinkError) -> None:
        if self._on_lost is not None:
            self.lose(error)
        else:
            self.close(error)
