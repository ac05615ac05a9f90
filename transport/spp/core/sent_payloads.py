"""Payloads on their way out: waiting, under way, lost and waiting again. Pure.

Each has a sequence number. One that does not fit a datagram of the path's goes in parts, cut as
late as can be, since what the path takes may change under way (mtu.py). What was lost goes before
what is new. The receiver's window counts costs (transport/sending/incoming.py), in the order of
sequence numbers.
"""

from __future__ import annotations

import heapq
from collections import deque
from itertools import count
from typing import Final, NamedTuple

from transport.spp.core.packets import (
    LARGEST_PAYLOAD,
    PayloadPart,
    data_overhead,
    encode,
    encode_data,
    part_overhead,
)
from transport.spp.core.settings import PayloadRefused
from wire.errors import LocalError

COST: Final = 64
"""Bytes that a payload counts beside its own: what it costs a receiver to remember it."""
_LEAST_PART: Final = 64
"""Bytes of a payload that are worth a part's header, unless they are its last."""


class Payload:
    """One that was submitted."""

    __slots__ = ("acknowledged", "cost_end", "data", "done", "sequence")

    def __init__(self, sequence: int, data: bytes, cost_end: int) -> None:
        self.sequence = sequence
        self.data = data
        self.cost_end = cost_end
        """Costs of all payloads up to this one."""
        self.acknowledged = 0
        """Bit n: its byte n has arrived; only of one that went in parts."""
        self.done = False


class Piece(NamedTuple):
    """Some of a payload, or all of it."""

    payload: Payload
    offset: int
    size: int

    @property
    def whole(self) -> bool:
        return self.size == len(self.payload.data)


class SentPayloads:
    """The bytes that one connection is to send."""

    def __init__(self, *, buffer: int, limit: int) -> None:
        """`buffer`: bytes that may wait here; `limit`: costs that the receiver takes at first."""
        self._buffer = buffer
        self.limit = limit
        self.waiting = 0
        """Bytes of payloads that have never been sent."""
        self.unacknowledged = 0
        """Bytes of payloads that may have to be sent (again)."""
        self._next = 0
        self._costs = 0
        self._new: deque[Payload] = deque()
        self._cut = 0
        """Bytes of the first new payload that have been sent in parts."""
        self._again: list[tuple[int, int, int, Piece]] = []
        """A heap: what was lost, the oldest payloads first."""
        self._entries = count()

    def submit(self, data: bytes) -> int:
        """Its sequence number. Raises Refused beyond the buffer, LocalError for no payload."""
        if not 0 < len(data) <= LARGEST_PAYLOAD:
            raise LocalError(f"a payload has 1 to {LARGEST_PAYLOAD} bytes, not {len(data)}")
        if self.waiting + len(data) > self._buffer:
            raise PayloadRefused(
                f"{self.waiting} bytes wait already: send no more than `room` says"
            )
        sequence = self._next
        self._next += 1
        self._costs += len(data) + COST
        self._new.append(Payload(sequence, bytes(data), self._costs))
        self.waiting += len(data)
        self.unacknowledged += len(data)
        return sequence

    @property
    def space(self) -> int:
        """Bytes that the buffer takes."""
        return self._buffer - self.waiting

    @property
    def lost(self) -> bool:
        """Something waits to be sent again."""
        while self._again and self._again[0][3].payload.done:
            heapq.heappop(self._again)
        return bool(self._again)

    @property
    def ready(self) -> bool:
        """Something can be sent as far as the receiver is concerned."""
        return self.lost or (bool(self._new) and self._new[0].cost_end <= self.limit)

    @property
    def allowance(self) -> int:
        """Costs of payloads not yet submitted that the receiver would take."""
        return max(0, self.limit - self._costs)

    def take(self, room: int, *, capacity: int, frames: list[bytes]) -> list[Piece]:
        """Add frames of at most `room` bytes; what they carry.

        `capacity`: bytes of an empty datagram, which tells whether waiting for one would help.
        """
        pieces: list[Piece] = []
        while self.ready:
            piece = self._first()
            fitting = self._fit(piece, room, capacity)
            if fitting is None:
                break
            self._pop(piece, fitting)
            pieces.append(fitting)
            payload = fitting.payload
            if not fitting.whole:
                data = payload.data[fitting.offset : fitting.offset + fitting.size]
                frame = encode(
                    PayloadPart(payload.sequence, fitting.offset, len(payload.data), data)
                )
            else:
                # Whether one follows shows only in the next round: what fills the room is the last.
                last = len(payload.data) + data_overhead(payload.sequence) + _LEAST_PART > room
                frame = encode_data(payload.sequence, payload.data, last=last)
                if last:
                    frames.append(frame)
                    break
            frames.append(frame)
            room -= len(frame)
        return pieces

    def acknowledged(self, piece: Piece) -> int | None:
        """It has arrived; the payload's number if it is whole now for the first time."""
        payload = piece.payload
        if payload.done:
            return None
        if not piece.whole:
            payload.acknowledged |= ((1 << piece.size) - 1) << piece.offset
            if payload.acknowledged != (1 << len(payload.data)) - 1:
                return None
        payload.done = True
        self.unacknowledged -= len(payload.data)
        return payload.sequence

    def again(self, piece: Piece) -> None:
        """It is lost, or a probe may as well carry it."""
        if not piece.payload.done:
            entry = (piece.payload.sequence, piece.offset, next(self._entries), piece)
            heapq.heappush(self._again, entry)

    def _first(self) -> Piece:
        """What goes next."""
        if self._again:
            return self._again[0][3]
        payload = self._new[0]
        return Piece(payload, self._cut, len(payload.data) - self._cut)

    def _fit(self, piece: Piece, room: int, capacity: int) -> Piece | None:
        """As much of it as fits; None: it waits for an empty datagram."""
        sequence = piece.payload.sequence
        if piece.whole:
            if piece.size + data_overhead(sequence) <= room:
                return piece
            if piece.size + data_overhead(sequence) <= capacity:
                return None
        size = min(piece.size, room - part_overhead(sequence))
        if size < min(piece.size, _LEAST_PART):
            return None
        return Piece(piece.payload, piece.offset, size)

    def _pop(self, piece: Piece, sent: Piece) -> None:
        """`sent`, the beginning of `piece`, goes."""
        rest = Piece(piece.payload, sent.offset + sent.size, piece.size - sent.size)
        if self._again:
            heapq.heappop(self._again)
            if rest.size:
                self.again(rest)
            return
        self.waiting -= sent.size
        self._cut += sent.size
        if not rest.size:
            self._new.popleft()
            self._cut = 0
