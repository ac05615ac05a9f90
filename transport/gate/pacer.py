"""Spacing of sends: a burst may not exceed what a shallow queue takes.

Only needed where the gate's cap alone would let a burst go: on long paths whose queue is smaller
than the bandwidth-delay product, at the start and after a pause. Pure.
"""

from __future__ import annotations


class Pacer:
    """A token bucket that is asked when, not whether."""

    def __init__(self) -> None:
        self._at = float("-inf")
        """When the next byte may go."""

    def sent(self, now: float, size: int, *, rate: float, burst: float) -> None:
        """`size` bytes went. `rate` in bytes/second; `burst` bytes may go at once after a pause."""
        self._at = max(self._at, now - burst / rate) + size / rate

    def time(self) -> float:
        """The earliest moment for the next send."""
        return self._at

    def reset(self) -> None:
        """The next send may go at once."""
        self._at = float("-inf")
