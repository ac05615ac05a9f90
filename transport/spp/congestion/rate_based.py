"""A rate that somebody else knows: ATP's estimator (Atkin, Birman, section 4.2), or a gate. Pure.

Losses change nothing here: on wireless links they say little of congestion, and the estimator sees
what arrives; whoever knows the rate may hear of them. What is under way is bounded all the same, by
what the rate needs until a loss shows, so that a link that has stopped is not fed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from transport.spp.congestion.round_trip import RoundTrip

_ROUND_TRIPS: Final = 3.0
"""A loss shows after one and an eighth to two, and its repetition takes one more."""
_SLACK: Final = 0.1
"""Seconds: delayed acknowledgements and late timers."""
_QUEUED: Final = 1.0
"""Seconds of queue and jitter that a round trip may have: after a stop it seems to have minutes."""
_LEAST: Final = 3_000.0
"""Bytes: two packets, so that the second asks for an acknowledgement."""


class RateBased:
    """Sends at a rate; implements transport.spp.congestion.interface.Congestion."""

    def __init__(self, rate: float) -> None:
        """`rate`: bytes/second of IP packets; 0: nothing may go."""
        self.rate = rate
        self.on_lost: Callable[[float], object] = lambda sent_at: None
        """Told when what is lost was sent."""

    def set_rate(self, rate: float) -> None:
        """From the next packet on, bytes/second."""
        self.rate = rate

    def allowance(self, round_trip: RoundTrip) -> tuple[float, float]:
        usual = _ROUND_TRIPS * round_trip.smoothed + 4 * round_trip.variation
        window = self.rate * (min(usual, _ROUND_TRIPS * round_trip.least + _QUEUED) + _SLACK)
        return (max(window, _LEAST) if self.rate else 0.0), self.rate

    def sent(self, size: int, *, under_way: int, now: float) -> None:
        """Nothing to learn, here and below."""

    def acknowledged(self, size: int, *, sent_at: float, now: float, limited: bool) -> None: ...

    def lost(self, size: int, *, sent_at: float, now: float) -> None:
        self.on_lost(sent_at)

    def timed_out(self, *, now: float) -> None: ...

    def __repr__(self) -> str:
        return f"<RateBased {self.rate:.0f} bytes/s>"
