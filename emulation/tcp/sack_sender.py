"""TCP's sender with SACK, a reference model: NewReno's window, RFC 6675's recovery. Pure.

It is what RCP is measured against, and no part of the product. As the RCP paper modified ns-2's
(3.4): the pipe is estimated from the scoreboard (Mathis and Mahdavi 1996; RFC 6675), and a lost
retransmission is found without a timeout, once three segments beyond what was the highest at its
sending are acknowledged. Window: RFC 5681 and 6582 with RFC 6928's first one; it counts bytes (RFC
3465, two segments an acknowledgement at most in slow start), so that delayed acknowledgements cost
it nothing. Timer: RFC 6298 with kernels' least of 0.2 s, restarted whenever something new is
acknowledged; timestamps (RFC 7323). At a timeout the scoreboard is cleared (RFC 2018, 8).

ELN (Balakrishnan et al. 1997): an acknowledgement says whether the segment that it waits for was
lost in the air. One segment is all that it can speak of: that one is sent again without a cut.

Numbers count segments of one size. Left out: handshake, Nagle, the receiver's window.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from typing import Final, NamedTuple

from emulation.tcp.retransmission_timeout import RetransmissionTimeout

THRESHOLD: Final = 3
"""DupThresh."""
FIRST_WINDOW: Final = 10.0
"""Segments (RFC 6928)."""


class SackSegment(NamedTuple):
    """A segment of data with its timestamp."""

    number: int
    sent_at: float


class SackAck(NamedTuple):
    """An acknowledgement."""

    upto: int
    """All before have come."""
    blocks: tuple[tuple[int, int], ...]
    """Three ranges of what came out of order at most, the most recent one first."""
    echo: float
    """Timestamp of the segment that it answers (RFC 7323, 4.3)."""
    eln: bool = False
    """The segment `upto` was lost in the air."""
    at: float = 0.0
    """When it was written, by the receiver's clock (RFC 7323's TSval)."""


class SackSender:
    """One connection that always has something to send, or so much."""

    def __init__(self, *, amount: float = float("inf")) -> None:
        """`amount`: segments that there are to be sent."""
        self._amount = amount
        self.window = FIRST_WINDOW
        """Segments."""
        self.threshold = float("inf")
        self.first = self.next = 0
        """SND.UNA, SND.NXT."""
        self.timer: float | None = None
        self.ceiling = float("inf")
        """MaxCwnd: segments beyond which the window does not grow."""
        self.on_lost: Callable[[int], object] = lambda number: None
        """Told of each segment that is found lost."""
        self.timeouts = self.cuts = self.spared = 0
        """Timeouts; halvings; losses that ELN kept from being one."""
        self._sacked: list[int] = []
        """Above `first`, sorted."""
        self._lost: list[int] = []
        """Lost and not sent again, sorted."""
        self._again: dict[int, int] = {}
        """Sent again and under way: what was SND.NXT then."""
        self._judged = 0
        """All below that is not sacked was found lost once."""
        self._recover: int | None = None
        """SND.NXT when the loss was found; None: no recovery."""
        self._cut = self._more = False
        """This recovery has halved the window; what was sent since it began is lost as well."""
        self._fast = False
        """One lost segment may go whatever the window says (RFC 6675, 5, step 4.3)."""
        self._timeout = RetransmissionTimeout()

    @property
    def round_trip(self) -> tuple[float, float]:
        """Mean and deviation in seconds (RFC 6298)."""
        return self._timeout.smoothed, self._timeout.variation

    @property
    def pipe(self) -> int:
        """Segments under way (RFC 6675, 4)."""
        return self.next - self.first - len(self._sacked) - len(self._lost)

    def to_send(self, now: float) -> list[SackSegment]:
        """The segments that may go now."""
        found = []
        fast, self._fast = self._fast, False
        while self.pipe + 1 <= min(self.window, self.ceiling) or (fast and self._lost):
            fast = False
            if not self._lost and self.next >= self._amount:
                break
            if self._lost:
                number = self._lost.pop(0)
                self._again[number] = self.next
            else:
                number = self.next
                self.next += 1
            found.append(SackSegment(number, now))
        if found and self.timer is None:
            self._set_timer(now)
        return found

    def acknowledged(self, ack: SackAck, now: float) -> None:
        """Takes in an acknowledgement."""
        came = ack.upto - self.first
        fresh = self._sack(ack.blocks)
        if came > 0:
            self._timeout.measured(now - ack.echo)
            self._forward(ack.upto)
        if came > 0 or fresh:
            self._timeout.relax()
            self._set_timer(now)
        self._find_lost(eln=ack.eln)
        if came > 0:
            self._end_or_grow(came)

    def time_out(self, now: float) -> None:
        """The timer has come."""
        self.timeouts += 1
        if not self._timeout.backed_off:
            self.threshold = max(self.reduced(), 2.0)
        self.window = 1.0
        self._sacked.clear()
        self._again.clear()
        self._lost = list(range(self.first, self.next))
        for number in self._lost:
            self.on_lost(number)
        self._judged = self.next
        self._recover, self._cut, self._more = None, False, False
        self._timeout.back_off()
        self._set_timer(now)

    def _sack(self, blocks: tuple[tuple[int, int], ...]) -> bool:
        """Takes in blocks; whether they said anything new."""
        fresh = False
        for begin, end in blocks:
            for number in range(max(begin, self.first), end):
                place = bisect_left(self._sacked, number)
                if place < len(self._sacked) and self._sacked[place] == number:
                    continue
                self._sacked.insert(place, number)
                self._again.pop(number, None)
                if number in self._lost:
                    self._lost.remove(number)
                fresh = True
        return fresh

    def _forward(self, upto: int) -> None:
        self.first = upto
        self.next = max(self.next, upto)
        if self._sacked:
            del self._sacked[: bisect_left(self._sacked, upto)]
        if self._lost:
            del self._lost[: bisect_left(self._lost, upto)]
        if self._again:
            for number in [one for one in self._again if one < upto]:
                del self._again[number]

    def _find_lost(self, *, eln: bool) -> None:
        """Segments with three acknowledged ones above them, and retransmissions likewise."""
        if len(self._sacked) < THRESHOLD:
            return
        fence = self._sacked[-THRESHOLD]
        known = set(self._sacked) if fence > self._judged else ()
        for number in range(max(self.first, self._judged), fence):
            if number not in known:
                self._lost.append(number)
                self.on_lost(number)
                self._count(number, eln=eln)
        self._judged = max(self._judged, fence)
        for number in [one for one, sent in self._again.items() if sent <= fence]:
            del self._again[number]
            insort(self._lost, number)
            self._count(number, eln=eln)

    def _count(self, number: int, *, eln: bool) -> None:
        """Halves the window once for each window's losses, unless the air is to blame."""
        if self._recover is None:
            self._recover = self.next
        elif number >= self._recover:
            self._more = True
            return
        if eln and number == self.first:
            self.spared += 1
        elif not self._cut:
            self._halve()

    def _halve(self) -> None:
        self._cut = self._fast = True
        self.cuts += 1
        self.threshold = max(self.reduced(), 2.0)
        self.window = self.threshold

    def reduced(self) -> float:
        """Segments of the window after a loss: half the window, not of RFC 5681's FlightSize, which
        grows without bound above a hole that stays."""
        return self.window / 2

    def _end_or_grow(self, came: int) -> None:
        recovering = self._cut
        if self._recover is not None and self.first >= self._recover:
            self._recover, self._cut = None, False
            if self._more:  # what was sent meanwhile is another window (RFC 6675, 5)
                self._more, self._recover = False, self.next
                self._halve()
        if recovering or self._cut:
            return  # the acknowledgement that ends it ends it, no more (RFC 6582, 3.2)
        if self.window < self.threshold:
            self.window += min(came, 2)
        else:
            self.window += self.increase() * came / self.window
        self.window = min(self.window, self.ceiling)

    def increase(self) -> float:
        """Segments by which the window grows in a round trip of congestion avoidance."""
        return 1.0

    def _set_timer(self, now: float) -> None:
        over = self.first >= self._amount
        self.timer = None if over else now + self._timeout.seconds
