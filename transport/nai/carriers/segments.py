"""A carrier over one TCP connection: segments in a byte stream (ATP, section 4.1).

The paper sends fixed-size segments of one MTU and pads small messages, "to enable the receiver to
detect segment boundaries": `Padding.PAPER`. `Padding.NONE`, the default, sends as many bytes as
there are; either way two bytes of length go first, since padding has to be told from data too.

Little is to be hidden in the kernel: a small SO_SNDBUF bounds what it accepts, TCP_NOTSENT_LOWAT
what waits there unsent, and SIOCOUTQ tells what has not been acknowledged, which is the backlog.

It must not know what is in a segment. `Cutter` is pure.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Iterator
from enum import StrEnum
from fcntl import ioctl
from typing import Final

from transport.nai.carriers.interface import CarrierReader
from transport.nai.errors import CarrierError, SegmentFault
from transport.tcp import sockets, tcp_info

SEGMENT: Final = 1448
"""Bytes of a segment on the stream: what a packet of 1500 bytes holds with TCP's timestamps."""
_LENGTH: Final = struct.Struct("!H")
_SEND_BUFFER: Final = 65_536
"""Bytes asked for; Linux doubles it for its own bookkeeping."""
_READ: Final = 65_536
_SIOCOUTQ: Final = 0x5411
_LATENCY_EVERY: Final = 0.1
"""Seconds between two looks at the kernel's round trip."""
_LINGER: Final = 10.0
"""Seconds for the peer to take what was sent and to close as well."""


class Filler(StrEnum):
    """What fills a segment that is not full. Both ends must be told the same."""

    NONE = "none"
    PAPER = "paper"


class Cutter:
    """Cuts a stream into segments' payloads, however it arrives."""

    def __init__(self, *, segment: int = SEGMENT, padding: Filler = Filler.NONE) -> None:
        self._segment = segment
        self._padding = padding
        self._buffer = bytearray()

    def cut(self, data: bytes) -> Iterator[bytes]:
        """The payloads that are complete. Raises PeerFault for a length that can't be."""
        buffer, at = self._buffer, 0
        buffer += data
        while len(buffer) - at >= _LENGTH.size:
            length: int = _LENGTH.unpack_from(buffer, at)[0]
            if not 0 < length <= self._segment - _LENGTH.size:
                raise SegmentFault(
                    f"a segment of {length} bytes; at most {self._segment} are agreed"
                )
            taken = self._segment if self._padding is Filler.PAPER else length + _LENGTH.size
            if len(buffer) - at < taken:
                break
            yield bytes(buffer[at + _LENGTH.size : at + _LENGTH.size + length])
            at += taken
        del buffer[:at]

    @property
    def incomplete(self) -> bool:
        """The stream stands within a segment."""
        return bool(self._buffer)


class TcpSegments:
    """One end; implements transport.nai.carriers.interface.Carrier."""

    def __init__(
        self,
        connection: socket.socket,
        *,
        padding: Filler = Filler.NONE,
        congestion: str | None = None,
    ) -> None:
        """Owns the connection from now on. Raises LinkError for a congestion control unknown
        here."""
        sockets.prepare(connection, congestion)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        self.segment = SEGMENT - _LENGTH.size
        self.capacity = _SEND_BUFFER
        self._padding = padding
        self._socket = connection
        self._loop = asyncio.get_running_loop()
        self._reader: CarrierReader | None = None
        self._cutter = Cutter(padding=padding)
        self._unsent = bytearray()
        """What the kernel did not take."""
        self._writing = self._reading = False
        self._closing = False
        self._told = False
        self._latency, self._latency_at = 0.0, float("-inf")

    @property
    def latency(self) -> float:
        now = self._loop.time()
        if now - self._latency_at >= _LATENCY_EVERY and self._socket.fileno() >= 0:
            info = tcp_info.read(self._socket)
            self._latency_at = now
            self._latency = 0.0 if info is None else info.min_rtt
        return self._latency

    def start(self, reader: CarrierReader) -> None:
        self._reader = reader
        self.reading(True)

    def room(self, now: float) -> int:
        if self._closing or self._unsent:
            return 0
        if self.capacity - self.backlog(now) < SEGMENT:
            self._write_when_possible()
            return 0
        return self.segment

    def takes(self, length: int) -> int:
        return SEGMENT if self._padding is Filler.PAPER else length + _LENGTH.size

    def send(self, payload: bytes, now: float) -> None:
        data = _LENGTH.pack(len(payload)) + payload
        self._unsent += data.ljust(SEGMENT, b"\0") if self._padding is Filler.PAPER else data
        self._flush()

    def backlog(self, now: float) -> int:
        queued = 0
        if self._socket.fileno() >= 0:
            with contextlib.suppress(OSError):  # not Linux: what the kernel took counts as sent
                queued = struct.unpack("=i", ioctl(self._socket, _SIOCOUTQ, b"\0\0\0\0"))[0]
        return queued + len(self._unsent)

    def reading(self, wanted: bool) -> None:
        if wanted != self._reading and self._socket.fileno() >= 0:
            self._reading = wanted
            if wanted:
                self._loop.add_reader(self._socket, self._readable)
            else:
                self._loop.remove_reader(self._socket)

    def close(self) -> None:
        """Send what is queued, then wait for the peer's end: closing over unread bytes resets."""
        if self._closing:
            return
        self._closing = True
        self._tell(None)
        if self._socket.fileno() >= 0:
            self.reading(True)
            self._flush()
            self._loop.call_later(_LINGER, self._end)

    def _flush(self) -> None:
        while self._unsent:
            try:
                sent = self._socket.send(self._unsent)
            except BlockingIOError:
                self._write_when_possible()
                return
            except OSError as error:
                self._fail(error)
                return
            del self._unsent[:sent]
        if self._closing and self._socket.fileno() >= 0:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)

    def _write_when_possible(self) -> None:
        if not self._writing and self._socket.fileno() >= 0:
            self._writing = True
            self._loop.add_writer(self._socket, self._writable)

    def _writable(self) -> None:
        self._writing = False
        self._loop.remove_writer(self._socket)
        self._flush()
        if not self._unsent and not self._closing and self._reader is not None:
            self._reader.room_made()

    def _readable(self) -> None:
        try:
            data = self._socket.recv(_READ)
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(error)
            return
        if not data:
            broken = self._cutter.incomplete and not self._closing
            self._tell(CarrierError("the connection ended within a segment") if broken else None)
            self._closing = True
            self._flush()
            self._end()
            return
        if self._closing or self._reader is None:
            return
        now = self._loop.time()
        try:
            for payload in self._cutter.cut(data):
                self._reader.segment_received(payload, now=now)
        except SegmentFault as error:
            self._tell(error)
            self._end()

    def _fail(self, error: OSError) -> None:
        self._tell(CarrierError(f"the connection broke: {sockets.reason(error)}"))
        self._unsent.clear()
        self._end()

    def _tell(self, error: Exception | None) -> None:
        if not self._told and self._reader is not None:
            self._told = True
            self._reader.carrier_closed(error)

    def _end(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket.close()
        self._closing = True
