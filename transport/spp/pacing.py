"""Spacing of datagrams by a rate that may change at any moment: a bucket of bytes. Pure.

It may go into debt by a datagram; a debt is paid at whatever the rate is then.
"""

from __future__ import annotations


class Bucket:
    """Whoever sends asks when, not whether."""

    def __init__(self) -> None:
        self._bytes = 0.0
        self._at = float("-inf")

    def sent(self, now: float, size: int, *, rate: float, burst: float) -> None:
        """`size` bytes went. `rate` in bytes/second; `burst` bytes may go at once after a pause."""
        saved = self._bytes + (now - self._at) * rate
        self._bytes = min(burst, saved) - size
        self._at = now

    def time(self, *, rate: float) -> float:
        """The earliest moment for the next one; infinity at rate 0."""
        if self._bytes >= 0:
            return self._at
        return self._at - self._bytes / rate if rate else float("inf")
