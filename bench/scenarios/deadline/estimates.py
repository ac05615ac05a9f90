"""Says a rate of a link that is wrong by so many per cent, or late: the experiment's two errors.

Source: Bolliger and Gross, section 4.1: e = 100 (estimated - actual) / actual, and 4.2: delays in
the feedback loop. Knows a link's true schedule; not who asks for the estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from emulation.lines.schedule import Schedule
from monitor.estimate import BandwidthEstimate
from transport.link.interface import Inbox, Link, LinkError, LinkStatistics, Outbox

WINDOW: Final = 1.0
"""Seconds, the last ones, over which the actual bandwidth is a mean: two steps of a trace."""
LEAST: Final = 1.0
"""Bytes/second that are said at least."""


@dataclass(frozen=True, slots=True)
class EstimateError:
    """How far estimates are from the bandwidth that there is."""

    percent: float | None = None
    """None: nothing is put in the place of the product's own estimate."""
    delay: float = 0.0
    """Seconds by which they are late."""

    @property
    def label(self) -> str:
        """Its name in a table."""
        if self.percent is None:
            return "own"
        late = f", {self.delay:g} s late" if self.delay else ""
        return f"{self.percent:+g} %{late}"

    def rate(self, schedule: Schedule, now: float) -> float:
        """Bytes/second that it makes of what the line could carry lately."""
        at = now - self.delay
        actual = schedule.carried(at - WINDOW, at) / WINDOW
        return max(LEAST, actual * (1 + (self.percent or 0.0) / 100))


class MisjudgedLink:
    """A link of which something else is said than it measures; all else passes through."""

    def __init__(self, link: Link, rate: Callable[[float], float], now: Callable[[], float]):
        """`rate`: bytes/second, of the clock `now`, seconds."""
        self._link = link
        self._rate = rate
        self._now = now

    def start(
        self, outbox: Outbox, inbox: Inbox, *, competes: Callable[[], bool] = lambda: True
    ) -> None:
        self._link.start(outbox, inbox, competes=competes)

    def wake(self) -> None:
        self._link.wake()

    def close(self, error: LinkError | None = None) -> None:
        self._link.close(error)

    def statistics(self) -> LinkStatistics:
        now = self._now()
        rate = self._rate(now)
        said = BandwidthEstimate(rate, now, confidence=1.0, source="trace")
        return replace(self._link.statistics(), outgoing=said, seen=rate)
