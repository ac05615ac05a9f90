"""A stream at its receiver: what has come of it, what is yet to be asked for, where it ends. Pure.

All that concerns the stream and no path: one receiver's pipe asks for parts of it, or several do
(transport/r2cp/engine.py). The paper's flow control and reliability of the connection (4.1.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from transport.rcp.pending import ByteRange, PendingRanges
from transport.rcp.pipe import Ask, Pipe
from transport.rcp.receive_buffer import ReceiveBuffer
from transport.rcp.segments import DataSegment
from wire.errors import PeerError


class ReceivedStream:
    """What one or several pipes fill."""

    def __init__(self, capacity: int, pipes: Callable[[], Iterable[Pipe]]) -> None:
        """`capacity`: bytes that may be expected, or arrived and unread; `pipes`: all there are."""
        self.buffer = ReceiveBuffer(capacity)
        self.pending = PendingRanges()
        self._pipes = pipes

    @property
    def done(self) -> bool:
        """All of the stream has arrived."""
        return self.pending.length is not None and self.buffer.next == self.pending.length

    def check(self, end: int, *, fin: bool) -> None:
        """Raises PeerError where what any answer says of the stream's end can't be."""
        length = self.pending.length
        if length is not None and (end > length or (fin and end != length)):
            raise PeerError("the stream has two ends")
        if fin and end < self.buffer.top:
            raise PeerError("the stream ends before what it has sent")

    def ends(self, length: int) -> None:
        """The sender has said where; nothing beyond is asked for any more."""
        if self.pending.length is None:
            self.pending.length = length
            self._withdraw(length)

    def accept(self, segment: DataSegment) -> bool:
        """Takes what has come; False: there is no place for it, and nobody asked."""
        if not self.buffer.accept(segment.begin, segment.data):
            return False
        self.pending.arrived(segment.begin, segment.end)
        return True

    def answered(self, pipe: Pipe, segment: DataSegment) -> list[Ask]:
        """The pipe's asks that this has answered."""
        one = pipe.find(segment.begin)
        if one is not None and one.end == segment.end:
            return [one]
        # The sender cut elsewhere than the requests did, for some of these are lost.
        return [one for one in pipe.under_way() if self.buffer.has(one.begin, one.end)]

    def hear(self, segment: DataSegment) -> None:
        """What the only sender says of how much it has."""
        if segment.throttled:
            self.throttle(segment.end)
        elif self.pending.limit is not None and segment.end >= self.pending.limit:
            self.pending.limit = None  # it has had more since

    def throttle(self, limit: int) -> None:
        """Nothing from there on may be asked for: what was is taken back, and is no loss."""
        if self.pending.limit is not None:
            limit = max(limit, self.pending.limit)
        self.pending.limit = max(limit, self.buffer.next)
        self._withdraw(self.pending.limit)

    def ask_again(self, asks: Iterable[Ask | ByteRange]) -> None:
        """They will not come: what of them has not come otherwise is to be asked for anew."""
        for one in asks:
            if not self.buffer.has(one.begin, one.end):
                self.pending.put_back(one.begin, one.end)

    def _withdraw(self, end: int) -> None:
        if self.pending.next <= end:
            return
        for pipe in self._pipes():
            for one in pipe.under_way():
                if one.begin >= end:
                    pipe.cancel(one)
                elif one.end > end:
                    pipe.shorten(one, end)
        self.pending.retreat(end)
        self.buffer.release(end)
