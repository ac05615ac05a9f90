"""Decides how much may be asked for now over one path, and what of it is lost. Pure.

A pipe (4.1.3) has the congestion control, the round trip, and the account of what was asked for and
has not come. Each ask has a local number, which is never used again: what is lost is asked for
anew, here or by another pipe, as a new ask. So the pipe knows nothing of the stream's order.

Loss (3.3.5): an ask is lost once three that were asked for after it have come. The same holds for
every hole and for what was asked for again, for an echo tells which request DATA answers: neither a
request nor DATA that is lost twice costs a timeout. Only silence does: nothing came since the last
request, which covers all before it, for the time that RFC 6298 reckons. Before that a reminder
goes, a request for nothing new: it costs the way forward nothing unless requests were lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Final

from transport.spp.congestion.interface import Congestion
from transport.spp.congestion.round_trip import RoundTrip
from wire.errors import PeerError

THRESHOLD: Final = 3
"""Arrivals out of order (RFC 5681, 6675)."""
LEAST_TIMEOUT: Final = 0.2
"""Seconds, as kernels have it now; RFC 6298 would have 1 s."""
MOST_TIMEOUT: Final = 60.0
"""Seconds (RFC 6298, 2.5)."""
_WORDS: Final = 3
"""Words in a row that tell that a path has become longer,"""
_LONGER: Final = 2.0
"""by so many times what answers took, queue included,"""
_MUCH: Final = 0.1
"""and by more than so many seconds: acknowledgements may wait."""
_LESS: Final = 0.9
"""Of what a path was thought to carry: less than that is a fall, more is how it varies."""
_REMEMBERED: Final = 1024
"""Requests whose time is kept: an echo of an older one measures nothing."""


@dataclass(slots=True)
class Ask:
    """One segment that was asked for."""

    number: int
    """Local: in the order of asking."""
    begin: int
    end: int
    """Bytes of the stream that it carries (in R2CP the global range)."""
    size: int
    """Bytes of the packet that is expected."""
    clock: int
    """The request that asked."""
    at: float
    pulled: bool
    later: int = 0
    """Arrivals of what was asked for after it."""
    kept: bool = False
    """The sender keeps it until it is there (standing pulls)."""
    stood_since: float = inf
    """It was asked for then and kept so: when it comes says nothing of the round trip."""
    late_at: float = inf
    """By then it should have come, as far as the path's rate was known when it was asked for."""

    @property
    def stood(self) -> bool:
        """It was there later than it was asked for."""
        return self.stood_since < inf

    def waited(self, echo: int) -> bool:
        """Whether it may have, where the answer to that request brings it: when it comes says
        nothing of the round trip."""
        return self.stood or (self.kept and echo < self.clock)


class Pipe:
    """The requests of one receiver to one sender over one path."""

    def __init__(self, congestion: Congestion, *, segment: int) -> None:
        """`segment`: bytes of a full packet, headers included, as congestion counts them."""
        self.congestion = congestion
        self.round_trip = RoundTrip()
        self.clock = 0
        """Number of the next request."""
        self.in_flight = 0
        """Bytes that were asked for, and neither came nor are lost."""
        self.rate = 0.0
        """Bytes/second that it is thought to carry; 0: nobody knows."""
        self._believed = 0.0
        """Bytes/second that its sender may think yet that it carries,"""
        self._believed_until = float("-inf")
        """and for how long."""
        self.timeouts = self.lost = self.spared = 0
        """Timeouts; asks that were lost; those of them that were no sign of congestion."""
        self._segment = segment
        self._number = 0
        self._asks: dict[int, Ask] = {}
        """By begin, in the order of asking: a range is under way once at most."""
        self._times: dict[int, float] = {}
        self._limited = False
        self._newest = self._quiet = float("-inf")
        """When something was last asked for, or came; the same, whatever reminders went since."""
        self._backoff = 1
        self._reminded = False
        self.fast = False
        """A window of losses has begun: one segment may be asked for again whatever the window
        says, as RFC 6675 (5, step 4.3) has it."""
        self._recovery_from = float("-inf")
        self._crossed: deque[float] = deque(maxlen=_WORDS)
        """Seconds of the latest round trips of words."""
        self._queue: float | None = None
        """Seconds that answers waited beyond the least, smoothed, since something is under way;
        None: none has come since."""

    @property
    def delay(self) -> float:
        """Seconds that an answer takes now. Its queue is of data, and gone once nothing is under
        way, though the last round trips that were measured had it."""
        return self.round_trip.least + (0.0 if self.idle else self._queue or 0.0)

    @property
    def room(self) -> float:
        """Bytes of packets that may be asked for now."""
        return self.window - self.in_flight

    @property
    def window(self) -> float:
        """Bytes of packets that may be under way."""
        return self.congestion.allowance(self.round_trip)[0]

    @property
    def idle(self) -> bool:
        """Nothing is under way."""
        return not self._asks

    @property
    def timeout(self) -> float:
        """Seconds of silence after which all is lost (RFC 6298)."""
        return min(MOST_TIMEOUT, self._patience * self._backoff)

    def carries(self, rate: float, now: float) -> None:
        """It is thought to carry so many bytes/second from now on. What its sender gives it before
        it can have heard of that was chosen as if it came as fast as before."""
        if rate < _LESS * self.rate:
            if now >= self._believed_until:
                self._believed = self.rate
            self._believed_until = now + self.round_trip.smoothed
        self.rate = rate

    def begin_request(self, now: float) -> int:
        """A request goes: its clock."""
        clock = self.clock
        self.clock += 1
        self._times[clock] = now
        if len(self._times) > _REMEMBERED:
            del self._times[next(iter(self._times))]
        return clock

    def ask(
        self,
        begin: int,
        end: int,
        *,
        size: int,
        clock: int,
        pulled: bool,
        now: float,
        stood_since: float = inf,
    ) -> Ask:
        """A request asks for this segment, whose packet will have `size` bytes (`send()`).
        `stood_since`: one did so then, and the packet is on its way."""
        one = Ask(self._number, begin, end, size, clock, now, pulled, stood_since=stood_since)
        self._number += 1
        if not self._asks:
            self._queue = None
        if begin in self._asks:
            self._remove(self._asks[begin])  # this answers for it from now on
        self._asks[begin] = one
        self.in_flight += size
        if self.rate:
            trip = self.round_trip.least if one.stood else 0.0
            rate = max(self.rate, self._believed if now < self._believed_until else 0.0)
            one.late_at = now + max(LEAST_TIMEOUT, self._patience - trip) + self.in_flight / rate
        self.congestion.sent(size, under_way=self.in_flight, now=now)
        self._newest = self._quiet = now
        self._reminded = False
        return one

    def asked(self, *, window_full: bool) -> None:
        """Nothing more is asked for now. `window_full`: because the window allows no more."""
        self._limited = window_full

    def find(self, begin: int) -> Ask | None:
        """What is under way from this byte on."""
        return self._asks.get(begin)

    def asks(self) -> Iterator[Ask]:
        """All that is under way, in the order of asking, while nothing changes."""
        return iter(self._asks.values())

    def under_way(self) -> list[Ask]:
        """A list of all that is under way, in the order of asking: it may change meanwhile."""
        return list(self._asks.values())

    def echoed(self, clock: int, now: float, *, measure: bool = True) -> None:
        """The sender answers that request, `measure`: at once. Raises PeerError: it never went."""
        if clock >= self.clock:
            raise PeerError("the sender answers what nobody asked")
        sent = self._times.get(clock)
        if measure and sent is not None:
            self.round_trip.measured(now - sent, delay=0.0)
            more = now - sent - self.round_trip.least
            before = more if self._queue is None else self._queue
            self._queue = before + (more - before) / 8
            self._backoff = 1  # not before a round trip is known (Karn): it may be a longer one
        self._newest = self._quiet = now
        self._reminded = False

    def crossed(self, trip: float, now: float) -> None:
        """Something was sent over there and acknowledged after `trip` seconds, whatever was asked
        for. Answers that come after all was given up for lost measure nothing: where a path has
        become much longer, as by another route, these words alone tell; and soonest where it has
        become shorter."""
        self.round_trip.at_most(trip)
        if trip <= self._patience:
            self._backoff = 1  # it is as long as it was
        self._crossed.append(trip)
        lately = min(self._crossed)
        if len(self._crossed) < _WORDS or lately < _LONGER * self.round_trip.smoothed + _MUCH:
            return
        self.round_trip.forget()
        self.round_trip.measured(lately, delay=0.0)
        self.congestion.timed_out(now=now)  # what it knows is of another path
        self._crossed.clear()
        self._queue, self._backoff = None, 1

    def came(self, one: Ask, echo: int, now: float, *, spared: int = 0) -> list[Ask]:
        """An ask was answered (`recv()`), by a packet that many bytes smaller than was expected.
        Those that are lost by this, still under way."""
        self._remove(one)
        early = echo < one.clock
        if not one.waited(echo):
            size = max(0, one.size - spared)
            self.congestion.acknowledged(size, sent_at=one.at, now=now, limited=self._limited)
        if early:
            return []  # the answer to an earlier request says nothing of what came after that
        lost = []
        for other in self._asks.values():
            if other.number > one.number:
                break
            if one.pulled and not other.pulled:
                continue  # the sender answers blocks first
            if echo < other.clock:
                continue  # that one stood, and was sent before the sender heard of this
            if other.kept and other.begin > one.begin:
                continue  # of what it keeps, the sender gives the first bytes first
            if other.stood and now < other.stood_since + self.round_trip.smoothed:
                continue  # the sender may not have heard of it before it gave the others
            other.later += 1
            if other.later == THRESHOLD:  # once, though several answers may come before it is lost
                lost.append(other)
        return lost

    def lose(self, asks: Iterable[Ask], now: float, *, spared: Iterable[Ask] = ()) -> None:
        """They are lost (`loss()`); `spared` ones are too, but not for congestion (3.4.2)."""
        size, sent_at = 0, float("-inf")
        for one in asks:
            self._remove(one)
            self.lost += 1
            size, sent_at = size + one.size, max(sent_at, one.at)
        for one in spared:
            self._remove(one)
            self.lost += 1
            self.spared += 1
        if size and sent_at > self._recovery_from:
            self._recovery_from, self.fast = now, True
        if size:
            self.congestion.lost(size, sent_at=sent_at, now=now)

    def cancel(self, one: Ask) -> None:
        """It will not be sent, and that says nothing of the path."""
        self._remove(one)

    def shorten(self, one: Ask, end: int) -> None:
        """Only the bytes before `end` will be sent."""
        one.end = end

    def reminder(self) -> float | None:
        """When silence is worth a reminder; None: nothing is under way, or it has gone."""
        if self._reminded or not self._asks:
            return None
        return self._newest + self.round_trip.smoothed + 2 * self.round_trip.variation

    def remind(self, now: float) -> None:
        """A reminder goes, which covers all that is under way."""
        self._newest, self._reminded = now, True

    def deadline(self) -> float | None:
        """When silence becomes a timeout; None: nothing is under way."""
        return self._newest + self.timeout if self._asks else None

    def silence(self) -> float | None:
        """When silence is long enough to doubt the path, which no reminder puts off; None: nothing
        is under way."""
        return self._quiet + self.timeout if self._asks else None

    def timed_out(self, now: float) -> list[Ask]:
        """The deadline has come: all that is under way, which is lost now."""
        asks = self.under_way()
        self.lose(asks, now)
        self.congestion.timed_out(now=now)
        self.timeouts += 1
        self.fast = False
        self._backoff = min(2 * self._backoff, 64)
        return asks

    @property
    def _patience(self) -> float:
        """The same, of a path that is as long as it was."""
        trip, own = self.round_trip, self._segment / self.rate if self.rate else 0.0
        return max(LEAST_TIMEOUT, trip.smoothed + 4 * trip.variation) + own

    def _remove(self, one: Ask) -> None:
        del self._asks[one.begin]
        self.in_flight -= one.size

    def __repr__(self) -> str:
        return f"<Pipe {self.in_flight} bytes of {self.congestion!r} under way>"
