"""The first reports of a gate: what their delays say of the path is known only with the rate.

First come small messages, and a small one is there sooner than a quantum: at 56 kbit/s by as much
as the path itself takes. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from monitor.progress import ReportedProgress

_KEPT: Final = 256
"""Reports; then what comes by itself says enough."""
_TELLING: Final = (32, 128)
"""After so many it is known better what one report tells of (transport/gate/margin.py)."""


class FirstReports:
    """One gate's, and what they were judged by."""

    def __init__(self) -> None:
        self._reports: list[tuple[float, ReportedProgress]] = []
        self._quantum = 0
        """Bytes; 0: they have not been judged."""

    def add(self, now: float, progress: ReportedProgress, *, quantum: int) -> bool:
        """One more; whether all are to be judged again, since it is known better what they say."""
        if len(self._reports) >= _KEPT:
            return False
        self._reports.append((now, progress))
        return bool(self._quantum) and (self._quantum != quantum or len(self._reports) in _TELLING)

    def judge(
        self, *, quantum: int, smaller: Callable[[ReportedProgress], float]
    ) -> list[tuple[float, float, float]]:
        """When each came, its loop and one-way delay in seconds, had it told of a whole quantum.

        `smaller`: seconds by which it was sooner than that.
        """
        self._quantum = quantum
        delays = []
        for at, one in self._reports:
            more = smaller(one)
            delays.append((at, at - one.sent_at + more, one.arrived_at - one.sent_at + more))
        return delays
