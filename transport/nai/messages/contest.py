"""Messages under way, as they contend for the link: in the tree, and in admission's ranking.

The two are kept alike: whoever enters or leaves one does so in the other, and what is sent counts
in both. Costs are bytes in the carrier's queue, headers and padding included.

Pure. It must not know callbacks, nor what carries the segments.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from admission.admission import Admission, AdmissionEntry, Protects
from admission.demand import Demand
from transport.nai.messages.message import NaiMessage
from transport.nai.messages.queues import Queues
from transport.nai.messages.segments import Cutting

_LAG: Final = 3
"""Segments by which another queue may be ahead (hats/disciplines/wf2q_plus.py), the one on its way
included."""
_SPARE: Final = 0.02
"""Of the estimate, which admission doesn't count on: estimates are told when they change by as
much."""


class Chosen(NamedTuple):
    """Whose turn it is; it has been charged for the bytes already."""

    message: NaiMessage
    length: int
    """Bytes of the message."""
    last: bool
    """They are its last, and it has left."""


class Contest:
    """One direction's messages under way."""

    def __init__(self, cutting: Cutting, *, protects: Protects, expects: bool) -> None:
        """`expects`: room is left to higher priorities as they have been lately. Where all timers
        are protected these have no right to it."""
        self._cutting = cutting
        self._queues = Queues(quantum=cutting.payload)
        self._admission = Admission(protects=protects)
        self._expects = expects and protects is Protects.PEERS
        self._demands: dict[str, Demand] = {}
        """By queue."""
        self._timed: dict[int, NaiMessage] = {}
        """Those with a deadline, by their order."""

    def __len__(self) -> int:
        return len(self._queues)

    @property
    def queues(self) -> Queues:
        """The tree of queues."""
        return self._queues

    @property
    def timed(self) -> int:
        """Messages with a deadline."""
        return len(self._timed)

    @property
    def total(self) -> int:
        """Bytes that all of them take."""
        return self._admission.total

    def set_rate(self, available: float) -> None:
        """The link carries so many bytes/second, by the estimate."""
        self._admission.set_rate(available * (1 - _SPARE))

    def admits(self, message: NaiMessage, now: float) -> bool:
        """Whether it can be in time without breaking others' timers."""
        shares = self._queues.shares(message.queue, message.priority)
        waiting = self._cutting.waiting(now) + (self.total if len(shares) > 1 else 0)
        segments = 1 if len(shares) == 1 else _LAG
        self._admission.blocking = min(waiting, segments * self._cutting.full)
        cost = self._cutting.cost(message.left)
        return self._admission.admits(
            message.queue,
            _entry(message),
            cost,
            now,
            shares=shares,
            expected=self._expected(message, now),
        )

    def count(self, message: NaiMessage, now: float) -> None:
        """It was admitted: lower priorities may expect more of its kind."""
        if self._expects:
            demand = self._demands.setdefault(message.queue, Demand())
            demand.entered(message.priority, self._cutting.cost(message.left), now)

    def _expected(self, message: NaiMessage, now: float) -> float:
        """Bytes/second that are to be left to higher priorities."""
        demand = self._demands.get(message.queue)
        return 0.0 if demand is None else demand.above(message.priority, now)

    def check_room(self, message: NaiMessage) -> None:
        """Raises NaiError if its queue would be one too many."""
        self._queues.check_room(message.queue)

    def enter(self, message: NaiMessage) -> None:
        """It is to be sent from here on."""
        self._queues.put(message, first=self._cutting.first(message))
        self._admission.add(message.queue, _entry(message), self._cutting.cost(message.left))
        if message.deadline is not None:
            self._timed[message.order] = message

    def leave(self, message: NaiMessage) -> None:
        """It is not, if it was."""
        if message.node is not None:
            self._queues.take_out(message)
            self._unrank(message, message.left)

    def lost(self, chosen: Chosen) -> None:
        """The bytes of what was chosen are not to be had: all of it leaves."""
        message = chosen.message
        if not chosen.last:
            self._queues.take_out(message)
            self._unrank(message, message.left - chosen.length)

    def next(self, now: float) -> Chosen | None:
        """Choose a segment; None if there is nothing to send."""
        granted = self._queues.next(now)
        if granted is None:
            return None
        message, length, last = granted
        if last:
            self._unrank(message, message.left)
        else:
            cost = self._cutting.cost
            done = cost(message.left) - cost(message.left - length)
            self._admission.served(message.queue, _entry(message), done)
        return Chosen(message, length, last)

    def late(self, now: float, *, grace: float) -> list[NaiMessage]:
        """The messages that can't be in time any more, by more than `grace` seconds."""
        shares = self._queues.shares("", None)
        late = self._admission.late(now, grace=grace, shares=shares)
        return [self._timed[order] for _, (_, _, order) in late]

    def _unrank(self, message: NaiMessage, left: int) -> None:
        self._admission.remove(message.queue, _entry(message), self._cutting.cost(left))
        self._timed.pop(message.order, None)


def _entry(message: NaiMessage) -> AdmissionEntry:
    return AdmissionEntry(message.priority, message.deadline, message.order)
