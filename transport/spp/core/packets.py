"""The layout of SPP's datagrams. Pure: it knows neither keys nor what frames lead to.

    kind u8, connection id 4 bytes, packet number u32      big-endian; the number's low half
    frames, sealed                                          16 bytes longer (handshake/seal.py)

Numbers count from 0 and are never used twice: what is sent again bears a new one (RFC 9000, 12.3).
The frames of a datagram are authentic when they get here, so one that is malformed is the peer's
fault, and ends the connection. Integers within frames: varint.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from transport.spp.core import varint
from wire.errors import LocalError, PeerError

SEALED: Final = 0x50
"""The kind of all datagrams but those of the handshake (handshake/exchange.py)."""
CONNECTION_ID: Final = 4
"""Bytes. It finds the connection among those of a socket; it proves nothing."""
TAG: Final = 16
"""Bytes that sealing adds (RFC 8439)."""
HEADER: Final = struct.Struct(f">B{CONNECTION_ID}sI")
OVERHEAD: Final = HEADER.size + TAG
"""Bytes of a datagram that are not frames."""
MOST_RANGES: Final = 32
MOST_STAMPS: Final = 32
LARGEST_PAYLOAD: Final = 4096
"""Bytes. What does not fit a datagram goes in parts, which lose more and gain nothing."""
TOKEN: Final = 8
"""Bytes of a challenge."""
_LONGEST_REASON: Final = 200
_LONGEST_DATA_HEADER: Final = 1 + 8 + 2
_SEGMENT_HEADER: Final = 1 + 2
LEAST_ROOM: Final = 64
"""Bytes of frames below which no datagram is made: less holds no part worth its header."""


class FrameKind(IntEnum):
    """A frame's first byte."""

    PADDING = 0
    PING = 1
    ACK = 2
    DATA = 3
    DATA_LAST = 4
    """Its payload reaches to the datagram's end, so its length needs no saying."""
    PART = 5
    WINDOW = 6
    FLOOR = 7
    CHALLENGE = 8
    RESPONSE = 9
    CLOSE = 10
    SEGMENT = 11


class Reason(IntEnum):
    """Why a connection ends."""

    DONE = 0
    PROTOCOL = 1
    """The other end broke the protocol."""
    EXHAUSTED = 2
    """Its keys have seen all that they may."""


class Padding(NamedTuple):
    """Makes a datagram larger; always the last frame."""

    size: int


class PingFrame(NamedTuple):
    """Asks for an acknowledgement."""


class Ack(NamedTuple):
    """Which datagrams are here, and when they came."""

    delay_us: int
    """Microseconds since the largest one came."""
    ranges: tuple[tuple[int, int], ...]
    """First and last number, both included; the largest ones first, with gaps between."""
    stamps: tuple[tuple[int, int], ...] = ()
    """Number and arrival, microseconds on the receiver's clock; the largest number first."""


class PayloadFrame(NamedTuple):
    """A payload: the paper's packet."""

    sequence: int
    payload: bytes


class PayloadPart(NamedTuple):
    """Some of a payload that does not fit a datagram of the path's."""

    sequence: int
    offset: int
    total: int
    """Bytes of the whole payload."""
    piece: bytes


class WindowFrame(NamedTuple):
    """The receiver has room until the payloads' costs add up to this
    (transport/sending/incoming.py)."""

    limit: int


class Floor(NamedTuple):
    """Acknowledgements of datagrams below this number interest nobody any more."""

    number: int


class Challenge(NamedTuple):
    """Asks for its echo: does the peer live at this address? (RFC 9000, 8.2)"""

    token: bytes


class PathResponse(NamedTuple):
    """Echoes a path's challenge (RFC 9000, 8.2)."""

    token: bytes


class SegmentFrame(NamedTuple):
    """A segment of a protocol that makes its own repairs (RCP): it is neither acknowledged nor sent
    again (as RFC 9221 has it for QUIC)."""

    segment: bytes


class Close(NamedTuple):
    """The connection is over."""

    reason: int
    text: str


Frame = (
    Padding
    | PingFrame
    | Ack
    | PayloadFrame
    | PayloadPart
    | WindowFrame
    | Floor
    | Challenge
    | PathResponse
    | SegmentFrame
    | Close
)


def encode_data(sequence: int, payload: bytes, *, last: bool) -> bytes:
    """A payload's frame; `last`: nothing follows in the datagram."""
    if last:
        return b"\x04" + varint.encode(sequence) + payload
    return b"\x03" + varint.encode(sequence) + varint.encode(len(payload)) + payload


def data_overhead(sequence: int) -> int:
    """Bytes at most that a frame adds to a payload."""
    return 3 + varint.size(sequence)


def part_overhead(sequence: int) -> int:
    """The same of a part."""
    return 7 + varint.size(sequence)


def encode(frame: Frame) -> bytes:
    """One frame as it travels. Raises LocalError."""
    match frame:
        case PayloadFrame(sequence, payload):
            return encode_data(sequence, payload, last=False)
        case PayloadPart(sequence, offset, total, piece):
            numbers = (FrameKind.PART, sequence, offset, total, len(piece))
            return b"".join(map(varint.encode, numbers)) + piece
        case Ack():
            return _encode_ack(frame)
        case PingFrame():
            return b"\x01"
        case Padding(size):
            return bytes(size)
        case WindowFrame(limit):
            return b"\x06" + varint.encode(limit)
        case Floor(number):
            return b"\x07" + varint.encode(number)
        case Challenge(token):
            return b"\x08" + token
        case PathResponse(token):
            return b"\x09" + token
        case SegmentFrame(segment):
            return b"\x0b" + varint.encode(len(segment)) + segment
        case Close(reason, text):
            said = text.encode()[:_LONGEST_REASON]
            return b"\x0a" + varint.encode(reason) + varint.encode(len(said)) + said


def decode(data: bytes) -> Iterator[Frame]:
    """The frames of an opened datagram, one after the other. Raises PeerError."""
    at, end = 0, len(data)
    if not end:
        raise PeerError("a datagram holds no frame")
    while at < end:
        kind = data[at]
        if kind == FrameKind.DATA_LAST:
            sequence, at = varint.decode(data, at + 1)
            yield PayloadFrame(sequence, _payload(data[at:]))
            return
        if kind == FrameKind.PADDING:
            if data.count(0, at) != end - at:
                raise PeerError("padding is not the last frame")
            yield Padding(end - at)
            return
        if kind > FrameKind.SEGMENT:
            raise PeerError(f"there is no frame of kind {kind}")
        frame, at = _READERS[FrameKind(kind)](data, at + 1)
        yield frame


def _payload(payload: bytes) -> bytes:
    if not 0 < len(payload) <= LARGEST_PAYLOAD:
        raise PeerError(f"a payload has {len(payload)} bytes")
    return payload


def _encode_ack(ack: Ack) -> bytes:
    if not 0 < len(ack.ranges) <= MOST_RANGES or len(ack.stamps) > MOST_STAMPS:
        raise LocalError("an acknowledgement has a range at least, and not too many")
    largest = below = ack.ranges[0][1]
    numbers = [FrameKind.ACK, largest, ack.delay_us, len(ack.ranges), len(ack.stamps)]
    for place, (low, high) in enumerate(ack.ranges):
        if place:
            numbers.append(below - high - 2)  # two ranges that touch would be one
        numbers.append(high - low)
        below = low
    number, at = largest, 0
    for place, (stamped, arrived) in enumerate(ack.stamps):
        numbers += (number - stamped, _zigzag(arrived - at) if place else arrived)
        number, at = stamped, arrived
    return b"".join(map(varint.encode, numbers))


def _zigzag(value: int) -> int:
    """Small numbers of either sign as small ones without."""
    return value << 1 if value >= 0 else (-value << 1) - 1


def _read_ack(data: bytes, at: int) -> tuple[Frame, int]:
    largest, at = varint.decode(data, at)
    delay_us, at = varint.decode(data, at)
    ranges, at = varint.decode(data, at)
    stamps, at = varint.decode(data, at)
    if not 0 < ranges <= MOST_RANGES or stamps > MOST_STAMPS:
        raise PeerError(f"an acknowledgement has {ranges} ranges and {stamps} times")
    found = []
    low = high = largest
    for place in range(ranges):
        if place:
            gap, at = varint.decode(data, at)
            high = low - gap - 2
        length, at = varint.decode(data, at)
        low = high - length
        if low < 0:
            raise PeerError("an acknowledgement reaches below the first datagram")
        found.append((low, high))
    times, at = _read_stamps(data, at, count=stamps, largest=largest)
    return Ack(delay_us, tuple(found), times), at


def _read_stamps(
    data: bytes, at: int, *, count: int, largest: int
) -> tuple[tuple[tuple[int, int], ...], int]:
    times: list[tuple[int, int]] = []
    number, arrived = largest, 0
    for place in range(count):
        down, at = varint.decode(data, at)
        value, at = varint.decode(data, at)
        number -= down
        arrived += value if not place else -((value + 1) >> 1) if value & 1 else value >> 1
        if number < 0 or not 0 <= arrived <= varint.LARGEST or (place and not down):
            raise PeerError("the times of an acknowledgement are not in their order")
        times.append((number, arrived))
    return tuple(times), at


def _read_ping(data: bytes, at: int) -> tuple[Frame, int]:
    return PingFrame(), at


def _read_data(data: bytes, at: int) -> tuple[Frame, int]:
    sequence, at = varint.decode(data, at)
    payload, at = _read_bytes(data, at)
    return PayloadFrame(sequence, _payload(payload)), at


def _read_part(data: bytes, at: int) -> tuple[Frame, int]:
    sequence, at = varint.decode(data, at)
    offset, at = varint.decode(data, at)
    total, at = varint.decode(data, at)
    piece, at = _read_bytes(data, at)
    if not piece or offset + len(piece) > total or total > LARGEST_PAYLOAD:
        raise PeerError(f"a part of {len(piece)} bytes at {offset} of {total}")
    return PayloadPart(sequence, offset, total, piece), at


def _read_window(data: bytes, at: int) -> tuple[Frame, int]:
    limit, at = varint.decode(data, at)
    return WindowFrame(limit), at


def _read_floor(data: bytes, at: int) -> tuple[Frame, int]:
    number, at = varint.decode(data, at)
    return Floor(number), at


def _read_challenge(data: bytes, at: int) -> tuple[Frame, int]:
    return Challenge(_exactly(data, at, TOKEN)), at + TOKEN


def _read_response(data: bytes, at: int) -> tuple[Frame, int]:
    return PathResponse(_exactly(data, at, TOKEN)), at + TOKEN


def _read_segment(data: bytes, at: int) -> tuple[Frame, int]:
    segment, at = _read_bytes(data, at)
    if not segment:
        raise PeerError("a segment is empty")
    return SegmentFrame(segment), at


def _read_close(data: bytes, at: int) -> tuple[Frame, int]:
    reason, at = varint.decode(data, at)
    said, at = _read_bytes(data, at)
    if len(said) > _LONGEST_REASON:
        raise PeerError(f"a farewell of {len(said)} bytes")
    return Close(reason, said.decode(errors="replace")), at


def _read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = varint.decode(data, at)
    return _exactly(data, at, length), at + length


def _exactly(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise PeerError("a frame is longer than its datagram")
    return data[at : at + length]


_READERS: Final = {
    FrameKind.PING: _read_ping,
    FrameKind.ACK: _read_ack,
    FrameKind.DATA: _read_data,
    FrameKind.PART: _read_part,
    FrameKind.WINDOW: _read_window,
    FrameKind.FLOOR: _read_floor,
    FrameKind.CHALLENGE: _read_challenge,
    FrameKind.RESPONSE: _read_response,
    FrameKind.CLOSE: _read_close,
    FrameKind.SEGMENT: _read_segment,
}


def largest_payload(datagram: int) -> int:
    """Bytes of a payload that fills a datagram of that size, whatever its sequence number."""
    return datagram - OVERHEAD - _LONGEST_DATA_HEADER


def largest_segment(datagram: int) -> int:
    """Bytes of a segment that fills a datagram of that size."""
    return capacity(datagram) - _SEGMENT_HEADER


def capacity(datagram: int) -> int:
    """Bytes of frames in a datagram of that size."""
    return datagram - OVERHEAD
