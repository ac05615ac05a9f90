"""Frames: what the two proxies put on the one connection, and nothing else.

A frame opens with one byte: two bits of type, the rest flags. Fields follow only where a flag
says that they can't be inferred, so that the usual frame, a full quantum of another component
than the frame before, costs 4 bytes (HATS, section 4.2, measured 12).

    DATA     00 S F L P ..  [component u24 unless S] [length u16 unless F] payload
    CONTROL  01 ........    length u16, payload (one encoded message; none: the link ends here)
    REPORT   10 ........    received u32, clock u24: the receiver's progress
    QUANTUM  11 ........    size u16: what F means in the DATA frames that follow
    CELL     01 .....1      length u16, a cell (transport/stream/cell.py)
    APART    01 ....1.      all that follows on this connection is cells in no order

S: the same component as the DATA frame before. F: the payload is exactly one quantum long.
L: the component's last bytes. P: it was sent no slower, behind the DATA frame before, than the
link is said to carry; only who accepts it is told. All integers are big-endian.

This module knows bytes and limits; it does not know what a component or a message means.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from wire.errors import LocalError, PeerError

_DATA: Final = 0x00
_CONTROL: Final = 0x40
_REPORT: Final = 0x80
_QUANTUM: Final = 0xC0
_TYPE_MASK: Final = 0xC0
_CELL: Final = 0x41
_APART: Final = 0x42
_SAME: Final = 0x20
_FULL: Final = 0x10
_LAST: Final = 0x08
_PACED: Final = 0x04
_DATA_UNUSED: Final = 0x03

PADDING: Final = 0
"""No component has this number: its bytes are nobody's, and say what the link carries."""
MAX_COMPONENT: Final = 0xFFFFFF
MAX_PAYLOAD: Final = 0xFFFF
"""Bytes; both of a DATA and of a CONTROL frame."""
MAX_HEADER: Final = 6
"""Bytes of the longest DATA header: one of flags, three of component, two of length."""
RECEIVED_MODULUS: Final = 1 << 32
CLOCK_MODULUS: Final = 1 << 24
CLOCK_TICK: Final = 1e-4
"""Seconds: unit of a report's clock, which wraps every 28 minutes."""

_APART_BYTE: Final = bytes((_APART,))

_COMPONENT_LENGTH = struct.Struct(">BHBH")
_LENGTH = struct.Struct(">BH")
_COMPONENT = struct.Struct(">BHB")
_REPORT_FIELDS = struct.Struct(">BIHB")


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of one component, at most one quantum of them; `last` ends the component.

    `paced`: sent no slower, behind the one before, than the link is said to carry. Who chooses a
    quantum says whether the peer is to be told, who sends it whether it is so.
    """

    component: int
    payload: bytes
    last: bool = False
    offset: int = -1
    """Where in the component they begin; -1: behind those that went before (it does not cross)."""
    paced: bool = False


@dataclass(frozen=True, slots=True)
class Control:
    """One encoded control message (wire/messages.py)."""

    payload: bytes
    behind: tuple[int, int] | None = None
    """A component, and so many bytes of it, that are to be read first wherever they travel (it does
    not cross)."""


@dataclass(frozen=True, slots=True)
class Report:
    """The receiver's progress: bytes received so far and its own clock (CLOCK_TICK, wraps)."""

    received: int
    clock: int


@dataclass(frozen=True, slots=True)
class CellFrame:
    """A cell in a stream that has an order."""

    cell: bytes


Frame = Data | Control | Report | CellFrame

END: Final = Control(b"")
"""The sender closes the link on purpose: a connection that ends without it broke."""
APART: Final = CellFrame(b"")
"""What follows on this connection has no order (a single byte, so that no part of it can be)."""


class FrameWriter:
    """Encodes frames for one direction of one connection."""

    def __init__(self) -> None:
        self._component = -1
        self._quantum = 0

    def quantum(self, size: int) -> bytes:
        """Announce the size, bytes, that the full-quantum flag stands for from here on."""
        if not 0 < size <= MAX_PAYLOAD:
            raise LocalError(f"quantum of {size} bytes: must be 1 to {MAX_PAYLOAD}")
        if size == self._quantum:
            return b""
        self._quantum = size
        return _LENGTH.pack(_QUANTUM, size)

    def encode(self, frame: Frame) -> bytes:
        """The frame's bytes. Frames must reach the peer in the order they were encoded."""
        if isinstance(frame, Data):
            return self._data(frame)
        if isinstance(frame, Control):
            if len(frame.payload) > MAX_PAYLOAD:
                raise LocalError(f"control message of {len(frame.payload)} bytes")
            return _LENGTH.pack(_CONTROL, len(frame.payload)) + frame.payload
        if isinstance(frame, CellFrame):
            if len(frame.cell) > MAX_PAYLOAD:
                raise LocalError(f"a cell of {len(frame.cell)} bytes")
            return _LENGTH.pack(_CELL, len(frame.cell)) + frame.cell if frame.cell else _APART_BYTE
        clock = frame.clock % CLOCK_MODULUS
        return _REPORT_FIELDS.pack(
            _REPORT, frame.received % RECEIVED_MODULUS, clock >> 8, clock & 0xFF
        )

    def _data(self, frame: Data) -> bytes:
        component, length = frame.component, len(frame.payload)
        if not 0 <= component <= MAX_COMPONENT or length > MAX_PAYLOAD:
            raise LocalError(f"component {component} with {length} bytes does not fit a frame")
        flags = _DATA | (_LAST if frame.last else 0) | (_PACED if frame.paced else 0)
        full = 0 < length == self._quantum
        if component == self._component:
            flags |= _SAME
            header = bytes((flags | _FULL,)) if full else _LENGTH.pack(flags, length)
        else:
            self._component = component
            high, low = component >> 8, component & 0xFF
            if full:
                header = _COMPONENT.pack(flags | _FULL, high, low)
            else:
                header = _COMPONENT_LENGTH.pack(flags, high, low, length)
        return header + frame.payload


class FrameReader:
    """Decodes one direction of one connection, however the bytes are cut.

    Holds at most one incomplete frame, so at most MAX_HEADER + MAX_PAYLOAD bytes.
    """

    def __init__(self) -> None:
        self._buffer = b""
        self._component = -1
        self._quantum = 0

    @property
    def buffered(self) -> int:
        """Bytes of an incomplete frame held back."""
        return len(self._buffer)

    @property
    def cut_report(self) -> int:
        """Bytes held back of a report."""
        return len(self._buffer) if self._buffer and self._buffer[0] == _REPORT else 0

    def drop_cut_report(self) -> int:
        """Forget a report of which only the first bytes have come; how many those were."""
        dropped = self.cut_report
        if dropped:
            self._buffer = b""
        return dropped

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that `data` completes. Raises PeerError; the reader is of no use after."""
        buffer = self._buffer + data if self._buffer else data
        frames: list[Frame] = []
        at = 0
        while at < len(buffer):
            parsed = self._parse(buffer, at)
            if parsed is None:
                break
            frame, at = parsed
            if frame is not None:
                frames.append(frame)
            if frame is APART:
                at = len(buffer)  # what follows is read elsewhere
        self._buffer = buffer[at:]
        return frames

    def _parse(self, buffer: bytes, at: int) -> tuple[Frame | None, int] | None:
        """One frame at `at` and where the next begins; None while it is incomplete."""
        kind = buffer[at] & _TYPE_MASK
        if kind == _DATA:
            return self._parse_data(buffer, at)
        if buffer[at] == _APART:
            return APART, at + 1
        if buffer[at] != kind and buffer[at] != _CELL:
            raise PeerError(f"unknown frame 0x{buffer[at]:02x}")
        if kind == _REPORT:
            if len(buffer) - at < _REPORT_FIELDS.size:
                return None
            _, received, high, low = _REPORT_FIELDS.unpack_from(buffer, at)
            return Report(received, high << 8 | low), at + _REPORT_FIELDS.size
        if len(buffer) - at < _LENGTH.size:
            return None
        _, length = _LENGTH.unpack_from(buffer, at)
        at += _LENGTH.size
        cell = kind == _CONTROL and buffer[at - _LENGTH.size] == _CELL
        if kind == _QUANTUM:
            if not length:
                raise PeerError("a quantum of 0 bytes")
            self._quantum = length
            return None, at
        end = at + length
        if len(buffer) < end:
            return None
        if cell and not length:
            raise PeerError("a cell is empty")
        return CellFrame(buffer[at:end]) if cell else Control(buffer[at:end]), end

    def _parse_data(self, buffer: bytes, at: int) -> tuple[Frame | None, int] | None:
        flags = buffer[at]
        if flags & _DATA_UNUSED:
            raise PeerError(f"unknown flags in data frame 0x{flags:02x}")
        at += 1
        need = (0 if flags & _SAME else 3) + (0 if flags & _FULL else 2)
        if len(buffer) - at < need:
            return None
        if flags & _SAME:
            component = self._component
            if component < 0:
                raise PeerError("a data frame continues a component, but there was none")
        else:
            component = int.from_bytes(buffer[at : at + 3], "big")
            at += 3
        if flags & _FULL:
            length = self._quantum
            if not length:
                raise PeerError("a data frame of a full quantum before any quantum was announced")
        else:
            length = int.from_bytes(buffer[at : at + 2], "big")
            at += 2
        end = at + length
        if len(buffer) < end:
            return None
        self._component = component
        payload = buffer[at:end]
        return Data(component, payload, bool(flags & _LAST), paced=bool(flags & _PACED)), end
