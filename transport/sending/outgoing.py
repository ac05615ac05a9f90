"""A component on its way out: bytes that wait for their turn, as the tree counts them.

Bytes live here, their number lives in the tree (hats sees lengths only). What the receiver gave no
credit for is kept back from the tree, so a stalled reader stops its own leaf and nobody else's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node
from wire.credit import SendCredit
from wire.fields import Headers
from wire.messages import Message

HIGH_WATER: Final = 256 * 1024
"""Bytes a component may hold before its source is asked to wait: 5 s of a 384 kbit/s link."""
MOST_SKIPPED: Final = 4 << 20
"""Bytes that it may hold besides, for a long way that goes without as many."""

Introduction = tuple[Message, Headers | None]
"""A control message, and the headers of its block if it has one."""


class Budget:
    """Bytes that all components of one device may hold together. Sources wait while it's spent."""

    def __init__(self, limit: int, *, parked: Callable[[], int] = lambda: 0) -> None:
        """`parked`: bytes of them that are not to go before somebody asks for them. As many again
        as the limit may be: who stops many pictures half-way does not stop all else."""
        self.limit = limit
        self._parked = parked
        self.used = 0
        self.high_water = HIGH_WATER
        """Bytes that one component may hold."""
        self._freed = asyncio.Event()

    def skipped(self, amount: int) -> None:
        """A long way goes without so many bytes, which are left to quicker ones: of a component
        that holds no more it has nothing to carry."""
        self.high_water = max(self.high_water, HIGH_WATER + min(amount, MOST_SKIPPED))

    def add(self, amount: int) -> None:
        """`amount` more bytes are held; negative when they left."""
        self.used += amount
        if amount < 0:
            self._freed.set()

    async def room(self, amount: int = 1) -> None:
        """Until `amount` more bytes fit. One that fits never waits for others."""
        while self._is_full(amount):
            self._freed.clear()
            await self._freed.wait()

    def reconsider(self) -> None:
        """What is parked may be more than before: who waits looks again."""
        self._freed.set()

    def _is_full(self, amount: int) -> bool:
        over = self.used + amount - self.limit
        return self.used > 0 and over > 0 and over > min(self._parked(), self.limit)


class _Chunk(NamedTuple):
    """Bytes that wait, and where in the component they begin."""

    start: int
    data: bytes


class Outgoing:
    """The bytes of one component between its source and the link."""

    def __init__(
        self,
        component: int,
        leaf: Node,
        hierarchy: Hierarchy,
        budget: Budget,
        *,
        wake: Callable[[], None],
    ) -> None:
        self.component = component
        self.leaf = leaf
        self.written = 0
        """Bytes the source has delivered so far."""
        self.taken = 0
        """Bytes that went to the link."""
        self.preface: tuple[Introduction, ...] = ()
        """Messages to say right before the next byte."""
        self.on_close: Callable[[], None] = lambda: None
        """Told once all of it has gone, or it was dropped."""
        self.epilogue: Message | None = None
        """Said behind the last byte in place of the end: the source broke off."""
        self._hierarchy = hierarchy
        self._budget = budget
        self._wake = wake
        self._credit = SendCredit()
        self._chunks: deque[_Chunk] = deque()
        self._offset = 0
        """Bytes of the first that have gone."""
        self._offered = 0
        self._finished = False
        self.end_said = False
        """The frame with its last byte has said that it is."""
        self._closed = False
        self._drained = asyncio.Event()

    @property
    def held(self) -> int:
        """Bytes written that have not gone to the link."""
        return self.written - self.taken

    @property
    def closed(self) -> bool:
        """What is written goes nowhere: it was dropped, or all of it has been sent."""
        return self._closed

    def write(self, data: bytes) -> None:
        """Bytes from the source. Ignored once the component is closed."""
        if self._closed or not data:
            return
        self._chunks.append(_Chunk(self.written, data))
        self.written += len(data)
        self._budget.add(len(data))
        self._offer()

    def finish(self) -> None:
        """The source has delivered all."""
        if self._closed or self._finished:
            return
        self._finished = True
        self._offer()

    def cut(self, message: Message) -> None:
        """The source broke off: what it has delivered is sent, then this instead of an end."""
        self.epilogue = message
        self.finish()

    def grant(self, amount: int) -> None:
        """The receiver can take `amount` bytes more. Raises PeerError for absurd amounts."""
        self._credit.grant(amount)
        if not self._closed:
            self._offer()

    def introduce(self, message: Message) -> None:
        """Said right before the next byte, unless it takes the place of one that still waits."""
        waiting = tuple(one for one in self.preface if type(one[0]) is not type(message))
        self.preface = ((message, None), *waiting)

    def take(self, length: int) -> bytes:
        """The next `length` bytes: the tree has granted them."""
        parts = []
        need = length
        while need:
            chunk = self._chunks[0].data
            part = chunk[self._offset : self._offset + need]
            parts.append(part)
            need -= len(part)
            self._offset += len(part)
            if self._offset == len(chunk):
                self._chunks.popleft()
                self._offset = 0
        self._took(length)
        return b"".join(parts)

    def take_pieces(self, length: int, *, skip: int = 0) -> list[tuple[int, bytes]]:
        """So many bytes of what waits, behind the first `skip`, with where each piece begins: some
        of what lies between may have gone before."""
        pieces: list[tuple[int, bytes]] = []
        place, at = 0, self._offset
        need = length
        while need:
            start, chunk = self._chunks[place]
            if skip >= len(chunk) - at:
                skip -= len(chunk) - at
                place, at = place + 1, 0
                continue
            begin = at + skip
            end, skip = min(len(chunk), begin + need), 0
            self._join(pieces, start + begin, chunk[begin:end])
            need -= end - begin
            place, at = self._cut_out(place, at, begin, end)
        self._took(length)
        return pieces

    def ends(self, offset: int) -> bool:
        """Whether the component does, there."""
        return self._finished and offset == self.written

    def _cut_out(self, place: int, at: int, begin: int, end: int) -> tuple[int, int]:
        """These bytes of a chunk have gone, of which those before `at` had; what comes next."""
        start, chunk = self._chunks[place]
        if begin == at and place == 0:
            self._offset = end
            if end == len(chunk):
                self._chunks.popleft()
                self._offset = 0
            return 0, self._offset
        rest = [_Chunk(start, chunk[:begin])] * (begin > at or place == 0)
        if end < len(chunk):
            rest.append(_Chunk(start + end, chunk[end:]))
        del self._chunks[place]
        for one in reversed(rest):
            self._chunks.insert(place, one)
        return place + (begin > at or place == 0), 0

    @staticmethod
    def _join(pieces: list[tuple[int, bytes]], offset: int, data: bytes) -> None:
        if pieces and pieces[-1][0] + len(pieces[-1][1]) == offset:
            offset, before = pieces.pop()
            data = before + data
        pieces.append((offset, data))

    def _took(self, length: int) -> None:
        self.taken += length
        self._budget.add(-length)
        if self.held < self._budget.high_water:
            self._drained.set()

    async def room(self) -> None:
        """Until the source may deliver more, by this component's mark and the device's budget."""
        while self.held >= self._budget.high_water and not self._closed:
            self._drained.clear()
            await self._drained.wait()
        if not self._closed:
            await self._budget.room()

    def close(self) -> None:
        """Drop what waits; whoever writes or waits for room goes on and is ignored."""
        if self._closed:
            return
        self._closed = True
        self._budget.add(-self.held)
        self._chunks.clear()
        self._drained.set()
        self.on_close()

    def _offer(self) -> None:
        """Tell the tree of what is here and covered by credit."""
        amount = min(self.written - self._offered, self._credit.available)
        if amount:
            self._credit.spend(amount)
            self._offered += amount
            self._hierarchy.enqueue(self.leaf, amount)
        if self._finished and self._offered == self.written:
            self._hierarchy.finish(self.leaf)
        elif not amount:
            return
        self._wake()
