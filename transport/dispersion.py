"""The rate of a link from one burst: how much a burst is drawn out on its way.

Bytes sent faster than the slowest link carries leave that link back to back, so their spacing at
the receiver is the link's rate (packet pairs; ImTCP measures the same way). One round trip tells
what doubling finds out by overflowing a queue.

Pure. It says nothing about bursts that the link did not draw out.
"""

from __future__ import annotations

from typing import Final

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

    def new_burst(self) -> None:
        """What is reported from here on belongs to another burst."""
        self._first = None
        self._reports = 0

    def add(self, *, sent_at: float, clock: float, received: int) -> float | None:
        """A report: its newest byte's time of sending, of arrival, its number.

        Returns bytes/second as soon as the burst tells.
        """
        self._reports += 1
        if self._first is None:
            self._first = (sent_at, clock, received)
            return None
        first_sent, first_clock, first_received = self._first
        there, here = clock - first_clock, sent_at - first_sent
        if self._reports < _REPORTS or there < _SPAN or there < here * _DRAWN_OUT:
            return None
        return (received - first_received) / there
