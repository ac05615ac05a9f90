"""The TCP link: a raw non-blocking socket, the gate, one quantum chosen per callback.

An asyncio transport would buffer what was chosen, so there is none: `add_writer` on the socket,
TCP_NOTSENT_LOWAT so that the kernel asks only when it has next to nothing unsent, and the quantum
chosen inside the callback (measured: 118 ms where a transport's buffer gave 484 ms).

The protocol is in transport/endpoint.py; this module knows sockets and the loop's clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Final

from transport import tcp_info
from transport.endpoint import Endpoint, suggested_quantum
from transport.handshakes import Handshakes
from transport.link import BandwidthEstimate, Inbox, LinkError, LinkStatistics, Outbox
from transport.records import Peer, Plain, Records
from transport.security import ClientSecurity, ServerSecurity
from wire.errors import PeerError

_UNSENT_LOW_WATER: Final = 1024
"""Bytes unsent in the kernel below which it asks for more."""
_READ: Final = 65_536
"""Bytes read per callback."""
_BACKLOG: Final = 16
_TCP_NOTSENT_LOWAT: Final = getattr(socket, "TCP_NOTSENT_LOWAT", 25)
"""In Python from 3.12 on; 25 in linux/tcp.h."""


class TcpLink:
    """One end of a TCP connection; implements transport.link.Link."""

    def __init__(
        self,
        connection: socket.socket,
        *,
        congestion: str | None = "cubic",
        records: Records | None = None,
    ) -> None:
        """`connection`: connected; the link owns it from here on. `records`: plain unless given.

        `congestion`: "cubic", "bbr", or None for the system's default. Raises LinkError when the
        kernel does not have it.
        """
        prepare(connection, congestion)
        self._socket = connection
        self._records: Records = records or Plain()
        self._loop = asyncio.get_running_loop()
        self._endpoint: Endpoint | None = None
        self._inbox: Inbox | None = None
        self._remainder = b""
        """Of a chunk that the kernel took in part."""
        self._writing = False
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None

    def start(self, outbox: Outbox, inbox: Inbox) -> None:
        self._endpoint = Endpoint(outbox, now=self._loop.time())
        self._inbox = inbox
        if self._closed:
            inbox.link_closed(None)
            return
        self._loop.add_reader(self._socket, self._readable)
        self._loop.call_soon(self._receive, b"")  # what came behind the handshake
        self.wake()

    def wake(self) -> None:
        if not self._writing and not self._closed and self._endpoint is not None:
            self._writing = True
            self._loop.add_writer(self._socket, self._writable)

    def close(self, error: LinkError | None = None) -> None:
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        if self._timer is not None:
            self._timer.cancel()
        if farewell := self._records.farewell():
            with contextlib.suppress(OSError):
                self._socket.send(self._remainder + farewell)
        self._socket.close()
        if self._inbox is not None:
            self._inbox.link_closed(error)

    def statistics(self) -> LinkStatistics:
        if self._endpoint is None:
            raise RuntimeError("the link has not been started")
        statistics = self._endpoint.statistics(self._loop.time())
        if statistics.outgoing is None:
            return replace(statistics, outgoing=self._second_opinion())
        return statistics

    @property
    def peer(self) -> Peer | None:
        """Who is at the other end; None where nobody had to prove it."""
        return self._records.peer

    @property
    def suggested_quantum(self) -> int | None:
        """Bytes per quantum that fit the measured rate; None while it is not known well."""
        estimate = self._endpoint.gate.estimate(self._loop.time()) if self._endpoint else None
        if estimate is None or estimate.confidence < 0.5:
            return None
        return suggested_quantum(estimate.rate)

    def tcp_info(self) -> tcp_info.TcpInfo | None:
        """The kernel's view, for people and for comparison; None after the end."""
        return None if self._closed else tcp_info.read(self._socket)

    def __repr__(self) -> str:
        return f"<TcpLink {'closed' if self._closed else self._socket.fileno()} {self._endpoint}>"

    def _second_opinion(self) -> BandwidthEstimate | None:
        info = self.tcp_info()
        if info is None or not info.delivery_rate:
            return None
        return BandwidthEstimate(info.delivery_rate, self._loop.time(), 0.1, "tcp_info")

    def _writable(self) -> None:
        """The kernel takes bytes: one quantum, chosen now."""
        assert self._endpoint is not None
        try:
            chunk = self._remainder or self._endpoint.next_chunk(self._loop.time())
            if chunk and not self._remainder:
                chunk = self._records.protect(chunk)
        except Exception as error:  # a bug of ours: the loop logs it, once, and the session hears
            self.close(LinkError(f"the session failed to choose what to send: {error}"))
            raise
        if self._closed:  # by the outbox, when it was asked
            return
        if chunk is None:
            self._rest()
            return
        try:
            sent = self._socket.send(chunk)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._fail(error)
            return
        self._remainder = chunk[sent:]

    def _rest(self) -> None:
        """Nothing may or wants to go: until a report, a wake or the next time."""
        assert self._endpoint is not None
        self._writing = False
        self._loop.remove_writer(self._socket)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._endpoint.next_time(self._loop.time())
        if due is not None:
            self._timer = self._loop.call_at(due, self.wake)

    def _readable(self) -> None:
        assert self._endpoint is not None
        try:
            data = self._socket.recv(_READ)
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(error)
            return
        if data:
            self._receive(data)
            return
        try:
            self._records.ended()
            self._endpoint.end()
        except PeerError as error:
            self.close(LinkError(f"the peer broke the protocol: {error}"))
        except LinkError as error:
            self.close(error)
        else:
            self.close()

    def _receive(self, data: bytes) -> None:
        """Bytes of the socket; none for what the records have kept."""
        if self._closed:
            return
        assert self._endpoint is not None
        assert self._inbox is not None
        now = self._loop.time()
        try:
            plain, reply = self._records.unprotect(data)
            self._remainder += reply
            frames = self._endpoint.receive(now, plain, arriving=self._records.arriving)
        except PeerError as error:
            self.close(LinkError(f"the peer broke the protocol: {error}"))
            return
        except LinkError as error:
            self.close(error)
            return
        if frames:
            self._inbox.frames_received(frames, now=now)
        self.wake()

    def _fail(self, error: OSError) -> None:
        self.close(LinkError(f"the connection broke: {_reason(error)}"))


class Listener:
    """Accepts links until closed; an async context manager."""

    def __init__(
        self,
        listening: socket.socket,
        on_link: Callable[[TcpLink], None],
        congestion: str | None,
        security: ServerSecurity | None,
    ) -> None:
        self._socket = listening
        self._on_link = on_link
        self._congestion = congestion
        self._handshakes = Handshakes(security, self._admitted) if security else None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(listening, self._accept)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that it listens on."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    def close(self) -> None:
        """Accept no more; links go on, but what is not one yet ends."""
        if self._handshakes is not None:
            self._handshakes.close()
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()

    async def __aenter__(self) -> Listener:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _accept(self) -> None:
        try:
            connection, address = self._socket.accept()
        except OSError:  # gone again before it was accepted, or no descriptors: the next one
            return
        if self._handshakes is None:
            self._admitted(connection, None)
        else:
            self._handshakes.begin(connection, str(address[0]))

    def _admitted(self, connection: socket.socket, records: Records | None) -> None:
        self._on_link(TcpLink(connection, congestion=self._congestion, records=records))


async def connect(
    host: str,
    port: int,
    *,
    congestion: str | None = "cubic",
    timeout: float = 30.0,
    security: ClientSecurity | None = None,
) -> TcpLink:
    """A link to whoever listens there, or with `security` to nobody but whom that knows.

    `timeout`: seconds until it answers. Raises LinkError, NotTrusted.
    """
    try:
        async with asyncio.timeout(timeout):
            connection = await _first_that_answers(host, port)
    except TimeoutError as error:
        raise LinkError(f"{host}:{port} did not answer within {timeout:g} s") from error
    except OSError as error:
        raise LinkError(f"{host}:{port}: {_reason(error)}") from error
    try:
        prepare(connection, congestion)
        records = await security.secure(connection) if security is not None else None
        return TcpLink(connection, congestion=congestion, records=records)
    except BaseException:
        connection.close()
        raise


async def serve(
    host: str,
    port: int,
    on_link: Callable[[TcpLink], None],
    *,
    congestion: str | None = "cubic",
    security: ServerSecurity | None = None,
) -> Listener:
    """Listen; each accepted link is handed to `on_link`, which starts it. Raises LinkError.

    With `security` only links to those that it knows: others end in their handshake.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise LinkError(f"{host}:{port}: {_reason(error)}") from error
    try:
        prepare(listening, congestion)  # refuse what the kernel lacks now, not at each link
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except LinkError:
        listening.close()
        raise
    except OSError as error:
        listening.close()
        raise LinkError(f"{host}:{port}: {_reason(error)}") from error
    return Listener(listening, on_link, congestion, security)


async def _first_that_answers(host: str, port: int) -> socket.socket:
    """A connection to the first of the host's addresses that takes one. Raises OSError."""
    loop = asyncio.get_running_loop()
    last = OSError("no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        connection = socket.socket(family, kind, protocol)
        connection.setblocking(False)
        try:
            await loop.sock_connect(connection, address)
        except OSError as error:
            connection.close()
            last = error
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise last


def _reason(error: OSError) -> str:
    """The system's words: asyncio's own for a refused connection leave the reason out."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)


def prepare(connection: socket.socket, congestion: str | None) -> None:
    """Options that keep the kernel from holding bytes back or hoarding them."""
    connection.setblocking(False)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with contextlib.suppress(OSError):  # not Linux: the gate alone bounds what is under way
        connection.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, _UNSENT_LOW_WATER)
    if congestion is not None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        except OSError as error:
            raise LinkError(f"congestion control {congestion!r} is not to be had") from error
