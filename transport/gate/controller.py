"""How much may be under way: an end-to-end gate fed by the receiver's reports.

What has left the multiplexer can't be re-ordered, so as little as possible should be under way:
what the path holds, plus a margin that keeps the link busy between two reports. TCP's own view is
blind to what a tunnel or an accelerator buffers, so the receiver reports what arrived and when.

    cap = the most delivered within one least delay (over the last two) + margin
          + what has arrived while its reports wait for the way back, which an upload may fill

    start   the cap doubles each round until a whole round is late, or a burst tells the rate
            (of padding, if nobody has asked yet: transport/stream/probe.py)
    rise    the delay sits at its minimum while the cap blocks: the margin grows x2, x4, x8
    faster  two bursts in a row come much faster than the rate: so is the link
    drop    the delay leaves its band: older maxima are forgotten
    recover far below what was delivered lately, with nothing queued, the cap doubles each round
    share   others keep the queue full: as much is under way as one more TCP would have
    drain   every few seconds the queue runs empty once, to learn the least delay anew
    stream  some chunks are spaced, and tell what others leave (transport/gate/granted_streams.py)
    freeze  while the application sends less than the cap, the rate keeps its value

Bursts are paced at the delivered rate, so that a queue smaller than the path holds does not
overflow (transport/gate/pacer.py); faster while the margin grows, or a rate once measured too low,
as after an outage, would stay for good.

Pure: `now` is an argument, reports are numbers. It knows nothing of sockets and frames.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from monitor.estimate import BandwidthEstimate
from monitor.progress import ReportedProgress
from monitor.sensors.burst_rate import BurstRate
from monitor.sensors.delivered_rate import RateFilter
from monitor.sensors.path_delay import DelayFilter
from transport.gate.drains import Drains
from transport.gate.first_reports import FirstReports
from transport.gate.granted_streams import GrantedStreams
from transport.gate.margin import Margin
from transport.gate.pacer import Pacer
from transport.gate.path_facts import PathFacts
from transport.gate.queue_watch import QueueVerdict, QueueWatch
from transport.gate.rate_search import RateSearch
from transport.gate.report_spacing import REPORT_EVERY_THIN, THIN, HeardSpacing
from transport.gate.rise import Rise
from transport.gate.sent_log import Ledger
from transport.gate.statistics import GateStatistics, Phase
from transport.gate.what_limited import LimitedBy
from transport.link.connection import DeliveryReport

_MOST_GROWTH: Final = 3
"""Doublings of the margin while the gate blocks an empty queue: x8."""
_EMPTY: Final = 0.5
"""Of the target: a queue below it counts as empty."""
_MOST_EMPTY: Final = 0.0075
"""Seconds: a queue above it does not. Where a quantum takes long, far less than the target keeps a
link busy, and a margin that grew nevertheless would be a whole quantum that waits."""
_WIDE: Final = 1.5
"""Quanta: a margin above covers several."""
_MOST_NOISE: Final = 0.12
"""Seconds by which our own quanta may make delays vary without being jitter."""
_MOST_HELD: Final = 0.05
"""Seconds by which held reports may do so."""
_URGENT_QUANTA: Final = 4
"""Quanta by which urgent bytes may exceed the cap."""
_RESTED: Final = 1.0
"""Seconds without anything under way, or a loop, after which the link may be another one;"""
_LONG: Final = 0.25
"""seconds of a least delay above which it takes long until the margin shows that;"""
_AT_ONCE: Final = 14_480.0
"""and bytes that go at once then, within the cap: ten segments, as TCP may send when it begins (RFC
6928) and after a rest (RFC 5681, 4.1),"""
_SHORT: Final = 0.25
"""where they take no more seconds than that: at 56 kbit/s it is two, and what is urgent waits."""
_ROOM: Final = 0.5
"""Of the cap: where less is under way, and nothing was held back, there was no more to send."""
_CONTENDING: Final = 2
"""Of the pace over what arrives, while others fill the queue: the window decides."""
_ANEW: Final = 1.25
"""Times a window a round trip, then, after a pause."""
_LATE: Final = 15.0
"""Seconds for which it is known what the path has carried: far below that, with nothing queued,
what is under way doubles each round, as at the start."""
_SETTLED: Final = 5.0
"""Seconds since the link became slower, or others began at a rate of theirs,"""
_SETTLED_ROUNDS: Final = 10
"""or so many round trips, if that is more, after which a drain leaves no queue of ours."""
_STALLED: Final = 1.0
"""Seconds, or four delays, without a report: one quantum goes to ask for one."""


class Gate:
    """The controller of one direction, at its sender."""

    def __init__(
        self, *, now: float, quantum: int, competes: Callable[[], bool] = lambda: True
    ) -> None:
        """`quantum` in bytes; it may be changed at any time. `competes`: while it says yes, others
        who fill the queue are given way to no more than TCP does."""
        self.asks = True
        """A quantum goes to ask for a report that does not come; else the connection asks."""
        self.open = False
        """All may go, for the peer has asked for it: the gate measures and decides nothing."""
        self.streams: GrantedStreams | None = None  # nobody measures what others leave
        self._ledger = Ledger(now=now)
        self._since = self._reported_at = now
        self._delay = DelayFilter()
        self._rate = RateFilter()
        self._search, self._bursts, self._rise = RateSearch(), BurstRate(), Rise()
        self.pacer = Pacer()
        """Spaces what it lets go."""
        self._phase, self._first = Phase.START, FirstReports()
        self._margin, self._spacing = Margin(), HeardSpacing()
        self._path = PathFacts(self._delay, self._margin, quantum=quantum)
        self._limits = LimitedBy(now=now)
        self._queue = QueueWatch(competes=competes)
        self._drains = Drains(now=now)
        self._level_since = now
        """Since when nothing of our own making moves the queue."""
        self._most_of_late, self._most_at = 0.0, now
        """The most that was delivered in a window, and when."""
        self._drops = 0
        self._anew_until = now
        """Two round trips after a pause."""
        self._at_once = 0.0
        """Bytes that may still go at once since a rest has ended."""

    # -- what happened ------------------------------------------------------------------------

    def on_sent(self, now: float, nbytes: int) -> None:
        """`nbytes` were handed to the transport."""
        self._limits.sent(
            now,
            self._path,
            last_sent_at=self._ledger.last_sent_at,
            room=self.under_way < _ROOM * self.cap(now),
        )
        if not self.under_way:
            self.pacer.reset()
            pause = now - self._reported_at
            self._queue.sent_first(now, pause=pause, loop=self._path.loop)
            if pause > self._path.loop:
                self._anew_until = now + 2 * self._path.loop
                self._margin.rest()  # else the path fills as fast as it had grown
            rested = pause > max(_RESTED, self._path.loop) and self._path.window > _LONG
            soon = self.rate * _SHORT >= _AT_ONCE
            self._at_once = _AT_ONCE if rested and soon and not self.contends else 0.0
        if self.streams is not None:
            self.streams.sent(now, nbytes, may_begin=self._is_steady(now), rate=self.rate)
        self._ledger.sent(now, nbytes)
        rate = self.rate
        if rate and self._phase is not Phase.START:
            if self.contends:
                rate *= _CONTENDING
                if now < self._anew_until:  # what arrives tells nothing yet
                    trip = max(self._path.loop, self._path.window)
                    rate = max(rate, _ANEW * self.cap(now) / trip)
            else:
                rate = max(rate * (1 << self._margin.growth), self._rise.pace)
            self.pacer.sent(now, nbytes, rate=rate, burst=self.margin)
            self._at_once = max(0.0, self._at_once - nbytes)

    def on_report(self, now: float, received: int, clock: int) -> None:
        """The peer's progress: bytes modulo 2^32, clock in CLOCK_TICK modulo 2^24.

        Raises PeerError if it can't be: going backwards, or beyond what was sent.
        """
        progress = self._ledger.report(now, received, clock)
        if progress is not None:
            self._hear(now, progress)

    def on_delivered(self, now: float, news: DeliveryReport) -> None:
        """The connection itself says what has arrived. Raises PeerError as `on_report` does."""
        progress = self._ledger.delivered(news)
        if self.streams is not None:
            self.streams.arrived(news, now, round_trip=self._delay.round)
        if progress.sent_at >= self._since:  # what was sent before says nothing of the link now
            self._hear(now, progress)

    def _hear(self, now: float, progress: ReportedProgress) -> None:
        sent_at = progress.sent_at
        if self._limits.gate:
            self._margin.reported(now - self._reported_at, progress.gained)
        self._reported_at = now
        if self._first.add(now, progress, quantum=self.quantum):
            self._judge_first()
        self._spacing.heard(progress)
        rate = self.rate
        held = REPORT_EVERY_THIN if rate < THIN else self._spacing.every
        self._delay.add(
            now,
            loop=now - sent_at,
            one_way=progress.arrived_at - sent_at,
            smaller=self._path.smaller(progress, most=self._most_of_late if self.contends else 0.0),
            steady=self._is_level(now),
            noise=min(_MOST_NOISE, self._path.serialisation / 2 + 2 * held),  # parts: half as often
            held=_MOST_HELD,  # the cap has what the way back does to most reports
        )
        self._limits.reported(now, self._path, progress, still=self.under_way)
        if not self._limits.gate:
            self._path.delivered = rate * self._path.window
        repaired = self._rate.add(
            progress.arrived_at,
            progress.received,
            window=self._delay.window,
            sent_at=sent_at,
            waited=sent_at - progress.first_sent_at + self._delay.excess,
            took=progress.size / self.rate if self.rate else 0.0,
            rate=self.rate,
        )
        if repaired:
            self._delay.forget_round()
            self._bursts.forget()
            self._rise.repaired()
        if self._phase is Phase.START:
            if self._search.heard(
                progress,
                self._delay,
                self._path,
                most=self._rate.most_delivered(),
                under_way=self.under_way,
                limited=self._limits.gate,
            ):
                self._leave_start(now)
        else:
            self._running(now, progress)

    def on_lost(self, now: float, sent_at: float) -> None:
        """What was sent then is lost, as far as the connection knows."""
        self._queue.contention.lost(now, sent_at=sent_at)

    def burst_ends(self, now: float) -> None:
        """What was sent until now tells as much as if the cap had ended it."""
        self._search.burst_ends(now)

    # -- what may happen ----------------------------------------------------------------------

    def may_send(self, now: float, nbytes: int, urgent: bool = False) -> bool:
        """May `nbytes` go now? Asking and hearing no is what tells the gate that it limits."""
        if self.open:
            return True
        under_way = self.under_way
        if urgent:
            return under_way + nbytes <= self.cap(now) + _URGENT_QUANTA * self.quantum
        ahead, until = self._paced(nbytes)
        if under_way and under_way + ahead > self.cap(now) and now < self._stalled_at():
            self._limits.refused_by_cap(now)
            return False
        if under_way and until > now:
            self._limits.refused_by_pacer(now, until=until)
            return False
        return True

    def next_time(self, now: float) -> float | None:
        """When to ask again though nothing happened; None: only a report can open the gate."""
        if self.open:
            return None
        if not self.under_way:
            return now
        ahead, until = self._paced(self.quantum)
        if self.under_way + ahead <= self.cap(now):
            return max(now, until)
        times = [self._stalled_at()]
        if now < self._drains.end:
            times.append(self._drains.end)
        due = max(now, min(times))
        return None if due == float("inf") else due

    def cap(self, now: float) -> float:
        """Bytes that may be under way."""
        if self._phase is Phase.START:
            return self._search.cap(self.quantum)
        if now < self._drains.end:
            return max(float(self.quantum), self._path.delivered - self._path.depth)
        if self.contends:
            return max(float(self.quantum), self._queue.contention.window)
        more = self.margin * (1 << self._margin.growth)
        if self._margin.growth and self._path.delivered < self._most_of_late / 2:
            more = max(more, self._path.delivered)  # on a long path a margin is a small part of it
        more = max(more, self.margin + self._rise.more(self._path.delivered))
        return self._path.delivered + more + self._path.unheard_of

    @property
    def starting(self) -> bool:
        """Whether nothing is known of the link yet."""
        return self._phase is Phase.START

    @property
    def contends(self) -> bool:
        """Whether others fill the queue."""
        return self._queue.contention.active

    @property
    def under_way(self) -> int:
        """Bytes sent and not reported."""
        return self._ledger.under_way

    @property
    def margin(self) -> float:
        """Bytes above what the path holds."""
        return self._path.margin

    @property
    def rate(self) -> float:
        """Bytes/second delivered at most; 0 while unknown."""
        return self._path.rate

    @property
    def quantum(self) -> int:
        """Bytes; it may be changed at any time."""
        return self._path.quantum

    @quantum.setter
    def quantum(self, nbytes: int) -> None:
        self._path.quantum = nbytes

    def estimate(self, now: float) -> BandwidthEstimate | None:
        """What the link carries; sure only if the gate limited within the last rounds."""
        if not self._path.delivered:
            return None
        silent = now - max(self._limits.blocked_at, self._reported_at - 4 * self._delay.round)
        sure = 1.0 if silent <= 4 * self._delay.round else max(0.1, 1.0 - silent / 30.0)
        if self._phase is Phase.START:
            sure = min(sure, 0.3)
        return BandwidthEstimate(self.rate, self._reported_at, sure, "reports")

    def statistics(self, now: float) -> GateStatistics:
        return GateStatistics(
            phase=self._shown_phase(now),
            under_way=self.under_way,
            cap=self.cap(now),
            margin=self.margin,
            growth=self._margin.growth,
            delivered=self._path.delivered,
            seen=self._search.at_least if self.starting else self.rate,
            min_delay=self._delay.minimum,
            delay=self._delay.latest,
            excess=self._delay.excess,
            jitter=self._delay.jitter,
            drops=self._drops,
            drains=self._drains.count,
        )

    def _shown_phase(self, now: float) -> Phase:
        if now < self._drains.end:
            return Phase.DRAIN
        return Phase.CONTENTION if self.contends else self._phase

    def __repr__(self) -> str:
        return f"<Gate {self._phase.value} under way {self.under_way} rate {self.rate:.0f}>"

    # -- the controller -----------------------------------------------------------------------

    def _leave_start(self, now: float) -> None:
        self._phase = Phase.STEADY
        self._judge_first()
        self._level_since = now + 2 * self._delay.round
        self._drains.put_off(now, self._path)

    def _judge_first(self) -> None:
        """The rate, or the quantum, is known: so is what the first delays say of the path.

        Where the margin is well above a quantum, it covers by how much small messages were sooner.
        """
        rate = self.rate
        delays = self._first.judge(quantum=self.quantum, smaller=self._path.smaller)
        if self.margin < _WIDE * self.quantum:
            self._delay.begin_anew(delays)
            self._path.delivered = rate * self._delay.window

    def _running(self, now: float, progress: ReportedProgress) -> None:
        """One report in the steady state."""
        if self.contends:
            self._share(now, progress)
            return
        self._watch_queue(now, progress)
        burst = self._bursts.add(progress, excess=self._path.excess)
        faster = self._rise.heard(now, burst, rate=self.rate, loop=self._path.loop)
        if faster:
            self._believe(now, faster)
        if self._path.delivered >= self._most_of_late or now > self._most_at + _LATE:
            self._most_of_late, self._most_at = self._path.delivered, now
        most = self._rate.most_delivered()
        if most > self._path.delivered or (
            self._limits.gate and self._limits.full(self._path) and self._is_level(now)
        ):
            self._path.delivered = most
        if self._delay.round_ended and now >= self._drains.end:
            self._grow(now)
            if self._limits.gate:
                if self._drains.due(now, self._path, empty_at=self._limits.resumed_at):
                    self._drain(now)
                self._queue.round_ended(
                    now, self._path, least=self._delay.least_excess, cap=self.cap(now)
                )

    def _share(self, now: float, progress: ReportedProgress) -> None:
        """One report while others fill the queue."""
        path, limited = self._path, self._limits.gate
        if limited:
            self._rate.forget_before(self._rate.clock - path.loop)
            share = self._rate.delivered(path.window)
            # In less than a window of sending less arrives than the share is.
            path.delivered = share if self._limits.full(path) else max(share, path.delivered)
        contention = self._queue.contention
        if contention.heard(
            now,
            progress,
            loop=path.loop,
            excess=path.excess,
            under_way=self.under_way,
            limited=limited,
        ):
            self._drop(now, max(path.window / 2, path.excess))
        elif not contention.active:  # they may only have let go for a while
            path.delivered = max(path.delivered, self._most_of_late / 2)
            self._level_since = now + 2 * self._delay.round

    def _grow(self, now: float) -> None:
        """After a round."""
        queue = min(_MOST_EMPTY, _EMPTY * self._path.target) + _EMPTY * self._delay.jitter_there
        empty = self._delay.least_excess < queue
        if empty and self._limits.gate and self._is_level(now):
            # A margin that is not used can grow without end, and overflow the queue all at once.
            self._margin.step(most=_MOST_GROWTH if self._limits.cap else 1)
        else:
            self._margin.rest()

    def _watch_queue(self, now: float, progress: ReportedProgress) -> None:
        excess = self._path.excess
        if excess > self._path.target + self._path.jitter:
            self._margin.calm()
        verdict = self._queue.judge(
            now,
            progress,
            self._path,
            under_way=self.under_way,
            cap=self.cap(now),
            most=self._most_of_late,
            level=self._is_level(now),
        )
        if verdict is QueueVerdict.LONGER:
            self._accept_longer_path(now)
        elif verdict is QueueVerdict.SLOWER:
            self._drop(now, max(self._delay.window / 2, excess))

    def _drop(self, now: float, span: float) -> None:
        """The link has become slower: it was busy for all of `span`, which tells its rate."""
        self._drops += 1
        self._rate.forget_before(self._rate.clock - span)
        self._path.delivered = self._rate.delivered(self._delay.window)
        self._level_since = now + self._delay.window / 2
        if self._rise.slower(now, loop=self._path.loop):
            self._most_of_late = self._path.delivered

    def _believe(self, now: float, rate: float) -> None:
        """The link has become faster: what is sent from now on fills it."""
        self._margin.calm()
        self._path.delivered = rate * self._path.window
        self._limits.resumed_at = now
        self._level_since = now + self._path.loop

    def _accept_longer_path(self, now: float) -> None:
        """Nothing of ours is queued, yet the delay stays: another route at the old rate."""
        self._delay.forget_before(now - self._delay.window)
        self._path.delivered = self._queue.rate * self._delay.window
        self._limits.resumed_at = now

    def _drain(self, now: float) -> None:
        self._margin.calm()
        self._drains.begin(now, self._path)
        if now > self._level_since + max(_SETTLED, _SETTLED_ROUNDS * self._path.loop):
            self._queue.drained(self._drains.end)
        self._level_since = self._drains.end + 2 * self._delay.round

    # -- small facts --------------------------------------------------------------------------

    def _paced(self, nbytes: int) -> tuple[int, float]:
        """For how many bytes there must be room, and from when on; a stream has its own times."""
        due = None if self.streams is None else self.streams.due
        if due is not None:
            return -nbytes, due
        return nbytes, float("-inf") if self._at_once else self.pacer.time()

    def _is_steady(self, now: float) -> bool:
        """Whether more waits than may go, and nothing else is tried out."""
        quiet = not self._margin.growth and not self.contends and now >= self._drains.end
        return quiet and self._phase is Phase.STEADY and self._limits.gate

    def _is_level(self, now: float) -> bool:
        return self._phase is not Phase.START and now >= self._level_since

    def _stalled_at(self) -> float:
        """When to send a quantum that asks for a report, should none come until then."""
        if not self.asks:
            return float("inf")
        patience = max(_STALLED, 4 * (self._delay.latest or 0.0))
        return max(self._reported_at, self._ledger.last_sent_at) + patience
