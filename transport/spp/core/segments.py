"""Carries segments of a protocol that makes its own repairs beside payloads (RCP's). Pure.

They share datagrams with what else is due, wait for no window, and are neither acknowledged nor
sent again (RFC 9221). What is lost, or finds no place here, that protocol asks for again.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from transport.spp.core.packets import SegmentFrame, encode
from wire.errors import LocalError

MOST_WAITING: Final = 1 << 20
"""Bytes that wait to leave, or to be taken: more are dropped, as a full queue of the path would."""


class ArrivedSegment(NamedTuple):
    """A segment that came."""

    segment: bytes
    arrived: float
    """Seconds, when this machine had it."""


class Segments:
    """Both directions of one connection."""

    def __init__(self) -> None:
        self._leaving: deque[bytes] = deque()
        self._leaving_bytes = 0
        self._arrived: deque[ArrivedSegment] = deque()
        self._arrived_bytes = 0

    @property
    def waiting(self) -> bool:
        """Some have not left."""
        return bool(self._leaving)

    def send(self, segment: bytes, *, most: int) -> None:
        """Accepts one; of more than `most` bytes none can leave. Raises LocalError."""
        if not 0 < len(segment) <= most:
            raise LocalError(f"a segment has {len(segment)} bytes, of {most} at most")
        if self._leaving_bytes + len(segment) <= MOST_WAITING:
            frame = encode(SegmentFrame(segment))
            self._leaving.append(frame)
            self._leaving_bytes += len(frame)

    def fill(self, frames: list[bytes], *, room: int, capacity: int) -> None:
        """Adds as many as fit, in their order; what no datagram of `capacity` takes is dropped."""
        while self._leaving and len(self._leaving[0]) > capacity:
            self._next()
        while self._leaving and len(self._leaving[0]) <= room:
            room -= len(self._leaving[0])
            frames.append(self._next())

    def came(self, segment: bytes, arrived: float) -> None:
        """One has come; it waits until it is taken."""
        if self._arrived_bytes + len(segment) <= MOST_WAITING:
            self._arrived.append(ArrivedSegment(segment, arrived))
            self._arrived_bytes += len(segment)

    def received(self) -> list[ArrivedSegment]:
        """All that have come since the last call."""
        arrived = list(self._arrived)
        self._arrived.clear()
        self._arrived_bytes = 0
        return arrived

    def _next(self) -> bytes:
        frame = self._leaving.popleft()
        self._leaving_bytes -= len(frame)
        return frame
