"""Which bytes of a file are here: ranges that are in order, apart, and as few as will do. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

Range = tuple[int, int]
"""Offsets, bytes: the first, and the one behind the last."""


class Extents:
    """A set of bytes of a file."""

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in ranges:
            self.add(start, end)

    def __iter__(self) -> Iterator[Range]:
        return zip(list(self._starts), list(self._ends), strict=True)

    def __repr__(self) -> str:
        return f"<Extents {list(self)}>"

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(self._ends) - sum(self._starts)

    def add(self, start: int, end: int) -> None:
        """These are here now, too."""
        if start >= end:
            return
        first = bisect_left(self._ends, start)  # it touches, or lies behind
        last = bisect_right(self._starts, end)
        if first < last:
            start = min(start, self._starts[first])
            end = max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]

    def covers(self, start: int, end: int) -> bool:
        """All from `start` to `end` is here."""
        if start >= end:
            return True
        at = bisect_right(self._starts, start) - 1
        return at >= 0 and self._ends[at] >= end

    def reaches(self, start: int) -> int:
        """How far all is here from `start` on; `start` itself where nothing is."""
        at = bisect_right(self._starts, start) - 1
        return max(start, self._ends[at]) if at >= 0 else start

    def missing(self, start: int, end: int) -> list[Range]:
        """What is not here from `start` to `end`."""
        found = []
        at = self.reaches(start)
        while at < end:
            index = bisect_right(self._starts, at)
            stop = min(end, self._starts[index]) if index < len(self._starts) else end
            found.append((at, stop))
            at = self.reaches(stop)
        return found


def joined(ranges: Iterable[Range]) -> list[Range]:
    """The same bytes, in order and in as few ranges as will do."""
    return list(Extents(ranges))
