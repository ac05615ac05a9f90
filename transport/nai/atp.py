"""ATP's sending side: which bytes go next, and what becomes of messages that can't be in time.

The parts know nothing of each other: the tree (messages/queues.py) and what can be in time
(admission/), which messages/contest.py keeps alike, appointments (admission/timers.py), how fast
(estimators/), what carries it (carriers/interface.py). This one asks each at the right moment:

    submit -> admission -> tree -> (turn: a segment at a time, while estimator and carrier allow)
                 '-> refused     turn -> timers: late;  a new estimate -> admission: early
                         '-------------------'---------------------------'-> expired -> answer

Sans IO: `now` is an argument, the carrier's calls aside. Callbacks are not called here: who drives
this takes `expired` and `crossed`, asks the application, and tells its `answer`. A message is
suspended before anybody is asked (ATP, section 3.3).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from admission.admission import Protects
from admission.timers import Timers
from transport.nai import headers
from transport.nai.carriers.interface import Carrier
from transport.nai.errors import CarrierError, NaiError
from transport.nai.estimators.bandwidth import BandwidthWatch, Watches
from transport.nai.estimators.estimator import Estimator, NaiEstimate
from transport.nai.messages.contest import Chosen, Contest
from transport.nai.messages.departure import Departure
from transport.nai.messages.message import (
    Continue,
    Defer,
    Expiry,
    MessageState,
    NaiMessage,
    Verdict,
    check_alive,
    check_priority,
    check_timer,
    nothing,
)
from transport.nai.messages.queues import check_queue
from transport.nai.messages.segments import Cutting
from transport.nai.messages.standby import Standby
from transport.nai.receiving.refusals import Known
from transport.nai.statistics import SenderStatistics, SenderTally

MOST_MESSAGES: Final = 200_000
"""Under way, suspended or deferred at a time; about 2 KB each besides their bytes."""
_GRACE: Final = 0.1
"""Seconds by which an estimate may say that an admitted message is late before that counts:
admission fills the link to the last byte, and no estimate is exact."""
_AGAIN: Final = 0.05
"""Seconds between two calls of one message's callback."""


class AtpSender:
    """One direction of a connection. Raises NaiError for wrong use."""

    def __init__(
        self,
        carrier: Carrier,
        estimator: Estimator,
        *,
        protects: Protects = Protects.ALL,
        grace: float = _GRACE,
        standby: bool = False,
    ) -> None:
        """`protects`: whose timers a new message must not break; `grace` in seconds; `standby`:
        messages without a callback wait for more bandwidth as long as their timers run."""
        self._carrier, self._estimator = carrier, estimator
        self._cutting = Cutting(carrier)
        self._grace, self._protects = grace, protects
        self.contest = Contest(self._cutting, protects=protects, expects=not estimator.follows_use)
        """Messages under way, for statistics."""
        self.contest.set_rate(estimator.estimate.available)
        self._timers: Timers[NaiMessage] = Timers()
        """Of messages under way: their deadlines. Of others: when they go on, or their callback."""
        self._aside: dict[NaiMessage, Expiry | None] = {}
        """Suspended and deferred messages; an expiry: its callback is to be called at its timer."""
        self._watches = Watches()
        self._departure = Departure(carrier, estimator)
        self._standby = Standby(wanted=standby)
        self._last_id = self._last_order = 0
        self.known = Known()
        """For the driver: whom the receiver means when it refuses a message."""
        self._tally = SenderTally()
        self._closed: Exception | None = None
        self.expired: deque[tuple[NaiMessage, Expiry]] = deque()
        """Suspended, and whoever drives this is to ask the application, then to `answer`."""
        self.crossed: deque[tuple[BandwidthWatch, float]] = deque()
        """Whom to tell of the bandwidth, bytes/second."""

    # -- the application's side --------------------------------------------------------------

    def submit(self, message: NaiMessage, now: float) -> None:
        """Queue a new message; it is queued, rejected, or its callback is due."""
        if self._closed is not None:
            raise CarrierError("the connection is closed") from self._closed
        if len(self.contest) + len(self._aside) >= MOST_MESSAGES:
            raise NaiError(f"more than {MOST_MESSAGES} messages are waiting: wait for some")
        check_queue(message.queue)
        self._cutting.open(message.queue, message.priority)
        self._begin(message, now)

    def suspend(self, message: NaiMessage) -> None:
        """Send no more of it until `resume`; its timer stops."""
        self._set_aside(message, MessageState.SUSPENDED)

    def defer(self, message: NaiMessage, now: float, *, seconds: float | None = None) -> None:
        """The same; it goes on by itself after so many seconds, if any."""
        self._set_aside(message, MessageState.DEFERRED)
        if seconds is not None:
            self._timers.set(message, now + max(0.0, seconds))

    def resume(self, message: NaiMessage, now: float) -> None:
        """Send what is left of it; its timer begins anew. One under way stays as it is."""
        check_alive(message)
        if not message.state.under_way:
            self._begin(message, now)

    def restart(self, message: NaiMessage, now: float) -> None:
        """Send it from its first byte; the receiver forgets what it has. Rejected ones may, too."""
        if message.state is not MessageState.REJECTED:
            check_alive(message)
        self._withdraw(message)
        self._forget_sent(message)
        self._begin(message, now)

    def cancel(self, message: NaiMessage, error: Exception | None = None) -> None:
        """Send no more of it; the receiver drops what it has. One that has ended is ignored."""
        if not message.state.ended:
            message.error = error
            self._withdraw(message)
            self._end(message, MessageState.CANCELLED)

    def prioritise(self, message: NaiMessage, priority: int, now: float) -> bool:
        """Give it another priority; False: that would break timers, all stays as it was."""
        check_alive(message)
        check_priority(priority)
        self._cutting.open(message.queue, priority)
        before, under_way = message.priority, message.state.under_way
        if under_way:
            state = message.state
            self._withdraw(message)
        message.priority = priority
        admitted = not under_way or self.contest.admits(message, now)
        if not admitted:
            message.priority = before
        if under_way:
            self._enter(message, state)
        return admitted

    def answer(self, message: NaiMessage, verdict: Verdict | None, now: float) -> None:
        """What the application says to an expiry; ignored if it has acted on the message
        already."""
        expiry, message.asked = message.asked, None
        if expiry is None or message.state is not MessageState.SUSPENDED:
            return
        if isinstance(verdict, Continue):
            message.timer = check_timer(verdict.timer)
            self._begin(message, now)
        elif isinstance(verdict, Defer):
            self.defer(message, now, seconds=verdict.seconds)
        else:
            self._drop(message, expiry)

    def watch_bandwidth(
        self, low: float, high: float, callback: Callable[[float], object]
    ) -> BandwidthWatch:
        """Tell once when what is available leaves [low, high] bytes/second; now, if it is
        outside."""
        watch = self._watches.add(low, high, callback)
        self._cross()
        return watch

    def unwatch(self, watch: BandwidthWatch) -> None:
        """Ends a watch: no more is told."""
        self._watches.remove(watch)

    @property
    def estimate(self) -> NaiEstimate:
        return self._estimator.estimate

    @property
    def idle(self) -> bool:
        """Nothing waits to be sent."""
        return not len(self.contest) and not len(self._departure)

    # -- the driver's side -------------------------------------------------------------------

    def turn(self, now: float) -> None:
        """Do all that is due: measure, expire, send. Call it when `next_time` has come, when the
        carrier has room again, and after anything the application did."""
        if self._departure.observe(now):
            self._estimated(now)
        for message in self._timers.due(now):
            self._due(message, now)
        self._admit_waiting(now)
        self._send(now)

    def next_time(self, now: float) -> float:
        """When to call `turn` at the latest."""
        if self.expired or self.crossed:
            return now
        due = self._timers.next_time()
        times = [self._estimator.next_time(now), *([] if due is None else [due])]
        if len(self.contest) and self._carrier.room(now) >= self._carrier.segment:
            times.append(self._estimator.ready_at(now))
        return max(now, min(times))

    def send_control(self, segment: bytes) -> None:
        """A segment of the receiving side's, to go first."""
        self._departure.reply(segment)

    def polled(self, size: int, seconds: float, now: float) -> None:
        """A packet pair was answered."""
        if seconds > 0:
            self._estimator.polled(now, self._carrier.takes(size) / seconds)
            self._estimated(now)

    def close(self, error: Exception | None = None) -> None:
        """Nothing more can be sent: all messages are cancelled."""
        if self._closed is None:
            self._closed = error or CarrierError("the connection was closed")
            for message in [*self.contest.queues.messages(), *self._aside]:
                self.cancel(message, self._closed)
            self._departure.clear()

    def statistics(self) -> SenderStatistics:
        contest = self.contest
        counts = (len(contest), len(self._aside), contest.total, self.known.refused)
        return self._tally.statistics(*counts, self.estimate)

    # -- into the tree and out of it ---------------------------------------------------------

    def _begin(self, message: NaiMessage, now: float) -> None:
        """Queue it, its timer beginning now, or don't. Raises NaiError for one queue too many."""
        self.contest.check_room(message)
        self._forget(message)
        message.asked = None
        self._last_order += 1
        message.order = self._last_order
        message.deadline = None if message.timer is None else now + message.timer
        if message.timer is not None and message.timer <= 0:
            self._expire(message, Expiry.LATE, now)
        elif self.contest.admits(message, now) or (
            self._expire_early(now) and self.contest.admits(message, now)
        ):
            self._admit(message, now)
        else:
            self._expire(message, Expiry.REFUSED, now)

    def _admit(self, message: NaiMessage, now: float) -> None:
        self._enter(message, MessageState.SENDING if message.sent else MessageState.QUEUED)
        self.contest.count(message, now)
        if self._protects is Protects.PEERS:
            self._expire_early(now)

    def _admit_waiting(self, now: float) -> None:
        """Admits those on standby that can be in time by now."""
        for message in self._standby.first():
            if self.contest.admits(message, now):
                self._forget(message)
                self._admit(message, now)

    def _enter(self, message: NaiMessage, state: MessageState) -> None:
        if not message.id:
            self._last_id += 1
            message.id = self._last_id
            self.known.add(message)
        message.state = state
        self.contest.enter(message)
        if message.deadline is not None:
            self._timers.set(message, message.deadline)

    def _withdraw(self, message: NaiMessage) -> None:
        """Out of the tree, or from the side."""
        self._forget(message)
        self.contest.leave(message)

    def _forget(self, message: NaiMessage) -> None:
        """It is no longer at the side, nor waits for a time."""
        self._timers.clear(message)
        self._aside.pop(message, None)
        self._standby.remove(message)

    def _set_aside(self, message: NaiMessage, state: MessageState) -> None:
        check_alive(message)
        self._withdraw(message)
        message.state = state
        message.asked = None
        self._aside[message] = None

    def _end(self, message: NaiMessage, state: MessageState) -> None:
        message.state = state
        message.asked = None
        self._tally.ended[state] += 1
        self._standby.hopeful = True
        if state is not MessageState.DELIVERED:
            self._forget_sent(message)
        if state is not MessageState.REJECTED:
            message.source = nothing
        if message.on_end is not None:
            message.on_end(message)

    def _forget_sent(self, message: NaiMessage) -> None:
        """The receiver drops what it has of it."""
        if message.sent:
            self._tally.wasted += message.sent
            self._departure.put(headers.cancel(message.id, message.sent))
        message.id = message.sent = 0

    # -- expiry ------------------------------------------------------------------------------

    def _due(self, message: NaiMessage, now: float) -> None:
        if message.state.under_way:
            self._expire(message, Expiry.LATE, now)
        elif message in self._standby:
            self._tally.expiries[Expiry.REFUSED] += 1
            self._drop(message, Expiry.REFUSED)
        elif message.state is MessageState.DEFERRED:
            try:
                self._begin(message, now)
            except NaiError as error:
                self.cancel(message, error)
        elif (expiry := self._aside.get(message)) is not None:
            self._expire(message, expiry, now)

    def _expire(self, message: NaiMessage, expiry: Expiry, now: float) -> None:
        """Suspend it, then ask, or drop it if there is nobody to ask."""
        if expiry is not Expiry.LATE:
            self._estimator.refused(now)
        self._withdraw(message)
        message.state = MessageState.SUSPENDED
        if self._standby.takes(message, expiry):
            message.state = MessageState.DEFERRED
            self._aside[message] = None
            self._timers.set(message, self._standby.add(message))
        elif message.on_timer is None:
            self._tally.expiries[expiry] += 1
            self._drop(message, expiry)
        elif now < message.again_at:
            self._aside[message] = expiry
            self._timers.set(message, message.again_at)
        else:
            self._tally.expiries[expiry] += 1
            self._aside[message] = None
            message.asked, message.again_at = expiry, now + _AGAIN
            self.expired.append((message, expiry))

    def _drop(self, message: NaiMessage, expiry: Expiry) -> None:
        self._withdraw(message)
        refused = expiry is Expiry.REFUSED and not message.sent
        self._end(message, MessageState.REJECTED if refused else MessageState.CANCELLED)

    def _expire_early(self, now: float) -> bool:
        """Expires those that can't be in time by the present estimate; whether there were any."""
        found = self.contest.late(now, grace=self._grace)
        for message in found:
            self._expire(message, Expiry.EARLY, now)
        return bool(found)

    # -- the link ----------------------------------------------------------------------------

    def _estimated(self, now: float) -> None:
        self.contest.set_rate(self._estimator.estimate.available)
        self._expire_early(now)
        self._standby.hopeful = True
        self._cross()

    def _cross(self) -> None:
        available = self._estimator.estimate.available
        for watch in self._watches.leaving(available):
            self.crossed.append((watch, available))

    def _send(self, now: float) -> None:
        self._departure.poll(now)
        while self._departure.ready(now) and (chosen := self.contest.next(now)) is not None:
            self._send_some(chosen, now)

    def _send_some(self, chosen: Chosen, now: float) -> None:
        """A segment of the message that the tree chose."""
        message, length, last = chosen
        try:
            segment = self._cutting.segment(message, length, last=last)
        except Exception as error:  # its bytes are not to be had: the rest is cancelled
            message.error = error
            self._timers.clear(message)
            self.contest.lost(chosen)
            self._end(message, MessageState.CANCELLED)
            return
        message.sent += length
        self._departure.hand_over(segment, now)
        if last:
            self._timers.clear(message)
            self._end(message, MessageState.DELIVERED)
        else:
            message.state = MessageState.SENDING
