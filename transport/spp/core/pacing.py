"""When datagrams may go: a bucket of bytes, filled at a rate that may change at any moment. Pure.

It may go into debt by a datagram; a debt is paid at whatever the rate is then.
"""

from __future__ import annotations

from typing import Final

BURST: Final = 0.01
"""Seconds of the rate that may leave at once, so that a late timer costs nothing."""
LEAST_BURST: Final = 2456
"""Bytes: two packets, so that the second asks for an acknowledgement."""
GRAIN: Final = 0.001
"""Seconds between two wake-ups at least."""


def burst(rate: float) -> float:
    """Bytes that may go at once after a pause."""
    return max(BURST * rate, LEAST_BURST)


class PacingBucket:
    """Whoever sends asks when, not whether."""

    def __init__(self) -> None:
        self._bytes = 0.0
        self._at = float("-inf")

    def sent(self, now: float, size: int, *, rate: float) -> None:
        """`size` bytes went. `rate` in bytes/second."""
        saved = self._bytes + (now - self._at) * rate if rate else self._bytes
        self._bytes = min(burst(rate), saved) - size
        self._at = now

    def time(self, *, rate: float) -> float:
        """The earliest moment for the next one; infinity at rate 0."""
        if not rate:
            return float("inf")
        if self._bytes >= 0:
            return self._at
        return self._at - self._bytes / rate

    def next_turn(self, *, rate: float) -> float | None:
        """When to come back for it; not at once, so that several go together. None: never."""
        due = self.time(rate=rate)
        return None if due == float("inf") else max(due, self._at + GRAIN)
