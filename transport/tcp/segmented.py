"""The pair's stream in segments of one size, over one TCP connection (ATP, section 4.1).

    length u16, the stream's bytes, padding              `SEGMENT` bytes with what protects them
    length u16 with its highest bit set, bytes           a short one, for reports

ATP over TCP "sends messages in fixed-size segments (1 MTU)" and pads them so that the receiver
finds their ends. Frames say their own lengths, so here the padding has another use: under TLS every
segment looks alike, and who watches learns how many there are, not what sizes frames have. What
that costs, and why the gate stays: docs/decisions/0012-atp-tcp.md.

Sans-IO. It knows neither frames nor what protects the bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from transport.link.quantum import Chunks
from transport.link.records import ProvenPeer, Records
from wire.errors import PeerError

SEGMENT: Final = 1448
"""Bytes on the socket: what a packet of 1500 bytes holds with TCP's timestamps."""
SHORT: Final = 16
"""Bytes of the stream that go without padding: a report, which comes up to 200 times a second."""
_LENGTH: Final = struct.Struct("!H")
_UNPADDED: Final = 0x8000
SLACK: Final = 24
"""Bytes of a segment that quanta leave to a report and to headers longer than usual: a few bytes
too many would cost a segment more."""


class Segmented:
    """Both ways of one connection. Implements transport.link.records.Records."""

    arriving = 0
    """Of a segment that is not here entirely nobody knows how much is padding."""

    def __init__(self, inner: Records, early: bytes = b"") -> None:
        """`inner` protects the segments; `early`: what it has handed out behind the switch."""
        self._inner = inner
        self.room = SEGMENT - inner.overhead - _LENGTH.size
        """Bytes of the stream in a full segment."""
        self._buffer = bytearray(early)
        self.padding = 0
        """Bytes of padding sent so far."""

    @property
    def peer(self) -> ProvenPeer | None:
        return self._inner.peer

    @property
    def chunks(self) -> Chunks:
        """How chunks fill segments."""
        return Chunks(frames=1, record=SLACK, segment=self.room, whole=True)

    @property
    def overhead(self) -> int:
        return self._inner.overhead + _LENGTH.size

    def protect(self, chunk: bytes) -> bytes:
        if len(chunk) <= SHORT:
            return self._inner.protect(_LENGTH.pack(len(chunk) | _UNPADDED) + chunk)
        return b"".join(map(self._inner.protect, self._segments(chunk)))

    def unprotect(self, data: bytes) -> tuple[bytes, bytes]:
        """Raises PeerError for a length that no segment has, too."""
        plain, reply = self._inner.unprotect(data)
        self._buffer += plain
        return b"".join(self._cut()), reply

    def ended(self) -> None:
        self._inner.ended()

    def farewell(self) -> bytes:
        return self._inner.farewell()

    def _segments(self, chunk: bytes) -> Iterator[bytes]:
        for at in range(0, len(chunk), self.room):
            piece = chunk[at : at + self.room]
            self.padding += self.room - len(piece)
            yield (_LENGTH.pack(len(piece)) + piece).ljust(_LENGTH.size + self.room, b"\0")

    def _cut(self) -> Iterator[bytes]:
        """What the segments that are here hold."""
        buffer, at = self._buffer, 0
        while len(buffer) - at >= _LENGTH.size:
            said: int = _LENGTH.unpack_from(buffer, at)[0]
            length = said & ~_UNPADDED
            taken = _LENGTH.size + (length if said & _UNPADDED else self.room)
            if not 0 < length <= (SHORT if said & _UNPADDED else self.room):
                raise PeerError(f"a segment of {length} bytes")
            if len(buffer) - at < taken:
                break
            yield bytes(buffer[at + _LENGTH.size : at + _LENGTH.size + length])
            at += taken
        del buffer[:at]
