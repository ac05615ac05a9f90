"""Answers requests: the end of RCP that decides nothing (3.2). Pure.

It has a send buffer, SND.NXT, and the three most recent blocks that it sent by pull, and no timer:
whatever is lost, the receiver asks again. Only who has nothing to send tells the receiver so, and
tells it once more when there is something (5.2.2).

What a pull asks for and SEG.REQ covers is kept until it is there (standing pulls of HATS, 3.1). Of
such a sender the word on how much there is must arrive: whoever carries it repeats it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from transport.rcp.recent_blocks import RecentBlocks
from transport.rcp.segments import DataSegment, Fin, Limit, Req, Segment
from transport.rcp.send_buffer import Content
from wire.errors import PeerError

MOST_AT_ONCE: Final = 1 << 20
"""Bytes that one request gets at most, whatever it asks for, and what it has made the sender keep;
no receive buffer of ours is larger."""
_MOST_HELD: Final = 64
"""Ranges; of more the last are forgotten, and asked for again once their time is over."""


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
        self._held: list[tuple[int, int]] = []
        """Ranges that were asked for and are not there yet, or not wholly: by their begins; none
        overlaps another, so that each byte goes once however often it is asked for."""

    @property
    def available(self) -> int:
        """All before this byte may be asked for."""
        written = self.content.written
        return written if self._throttle is None else min(written, self._throttle)

    def throttle(self, limit: int | None) -> list[Segment]:
        """Give out nothing from that byte on; None: all. What the receiver must hear."""
        self._throttle = limit
        return self.news()

    @property
    def awaited(self) -> int:
        """The receiver waits for what is written before this byte."""
        return max((end for _, end in self._held), default=0)

    def asks_upto(self, segment: Segment) -> int:
        """The end of what a request asks for, which is best written before it is answered."""
        if not isinstance(segment, Req):
            return 0
        return max(0 if segment.pull else segment.upto, *(one.end for one in segment.blocks), 0)

    def news(self) -> list[Segment]:
        """To be called when more was written, or the end: what a waiting receiver must hear."""
        said: list[Segment] = list(self._give())
        if self._told is None or not (self.available > self._told or self._ends(self.available)):
            return said
        if not self._is_all(self.available):
            self._told = None
            return [*said, Limit(max(0, self._clock), self.available, more=True)]
        self._told = self.available if self._held else None
        return [*said, self._limit()]

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

    def keep(self, segment: Segment) -> list[Segment]:
        """A pull for what comes next, which must arrive, and may come late. Raises PeerError."""
        if not isinstance(segment, Req) or not segment.pull or self._clock < 0:
            raise PeerError("that is no standing pull")
        for block in segment.blocks:
            self._hold(block.begin, block.end)
        said: list[Segment] = list(self._give())
        self._told = self.available  # who asks so expects no more than that
        return said

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
            keep = min(wanted, request.upto)
            if request.pull and keep > self.available:
                self._hold(max(begin, self.available), keep)
        # Of a pull for what came otherwise meanwhile nothing is left but that somebody is there.
        if end > self.available or (ranges and request.pull and not said):
            self._told = self.available
            if not told:
                yield self._limit()

    def _hold(self, begin: int, end: int) -> None:
        """Keeps what of this range is not kept already."""
        fresh = []
        for low, high in self._held:
            if low > begin and begin < end:
                fresh.append((begin, min(low, end)))
            begin = max(begin, high)
        if begin < end:
            fresh.append((begin, end))
        self._held = sorted([*self._held, *fresh])[:_MOST_HELD]

    def _give(self) -> Iterator[DataSegment]:
        """What was asked for before it was there, as far as it is there now."""
        held, self._held = self._held, []
        credit = MOST_AT_ONCE
        for begin, end in held:
            at = begin
            for segment in self._cut(begin, min(end, begin + credit)):
                credit -= len(segment.data)
                at = segment.end
                yield segment
            if max(at, self.content.purged) < end:
                self._held.append((at, end))

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
            throttled = upto == available and not fin and self._is_all(available)
            yield DataSegment(self._clock, begin, data, fin, throttled)
            begin = upto

    def _limit(self) -> Limit:
        return Limit(max(0, self._clock), self.available, self._ends(self.available))

    def _is_all(self, available: int) -> bool:
        """Whether no request for more would get any now."""
        return self.content.dry or available < self.content.written

    def _ends(self, at: int) -> bool:
        return self.content.ended and at == self.content.written

    def __repr__(self) -> str:
        return f"<RcpSender SND.NXT {self._next} of {self.content.written}>"
