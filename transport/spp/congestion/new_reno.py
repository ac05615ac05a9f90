"""NewReno in bytes, as RFC 9002 (section 7, appendix B) has it after RFC 6582 and 5681. Pure."""

from __future__ import annotations

from typing import Final

from transport.spp.congestion.round_trip import RoundTrip

_REDUCTION: Final = 0.5
_SLOW_START_GAIN: Final = 2.0
_GAIN: Final = 1.25
"""Of pacing over window per round trip: the window limits, not the pace (RFC 9002, 7.7)."""


class NewReno:
    """NewReno as RFC 6582 has it; implements transport.spp.congestion.interface.Congestion."""

    def __init__(self, *, segment: int = 1228) -> None:
        """`segment`: bytes of the packets that the path takes at first."""
        self._segment = segment
        self._least = 2 * segment
        # RFC 6928; RFC 9002, 7.2.
        self.window = float(min(10 * segment, max(2 * segment, 14_720)))
        self._threshold = float("inf")
        self._recovery_from = float("-inf")
        """What was sent before is of the same event."""

    def allowance(self, round_trip: RoundTrip) -> tuple[float, float]:
        gain = _SLOW_START_GAIN if self.window < self._threshold else _GAIN
        return self.window, gain * self.window / max(round_trip.smoothed, 1e-4)

    def sent(self, size: int, *, under_way: int, now: float) -> None:
        """Nothing to learn."""

    def acknowledged(self, size: int, *, sent_at: float, now: float, limited: bool) -> None:
        if not limited or sent_at <= self._recovery_from:
            return
        if self.window < self._threshold:
            self.window += size
        else:
            self.window += self._segment * size / self.window

    def lost(self, size: int, *, sent_at: float, now: float) -> None:
        if sent_at <= self._recovery_from:
            return
        self._recovery_from = now
        self.window = self._threshold = max(self.window * _REDUCTION, self._least)

    def timed_out(self, *, now: float) -> None:
        self.window = float(self._least)
        self._recovery_from = float("-inf")

    def __repr__(self) -> str:
        return f"<NewReno {self.window:.0f} bytes>"
