"""Tells what kept bytes back: the gate's cap, its pacer, or that there were none to send.

Delivery tells the link's rate only while the gate limits; while the application does, it tells
what the application had to say. Pure. Times are by the sender's clock.
"""

from __future__ import annotations

from typing import Final

from monitor.progress import ReportedProgress
from transport.gate.path_facts import PathFacts

_TURN: Final = 0.001
"""Seconds within which what could go has gone; later it was said later."""


class LimitedBy:
    """The answers of a gate, and what they mean for the bytes that are being reported."""

    def __init__(self, *, now: float) -> None:
        self.blocked_at = float("-inf")
        """When cap or pacer said no last."""
        self.resumed_at = now
        """When something went again after a pause, the application's or one of the reports: a
        receiver that has no processor reports late, and meanwhile the link has nothing."""
        self._capped_at = float("-inf")
        self._waits_for_report = False
        self._held_until = now
        """Until then nothing could go, whatever the application had to send."""
        self._sent_at = self._newest_sent_at = now

    def refused_by_cap(self, now: float) -> None:
        """More would be too much under way: only a report can change that."""
        self._capped_at = self.blocked_at = self._held_until = now
        self._waits_for_report = True

    def refused_by_pacer(self, now: float, *, until: float) -> None:
        self.blocked_at, self._held_until = now, until

    def sent(self, now: float, path: PathFacts, *, last_sent_at: float, room: bool) -> None:
        """Something goes; before that, at `last_sent_at`.

        `room`: half of what may be under way is not. Who talks never pauses, and never fills it.
        """
        pause = now - max(last_sent_at, self._held_until)
        if pause > path.window / 4 or (room and pause > _TURN):
            self.resumed_at = now
        self._sent_at = now

    def reported(
        self, now: float, path: PathFacts, progress: ReportedProgress, *, still: int
    ) -> None:
        """A report came; so many bytes are still under way."""
        self._newest_sent_at = progress.sent_at
        if self._waits_for_report:
            self._waits_for_report, self._held_until = False, now
            if path.dry(now - self._sent_at, still + progress.gained) > path.window / 4:
                self.resumed_at = now

    @property
    def gate(self) -> bool:
        """Has the gate held bytes back since the newest reported byte was sent?"""
        return self.blocked_at >= self._newest_sent_at

    @property
    def cap(self) -> bool:
        """The same of the cap alone: all that it allows was under way."""
        return self._capped_at >= self._newest_sent_at

    def full(self, path: PathFacts) -> bool:
        """Was the path full for a whole window before the newest reported byte was sent?"""
        return self._newest_sent_at - path.window >= self.resumed_at
