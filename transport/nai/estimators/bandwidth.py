"""Bandwidth callbacks: told once when the estimate leaves a range (ATP, 3.3; Odyssey's upcalls).

Pure: it says who is to be told; a callback may register anew from within.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from transport.nai.errors import NaiError

MOST_WATCHES: Final = 1024


class BandwidthWatch(NamedTuple):
    """A range of bytes/second, ends included, and whom to tell of the first estimate outside."""

    low: float
    high: float
    callback: Callable[[float], object]
    number: int


class Watches:
    """Watches of bandwidth that have not been told yet."""

    def __init__(self) -> None:
        self._watches: list[BandwidthWatch] = []
        self._number = 0

    def add(self, low: float, high: float, callback: Callable[[float], object]) -> BandwidthWatch:
        """Raises NaiError for a range that holds nothing, or too many of them."""
        if not low <= high:
            raise NaiError(f"a bandwidth range from {low} to {high} is empty")
        if len(self._watches) >= MOST_WATCHES:
            raise NaiError(f"more than {MOST_WATCHES} bandwidth callbacks: remove some")
        self._number += 1
        watch = BandwidthWatch(low, high, callback, self._number)
        self._watches.append(watch)
        return watch

    def remove(self, watch: BandwidthWatch) -> None:
        """If it is there still."""
        self._watches = [one for one in self._watches if one is not watch]

    def leaving(self, available: float) -> list[BandwidthWatch]:
        """The watches whose range this is outside of; they are forgotten."""
        told = [one for one in self._watches if not one.low <= available <= one.high]
        if told:
            self._watches = [one for one in self._watches if one.low <= available <= one.high]
        return told
