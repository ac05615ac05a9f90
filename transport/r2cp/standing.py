"""Keeps what one path was asked for before its sender has it: standing pulls (HATS, 3.1). Pure.

A sender that has nothing more keeps what it was asked for beyond, and answers as soon as it has it:
so what begins after a rest comes without a request of its own, as if it were pushed. While they
stand, these ranges are neither under way nor lost, and no timer runs for them. Once anybody has
said that the bytes exist, they are asks like all others.
"""

from __future__ import annotations

from bisect import insort

from transport.rcp.pending import ByteRange, PendingRanges
from transport.rcp.segments import MOST_BLOCKS


class StandingPulls:
    """The ranges that one path's sender holds."""

    def __init__(self) -> None:
        self._ranges: list[ByteRange] = []
        """By their begins; none overlaps another."""

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._ranges)

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(one.end - one.begin for one in self._ranges)

    def add(self, begin: int, end: int) -> None:
        """The sender keeps this range, which nobody else is asked for."""
        insort(self._ranges, ByteRange(begin, end))

    def take(self, pending: PendingRanges, limit: int, end: int) -> list[ByteRange]:
        """Ranges that are to stand from now on: all that is pending before `end`, where less than
        half of what comes from `limit` on stands, or what comes first does not."""
        stands = sum(one.end - one.begin for one in self._ranges if one.begin < end)
        first = bool(self._ranges) and self._ranges[0].begin < pending.begin
        if first and 2 * stands > end - limit:
            return []
        taken: list[ByteRange] = []
        while len(taken) < MOST_BLOCKS:
            one = pending.take_beyond(0, end - pending.begin, bound=end)
            if one is None:
                break
            self.add(*one)
            taken.append(one)
        return taken

    def covers(self, begin: int) -> bool:
        """Whether this byte is among them."""
        return any(one.begin <= begin < one.end for one in self._ranges)

    def release(self, known: int) -> list[ByteRange]:
        """All before `known` exist: those of them that stood until now."""
        released = []
        while self._ranges and self._ranges[0].begin < known:
            first = self._ranges.pop(0)
            released.append(ByteRange(first.begin, min(first.end, known)))
            if first.end > known:
                self._ranges.insert(0, ByteRange(known, first.end))
        return released

    def withdraw(self) -> list[ByteRange]:
        """Gives all up: what others are to be asked for."""
        given_up, self._ranges = self._ranges, []
        return given_up
