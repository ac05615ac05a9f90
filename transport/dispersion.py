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

    def add(
        self, *, sent_at: float, clock: float, received: int, new_round: bool
    ) -> float | None:
        """A report: its newest byte's time of sending, of arrival, its number.

        `new_round`: a round trip is over, and so is the burst; unless that is less than three
        segments take, as on a modem: then what was sent at once is still one. Returns bytes/second
        as soon as the burst tells.
        """
        self._reports += 1
        if self._first is None or (
            new_round and (self._reports > _REPORTS or sent_at - self._first[0] > _SPAN)
        ):
            self._first = (sent_at, clock, received)
            self._reports = 1
            return None
        first_sent, first_clock, first_received = self._first
        there, here = clock - first_clock, sent_at - first_sent
        if self._reports < _REPORTS or there < _SPAN or there < here * _DRAWN_OUT:
            return None
        return (received - first_received) / there
