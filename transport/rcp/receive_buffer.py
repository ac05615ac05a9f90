"""Puts the bytes of a stream in order, and keeps room for those that were asked for. Pure.

The paper's flow control (3.3.4): for each segment that is requested a place in the receive buffer
is taken at once (a "dummy" buffer), so nothing that arrives finds the buffer full.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from typing import Final

_LEAST_PIECE: Final = 64
"""Bytes: as many pieces are kept as segments of this size would make, however small they are."""


class ReceiveBuffer:
    """What has arrived and was not read, and what is expected."""

    def __init__(self, capacity: int) -> None:
        """`capacity`: bytes, read and expected ones together."""
        self.capacity = capacity
        self.next = 0
        """RCV.NXT: all before has arrived."""
        self.read_upto = 0
        """All before was handed to the application."""
        self.reserved = 0
        """Places are taken for all before this byte."""
        self.duplicates = 0
        """Bytes that came once more."""
        self._ready: deque[bytes] = deque()
        self._begins: list[int] = []
        """Of what came out of order, sorted; none overlaps another."""
        self._beyond: dict[int, bytes] = {}

    @property
    def room(self) -> int:
        """Bytes for which places are free."""
        return self.read_upto + self.capacity - self.reserved

    @property
    def readable(self) -> int:
        """Bytes that the application could read now."""
        return self.next - self.read_upto

    @property
    def out_of_order(self) -> bool:
        """Something has arrived behind a hole."""
        return bool(self._begins)

    @property
    def top(self) -> int:
        """All that has arrived ends here."""
        if not self._begins:
            return self.next
        return self._begins[-1] + len(self._beyond[self._begins[-1]])

    def reserve(self, end: int) -> None:
        """Takes the places of all before `end`."""
        self.reserved = max(self.reserved, end)

    def release(self, end: int) -> None:
        """Nothing from `end` on is expected any more."""
        self.reserved = min(self.reserved, max(end, self.top))

    def has(self, begin: int, end: int) -> bool:
        """Whether all of this range has arrived."""
        at = max(begin, self.next)
        while at < end:
            place = bisect_left(self._begins, at + 1) - 1
            if place < 0:
                return False
            reach = self._begins[place] + len(self._beyond[self._begins[place]])
            if reach <= at:
                return False
            at = reach
        return True

    def accept(self, begin: int, data: bytes) -> bool:
        """Takes what arrived; False: there is no place for it, and nobody asked."""
        end = begin + len(data)
        if end > self.read_upto + self.capacity:
            return False
        if len(self._begins) > self.capacity // _LEAST_PIECE and begin > self.next:
            return False
        self.reserve(end)
        if begin == self.next and not self._begins:
            self._ready.append(data)
            self.next = end
            return True
        for low, high in self._gaps(begin, end):
            self._beyond[low] = data[low - begin : high - begin]
            insort(self._begins, low)
        self._advance()
        return True

    def read(self) -> bytes:
        """All that is in order."""
        data = b"".join(self._ready)
        self._ready.clear()
        self.read_upto = self.next
        return data

    def _gaps(self, begin: int, end: int) -> list[tuple[int, int]]:
        """The parts of a range that have not arrived."""
        found = []
        at = max(begin, self.next)
        place = max(0, bisect_left(self._begins, at) - 1)
        for low in self._begins[place:]:
            if low >= end:
                break
            if low > at:
                found.append((at, low))
            at = max(at, low + len(self._beyond[low]))
        if at < end:
            found.append((at, end))
        self.duplicates += end - begin - sum(high - low for low, high in found)
        return found

    def _advance(self) -> None:
        count = 0
        for low in self._begins:
            if low != self.next:
                break
            piece = self._beyond.pop(low)
            self._ready.append(piece)
            self.next += len(piece)
            count += 1
        del self._begins[:count]
