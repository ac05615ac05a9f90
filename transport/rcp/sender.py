"""Answers requests: the end of RCP that decides nothing (3.2). Pure.

It has a send buffer, SND.NXT, and the three most recent blocks that it sent by pull, and no timer:
whatever is lost, the receiver asks again. Only who has nothing to send tells the receiver so, and
tells it once more when there is something (5.2.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from transport.rcp.recent_blocks import RecentBlocks
from transport.rcp.segments import DataSegment, Fin, Limit, Req, Segment
from transport.rcp.send_buffer import Content
from wire.errors import PeerError

MOST_AT_ONCE: Final = 4 << 20
"""Bytes that one request gets at most, whatever it asks for; no window of ours is larger."""


class RcpSender:
    """Sends one stream to one receiver, or the part of it that this path is asked for."""

    def __init__(self, content: Content, *, size: int) -> None:
        """`size`: bytes of data in a segment."""
        self.content = content
        self.rate = 0
        """Bytes/second at which the receiver wants data to leave (5.2.3); 0: at once."""
        self.recovered = 0
        """Blocks sent because an earlier request for them must have been lost."""
        self.closed = False
        """The receiver has all and has said goodbye."""
        self.size = size
        """Bytes of data in a segment."""
        self._next = 0
        """SND.NXT: the highest byte sent, plus one."""
        self._clock = -1
        """Of the latest request. One that was overtaken, or comes twice, says nothing new."""
        self._recent = RecentBlocks()
        self._throttle: int | None = None
        """Nothing from here on is given out although it is written; None: all is."""
        self._told: int | None = None
        """The receiver believes that nothing from here on is there; None: it may ask."""

    @property
    def available(self) -> int:
        """All before this byte may be asked for."""
        written = self.content.written
        return written if self._throttle is None else min(written, self._throttle)

    def throttle(self, limit: int | None) -> list[Segment]:
        """Give out nothing from that byte on; None: all. What the receiver must hear."""
        self._throttle = limit
        return self.news()

    def news(self) -> list[Segment]:
        """To be called when more was written, or the end: what a waiting receiver must hear."""
        if self._told is None or not (self.available > self._told or self._ends(self.available)):
            return []
        self._told = None
        return [self._limit()]

    def received(self, segment: Segment) -> list[Segment]:
        """What goes to the receiver now. Raises PeerError; then nothing has changed."""
        match segment:
            case Req():
                return list(self._answer(segment)) if self._is_news(segment) else []
            case Fin():
                if not self.content.ended or segment.length != self.content.written:
                    raise PeerError("the receiver leaves with another stream than this one")
                self.closed = True
                self.content.purge(segment.length)
                return [segment]
            case _:
                raise PeerError("a receiver says no such thing")

    def _is_news(self, request: Req) -> bool:
        if request.deq > self.content.written:
            raise PeerError("the receiver has what was never written")
        return request.clock > self._clock

    def _answer(self, request: Req) -> Iterator[Segment]:
        self._clock, self.rate = request.clock, request.rate
        self.content.purge(request.deq)
        self._next = max(self._next, request.deq)  # others may have sent it
        end, credit = request.deq, MOST_AT_ONCE
        ranges = []
        for block in self._recent.missing(request.blocks):
            self.recovered += block.clock < request.clock
            ranges.append((block.begin, block.end))
        if not request.pull:
            ranges.append((self._next, request.upto))
        told = said = False
        for begin, wanted in ranges:
            end = max(end, wanted)
            for segment in self._cut(begin, min(wanted, begin + credit)):
                credit -= len(segment.data)
                told = told or segment.throttled or segment.fin
                said = True
                yield segment
        # Of a pull for what came otherwise meanwhile nothing is left but that somebody is there.
        if end > self.available or (ranges and request.pull and not said):
            self._told = self.available
            if not told:
                yield self._limit()

    def _cut(self, begin: int, end: int) -> Iterator[DataSegment]:
        """A range in segments, as far as it is there."""
        available = self.available
        begin = max(begin, self.content.purged)
        end = min(end, available)
        while begin < end:
            upto = min(begin + self.size, end)
            fin = self._ends(upto)
            self._next = max(self._next, upto)
            data = self.content.slice(begin, upto)
            yield DataSegment(self._clock, begin, data, fin, upto == available and not fin)
            begin = upto

    def _limit(self) -> Limit:
        return Limit(max(0, self._clock), self.available, self._ends(self.available))

    def _ends(self, at: int) -> bool:
        return self.content.ended and at == self.content.written

    def __repr__(self) -> str:
        return f"<RcpSender SND.NXT {self._next} of {self.content.written}>"
