"""TCP's sender and receiver, as simple as they can be and still contend as TCP does.

Slow start, congestion avoidance and fast retransmit (RFC 5681), recovery with partial
acknowledgements (NewReno, RFC 6582), timestamps for the round trip (RFC 7323), a retransmission
timer with backoff (RFC 6298), and the restart from the initial window after an idle timeout, which
is what the ATP paper blames (section 4.1). Left out, mostly to the benefit of who uses it: no
handshake, no Nagle, no delayed acknowledgements, no loss on the way back. Nor is there SACK, which
the paper's FreeBSD 4.5 did not have either.

Pure: `now` is an argument, offsets instead of bytes. It must not know what carries the segments.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from emulation.tcp.retransmission_timeout import RetransmissionTimeout

MSS: Final = 1460
"""Bytes of payload in a packet of 1500."""
SEND_BUFFER: Final = 32_768
"""Bytes that the kernel holds, unacknowledged ones included: FreeBSD 4.5's default."""
RECEIVE_WINDOW: Final = 65_536
INITIAL_WINDOW: Final = 3 * MSS
"""RFC 5681, for segments of this size."""
_DUPLICATES: Final = 3


class TcpSegment(NamedTuple):
    """Bytes on their way."""

    offset: int
    length: int
    sent_at: float


class RenoSender:
    """One connection's sending side."""

    def __init__(self, *, buffer: int = SEND_BUFFER, window: int = RECEIVE_WINDOW) -> None:
        """`buffer`: bytes the kernel holds; `window`: bytes the receiver would take."""
        self._buffer, self._window = buffer, window
        self._written = self._first = self._next = self._most = 0
        """Bytes accepted; first unacknowledged; next to send; sent at any time."""
        self.congestion_window = float(INITIAL_WINDOW)
        self._threshold = float(window)
        self._duplicates = 0
        self._recover: int | None = None
        """While losses are made good: what had been sent when they were noticed."""
        self._guard = -1
        """No fast retransmit for duplicates of acknowledgements up to here (RFC 6582)."""
        self._again = False
        """The first unacknowledged segment goes once more."""
        self._timeout = RetransmissionTimeout()
        self._last_sent = float("-inf")
        self.timer: float | None = None
        """When to call `time_out`, seconds."""

    @property
    def room(self) -> int:
        """Bytes the send buffer takes."""
        return self._buffer - (self._written - self._first)

    @property
    def in_flight(self) -> int:
        return self._next - self._first

    def write(self, length: int) -> None:
        """So many more bytes are to be sent; there is room for them."""
        self._written += length

    def to_send(self, now: float) -> list[TcpSegment]:
        """The segments that may go now."""
        found = []
        if not self.in_flight and now - self._last_sent > self._timeout.base:
            self.congestion_window = min(self.congestion_window, INITIAL_WINDOW)
        if self._again:
            self._again = False
            found.append(TcpSegment(self._first, min(MSS, self._most - self._first), now))
        window = min(self.congestion_window, self._window)
        while self._next < self._written:
            length = min(MSS, self._written - self._next)
            if self.in_flight and self.in_flight + length > window:
                break
            found.append(TcpSegment(self._next, length, now))
            self._next += length
            self._most = max(self._most, self._next)
        if found:
            self._last_sent = now
            if self.timer is None:
                self._set_timer(now)
        return found

    def acknowledged(self, upto: int, sent_at: float, now: float) -> None:
        """The receiver has all before `upto`; the segment that told it so was sent then."""
        if upto > self._first:
            self._timeout.measured(now - sent_at)
            self._forward(upto)
            self._timeout.relax()
            self.timer = None
            if self._most > self._first:
                self._set_timer(now)
        elif self._most > self._first:
            self._duplicate()

    def time_out(self, now: float) -> None:
        """`timer` has come: begin again from the first byte that is missing."""
        self._threshold = max(self.in_flight / 2, 2.0 * MSS)
        self.congestion_window = float(MSS)
        self._guard, self._recover = self._most, None
        self._duplicates = 0
        self._next = self._first
        self._timeout.back_off()
        self._set_timer(now)

    def _forward(self, upto: int) -> None:
        acked = upto - self._first
        self._first = upto
        self._next = max(self._next, upto)
        self._duplicates = 0
        if self._recover is None:
            step = MSS if self._slow_start else MSS * MSS / self.congestion_window
            self.congestion_window = min(
                self.congestion_window + min(step, acked), float(self._window)
            )
        elif upto >= self._recover:
            self._recover = None
            self.congestion_window = min(self._threshold, float(self.in_flight + MSS))
        else:
            self._again = True
            left = self.congestion_window - acked
            self.congestion_window = max(float(MSS), left + (MSS if acked >= MSS else 0))

    @property
    def _slow_start(self) -> bool:
        return self.congestion_window < self._threshold

    def _duplicate(self) -> None:
        self._duplicates += 1
        if self._recover is not None:
            self.congestion_window += MSS
        elif self._duplicates == _DUPLICATES and self._first > self._guard:
            self._threshold = max(self.in_flight / 2, 2.0 * MSS)
            self._recover = self._guard = self._most
            self.congestion_window = self._threshold + _DUPLICATES * MSS
            self._again = True

    def _set_timer(self, now: float) -> None:
        self.timer = now + self._timeout.seconds


class RenoReceiver:
    """The other end: what has arrived, and up to where without a hole."""

    def __init__(self) -> None:
        self.upto = 0
        """All before has come: what is acknowledged."""
        self._beyond: list[tuple[int, int]] = []

    def receive(self, offset: int, length: int) -> int:
        """How many more bytes are in order now."""
        before = self.upto
        self._beyond.append((offset, offset + length))
        self._beyond.sort()
        for begin, end in self._beyond:
            if begin <= self.upto:
                self.upto = max(self.upto, end)
        self._beyond = [one for one in self._beyond if one[0] > self.upto]
        return self.upto - before
