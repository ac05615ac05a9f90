"""Keeps what was sent and what was reported of it: numbers checked, wraps undone, times looked up.

A report is a peer's claim: it may not go backwards nor beyond what was sent. Pure.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from monitor.progress import ReportedProgress
from transport.link.connection import DeliveryReport
from wire.errors import PeerError
from wire.frames import CLOCK_MODULUS, CLOCK_TICK, RECEIVED_MODULUS

_WRAP: Final = CLOCK_MODULUS * CLOCK_TICK
"""Seconds after which a report's clock begins anew."""


class Ledger:
    """The books of one direction, at its sender."""

    def __init__(self, *, now: float) -> None:
        self.last_sent_at = now
        """When something was sent last."""
        self._sent = 0
        self._received = 0
        self._sends: deque[tuple[int, float, int]] = deque()
        """Unreported sends: bytes sent in all by then, when, and how many of them."""
        self._clock: float | None = None
        self._ticks = 0
        self._ticks_at = now

    @property
    def under_way(self) -> int:
        """Bytes sent and not reported."""
        return self._sent - self._received

    def sent(self, now: float, nbytes: int) -> None:
        self._sent += nbytes
        self._sends.append((self._sent, now, nbytes))
        self.last_sent_at = now

    def report(self, now: float, received: int, ticks: int) -> ReportedProgress | None:
        """A report came: bytes modulo 2^32, clock in CLOCK_TICK modulo 2^24; None: nothing new.

        Raises PeerError if it can't be.
        """
        gained = (received - self._received) % RECEIVED_MODULUS
        if gained > self.under_way:
            raise PeerError(f"report of {gained} bytes more, {self.under_way} are under way")
        arrived_at = self._unwrap(now, ticks)
        if not gained:
            return None
        self._received += gained
        first_sent_at = self._sends[0][1]
        sent_at, size, part = self._sent_with(self._received)
        return ReportedProgress(
            self._received, gained, sent_at, first_sent_at, size, part, arrived_at
        )

    def delivered(self, news: DeliveryReport) -> ReportedProgress:
        """So much arrived, says who carries it, and knows of each byte when it was sent last.

        Raises PeerError if it can't be.
        """
        if news.size > self.under_way:
            raise PeerError(f"{news.size} bytes more arrived, {self.under_way} are under way")
        self._received += news.size
        _, size, part = self._sent_with(self._received)
        sent = news.sent_at, news.first_sent_at
        return ReportedProgress(self._received, news.size, *sent, size, part, news.arrived_at)

    def _unwrap(self, now: float, ticks: int) -> float:
        """The receiver's clock; as many wraps as our own clock makes likely."""
        if self._clock is None:
            self._clock = 0.0
        else:
            gained = (ticks - self._ticks) % CLOCK_MODULUS * CLOCK_TICK
            wraps = round((now - self._ticks_at - gained) / _WRAP)
            if wraps < 0:
                raise PeerError("the clock of a report went backwards")
            self._clock += gained + wraps * _WRAP
        self._ticks, self._ticks_at = ticks, now
        return self._clock

    def _sent_with(self, received: int) -> tuple[float, int, int]:
        """When that byte was sent, how many in one go with it, and how many of them before it."""
        sends = self._sends
        while sends[0][0] < received:
            sends.popleft()
        newest, sent_at, size = sends[0]
        if newest == received:
            sends.popleft()
        return sent_at, size, size - (newest - received)
