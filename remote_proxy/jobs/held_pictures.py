"""Pictures that are held whole until their levels are made: how many bytes of them one device may.

A picture can't be coded before it is here, and a page has many. Beyond the limit one is passed on
as it comes. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class GatheredBytes:
    """What one picture holds."""

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self.size = 0

    def add(self, amount: int) -> bool:
        """Whether so many bytes more may be held."""
        if self._gathered.used + amount > self._gathered.limit:
            return False
        self.size += amount
        self._gathered.used += amount
        return True


class Gathered:
    """Bytes of one device's pictures."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    @contextmanager
    def hold(self) -> Iterator[GatheredBytes]:
        """Room for one picture, as long as the block lasts."""
        hold = GatheredBytes(self)
        try:
            yield hold
        finally:
            self.used -= hold.size
