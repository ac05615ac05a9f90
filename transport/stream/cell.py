"""Cells: pieces of a stream that can be read in whatever order they come. Pure.

A cell fits one segment of a path. It begins with its number, from 1 in the order of filling, by
which one that comes twice is known, and with how much of the control stream (records, one behind
the other) goes before its data. Then come pieces, to its end or up to a 0. One that begins with a
0 is empty.

    CONTROL  01 ......    offset, length, bytes of the control stream
    DATA     10 .....L    component, offset, length, bytes of a component
    END      11 ......    the link ends here

L: the component ends with them. Integers are those of RFC 9000, section 16. A record is a kind
(1 byte), a length (2 bytes) and as many bytes:

    MESSAGE  one encoded message
    GONE     component: what was sent of it before is of no use any more
    BEHIND   component, bytes that were sent of it, one encoded message to be read behind these
    BEGUN    component, bytes that were sent of it in order, before there were cells

It knows bytes and limits; it does not know what a component or a message means.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from transport.spp.core import varint
from wire.errors import LocalError, PeerError
from wire.frames import MAX_COMPONENT, MAX_PAYLOAD

LARGEST_OFFSET: Final = 1 << 60
"""Of the control stream and of a component; sums of two stay integers of the wire."""
MOST_PIECES: Final = 512
"""Of one cell: a piece takes at least three bytes."""
HEADER: Final = 1 + 4 + 8 + 2
"""Bytes at most of a piece before its own, in a cell of less than 16 KB."""
RECORD: Final = 3
"""Bytes of a record before its own."""
_PAD, _CONTROL, _DATA, _END = 0x00, 0x40, 0x80, 0xC0
_KIND: Final = 0xC0
_LAST: Final = 0x01


class RecordKind(IntEnum):
    """What a record of the control stream is."""

    MESSAGE = 0
    GONE = 1
    BEHIND = 2
    BEGUN = 3


class ControlPiece(NamedTuple):
    """Bytes of the control stream."""

    offset: int
    data: bytes


class ComponentPiece(NamedTuple):
    """Bytes of a component."""

    component: int
    offset: int
    data: bytes
    last: bool


class EndPiece(NamedTuple):
    """The sender closes the link on purpose."""


Piece = ControlPiece | ComponentPiece | EndPiece


class Cell(NamedTuple):
    """What a cell says."""

    number: int
    """0: nothing."""
    after: int
    """Bytes of the control stream that go before its data."""
    pieces: list[Piece]


class CellBuilder:
    """Puts pieces into one cell."""

    def __init__(self, size: int, *, number: int, after: int) -> None:
        """`size`: bytes of it at most; `after`: no more of the control stream will go before."""
        self._number = number
        self._most = size - varint.size(number) - varint.size(after)
        self._body = b""

    @property
    def room(self) -> int:
        """Bytes that a piece may bring, whatever its header has."""
        return self._most - len(self._body) - HEADER

    @property
    def empty(self) -> bool:
        return not self._body

    def control(self, offset: int, data: bytes) -> None:
        """Bytes of the control stream."""
        self._add(bytes((_CONTROL,)), varint.encode(offset), data)

    def component(self, component: int, offset: int, data: bytes, *, last: bool) -> None:
        """Bytes of a component."""
        if not 0 < component <= MAX_COMPONENT:
            raise LocalError(f"component {component} does not fit a cell")
        where = varint.encode(component) + varint.encode(offset)
        self._add(bytes((_DATA | last * _LAST,)), where, data)

    def _add(self, kind: bytes, where: bytes, data: bytes) -> None:
        piece = kind + where + varint.encode(len(data)) + data
        if len(self._body) + len(piece) > self._most:
            raise LocalError(f"a piece of {len(data)} bytes does not fit its cell")
        self._body += piece

    def cell(self, after: int) -> bytes:
        """The cell's bytes; its data go behind so much of the control stream."""
        return varint.encode(self._number) + varint.encode(after) + self._body


def farewell(number: int) -> bytes:
    """The cell that ends the link on purpose."""
    return varint.encode(number) + varint.encode(0) + bytes((_END,))


def decode(data: bytes) -> Cell:
    """What a cell says. Raises PeerError."""
    if not data or not data[0]:
        return Cell(0, 0, [])
    number, at = varint.decode(data, 0)
    after, at = varint.decode(data, at)
    return Cell(_sound(number), _sound(after), list(_pieces(data, at)))


def _pieces(data: bytes, at: int) -> Iterator[Piece]:
    found = 0
    while at < len(data) and data[at] != _PAD:
        found += 1
        if found > MOST_PIECES:
            raise PeerError(f"a cell has more than {MOST_PIECES} pieces")
        piece, at = _piece(data, at)
        yield piece
    if any(data[at:]):
        raise PeerError("a cell has bytes behind its end")


def _piece(data: bytes, at: int) -> tuple[Piece, int]:
    first, component = data[at], 0
    kind, flags = first & _KIND, first & ~_KIND
    if flags & ~(_LAST if kind == _DATA else 0):
        raise PeerError(f"a piece has unknown flags 0x{first:02x}")
    at += 1
    if kind == _END:
        return EndPiece(), at
    if kind == _PAD:
        raise PeerError(f"there is no piece of kind 0x{first:02x}")
    if kind == _DATA:
        component, at = varint.decode(data, at)
        if not 0 < component <= MAX_COMPONENT:
            raise PeerError(f"there is no component {component}")
    offset, at = varint.decode(data, at)
    length, at = varint.decode(data, at)
    end = at + length
    last = bool(flags & _LAST)
    if end > len(data) or (end == at and not last):
        raise PeerError("a piece is empty, or longer than its cell")
    _sound(offset + end - at)
    own = data[at:end]
    piece = ComponentPiece(component, offset, own, last) if kind == _DATA else None
    return piece or ControlPiece(offset, own), end


def _sound(offset: int) -> int:
    if offset > LARGEST_OFFSET:
        raise PeerError("no stream is so long")
    return offset


class CellRecord(NamedTuple):
    """One record of the control stream."""

    kind: RecordKind
    payload: bytes
    component: int = 0
    sent: int = 0
    """Bytes of the component, of BEHIND and BEGUN."""


def encode_record(record: CellRecord) -> bytes:
    """The record's bytes."""
    own = record.payload
    if record.kind in (RecordKind.BEHIND, RecordKind.BEGUN):
        own = varint.encode(record.sent) + own
    if record.kind is not RecordKind.MESSAGE:
        own = record.component.to_bytes(3, "big") + own
    if len(own) > MAX_PAYLOAD:
        raise LocalError(f"a record of {len(own)} bytes")
    return bytes((record.kind,)) + len(own).to_bytes(2, "big") + own


def decode_record(data: bytes | bytearray) -> tuple[CellRecord, int] | None:
    """The record with which these bytes begin, and its end; None: it is not all here. Raises
    PeerError."""
    if not data:
        return None
    if data[0] not in tuple(RecordKind):
        raise PeerError(f"there is no record of kind {data[0]}")
    kind = RecordKind(data[0])
    end = RECORD + int.from_bytes(data[1:RECORD], "big")
    if len(data) < max(RECORD, end):
        return None
    own = bytes(data[RECORD:end])
    if kind is RecordKind.MESSAGE:
        if not own:
            raise PeerError("a record has no message")
        return CellRecord(kind, own), end
    component = int.from_bytes(own[:3], "big")
    if len(own) < 3 or not component:
        raise PeerError("a record names no component")
    if kind is RecordKind.GONE:
        if len(own) > 3:
            raise PeerError("a record has bytes behind its end")
        return CellRecord(kind, b"", component), end
    sent, at = varint.decode(own, 3)
    if (at == len(own)) is (kind is RecordKind.BEHIND):
        raise PeerError("a record has no message, or one that it can't have")
    return CellRecord(kind, own[at:], component, _sound(sent)), end
