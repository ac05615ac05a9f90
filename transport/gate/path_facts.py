"""Facts of one path, for the parts of its gate to ask: the rate, and what margin and quanta make.

Pure. Holds what is delivered within a window; delays are the delay filter's, the margin its own.
"""

from __future__ import annotations

from monitor.progress import ReportedProgress
from monitor.sensors.path_delay import DelayFilter
from transport.gate.margin import TARGET, Margin


class PathFacts:
    """The facts of one direction, as its sender has them now."""

    def __init__(self, delay: DelayFilter, margin: Margin, *, quantum: int) -> None:
        """`quantum` in bytes; it may be changed at any time."""
        self._delay = delay
        self._margin = margin
        self.quantum = quantum
        self.delivered = 0.0
        """Bytes within one window, at most; 0: nothing is known."""

    @property
    def window(self) -> float:
        """Seconds within which `delivered` counts."""
        return self._delay.window

    @property
    def rate(self) -> float:
        """Bytes/second delivered at most; 0 while unknown."""
        return self.delivered / self._delay.window

    @property
    def excess(self) -> float:
        """Seconds by which the latest delay is above the least."""
        return self._delay.excess

    @property
    def loop(self) -> float:
        """Seconds from sending what was reported last to the report; 0 before the first."""
        return self._delay.latest or 0.0

    @property
    def least(self) -> float:
        """Seconds of the least one-way delay, off by what the clocks differ."""
        return self._delay.one_way

    @property
    def jitter(self) -> float:
        """Seconds by which delays vary on the way there."""
        return self._delay.jitter_there

    @property
    def margin(self) -> float:
        """Bytes above what the path holds."""
        return self._margin.nbytes(rate=self.rate, quantum=self.quantum)

    @property
    def target(self) -> float:
        """Seconds of queue that the margin makes."""
        return self.margin / self.rate if self.rate else TARGET

    @property
    def depth(self) -> float:
        """Bytes by which a drain's cap is below what the path holds."""
        return self._margin.nbytes(rate=self.rate, quantum=self.quantum, late=0.0)

    @property
    def drained(self) -> float:
        """Seconds for which a drain leaves the link idle, its cap being filled by whole quanta."""
        return (self.depth + self.quantum) / self.rate if self.rate else TARGET

    @property
    def unheard_of(self) -> float:
        """Bytes that have arrived, whose reports wait behind other things on their way back.

        The margin covers what reports wait for each other.
        """
        return self.rate * max(0.0, self._delay.late_back - self._margin.spacing / 2)

    def dry(self, since: float, under_way: float) -> float:
        """Seconds for which the link had nothing more to carry, when the newest report came.

        `since`: seconds since the newest of `under_way` bytes was sent. A report that was on time
        has told of what the link was busy with until then, however slow it has become.
        """
        if not self.rate or under_way < self.delivered:
            return 0.0  # no more than that was to be under way
        return min(self._delay.late, since - under_way / self.rate + self.window)

    @property
    def serialisation(self) -> float:
        """Seconds that the link takes for a quantum; 0 while its rate is unknown."""
        return self.quantum / self.rate if self.rate else 0.0

    def smaller(self, progress: ReportedProgress, *, most: float = 0.0) -> float:
        """Seconds by which it would have taken longer, had it been as large as is usual.

        `most`: bytes that the link has carried within a window, if that is more than is delivered
        now: a share of a link is less than what a single packet goes at.
        """
        rate = max(self.delivered, most) / self._delay.window
        return self._margin.smaller(progress, rate=rate, quantum=self.quantum)
