"""The start of a gate: nothing is known of the link, and little may show what it carries.

What may be under way doubles each round while the queue stays empty. A burst that the link draws
out tells its rate at once (monitor/sensors/dispersion.py); else a whole round that is late does.

Pure. Told of each report; whoever asks knows what limits what is sent.
"""

from __future__ import annotations

from typing import Final

from monitor.progress import ReportedProgress
from monitor.sensors.dispersion import Dispersion
from monitor.sensors.path_delay import DelayFilter
from transport.gate.path_facts import PathFacts

_QUANTA: Final = 4
"""Quanta under way at first."""


class RateSearch:
    """The search of one gate."""

    def __init__(self) -> None:
        self._dispersion = Dispersion()
        self._burst_at = float("-inf")
        """When a burst of padding had been sent."""
        self._cap = 0.0
        """Bytes; 0: a few quanta."""

    @property
    def at_least(self) -> float:
        """Bytes/second that the link carries, and perhaps more."""
        return self._dispersion.at_least

    def cap(self, quantum: int) -> float:
        """Bytes that may be under way."""
        return max(self._cap, float(_QUANTA * quantum))

    def burst_ends(self, now: float) -> None:
        """What was sent until now tells as much as if the cap had ended it."""
        self._burst_at = now

    def heard(
        self,
        progress: ReportedProgress,
        delay: DelayFilter,
        path: PathFacts,
        *,
        most: float,
        under_way: int,
        limited: bool,
    ) -> bool:
        """A report came; whether the rate is known now, and `path.delivered` tells it.

        `most` bytes were delivered within a window at most, `under_way` are; `limited`: by the cap.
        """
        path.delivered = max(path.delivered, most)
        capacity = self._dispersion.add(
            progress, new_round=delay.round_ended, one_way=delay.one_way, message=path.quantum
        )
        padding = progress.sent_at <= self._burst_at
        if capacity is not None and (padding or limited):
            path.delivered = max(path.delivered, capacity * delay.window)
            return True
        if padding and not under_way:
            self._cap = 2 * self.cap(path.quantum)
        elif delay.round_ended:
            queue = path.target + path.serialisation
            if delay.least_excess > queue:
                return True
            if limited and delay.excess <= queue:
                self._cap = 2 * self.cap(path.quantum)
        return False
