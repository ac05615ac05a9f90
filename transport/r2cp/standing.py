"""Keeps what one path was asked for before its sender has it: standing pulls (HATS, 3.1). Pure.

A sender that has nothing more keeps what it was asked for beyond, and answers as soon as it has it:
so what begins after a rest comes without a request of its own, as if it were pushed. While they
stand, these ranges are neither under way nor lost, and no timer runs for them. Once anybody has
said that the bytes exist, they are asks like all others.
"""

from __future__ import annotations

from bisect import insort
from typing import NamedTuple

from transport.rcp.pending import ByteRange, PendingRanges
from transport.rcp.segments import MOST_BLOCKS


class StandingRange(NamedTuple):
    """A range that one sender keeps a request for."""

    begin: int
    end: int
    since: float
    """When it was asked for."""


class StandingPulls:
    """The ranges that one path's sender holds."""

    def __init__(self) -> None:
        self._ranges: list[StandingRange] = []
        """By their begins; none overlaps another."""

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._ranges)

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(one.end - one.begin for one in self._ranges)

    def add(self, begin: int, end: int, *, since: float) -> None:
        """The sender keeps this range, which nobody else is asked for, since it was asked then."""
        insort(self._ranges, StandingRange(begin, end, since))

    def take(self, pending: PendingRanges, limit: int, end: int, *, now: float) -> list[ByteRange]:
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
            self.add(*one, since=now)
            taken.append(one)
        return taken

    def take_out(self, begin: int, end: int) -> float | None:
        """These bytes stand no more: since when they did; None: they do not, or not all."""
        for place, one in enumerate(self._ranges):
            if one.begin <= begin and end <= one.end:
                rest = (one._replace(end=begin), one._replace(begin=end))
                self._ranges[place : place + 1] = [part for part in rest if part.begin < part.end]
                return one.since
        return None

    def covers(self, begin: int) -> bool:
        """Whether this byte is among them."""
        return any(one.begin <= begin < one.end for one in self._ranges)

    def release(self, known: int) -> list[StandingRange]:
        """All before `known` exist: those of them that stood until now."""
        released = []
        while self._ranges and self._ranges[0].begin < known:
            first = self._ranges.pop(0)
            released.append(first._replace(end=min(first.end, known)))
            if first.end > known:
                self._ranges.insert(0, first._replace(begin=known))
        return released

    def withdraw(self) -> list[StandingRange]:
        """Gives all up: what others are to be asked for."""
        given_up, self._ranges = self._ranges, []
        return given_up
