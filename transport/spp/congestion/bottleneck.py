"""Goes by what the bottleneck delivers, and by what a round trip takes without a queue. Pure.

    window = the most delivered within a least round trip, lately + more

(a usual one, where that is longer: usual_trip.py)

The model is BBR's (Cardwell and others, "BBR: Congestion-Based Congestion Control", 2016), the
search is the gate's (transport/gate/controller.py): while a window is used up, no queue shows and
as much more comes, `more` doubles; else it is a few packets, or what comes during the delays of
machines, where that is more. At the start the window doubles each
round, until packets wait. So the queue at the bottleneck stays short whatever its size, and a loss
in the air costs nothing but itself. What
was delivered is forgotten after some rounds, the least round trip after some seconds; then the
window is lowered for a round, to see it without our own queue. Where others keep the queue full,
the window is that of one more TCP (transport/contention/).
"""

from __future__ import annotations

from collections import deque
from typing import Final

from monitor.pauses import uncounted
from transport.contention.contention import Contention
from transport.contention.evidence import NewsOfArrival
from transport.contention.found_queue import RESTED, FoundQueue
from transport.contention.yielding import Yielding
from transport.spp.congestion.round_trip import RoundTrip
from transport.spp.congestion.tried_rate import AGAIN, TriedRate
from transport.spp.congestion.usual_trip import UsualTrip

INITIAL: Final = 10
"""Packets under way at first (RFC 6928)."""
_MORE: Final = 3
"""Packets above what the path holds."""
_LEAST: Final = 4
"""Packets that may always be under way."""
_TELLING: Final = 8
"""Packets in a row, all of which have waited if there is a queue; of a burst the first has not (RFC
9406, 4.2)."""
_ROUNDS: Final = 5
"""For which what was delivered counts."""
_FASTER: Final = 3.0
"""Times what the path holds by now, at most, while the window is searched for: what is measured is
a round trip old, and the window has doubled since."""
_ENOUGH: Final = 2.0
"""Times what the path holds are enough to find its rate."""
_FADED: Final = 0.5
"""Of what was delivered lately: a path that carries less is another one."""
_WAITED: Final = 2.0
"""Times what a round trip takes: one that was measured so had others before it."""
_SEVERAL: Final = 1.5
"""Times what comes: the path carries much more than is asked for."""
_SOME: Final = 1.1
"""The same: the path carries more, perhaps."""
_EXPIRY: Final = 10.0
"""Seconds for which the least round trip does."""
_AHEAD: Final = 0.25
"""Of what was asked for before a pause, and comes at its end before all else: eight times that is
no queue of others (transport/contention/found_queue.py)."""
_DRAINED: Final = 0.75
"""Of what the path holds, while it is seen anew."""
_DRAIN: Final = 2
"""Rounds: in the first the window is lower, in the second what it let go comes."""
_QUEUE: Final = 0.25
"""Of the least round trip: what is later has waited."""
_GRAIN: Final = 0.004
"""Seconds; timers and radios make as much."""


class BottleneckBased:
    """Finds and keeps the bottleneck's rate; implements Congestion."""

    def __init__(self, *, segment: int, competes: bool = True) -> None:
        """`segment`: bytes of a full packet. `competes`: others who fill the queue are given way to
        no more than TCP does."""
        self._segment = segment
        self._more = float(_MORE * segment)
        self._search = float(INITIAL * segment)
        """Bytes that may be under way while the rate is searched for; 0: it was found."""
        self._again_at = float("-inf")
        """When it may be searched for anew, and not sooner."""
        self._carries = 0.0
        """Bytes/second that it was seen to carry at most, since the search began."""
        self._settling = False
        """What was changed at the end of the round before can't be seen yet."""
        self._delivered = 0
        self._sent: deque[tuple[float, int]] = deque()
        """When packets left, and what had been delivered by then."""
        self._shown = 0.0
        """Bytes/second that it was seen to carry, last; 0: nothing was."""
        self._before_fade = 0.0
        """Bytes/second that it carried before it faded; 0: it has not, or is back."""
        self._tried = TriedRate()
        self._rates: deque[float] = deque([0.0], maxlen=_ROUNDS)
        """Most bytes/second of each round; the last is the present one."""
        self._least = float("inf")
        self._least_at = float("-inf")
        self._round_from = float("-inf")
        """Once something comes that left since then, a round has ended."""
        self._round_least = float("inf")
        self._usual = UsualTrip()
        self._trips: deque[float] = deque(maxlen=_TELLING)
        """The latest ones."""
        self._lost = 0
        """Bytes, in this round."""
        self._filled = False
        """The window was used up in this round."""
        self._draining = 0
        """Rounds in which the path is looked at without our own queue, until they are over."""
        self._seen_least = float("inf")
        """Of these rounds."""
        self._noise = 0.0
        self._under_way = 0
        """Bytes."""
        self._now = float("-inf")
        self._heard_at: float | None = None
        """When something came last,"""
        self._sent_at = float("-inf")
        """and when something left."""
        self._found = FoundQueue()
        self._carried, self._ahead = 0.0, 0
        """Bytes/second before a pause, and bytes that come at its end before what is asked then."""
        self._contention = Contention(competes=lambda: competes)
        self._yielding = Yielding()

    @property
    def rate(self) -> float:
        """Bytes/second that the path has delivered lately; 0: nothing is known."""
        return max(self._rates)

    @property
    def found(self) -> float:
        """The same where it is the bottleneck's, as far as is known; 0: it may be more."""
        return 0.0 if self._search else self.rate

    def allowance(self, round_trip: RoundTrip) -> tuple[float, float]:
        self._noise = round_trip.variation
        return max(self._window(), self._search, float(_LEAST * self._segment)), float("inf")

    def _window(self) -> float:
        if self._contention.active:
            return self._contention.window
        rate = self.rate
        held = rate * self._least if rate else 0.0
        if self._draining == _DRAIN:
            return _DRAINED * held
        if rate and self._usual.more:
            held = self._usual.rate * self._base
        if self._tried.rate > rate:
            held = max(held, self._tried.rate * self._base)
        return held + self._above(rate)

    @property
    def _base(self) -> float:
        """Seconds of a round trip without our own queue, as far as is known."""
        return self._usual.base(self._least)

    def _above(self, rate: float) -> float:
        """Bytes above what a path of that rate holds: what a machine's delays hold counts as well,
        or a fast path's rate would fall to where some packets last as long as these."""
        return max(self._more, rate * _GRAIN)

    def sent(self, size: int, *, under_way: int, now: float) -> None:
        self._resume(now, ahead=under_way - size)
        self._now = self._sent_at = now
        self._under_way = under_way
        if not self._sent or self._sent[-1][0] < now:
            self._sent.append((now, self._delivered))

    def acknowledged(self, size: int, *, sent_at: float, now: float, limited: bool) -> None:
        self._now = now
        self._count_pause(now, sent_at)
        self._under_way = max(0, self._under_way - size)
        self._delivered += size
        self._filled = self._filled or limited
        if limited and self._search:
            most = _FASTER * self.rate * self._least if self.rate else 0.0
            self._search = min(self._search + size, max(most, self._search))
        trip = now - sent_at
        if trip <= 0:
            return
        while len(self._sent) > 1 and self._sent[1][0] <= sent_at:
            self._sent.popleft()
        before = self._sent[0][1] if self._sent else self._delivered - size
        self._rates[-1] = max(self._rates[-1], (self._delivered - before) / trip)
        if trip <= self._least:
            self._least, self._least_at = trip, now
        self._round_least = min(self._round_least, trip)
        self._usual.came(trip)
        self._trips.append(trip)
        waited = min(self._trips) > self._base + self._patience
        if waited and len(self._trips) == _TELLING:
            self._enough()  # no need to wait for the round's end
        self._watch_others(NewsOfArrival(size, sent_at, now), trip, waited=waited, limited=limited)
        if sent_at >= self._round_from:
            self._end_round(now)

    def arrived(self, size: int) -> None:
        """So many bytes have come of which nobody knows when they left: they count as carried."""
        self._under_way = max(0, self._under_way - size)
        self._delivered += size
        self._usual.stood()

    def carries(self, rate: float, *, trip: float) -> None:
        """The path was seen to carry so many bytes/second, and no more; an answer takes some `trip`
        seconds where nothing waits: what was measured since a fade may all have waited."""
        self._shown = rate
        if _WAITED * trip < self._least < float("inf"):
            self._least = trip
        held = rate * self._least
        carried = max(self.rate, self._carries)
        if rate >= _SEVERAL * self.rate and self._before_fade >= rate and not self._search:
            # Seen by one cell: trips are those of the fade yet, and little is under way.
            self._before_fade, self._again_at = 0.0, self._now + AGAIN
            self._search = max(self._window(), held + self._more)
        elif self._is_left(rate):
            if rate < _SEVERAL * self.rate:
                self._tried.begin(rate, self._now)
            elif self._now >= self._again_at:  # too little to send when the search ended, perhaps
                self._search, self._again_at = self._window(), self._now + AGAIN
        if self._search and held < float("inf"):
            # Where there is not always something to send it seems to carry less, now and then.
            self._carries = max(self._carries, rate)
            most = self._carries * self._least
            self._search = max(self._search, most)
            if self._search > _ENOUGH * most + self._more:
                self._enough()
        if rate < _FADED * carried and held < float("inf"):
            # What came before tells nothing of it.
            self._before_fade = max(self._before_fade, carried)
            self._rates.clear()
            self._rates.append(rate)
            self._enough()
            self._usual.forget(rate)
            self._contention.end()
            self._yielding.end()
            self._found.end()
            self._carried = min(self._carried, rate)

    def _is_left(self, rate: float) -> bool:
        """Some of the path is: it is seen to carry more than comes, although more was asked for,
        and nothing waits."""
        if self._search or self._contention.active or self._draining:
            return False
        if not self._filled or len(self._trips) < _TELLING or rate < _SOME * self.rate:
            return False
        return max(self._trips) <= self._base + self._patience

    def lost(self, size: int, *, sent_at: float, now: float) -> None:
        """A search that loses many has gone too far; what is lost otherwise says little."""
        self._under_way = max(0, self._under_way - size)
        self._contention.lost(now, sent_at=sent_at)
        self._lost += size
        if self._lost > _TELLING * self._segment:
            self._enough()

    def timed_out(self, *, now: float) -> None:
        """Nothing came for long: the path is another one."""
        self._under_way = 0
        self._contention.end()
        self._yielding.end()
        self._rates.clear()
        self._rates.append(0.0)
        self._search = float(_LEAST * self._segment)
        self._carries = self._shown = self._before_fade = 0.0
        self._tried.give_up()
        self._least, self._least_at = float("inf"), float("-inf")
        self._usual.forget()
        self._trips.clear()

    @property
    def _patience(self) -> float:
        """Seconds that a round trip may take above `_base` without a queue."""
        return max(self._shortest(self.rate), self._noise) + _GRAIN

    def _shortest(self, rate: float) -> float:
        """Seconds of the shortest queue that is one, where so many bytes/second come."""
        own = _MORE * self._segment / rate if rate else 0.0
        return max(_QUEUE * self._least, 1.5 * own)

    def _enough(self) -> None:
        self._search, self._more = 0.0, float(_MORE * self._segment)
        self._carries = 0.0
        self._tried.give_up()

    def _end_round(self, now: float) -> None:
        if self._contention.active:
            self._settling = False
            self._usual.forget()  # it had their queue
        elif not self._search:
            self._grow()
        self._lost = 0
        self._tried.round_ended(self.rate, now)
        if not self._contention.active:
            self._look_at_least(now)
            if self._filled and self._contention.again(now, self._round_least - self._base):
                self._share(self._round_least, most=self._window())
        self._usual.end_round(
            now, self._delivered, searching=bool(self._search), less=bool(self._draining)
        )
        self._round_from = now
        self._round_least = float("inf")
        self._filled = False
        self._rates.append(0.0)

    def _count_pause(self, now: float, sent_at: float) -> None:
        """What is known of a path is not forgotten while nothing is heard of it, or who comes while
        others fill the queue takes that for the path."""
        pause = 0.0 if self._heard_at is None else sent_at - self._heard_at
        self._heard_at = now
        if pause <= 0.0:
            return
        self._contention.resumed(now, pause=pause)
        self._least_at += uncounted(pause)

    def _watch_others(
        self, news: NewsOfArrival, trip: float, *, waited: bool, limited: bool
    ) -> None:
        """Something came; `waited`: all that did lately was in a queue."""
        now, yielding = news.arrived_at, self._yielding
        excess = trip - self._base
        if self._finds_others(news, trip):
            window = max(self._window(), self._carried * trip / 2)
            self._contention.join(now, window=window, loop=trip, excess=excess)
            self._draining = 0
        if self._contention.active:
            self._contention.heard(
                now, news, loop=trip, excess=excess, under_way=self._under_way, limited=limited
            )
        elif self._search or self._tried.rate or not waited:
            yielding.end()
        elif not yielding.most:
            yielding.begin(now, now, under_way=self._under_way)
        elif yielding.heard(now, news, under_way=self._under_way, excess=excess, jitter=_GRAIN):
            self._share(trip, most=yielding.most)

    def _resume(self, now: float, *, ahead: int) -> None:
        """Something leaves; after a pause a queue of others may be there."""
        trip = self._trips[-1] if self._trips else float("inf")
        pause = now - max(self._sent_at, self._heard_at or now)
        if pause > RESTED * trip:
            self._found.paused(now, enough=True)
            self._carried, self._ahead = self.rate, ahead

    def _finds_others(self, news: NewsOfArrival, trip: float) -> bool:
        """Whether others fill the queue since before we came."""
        if self._contention.active or not self._carried:
            return False
        takes = (news.gained + _AHEAD * self._ahead) / self._carried
        excess = trip - self._base
        least = self._shortest(self._carried) + _GRAIN
        found = self._found.heard(news.arrived_at, news, excess=excess, least=least, takes=takes)
        if found:
            self._found.end()
        return found

    def _share(self, trip: float, *, most: float) -> None:
        """Others fill the queue."""
        self._yielding.end()
        self._contention.begin(
            self._now, window=self._window(), most=most, loop=trip, excess=trip - self._base
        )

    def _grow(self) -> None:
        """After a round in which what was changed before could be seen."""
        self._settling = not self._settling
        if self._settling or self._draining or not self._filled:
            return
        before = max(list(self._rates)[:-2], default=0.0)
        gained = (max(list(self._rates)[-2:]) - before) * self._least
        if self._round_least <= self._least + self._patience and gained > self._more / 2:
            self._more *= 2  # what was more under way is more that came
        else:
            self._more = max(self._more / 2, float(_MORE * self._segment))

    def _look_at_least(self, now: float) -> None:
        """Once in a while the window is lowered for a round, whose packets come in the next."""
        if self._draining:
            self._draining -= 1
            self._seen_least = min(self._seen_least, self._round_least)
            self._rates[-1] = max(list(self._rates)[-2:])  # less was asked for
            if not self._draining:
                if now > self._least_at + _EXPIRY:
                    self._least, self._least_at = self._seen_least, now
                if self.rate:
                    # What comes may be less, as long as nobody knows what is usual.
                    rate = max(self.rate, self._shown)
                    self._usual.see(self._least, own=_MORE * self._segment / rate)
        elif self.rate and (now > self._least_at + _EXPIRY or self._waits_unexplained()):
            self._draining, self._seen_least = _DRAIN, float("inf")

    def _waits_unexplained(self) -> bool:
        own = self._above(self.rate) / self.rate
        return not self._search and self._usual.unexplained(self._least, own=own)

    def __repr__(self) -> str:
        return f"<BottleneckBased {self.rate:.0f} bytes/s>"
