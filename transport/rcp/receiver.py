"""Asks for a stream and puts it together: the end of RCP that decides everything (3.2, 3.3). Pure.

It joins what else knows nothing of each other: what to ask for next (pending.py), how much may be
asked for now and what is lost (pipe.py), room and order (receive_buffer.py), recent blocks.

Requests go when DATA has made room in the window, for two segments at a time where there is no
haste, as acknowledgements do. New data is asked for in cumulative mode, holes by pull; `pulls`
asks for all by pull, as a pipe beside others must (4.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from transport.rcp.goodbye import RcpGoodbye
from transport.rcp.pending import ByteRange, PendingRanges
from transport.rcp.pipe import Ask, Pipe
from transport.rcp.receive_buffer import ReceiveBuffer
from transport.rcp.recent_blocks import RecentBlocks
from transport.rcp.segments import MOST_BLOCKS, Block, DataSegment, Fin, Limit, Req, Segment
from transport.rcp.settings import RcpSettings
from transport.spp.congestion.interface import Congestion
from transport.spp.congestion.new_reno import NewReno
from wire.errors import PeerError

_BATCH: Final = 2
"""Segments of a request where nothing is in haste (RFC 5681, 4.2, of acknowledgements)."""
_LONGEST_PERSIST: Final = 10.0
"""Seconds between two probes of a sender that throttles."""


class RcpReceiver:
    """Receives one stream from one sender over one path."""

    def __init__(
        self,
        settings: RcpSettings | None = None,
        congestion: Congestion | None = None,
        *,
        pulls: bool = False,
    ) -> None:
        self._settings = settings or RcpSettings()
        self._pulls = pulls
        self.size = self._settings.size
        """Bytes of data in a segment."""
        packet = self._settings.packet
        self.pipe = Pipe(congestion or NewReno(segment=packet), segment=packet)
        self.buffer = ReceiveBuffer(self._settings.buffer)
        self.pending = PendingRanges()
        self.goodbye = RcpGoodbye()
        self.rate = 0
        """Bytes/second that requests tell the sender's timer (5.2.3); 0: none."""
        self.probes = self.reminders = 0
        """Requests to a sender that throttles, and such as asked for nothing new, so far."""
        self._recent = RecentBlocks()
        self._frozen = False
        self._delayed: float | None = None
        """When a request for a single segment goes; None: none waits."""
        self._persist: float | None = None
        """When the sender that throttles is asked again; None: it does not."""
        self._persists = 0

    def begin(self, *, size: int, round_trip: float | None) -> None:
        """The handshake has agreed to that size of segments, and has taken so many seconds."""
        self.size = min(size, self.size)
        if round_trip is not None:
            self.pipe.round_trip.measured(round_trip, delay=0.0)

    @property
    def done(self) -> bool:
        """All of the stream has arrived."""
        return self.pending.length is not None and self.buffer.next == self.pending.length

    @property
    def throttled(self) -> bool:
        """Persist mode (5.2.2): all that the sender has so far is here."""
        return not self.done and self.pipe.idle and self.pending.available() == 0

    def read(self) -> bytes:
        """The bytes that are in order; their places are free for other requests."""
        return self.buffer.read()

    def requests(self, now: float) -> list[Req | Fin]:
        """What goes to the sender now."""
        if self._frozen:
            return []
        if self.done:
            return list(self.goodbye.to_send(self.buffer.next, now, self.pipe.timeout))
        made: list[Req | Fin] = []
        while (request := self._request(now)) is not None:
            made.append(request)
        # A window with room for one segment is full: that one waits for a second.
        self.pipe.asked(window_full=self.pipe.room < _BATCH * self._settings.packet)
        made += self._reminder(now)
        made += self._probe(now)
        return made

    def received(self, segment: Segment, now: float) -> None:
        """Takes in what the sender says. Raises PeerError; then nothing has changed."""
        if self._frozen:
            return
        match segment:
            case DataSegment():
                self._data(segment, now)
            case Limit():
                self._heard(segment.echo, segment.limit, fin=segment.fin, now=now)
                self._throttle(segment.limit)
            case Fin():
                self.goodbye.answered(segment.length, done=self.buffer.next if self.done else None)
            case _:
                raise PeerError("a sender says no such thing")

    def corrupted(self, begin: int, echo: int, now: float) -> None:
        """Whoever knows says that this DATA was lost in the air: ELN (3.4.2).

        Such a hole is asked for again at once, and the window stays.
        """
        one = self.pipe.find(begin)
        if one is not None and echo >= one.clock and not self._frozen:
            self.pipe.lose((), now, spared=(one,))
            self.pending.put_back(one.begin, one.end)

    def next_timer(self) -> float | None:
        """When to call `on_timer`; None: only news changes anything."""
        if self._frozen:
            return None
        if self.done:
            return self.goodbye.deadline
        timers = (self.pipe.deadline(), self.pipe.reminder(), self._delayed, self._persist)
        return min((one for one in timers if one is not None), default=None)

    def on_timer(self, now: float) -> None:
        """A timer has come; `requests` says what follows from it."""
        deadline = self.pipe.deadline()
        if deadline is not None and deadline <= now and not self._frozen and not self.done:
            # The buffer is kept (3.3.5, iii): what has arrived is never asked for again.
            self._ask_again(self.pipe.timed_out(now))

    def freeze(self, now: float) -> None:
        """The channel is bad: ask for nothing, and let no timer run (3.4.4)."""
        self._frozen = True

    def resume(self, now: float) -> None:
        """The channel is good again: what was under way at `freeze` is a hole, and no loss."""
        if not self._frozen:
            return
        self._frozen = False
        self._delayed = self._persist = None
        asks = self.pipe.under_way()
        for one in asks:
            self.pipe.cancel(one)
        self._ask_again(asks)

    def _data(self, segment: DataSegment, now: float) -> None:
        self._heard(segment.echo, segment.end, fin=segment.fin, now=now, measure=True)
        if segment.throttled:
            self._throttle(segment.end)
        elif self.pending.limit is not None and segment.end >= self.pending.limit:
            self.pending.limit = None  # the sender has had more since
        if not self.buffer.accept(segment.begin, segment.data):
            return
        self.pending.arrived(segment.begin, segment.end)
        lost: list[Ask] = []
        for one in self._answered(segment):
            lost += self.pipe.came(one, segment.echo, now)
        lost = [one for one in lost if self.pipe.find(one.begin) is one]
        if lost:
            self.pipe.lose(lost, now)
            self._ask_again(lost)

    def _answered(self, segment: DataSegment) -> list[Ask]:
        one = self.pipe.find(segment.begin)
        if one is not None and one.end == segment.end:
            return [one]
        # The sender cut elsewhere than the requests did, for some of these are lost.
        return [one for one in self.pipe.under_way() if self.buffer.has(one.begin, one.end)]

    def _heard(self, echo: int, end: int, *, fin: bool, now: float, measure: bool = False) -> None:
        """Checks what any answer says of the stream's end, and takes note of it."""
        length = self.pending.length
        if length is not None and (end > length or (fin and end != length)):
            raise PeerError("the stream has two ends")
        if fin and end < self.buffer.top:
            raise PeerError("the stream ends before what it has sent")
        self.pipe.echoed(echo, now, measure=measure)
        if fin and length is None:
            self.pending.length = end
            self._withdraw(end)

    def _throttle(self, limit: int) -> None:
        """Nothing from there on may be asked for: what was is taken back, and is no loss."""
        if self.pending.limit is not None:
            limit = max(limit, self.pending.limit)
        self.pending.limit = max(limit, self.buffer.next)
        self._withdraw(self.pending.limit)

    def _withdraw(self, end: int) -> None:
        if self.pending.next <= end:
            return
        for one in self.pipe.under_way():
            if one.begin >= end:
                self.pipe.cancel(one)
            elif one.end > end:
                self.pipe.shorten(one, end)
        self.pending.retreat(end)
        self.buffer.release(end)

    def _ask_again(self, asks: Iterable[Ask]) -> None:
        for one in asks:
            if not self.buffer.has(one.begin, one.end):
                self.pending.put_back(one.begin, one.end)

    def _request(self, now: float) -> Req | None:
        """The next request; None: there is nothing to ask for, or no room for it."""
        packets = int(self.pipe.room // self._settings.packet)
        if self.pipe.fast and self.pending.holes:
            packets = max(1, packets)
            self.pipe.fast = False
        holes = self._take_holes(packets)
        fresh = self._take_new(packets - len(holes), now, hasty=bool(holes))
        if not holes and fresh is None:
            return None
        clock = self.pipe.clock
        blocks = _joined(clock, holes, self.size)
        for one in holes:
            self._ask(one, clock, pulled=True, now=now)
        if fresh is not None:
            if self._pulls:
                blocks.append(Block(clock, fresh.begin, fresh.end))
            self._ask_for_new(fresh, clock, now)
        return self._say(blocks, now, pull=fresh is None or self._pulls)

    def _reminder(self, now: float) -> Iterator[Req]:
        due = self.pipe.reminder()
        if due is not None and due <= now:
            self.reminders += 1
            self.pipe.remind(now)
            pull = self.pending.holes or self._pulls
            yield self._say((), now, pull=pull)

    def _probe(self, now: float) -> Iterator[Req]:
        """Asks a sender that throttles, ever more seldom, whether it does (RFC 9293, 3.8.6.1)."""
        if not self.throttled:
            self._persist, self._persists = None, 0
            return
        due = self._persist is not None and self._persist <= now
        if self._persist is None or due:
            self._persist = now + min(self.pipe.timeout * 2**self._persists, _LONGEST_PERSIST)
            self._persists = min(self._persists + 1, 16)
        end = min(self.buffer.next + self.size, self.buffer.read_upto + self.buffer.capacity)
        if due and end > self.buffer.next:
            self.probes += 1
            block = Block(self.pipe.clock, self.buffer.next, end)
            yield self._say((block,), now, pull=True)

    def _say(self, fresh: Sequence[Block], now: float, *, pull: bool) -> Req:
        """A request with these new blocks and the recent ones."""
        deq = self.buffer.next
        carried = self._recent.carried(fresh, deq=deq)
        upto = max(deq, self.pending.next)
        return Req(self.pipe.begin_request(now), deq, upto, pull, carried, self.rate)

    def _take_holes(self, packets: int) -> list[ByteRange]:
        found: list[ByteRange] = []
        most = MOST_BLOCKS - self._pulls
        while self.pending.holes and len(found) < min(packets, most):
            found.append(self.pending.take_hole())
        return found

    def _take_new(self, packets: int, now: float, *, hasty: bool) -> ByteRange | None:
        """New data for at most so many packets, whose places are taken; None: not now."""
        if self.pending.holes:
            self._delayed = None
            return None
        size = self.size
        most = size * min(packets, self.buffer.room // size)
        available = self.pending.available()
        rest = available is not None and available <= most
        if rest:
            most = available or 0
        if most <= 0:
            self._delayed = None
            return None
        hasty = hasty or rest or most >= _BATCH * size
        if not (hasty or self.buffer.out_of_order or self.pipe.idle or self._due(now)):
            return None
        self._delayed = None
        taken = self.pending.take_new(most)
        if taken is not None:
            self.buffer.reserve(taken.end)
        return taken

    def _due(self, now: float) -> bool:
        """A single segment has waited for a second one for long enough."""
        if self._delayed is None:
            self._delayed = now + self._settings.delay
        return self._delayed <= now

    def _ask_for_new(self, fresh: ByteRange, clock: int, now: float) -> None:
        size = self.size
        for begin in range(fresh.begin, fresh.end, size):
            one = ByteRange(begin, min(begin + size, fresh.end))
            self._ask(one, clock, pulled=self._pulls, now=now)

    def _ask(self, one: ByteRange, clock: int, *, pulled: bool, now: float) -> None:
        size = one.end - one.begin + self._settings.packet - self._settings.size
        self.pipe.ask(one.begin, one.end, size=size, clock=clock, pulled=pulled, now=now)


def _joined(clock: int, holes: Iterable[ByteRange], size: int) -> list[Block]:
    """Makes blocks of ranges; those that follow each other are one, which is cut as they are."""
    blocks: list[Block] = []
    whole = False
    for begin, end in holes:
        if whole and blocks[-1].end == begin:
            blocks[-1] = Block(clock, blocks[-1].begin, end)
        else:
            blocks.append(Block(clock, begin, end))
        whole = end - begin == size
    return blocks
