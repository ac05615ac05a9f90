"""Asks for a stream and puts it together: the end of RCP that decides everything (3.2, 3.3). Pure.

It joins what else knows nothing of each other: what to ask for next (pending.py), how much may be
asked for now and what is lost (pipe.py), room and order (receive_buffer.py), recent blocks.

Requests go when DATA has made room in the window, for two segments at a time where there is no
haste, as acknowledgements do. New data is asked for in cumulative mode, holes by pull; `pulls`
asks for all by pull, as a pipe beside others must (4.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transport.rcp.goodbye import RcpGoodbye
from transport.rcp.pending import ByteRange
from transport.rcp.persist import Persist
from transport.rcp.pipe import Ask
from transport.rcp.pipe_requests import BATCH, PipeRequests
from transport.rcp.received_stream import ReceivedStream
from transport.rcp.segments import MOST_BLOCKS, Block, DataSegment, Fin, Limit, Req, Segment
from transport.rcp.settings import RcpSettings
from transport.spp.congestion.interface import Congestion
from wire.errors import PeerError


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
        self._asking = PipeRequests(self._settings, congestion)
        self.pipe = self._asking.pipe
        self._stream = ReceivedStream(self._settings.buffer, lambda: (self.pipe,))
        self.buffer, self.pending = self._stream.buffer, self._stream.pending
        self.goodbye = RcpGoodbye()
        self.probes = self.reminders = 0
        """Requests to a sender that throttles, and such as asked for nothing new, so far."""
        self._frozen = False
        self._persist = Persist()

    def begin(self, *, size: int, round_trip: float | None) -> None:
        """The handshake has agreed to that size of segments, and has taken so many seconds."""
        self._asking.begin(size=size, round_trip=round_trip)

    @property
    def size(self) -> int:
        """Bytes of data in a segment."""
        return self._asking.size

    def release_at(self, rate: int) -> None:
        """Requests tell the sender's timer so many bytes/second (5.2.3); 0: none."""
        self._asking.rate = rate

    @property
    def done(self) -> bool:
        """All of the stream has arrived."""
        return self._stream.done

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
        self._asking.asked()
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
                self._stream.throttle(segment.limit)
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
        timers = (
            self.pipe.deadline(),
            self.pipe.reminder(),
            self._asking.delayed,
            self._persist.deadline,
        )
        return min((one for one in timers if one is not None), default=None)

    def on_timer(self, now: float) -> None:
        """A timer has come; `requests` says what follows from it."""
        deadline = self.pipe.deadline()
        if deadline is not None and deadline <= now and not self._frozen and not self.done:
            # The buffer is kept (3.3.5, iii): what has arrived is never asked for again.
            self._stream.ask_again(self.pipe.timed_out(now))

    def freeze(self, now: float) -> None:
        """The channel is bad: ask for nothing, and let no timer run (3.4.4)."""
        self._frozen = True

    def resume(self, now: float) -> None:
        """The channel is good again: what was under way at `freeze` is a hole, and no loss."""
        if not self._frozen:
            return
        self._frozen = False
        self._asking.delayed = None
        self._persist.clear()
        asks = self.pipe.under_way()
        for one in asks:
            self.pipe.cancel(one)
        self._stream.ask_again(asks)

    def _data(self, segment: DataSegment, now: float) -> None:
        self._heard(segment.echo, segment.end, fin=segment.fin, now=now, measure=True)
        self._stream.hear(segment)
        if not self._stream.accept(segment):
            return
        lost: list[Ask] = []
        for one in self._stream.answered(self.pipe, segment):
            lost += self.pipe.came(one, segment.echo, now)
        lost = [one for one in lost if self.pipe.find(one.begin) is one]
        if lost:
            self.pipe.lose(lost, now)
            self._stream.ask_again(lost)

    def _heard(self, echo: int, end: int, *, fin: bool, now: float, measure: bool = False) -> None:
        """Checks what any answer says of the stream's end, and takes note of it."""
        self._stream.check(end, fin=fin)
        self.pipe.echoed(echo, now, measure=measure)
        if fin:
            self._stream.ends(end)

    def _request(self, now: float) -> Req | None:
        """The next request; None: there is nothing to ask for, or no room for it."""
        packets = self._asking.packets(hole=self.pending.holes)
        holes = self._take_holes(packets)
        fresh = self._take_new(packets - len(holes), now, hasty=bool(holes))
        if not holes and fresh is None:
            return None
        new = () if fresh is None else (fresh,)
        blocks = self._asking.blocks(holes)
        self._asking.ask(holes, pulled=True, now=now)
        if self._pulls:
            blocks += self._asking.blocks(new)
        self._asking.ask(new, pulled=self._pulls, now=now)
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
        due = self._persist.due(now, throttled=self.throttled, timeout=self.pipe.timeout)
        end = min(self.buffer.next + self.size, self.buffer.read_upto + self.buffer.capacity)
        if due and end > self.buffer.next:
            self.probes += 1
            block = Block(self.pipe.clock, self.buffer.next, end)
            yield self._say((block,), now, pull=True)

    def _say(self, fresh: Sequence[Block], now: float, *, pull: bool) -> Req:
        """A request with these new blocks and the recent ones."""
        deq = self.buffer.next
        upto = deq if pull else self.pending.next
        return self._asking.say(fresh, now, deq=deq, upto=upto, pull=pull)

    def _take_holes(self, packets: int) -> list[ByteRange]:
        found: list[ByteRange] = []
        most = MOST_BLOCKS - self._pulls
        while self.pending.holes and len(found) < min(packets, most):
            found.append(self.pending.take_hole())
        return found

    def _take_new(self, packets: int, now: float, *, hasty: bool) -> ByteRange | None:
        """New data for at most so many packets, whose places are taken; None: not now."""
        if self.pending.holes:
            self._asking.delayed = None
            return None
        size = self.size
        most = size * min(packets, self.buffer.room // size)
        available = self.pending.available()
        rest = available is not None and available <= most
        if rest:
            most = available or 0
        if most <= 0:
            self._asking.delayed = None
            return None
        hasty = hasty or rest or most >= BATCH * size
        if not (hasty or self.buffer.out_of_order or self.pipe.idle or self._asking.due(now)):
            return None
        self._asking.delayed = None
        taken = self.pending.take_new(most)
        if taken is not None:
            self.buffer.reserve(taken.end)
        return taken
