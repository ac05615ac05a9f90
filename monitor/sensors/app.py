"""Counts an application's bytes and says when a report is due: the core of app-snd and app-rcv.

A report is due at the first bytes that pass when 1/f seconds have gone by since the last one, so
reports follow the traffic: where nothing passes, nothing is reported. Pure. Must not know sockets,
nor where reports go. Source: Bolliger and Gross, 2.2.
"""

from __future__ import annotations

from typing import Final

LEAST_INTERVAL: Final = 0.001
"""Seconds: a thousand reports a second of one connection are more than anybody can use."""


class AppSensor:
    """Counts the bytes that one application sends or receives on one connection."""

    def __init__(self, *, interval: float) -> None:
        """`interval`: seconds between two reports at least, the paper's 1/f.

        Raises ValueError for one below LEAST_INTERVAL.
        """
        if not interval >= LEAST_INTERVAL:
            raise ValueError(f"an interval of {interval} s; at least {LEAST_INTERVAL} are needed")
        self.interval = interval
        self.total = 0
        """Bytes so far."""
        self._due = float("-inf")

    def count(self, amount: int, *, now: float) -> bool:
        """Add bytes that have passed; True: report `total` now."""
        self.total += amount
        if now < self._due:
            return False
        self._due = now + self.interval
        return True
