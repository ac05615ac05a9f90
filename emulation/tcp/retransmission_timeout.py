"""How long TCP waits for an acknowledgement before it sends again (RFC 6298). Pure.

Kernels' least of 0.2 s instead of the RFC's whole second, which is worse for short timers.
"""

from __future__ import annotations

from typing import Final

LEAST: Final = 0.2
MOST: Final = 60.0
_FIRST: Final = 1.0


class RetransmissionTimeout:
    """Keeps the seconds of one connection."""

    def __init__(self) -> None:
        self.smoothed = self.variation = 0.0
        """SRTT and RTTVAR, seconds; 0: nothing is measured."""
        self._backoff = 1
        self.base = _FIRST
        """Before it is doubled for what has timed out."""

    @property
    def seconds(self) -> float:
        """The timeout of what goes now."""
        return min(MOST, self.base * self._backoff)

    @property
    def backed_off(self) -> bool:
        """Whether something has timed out and nothing come since."""
        return self._backoff > 1

    def measured(self, round_trip: float) -> None:
        """An acknowledgement came so many seconds after what it answers (RFC 7323)."""
        if not self.smoothed:
            self.smoothed, self.variation = round_trip, round_trip / 2
        else:
            self.variation += (abs(self.smoothed - round_trip) - self.variation) / 4
            self.smoothed += (round_trip - self.smoothed) / 8
        self.base = max(LEAST, self.smoothed + 4 * self.variation)

    def back_off(self) -> None:
        """It was over."""
        self._backoff *= 2

    def relax(self) -> None:
        """Something new was acknowledged."""
        self._backoff = 1
