"""The Control unit: decides when packets that are to be sent may leave, so that some are streams.

    unit = ControlUnit(InlineMeasurement(packet=1200))
    unit.may_leave(waiting, window=window, now=now)     # how many of those that wait go now
    unit.left(number, now)                              # each of them, with its number
    unit.arrived(number, at, now)                       # or unit.lost(number, now)
    unit.wake                                           # when to ask again at the latest

Source: ImTCP, IV-B and IV-C, figure 9. What the paper leaves open, or has misprinted:
- A stream that fails, for want of packets, makes m larger: "decrement" where it fails would make
  the next one fail as well.
- A packet of a stream that comes when its time is over is one that lacks: it has another rate.
- The storing timer runs from the first packet that is stored: what is not there is not delayed.
- A stream of which a packet is lost has failed too, and is sent again; it says nothing of m.
- Streams of one measurement follow each other without waiting for what those before have found, as
  the paper has them; one whose measurement has ended meanwhile, two trends early, is passed over.
- Before the first result A is what the window carries in a round trip: TCP's self-clocking, by
  which equation 3 is explained.

Pure: packets are numbers, and the buffer is whoever holds those that wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Final

from monitor.inline.measurement import InlineMeasurement, InlineResult
from monitor.inline.stream import MeasurementStream, StreamTimes

LEAST_STORED: Final = 2
"""The least m."""
SUCCESSES: Final = 2
"""F: measurements in a row whose streams all had their packets, after which m is one less."""
LATE: Final = 1.0
"""Of the interval before a packet of a stream, by which it may leave later than it is to: then it
left at half the rate. With .5 a connection over 1.6 Mbit/s stores so much that it gets .976 of
Reno's throughput instead of .983. A burst may have gaps: it is but a rough beginning."""

OVERDUE: Final = 2.0
"""Retransmission timeouts (RFC 6298) after which a stream is given up,"""
LEAST_OVERDUE: Final = 0.2
"""and seconds more."""


class State(Enum):
    """Figure 9."""

    STORE = "store packet"
    PASS = "pass packet"
    SEND = "send stream"
    EMPTY = "empty buffer"


@dataclass(slots=True)
class _Sent:
    """A stream that is leaving, or has left and is not heard of in full."""

    stream: MeasurementStream
    attempt: int
    """It says something as long as this is the present one."""
    began: float
    numbers: list[int] = field(default_factory=list)
    left: list[float] = field(default_factory=list)
    arrived: dict[int, float] = field(default_factory=dict)
    failed: bool = False

    @property
    def due(self) -> float:
        """When its next packet is to leave."""
        return self.began + self.stream.offsets[len(self.numbers)]

    @property
    def interval(self) -> float:
        """Seconds that are to lie between its last packet and the next one."""
        at, offsets = len(self.numbers), self.stream.offsets
        return offsets[at] - offsets[at - 1] if at else inf

    @property
    def full(self) -> bool:
        return len(self.numbers) == self.stream.count

    @property
    def heard(self) -> bool:
        return len(self.arrived) == self.stream.count


class ControlUnit:
    """Makes streams of one connection's packets, and tells the measurement how they came."""

    def __init__(
        self,
        measurement: InlineMeasurement,
        *,
        pause: Callable[[], float] = lambda: 0.0,
        resolution: float = 0.0,
    ) -> None:
        """`pause`: round trips from a result to the next measurement, asked at each result.
        `resolution`: seconds below which two arrivals can't be told apart."""
        self._measurement, self._pause, self._resolution = measurement, pause, resolution
        self._least = self.count
        self._succeeded = 0
        self._short = False
        """A stream of this measurement had too few packets."""
        self._sent: deque[_Sent] = deque()
        self._leaving: _Sent | None = None
        self._attempt = 0
        self._stored_since: float | None = None
        self._not_before = -inf
        self._round_trip = self._deviation = 0.0
        self._window = 0
        self._counted, self._counted_since, self._rate = 0, 0.0, 0.0
        """Packets that left since then; bytes/second in the round trip before."""
        self.state = State.STORE
        self.wake: float | None = None
        """When `may_leave` is to be asked again, come what may until then; None: no such time."""
        self.streams = self.failures = 0
        """Streams that left, and that were given up."""

    @property
    def count(self) -> int:
        """N: packets of a stream."""
        return self._measurement.stream.count

    @property
    def stored(self) -> int:
        """m: packets with which a stream begins."""
        return self._least

    @property
    def latest(self) -> InlineResult | None:
        """The newest result."""
        return self._measurement.latest

    def round_trip(self, mean: float, deviation: float) -> None:
        """A_RTT and D_RTT of the connection's retransmission timer (RFC 6298), seconds."""
        self._round_trip, self._deviation = mean, deviation

    def may_leave(self, waiting: int, *, window: int, now: float) -> int:
        """How many of the `waiting` packets leave now; `window`: packets that may be under way.

        Each that does is told to `left`, and this is asked again, until it says none.
        """
        self._window, self.wake = window, None
        self._give_up(now)
        if self.state is State.PASS and self._passed(now):
            self._store()
        if self.state is State.SEND and self._lacks(waiting, now):
            self._fail()
        if self.state is State.STORE:
            self._stores(waiting, now)
        if self.state is State.SEND:
            return self._of_stream(waiting, now)
        if self.state is State.EMPTY:
            self._store()
            return waiting
        return waiting if self.state is State.PASS else 0

    def left(self, number: int, now: float) -> None:
        """The packet left; what is sent again has its number again, and is no stream's."""
        self._count(now)
        leaving = self._leaving
        if leaving is None:
            return
        leaving.numbers.append(number)
        leaving.left.append(now)
        if leaving.full:
            self._leaving = None
            self._sent.append(leaving)
            self.streams += 1
            self.state = State.PASS if self._next() is None else State.EMPTY

    def arrived(self, number: int, at: float, now: float) -> InlineResult | None:
        """The packet came, at that time by whoever's clock; the result, if that is one."""
        sent = self._stream_of(number)
        if sent is None or number in sent.arrived:
            return None
        sent.arrived[number] = at
        return self._conclude(now)

    def lost(self, number: int, now: float) -> InlineResult | None:
        """The packet did not come: its stream says nothing. The result, if that leaves one."""
        sent = self._stream_of(number)
        if sent is None:
            return None
        sent.failed = True
        if sent is self._leaving:
            self._leaving, self.state = None, State.EMPTY
            self.failures += 1
            return None
        return self._conclude(now)

    def forget(self) -> None:
        """All that is under way will be sent again (a timeout), or goes another way."""
        self._leaving = None
        self._sent.clear()
        self._attempt += 1
        self._store()

    # -- states --------------------------------------------------------------------------------

    def _store(self) -> None:
        self.state, self._stored_since = State.STORE, None

    def _stores(self, waiting: int, now: float) -> None:
        """STORE PACKET: until there are m, too few may come, or the time is over."""
        if self._window < self.count:
            self.state = State.EMPTY
            return
        if not waiting:
            return
        if self._stored_since is None:
            self._stored_since = now
        if waiting >= min(self._least, self.count):
            stream = self._next()
            if stream is None:
                self.state = State.PASS
                return
            self._leaving = _Sent(stream, self._attempt, now)
            self.state = State.SEND
            return
        over = self._stored_since + self._patience()
        if now >= over:
            self.state = State.EMPTY
        else:
            self.wake = over

    def _count(self, now: float) -> None:
        """How fast packets leave, and come for that: in round trips, one after the other."""
        if now - self._counted_since >= self._round_trip > 0.0:
            packets, took = self._counted, now - self._counted_since
            self._rate = packets * self._measurement.packet / took
            self._counted, self._counted_since = 0, now
        self._counted += 1

    def _next(self) -> MeasurementStream | None:
        """The stream behind those that are under way; None: the measurement has no more."""
        unheard = sum(one.attempt == self._attempt for one in self._sent)
        if not unheard and self._rate:
            self._measurement.at_least(self._rate)
        return self._measurement.ahead(unheard)

    def _of_stream(self, waiting: int, now: float) -> int:
        """SEND STREAM: the packets whose time it is."""
        leaving = self._leaving
        assert leaving is not None
        if now < leaving.due:
            self.wake = leaving.due
            return 0
        return min(waiting, 1)

    def _lacks(self, waiting: int, now: float) -> bool:
        """Whether the packet whose time it is is not there, or came when it was over."""
        leaving = self._leaving
        assert leaving is not None
        if not waiting:
            return now >= leaving.due
        return leaving.stream.covers is not None and now - leaving.due > LATE * leaving.interval

    def _fail(self) -> None:
        """The stream that was leaving is none: the next one begins with one packet more."""
        self._leaving, self._short = None, True
        self.failures += 1
        self._least = min(self._least + 1, self.count)
        self._store()

    def _passed(self, now: float) -> bool:
        """PASS PACKET: whether the next measurement, or stream, may begin."""
        if self._sent:
            return False
        if now < self._not_before:
            self.wake = self._not_before
            return False
        return True

    def _patience(self) -> float:
        """T: seconds for which packets are stored (IV-C.3)."""
        latest, packet = self._measurement.latest, self._measurement.packet
        if latest is not None:
            rate = latest.available
        else:
            rate = self._window * packet / max(self._round_trip, 1e-6)
        return packet / rate * (self.count - 1) + 4 * self._deviation

    def _give_up(self, now: float) -> None:
        """A stream of which nothing is heard for long says nothing: its packets were there before,
        sent once more in vain, or the acknowledgements are lost."""
        while self._sent and now >= (over := self._sent[0].left[-1] + self._longest()):
            del self._sent[0]
            self.failures += 1
            self._attempt += 1
        if self._sent and self.state is State.PASS:
            self.wake = over

    def _longest(self) -> float:
        """Seconds within which a packet's acknowledgement comes, or it never does."""
        return OVERDUE * (self._round_trip + 4 * self._deviation) + LEAST_OVERDUE

    # -- what is heard ---------------------------------------------------------------------------

    def _stream_of(self, number: int) -> _Sent | None:
        if self._leaving is not None and number in self._leaving.numbers:
            return self._leaving
        return next((one for one in self._sent if number in one.numbers), None)

    def _conclude(self, now: float) -> InlineResult | None:
        """Tells of the streams that are heard of in full, in the order in which they left."""
        found = None
        while self._sent and (self._sent[0].heard or self._sent[0].failed):
            sent = self._sent.popleft()
            if sent.attempt != self._attempt:
                continue  # its measurement has ended without it, or begins anew before it
            if sent.failed:
                self.failures += 1
                self._attempt += 1
                continue
            came = [sent.arrived[number] for number in sent.numbers]
            times = StreamTimes(sent.left, came)
            found = self._measurement.observed(times, resolution=self._resolution) or found
            if found is not None:
                self._attempt += 1
                self._judge()
                self._not_before = now + self._pause() * self._round_trip
        return found

    def _judge(self) -> None:
        """After a measurement: m is one less if enough in a row had their packets."""
        self._succeeded = 0 if self._short else self._succeeded + 1
        self._short = False
        if self._succeeded == SUCCESSES:
            self._succeeded = 0
            self._least = max(self._least - 1, LEAST_STORED)
