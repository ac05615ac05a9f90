"""Chooses what to ask for next: holes first, then what follows all that was asked for. Pure.

The paper's `pending` (4.3.1): ranges yet to be requested, those that must be requested again, and
all above the highest one requested so far. It knows the stream alone: neither how much may be asked
for now nor by which pipe (pipe.py), so that several pipes can take from one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import NamedTuple


class ByteRange(NamedTuple):
    """Bytes of the stream."""

    begin: int
    end: int


class PendingRanges:
    """The ranges that are yet to be asked for."""

    def __init__(self) -> None:
        self.next = 0
        """RCV.REQ: nothing from here on was asked for, or it was taken back."""
        self.limit: int | None = None
        """The sender has throttled: nothing from here on is there. None: as much as one likes."""
        self.length: int | None = None
        """Where the stream ends; None: nobody has said."""
        self._holes: list[ByteRange] = []
        """By their begins; none overlaps another."""

    @property
    def holes(self) -> bool:
        """Something must be asked for again."""
        return bool(self._holes)

    @property
    def lacking(self) -> int:
        """Bytes that must be asked for again."""
        return sum(one.end - one.begin for one in self._holes)

    @property
    def begin(self) -> int:
        """The first byte that is to be asked for."""
        return self._holes[0].begin if self._holes else self.next

    @property
    def first(self) -> int | None:
        """Bytes of the first hole; None: there is none."""
        return self._holes[0].end - self._holes[0].begin if self._holes else None

    def take_hole(self) -> ByteRange:
        """The first hole, which is asked for now."""
        return self._holes.pop(0)

    def take_new(self, most: int) -> ByteRange | None:
        """At most so many bytes that never were asked for; None: there are none."""
        end = self.next + most
        for bound in (self.limit, self.length):
            if bound is not None:
                end = min(end, bound)
        if end <= self.next:
            return None
        taken = ByteRange(self.next, end)
        self.next = end
        return taken

    def take_beyond(self, skip: int, most: int, *, bound: int) -> ByteRange | None:
        """At most so many bytes behind the first `skip` that are pending, holes or not, and before
        `bound`; None: there are none. What is skipped stays pending."""
        for place, hole in enumerate(self._holes):
            length = hole.end - hole.begin
            if skip < length:
                begin = hole.begin + skip
                taken = ByteRange(begin, min(hole.end, begin + most, bound))
                if taken.end <= begin:
                    return None
                rest = (ByteRange(hole.begin, begin), ByteRange(taken.end, hole.end))
                self._holes[place : place + 1] = [one for one in rest if one.begin < one.end]
                return taken
            skip -= length
        begin = self.next + skip
        bounds = [one for one in (bound, self.limit, self.length) if one is not None]
        end = min(begin + most, *bounds)
        if end <= begin:
            return None
        if skip:
            self._holes.append(ByteRange(self.next, begin))
        self.next = end
        return ByteRange(begin, end)

    def available(self) -> int | None:
        """Bytes that could still be asked for as new; None: nobody knows an end."""
        bounds = [bound for bound in (self.limit, self.length) if bound is not None]
        return max(0, min(bounds) - self.next) if bounds else None

    def put_back(self, begin: int, end: int) -> None:
        """A range was asked for and is lost."""
        insort(self._holes, ByteRange(begin, end))

    def retreat(self, to: int) -> None:
        """Nothing from there on will be sent: it counts as never asked for."""
        if to < self.next:
            self.next = to
            kept = [ByteRange(one.begin, min(one.end, to)) for one in self._holes]
            self._holes = [one for one in kept if one.begin < one.end]

    def arrived(self, begin: int, end: int) -> None:
        """Nobody need ask for these bytes (any more)."""
        self.next = max(self.next, end if begin <= self.next else self.next)
        if not self._holes:
            return
        place = bisect_left(self._holes, ByteRange(begin, begin))
        if place and self._holes[place - 1].end > begin:
            place -= 1
        while place < len(self._holes) and self._holes[place].begin < end:
            low, high = self._holes.pop(place)
            rest = [ByteRange(low, begin)] * (low < begin) + [ByteRange(end, high)] * (end < high)
            self._holes[place:place] = rest
            place += len(rest)
