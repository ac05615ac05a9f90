"""Messages in the order in which they will be sent, with the work that stands before each.

A list cut into blocks. Each knows its bytes and its *slack*: the latest moment at which its work
may begin so that every deadline in it is met. A change costs one block, a question the blocks, and
what runs over a block's members runs in C: 100,000 timed messages cost some 50 microseconds a
change.

Pure: seconds a byte (`pace`) are an argument; a message is its key.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, islice, repeat
from math import inf
from operator import itemgetter, mul, sub
from typing import Final

Key = tuple[int, float, int]
"""Minus the priority, the deadline (infinity: none), and a number that tells equals apart."""

FIRST: Final[Key] = (-(1 << 62), -inf, 0)
LAST: Final[Key] = (1 << 62, inf, 0)
"""Before and behind all others."""
_MOST: Final = 512
"""Members of a block."""
_deadline: Final = itemgetter(1)


class _Block:
    """A run of neighbours in the order."""

    __slots__ = ("_pace", "_slack", "deadlines", "keys", "sizes", "total")

    def __init__(self, keys: list[Key], sizes: list[int]) -> None:
        self.keys = keys
        self.sizes = sizes
        self.deadlines = list(map(_deadline, keys))
        self.total = sum(sizes)
        self._slack: float | None = None
        self._pace = 0.0

    def changed(self) -> None:
        self._slack = None

    def slack(self, pace: float) -> float:
        if self._slack is None or pace != self._pace:
            self._slack, self._pace = self.slack_of(0, None, pace), pace
        return self._slack

    def slack_of(self, first: int, last: int | None, pace: float) -> float:
        """The slack of these members, all work of the block counted."""
        latest = map(sub, self.deadlines, map(mul, accumulate(self.sizes), repeat(pace)))
        return min(islice(latest, first, last), default=inf)


class Ranking:
    """Keys with sizes, in order. Bytes; every key is in at most once."""

    __slots__ = ("_blocks", "_ends", "_floor", "_floor_pace", "total")

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._ends: list[Key] = []
        """The last key of each block."""
        self.total = 0
        """Bytes."""
        self._floor = inf
        """The slack at `_floor_pace`, or less."""
        self._floor_pace = 0.0

    def __len__(self) -> int:
        return sum(len(block.keys) for block in self._blocks)

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def add(self, key: Key, size: int) -> None:
        """Insert; or, if the key is in, give it so many bytes more."""
        if key[1] < inf or self._floor < inf:
            own = key[1] - (self.before(key) + size) * self._floor_pace
            self._floor = min(self._floor - size * self._floor_pace, own)
        self.total += size
        if not self._blocks:
            self._blocks.append(_Block([key], [size]))
            self._ends.append(key)
            return
        number = min(bisect_left(self._ends, key), len(self._blocks) - 1)
        block = self._blocks[number]
        at = bisect_left(block.keys, key)
        block.total += size
        block.changed()
        if at < len(block.keys) and block.keys[at] == key:
            block.sizes[at] += size
            return
        block.keys.insert(at, key)
        block.sizes.insert(at, size)
        block.deadlines.insert(at, key[1])
        self._ends[number] = block.keys[-1]
        if len(block.keys) > _MOST:
            self._split(number)

    def reduce(self, key: Key, size: int) -> None:
        """So many of its bytes are done with."""
        block, at, _ = self._find(key)
        block.sizes[at] -= size
        block.total -= size
        block.changed()
        self.total -= size

    def remove(self, key: Key) -> int:
        """Take it out; bytes that it had left."""
        block, at, number = self._find(key)
        size = block.sizes.pop(at)
        del block.keys[at], block.deadlines[at]
        block.total -= size
        block.changed()
        self.total -= size
        if block.keys:
            self._ends[number] = block.keys[-1]
        else:
            del self._blocks[number], self._ends[number]
        return size

    def before(self, key: Key) -> int:
        """Bytes that come before the key, which need not be in."""
        number = bisect_left(self._ends, key)
        work = sum(block.total for block in self._blocks[:number])
        if number < len(self._blocks):
            block = self._blocks[number]
            work += sum(block.sizes[: bisect_left(block.keys, key)])
        return work

    def slack(self, pace: float) -> float:
        """The latest start of all work that meets every deadline; infinity: there is none."""
        self._floor, self._floor_pace = self.slack_between(FIRST, LAST, pace), pace
        return self._floor

    def floor(self, pace: float) -> float:
        """The slack, or less, at no cost: what was sent since it was last known isn't counted."""
        return self._floor if pace == self._floor_pace else self.slack(pace)

    def slack_between(self, first: Key, last: Key, pace: float) -> float:
        """The same for the deadlines of keys from `first` to before `last`; work of all before them
        is counted."""
        number, least = bisect_left(self._ends, first), inf
        work = sum(block.total for block in self._blocks[:number])
        for block in islice(self._blocks, number, None):
            if block.keys[0] >= last:
                break
            if first <= block.keys[0] and block.keys[-1] < last:
                here = block.slack(pace)
            else:
                begin, end = bisect_left(block.keys, first), bisect_left(block.keys, last)
                here = block.slack_of(begin, end, pace)
            least = min(least, here - work * pace)
            work += block.total
        return least

    def late(self, pace: float, start: float) -> Iterator[Key]:
        """The keys, in order, that would be late if work begins then; those that are left out by
        it no longer delay the ones behind them."""
        work = 0
        for block in self._blocks:
            if block.slack(pace) - work * pace >= start:
                work += block.total
                continue
            for key, size in zip(block.keys, block.sizes, strict=True):
                if start + (work + size) * pace > key[1]:
                    yield key
                else:
                    work += size

    def _find(self, key: Key) -> tuple[_Block, int, int]:
        number = bisect_left(self._ends, key)
        block = self._blocks[number]
        at = bisect_left(block.keys, key)
        assert block.keys[at] == key, "a key that is not in"
        return block, at, number

    def _split(self, number: int) -> None:
        block = self._blocks[number]
        half = len(block.keys) // 2
        parts = [
            _Block(block.keys[:half], block.sizes[:half]),
            _Block(block.keys[half:], block.sizes[half:]),
        ]
        self._blocks[number : number + 1] = parts
        self._ends[number : number + 1] = [part.keys[-1] for part in parts]
