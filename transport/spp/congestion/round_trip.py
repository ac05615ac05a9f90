"""How long a round trip takes (RFC 9002, section 5). Pure."""

from __future__ import annotations

from typing import Final

from transport.spp.core.acknowledgements import DELAY

GRANULARITY: Final = 0.001
"""Seconds; timers are no finer (RFC 9002, 6.1.2)."""
INITIAL: Final = 0.333
"""Seconds, before anything was measured (RFC 9002, 6.2.2)."""


class RoundTrip:
    """Smoothed, its variation, its minimum."""

    def __init__(self, initial: float | None = None) -> None:
        """`initial`: seconds, what the handshake took; None: nothing is known."""
        self._measured = False
        self.latest = self.smoothed = self.least = INITIAL
        self.variation = INITIAL / 2
        if initial is not None:
            self.measured(initial, delay=0.0)

    def measured(self, sample: float, *, delay: float) -> None:
        """From sending to acknowledgement, of which the receiver waited `delay` seconds."""
        self.latest = sample
        if not self._measured:
            self._measured = True
            self.smoothed = self.least = sample
            self.variation = sample / 2
            return
        self.least = min(self.least, sample)
        delay = min(delay, DELAY)
        adjusted = sample - delay if sample - delay >= self.least else sample
        self.variation += (abs(self.smoothed - adjusted) - self.variation) / 4
        self.smoothed += (adjusted - self.smoothed) / 8

    def at_most(self, seconds: float) -> None:
        """Something else was answered so soon: without a queue nothing takes longer."""
        self.least = min(self.least, seconds)

    def forget(self) -> None:
        """Another path: what was measured no longer holds."""
        self._measured = False

    @property
    def known(self) -> bool:
        """Something was measured."""
        return self._measured

    @property
    def patience(self) -> float:
        """Seconds after which an acknowledgement is late (RFC 9002, 6.2.1)."""
        return self.smoothed + max(4 * self.variation, GRANULARITY) + DELAY
