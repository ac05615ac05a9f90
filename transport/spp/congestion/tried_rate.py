"""Tries a rate that a path is seen to carry, and that is somewhat more than comes. Pure.

As much is under way as the path holds at that rate, for some rounds: then it comes, or it does not.
"""

from __future__ import annotations

from typing import Final

AGAIN: Final = 20.0
"""Seconds from one try in vain to the next: some lines carry more, but only for a moment."""
_ROUNDS: Final = 3
_REACHED: Final = 0.95
"""Of what was tried: it came."""


class TriedRate:
    """What is tried on one path, and when the next may be."""

    def __init__(self) -> None:
        self.rate = 0.0
        """Bytes/second; 0: none is tried."""
        self._left = 0
        """Rounds."""
        self._next_at = float("-inf")

    def begin(self, rate: float, now: float) -> None:
        """Try that, if it is time."""
        if now >= self._next_at:
            self.rate, self._left, self._next_at = rate, _ROUNDS, now + AGAIN

    def round_ended(self, came: float, now: float) -> None:
        """`came`: bytes/second that have come of late."""
        self._left -= 1
        if self.rate and self._left <= 0:
            if came >= _REACHED * self.rate:
                self._next_at = now  # there may be still more
            self.rate = 0.0

    def give_up(self) -> None:
        """Something waits, or it is another path."""
        self.rate = 0.0
