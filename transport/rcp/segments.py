"""Encodes and decodes RCP's segments, each of which has one form. Pure.

The paper (3.3) puts its fields into TCP's header; here they are integers of 1 to 8 bytes, for a
request costs the way back, which may have a twentieth of the rate. Sequence numbers count bytes of
the stream from 0. Kinds are the low three bits of the first byte:

    SYN      role (1 byte), segment size
    SYN+ACK  segment size
    ACK
    REQ      PUL in bit 3, number of blocks in bits 4 to 7; request clock, SEG.DEQ,
             SEG.REQ - SEG.DEQ; each block: age, end - SEG.DEQ, length
    REQ at a rate: the same, with bytes/second after SEG.REQ
    DATA     FIN in bit 3, THROTTLED in bit 4, CELL in bit 5; echo of the clock, begin, bytes to the
             end. Of a cell its number, when it was sent, its bytes less the zeros at their end
    LIMIT    FIN in bit 3, MORE in bit 4; echo of the clock, limit
    FIN      length of the stream
"""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from transport.spp.core import varint
from wire.errors import LocalError, PeerError

LARGEST_SEGMENT: Final = 16_384
"""Bytes of data in one segment; no path's datagrams are larger."""
LEAST_SEGMENT: Final = 64
MOST_BLOCKS: Final = 8
"""Blocks of one request: three recent ones (3.3.1), and more where many holes show at once."""
LARGEST_OFFSET: Final = 1 << 60
"""No stream is longer; sums of two stay integers of the wire."""

MOST_SENT: Final = 1 << 14
"""Milliseconds, two bytes of an integer: clocks of cells begin anew then."""

_PUL: Final = 0x08
_FIN: Final = 0x08
_THROTTLED: Final = 0x10
_CELL: Final = 0x20
_MORE: Final = 0x10
_KIND: Final = 0x07
_SYN, _SYN_ACK, _ACK, _REQ, _RATED, _DATA, _LIMIT, _END = range(8)


class Role(enum.IntEnum):
    """Which end of the stream opens the connection (3.3.2: either may)."""

    RECEIVER = 0
    SENDER = 1


class Syn(NamedTuple):
    """Opens a connection."""

    role: Role
    size: int
    """Bytes of data in a segment at most, as the opener's path takes them."""


class SynAck(NamedTuple):
    """Agrees to it."""

    size: int
    """The smaller of both ends' sizes."""


class HandshakeAck(NamedTuple):
    """Ends the handshake."""


class Block(NamedTuple):
    """A range of bytes that was asked for by pull."""

    clock: int
    """The request that asked first: a range that is asked for again is another block."""
    begin: int
    end: int


class Req(NamedTuple):
    """A request: all that the receiver says."""

    clock: int
    """Number of this request; DATA echoes it."""
    deq: int
    """SEG.DEQ: all before has arrived, so the sender may purge it."""
    upto: int
    """SEG.REQ: in cumulative mode, send what is not sent before this byte; in pull mode, keep what
    is asked for before it until it is there (a standing pull; none: SEG.DEQ)."""
    pull: bool = False
    """PUL: send the blocks alone."""
    blocks: tuple[Block, ...] = ()
    """The most recent ones last."""
    rate: int = 0
    """Bytes/second at which the sender's timer is to release data (5.2.3); 0: at once."""


class DataSegment(NamedTuple):
    """Bytes of the stream."""

    echo: int
    """Clock of the request that it answers."""
    begin: int
    """Where they begin; of a cell that is not `padded` yet, how many are before it."""
    data: bytes
    fin: bool = False
    """The stream ends with them."""
    throttled: bool = False
    """More may not be asked for now."""
    cell: bool = False
    """They can be read whatever lies before them; zeros at their end do not cross."""
    sent: int = 0
    """Milliseconds of the sender's clock when a cell left, of which it says the last 14 bits."""
    spared: int = 0
    """Bytes of such zeros."""

    @property
    def end(self) -> int:
        return self.begin + len(self.data)

    def padded(self, size: int) -> DataSegment:
        """A cell as it was before its zeros were left out. Raises PeerError: there is none such."""
        begin, spared = self.begin * size, max(0, size - len(self.data))
        _sound_offset(begin + size)
        return self._replace(begin=begin, data=self.data.ljust(size, b"\0"), spared=spared)


class Limit(NamedTuple):
    """The sender throttles requests (5.2.2): nothing from `limit` on is there to be asked for."""

    echo: int
    limit: int
    fin: bool = False
    """Nor will it be: the stream ends there."""
    more: bool = False
    """It is a limit no more: so much is there, and to ask for more may make more of it."""


class Fin(NamedTuple):
    """Goodbye of the receiver, which has all; and the sender's answer."""

    length: int


Segment = Syn | SynAck | HandshakeAck | Req | DataSegment | Limit | Fin


def encode(segment: Segment) -> bytes:
    """The bytes of it. Raises LocalError for what the wire cannot say."""
    match segment:
        case DataSegment():
            _check(0 < len(segment.data) <= LARGEST_SEGMENT and segment.end <= LARGEST_OFFSET)
            flags = segment.fin * _FIN | segment.throttled * _THROTTLED | segment.cell * _CELL
            head = bytes([_DATA | flags]) + varint.encode(segment.echo)
            data = segment.data
            if not segment.cell:
                return head + varint.encode(segment.begin) + data
            number, odd = divmod(segment.begin, len(data))
            _check(not odd)
            head += varint.encode(number) + varint.encode(segment.sent % MOST_SENT)
            return head + (data.rstrip(b"\0") or data[:1])
        case Req():
            return _encode_request(segment)
        case Limit():
            _check(segment.limit <= LARGEST_OFFSET)
            _check(not (segment.fin and segment.more))
            head = bytes([_LIMIT | segment.fin * _FIN | segment.more * _MORE])
            return head + varint.encode(segment.echo) + varint.encode(segment.limit)
        case Fin():
            _check(segment.length <= LARGEST_OFFSET)
            return bytes([_END]) + varint.encode(segment.length)
        case Syn():
            _check(LEAST_SEGMENT <= segment.size <= LARGEST_SEGMENT)
            return bytes([_SYN, segment.role]) + varint.encode(segment.size)
        case SynAck():
            _check(LEAST_SEGMENT <= segment.size <= LARGEST_SEGMENT)
            return bytes([_SYN_ACK]) + varint.encode(segment.size)
        case HandshakeAck():
            return bytes([_ACK])


def length(segment: Segment) -> int:
    """Bytes that `encode` makes of it; of data without making them."""
    if isinstance(segment, DataSegment):
        if not segment.cell:
            return data_header(segment.echo, segment.begin) + len(segment.data)
        number = segment.begin // len(segment.data)
        stamp = varint.size(segment.sent % MOST_SENT)
        return data_header(segment.echo, number) + stamp + len(segment.data)
    return len(encode(segment))


def data_header(echo: int, begin: int) -> int:
    """Bytes of a DATA segment before its data."""
    return 1 + varint.size(echo) + varint.size(begin)


def _encode_request(request: Req) -> bytes:
    _check(0 <= request.deq <= request.upto <= LARGEST_OFFSET)
    _check(len(request.blocks) <= MOST_BLOCKS)
    kind = _RATED if request.rate else _REQ
    parts = [bytes([kind | request.pull * _PUL | len(request.blocks) << 4])]
    parts += map(varint.encode, (request.clock, request.deq, request.upto - request.deq))
    if request.rate:
        parts.append(varint.encode(request.rate))
    for clock, begin, end in request.blocks:
        _check(0 <= begin < end <= LARGEST_OFFSET and request.deq < end)
        parts += map(varint.encode, (request.clock - clock, end - request.deq, end - begin))
    return b"".join(parts)


def _check(sound: bool) -> None:
    if not sound:
        raise LocalError("no such segment of RCP")


def decode(data: bytes) -> Segment:
    """The segment that a datagram carries. Raises PeerError unless it is one, to the last byte."""
    if not data:
        raise PeerError("a segment is empty")
    first = data[0]
    kind = first & _KIND
    if kind == _DATA:
        return _decode_data(first, data)
    if kind in (_REQ, _RATED):
        return _decode_request(first, data)
    if first & ~_KIND & ~(_FIN | _MORE if kind == _LIMIT else 0):
        raise PeerError(f"a segment of kind {kind} has unknown flags")
    fields, end = _DECODERS[kind](first, data)
    if end != len(data):
        raise PeerError("a segment has bytes behind its end")
    return fields


def _decode_syn(_: int, data: bytes) -> tuple[Segment, int]:
    if len(data) < 2 or data[1] not in (Role.RECEIVER, Role.SENDER):
        raise PeerError("nobody opens a connection so")
    size, end = varint.decode(data, 2)
    return Syn(Role(data[1]), _sound_size(size)), end


def _decode_syn_ack(_: int, data: bytes) -> tuple[Segment, int]:
    size, end = varint.decode(data, 1)
    return SynAck(_sound_size(size)), end


def _decode_ack(_first: int, _data: bytes) -> tuple[Segment, int]:
    return HandshakeAck(), 1


def _decode_limit(first: int, data: bytes) -> tuple[Segment, int]:
    echo, at = varint.decode(data, 1)
    limit, end = varint.decode(data, at)
    fin, more = bool(first & _FIN), bool(first & _MORE)
    if fin and more:
        raise PeerError("a stream ends, and there is more")
    return Limit(echo, _sound_offset(limit), fin, more), end


def _decode_fin(_: int, data: bytes) -> tuple[Segment, int]:
    length_, end = varint.decode(data, 1)
    return Fin(_sound_offset(length_)), end


_DECODERS: Final = {
    _SYN: _decode_syn,
    _SYN_ACK: _decode_syn_ack,
    _ACK: _decode_ack,
    _LIMIT: _decode_limit,
    _END: _decode_fin,
}


def _decode_data(first: int, data: bytes) -> DataSegment:
    if first & ~(_KIND | _FIN | _THROTTLED | _CELL):
        raise PeerError("DATA has unknown flags")
    echo, at = varint.decode(data, 1)
    begin, at = varint.decode(data, at)
    fin, throttled, cell = (bool(first & flag) for flag in (_FIN, _THROTTLED, _CELL))
    sent = 0
    if cell:
        sent, at = varint.decode(data, at)
        if sent >= MOST_SENT:
            raise PeerError("a cell was sent at no such time")
    if not 0 < len(data) - at <= LARGEST_SEGMENT:
        raise PeerError("DATA is empty or too long")
    _sound_offset(begin + len(data) - at)
    if cell and len(data) - at > 1 and not data[-1]:
        raise PeerError("a cell has zeros at its end")
    return DataSegment(echo, begin, data[at:], fin, throttled, cell, sent)


def _decode_request(first: int, data: bytes) -> Req:
    count = first >> 4
    if count > MOST_BLOCKS:
        raise PeerError(f"a request has {count} blocks")
    clock, at = varint.decode(data, 1)
    deq, at = varint.decode(data, at)
    more, at = varint.decode(data, at)
    upto = _sound_offset(deq + more)
    rate = 0
    if first & _KIND == _RATED:
        rate, at = varint.decode(data, at)
        if not rate:
            raise PeerError("a request at a rate has none")
    blocks = []
    for _ in range(count):
        age, at = varint.decode(data, at)
        ahead, at = varint.decode(data, at)
        size, at = varint.decode(data, at)
        end = _sound_offset(deq + ahead)
        if age > clock or not 0 < size <= end or not ahead:
            raise PeerError("no request can have such a block")
        blocks.append(Block(clock - age, end - size, end))
    if at != len(data):
        raise PeerError("a request has bytes behind its end")
    return Req(clock, deq, upto, bool(first & _PUL), tuple(blocks), rate)


def _sound_offset(offset: int) -> int:
    if offset > LARGEST_OFFSET:
        raise PeerError("no stream is so long")
    return offset


def _sound_size(size: int) -> int:
    if not LEAST_SEGMENT <= size <= LARGEST_SEGMENT:
        raise PeerError(f"no segments of {size} bytes")
    return size
