"""Holds what tells whose a queue is: bytes that have arrived, and the mean of what they waited.

Pure.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Arrived(Protocol):
    """Bytes have arrived over there: as a gate's report tells (monitor/progress.py), or as here."""

    @property
    def gained(self) -> int:
        """Bytes since the last one."""

    @property
    def sent_at(self) -> float:
        """When the newest of them was sent: seconds on the sender's clock."""

    @property
    def arrived_at(self) -> float:
        """When it arrived, by a clock of its own."""


class NewsOfArrival(NamedTuple):
    """Implements Arrived."""

    gained: int
    sent_at: float
    arrived_at: float


class PlainMean:
    """The mean of all that was added."""

    def __init__(self) -> None:
        self._sum, self._many = 0.0, 0

    def add(self, value: float) -> None:
        self._sum += value
        self._many += 1

    @property
    def value(self) -> float:
        """0 of nothing."""
        return self._sum / self._many if self._many else 0.0
