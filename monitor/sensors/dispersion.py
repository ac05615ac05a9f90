"""The rate of a link from one burst: how much a burst is drawn out on its way.

Bytes sent faster than the slowest link carries leave that link back to back, so their spacing at
the receiver is the link's rate (packet pairs; ImTCP measures the same way). One round trip tells
what doubling finds out by overflowing a queue.

A burst that the link did not draw out says that it carries at least so much. On a fast one all of
it comes between two reports; then it took no longer than from its first byte's leaving to its last
one's arrival, less what the way alone takes.

Pure.
"""

from __future__ import annotations

from typing import Final

from monitor.progress import ReportedProgress

_SPAN: Final = 0.010
"""Seconds a burst must take at the receiver: shorter ones measure its scheduler."""
_REPORTS: Final = 3
_DRAWN_OUT: Final = 1.5
"""Times longer at the receiver than at the sender: the link, not the sender, set the pace."""


class Dispersion:
    """Watches one burst at a time."""

    def __init__(self) -> None:
        self._first: tuple[float, float, int] | None = None
        self._reports = 0
        self._last_sent_at = 0.0
        self._burst_sent_at = 0.0
        self._before_burst: int | None = None
        """Bytes received when the present burst began."""
        self.at_least = 0.0
        """Bytes/second that the link carries, and perhaps more."""

    def add(
        self, progress: ReportedProgress, *, new_round: bool, one_way: float, message: int
    ) -> float | None:
        """A report came. `one_way`: seconds of the least one-way delay so far, that of a message of
        at most so many bytes.

        A pause of the sender ends a burst, and so does a round trip (`new_round`), unless three
        segments take longer than that, as on a modem. Returns bytes/second as soon as the burst
        tells.
        """
        sent_at, clock, received = progress.sent_at, progress.arrived_at, progress.received
        paused = sent_at - self._last_sent_at > _SPAN
        self._last_sent_at = sent_at
        if paused or self._before_burst is None:
            self._burst_sent_at = progress.first_sent_at
            self._before_burst = received - progress.gained
        whole = received - self._before_burst - message
        took = clock - self._burst_sent_at - one_way
        self.at_least = max(self.at_least, whole / max(took, _SPAN))
        self._reports += 1
        if self._first is None or paused or (new_round and self._reports > _REPORTS):
            self._first = (sent_at, clock, received)
            self._reports = 1
            return None
        first_sent, first_clock, first_received = self._first
        there, here = clock - first_clock, sent_at - first_sent
        gained = received - first_received
        self.at_least = max(self.at_least, gained / max(there, _SPAN))
        if self._reports < _REPORTS or there < _SPAN or there < here * _DRAWN_OUT:
            return None
        return gained / there
