"""Sets how much may be under way above what the path holds, to keep it busy between two reports.

Pure. Knows how reports are spaced, how much one tells of and how often the margin has doubled;
nothing of the path's delays.
"""

from __future__ import annotations

from typing import Final

from monitor.progress import ReportedProgress
from transport.link.quantum import SEGMENT

TARGET: Final = 0.010
"""Seconds of queue that keep the link busy between two reports of the usual spacing."""
_LARGEST_TARGET: Final = 0.025
"""Seconds: for a receiver that spares a thin way back and reports every 20 ms."""
_TARGET_SPACINGS: Final = 1.25
"""Times the spacing of reports: less leaves the link idle between two."""
_SPACING_GAIN: Final = 1 / 16
LATE_REPORT: Final = 0.005
"""Seconds by which a report can be late and the link goes on, where a quantum takes long. With none
a modem is idle for .3 % of the time: what is under way counts in whole quanta, of which the last
may end just as what the path holds does."""


class Margin:
    """Sets how far one gate goes above what its path holds."""

    def __init__(self) -> None:
        self.spacing = 0.0
        """Seconds between reports while the gate limits, the mean."""
        self.granule = 0.0
        """Bytes that a report tells of then, the mean: a whole chunk, or less where chunks come in
        parts. 0: none has come."""
        self.growth = 0
        """Doublings while the gate blocks an empty queue."""
        self._step_due = False
        """One round with an empty queue has passed; after another the margin grows."""

    def reported(self, since: float, nbytes: int) -> None:
        """A report of `nbytes` came `since` seconds after the one before, and the gate limited."""
        self.granule += (nbytes - self.granule) * (_SPACING_GAIN if self.granule else 1.0)
        self.spacing += (min(since, _LARGEST_TARGET) - self.spacing) * _SPACING_GAIN

    def nbytes(self, *, rate: float, quantum: int, late: float = LATE_REPORT) -> float:
        """Before it grows. `rate` in bytes/second, `late` in seconds.

        Less than a quantum leaves the link idle while one waits for the gate. Much more than that
        is a whole quantum more under way, where quanta take longer than reports are apart.
        """
        target = min(_LARGEST_TARGET, max(TARGET, _TARGET_SPACINGS * self.spacing))
        return max(quantum + late * rate, target * rate)

    def smaller(self, progress: ReportedProgress, *, rate: float, quantum: int) -> float:
        """Seconds by which it would have taken longer, had it been as large as is usual.

        What was sent in one go usually is a quantum. Where that comes in parts, each with a report,
        a report usually tells of one.
        """
        whole = min(quantum, SEGMENT)
        parts = 0 < self.granule < whole
        more = self.granule - progress.part if parts else whole - progress.size
        return max(0.0, more) / rate if rate else 0.0

    def step(self, *, most: int) -> None:
        """A round has left the queue empty. Every other one counts: the first one after a step
        still shows the queue before it.
        """
        if self._step_due:
            self.growth = min(most, self.growth + 1)
        self._step_due = not self._step_due

    def calm(self) -> None:
        """There is a queue, or there is to be none: it does not grow."""
        self.growth = 0

    def rest(self) -> None:
        """A round has not."""
        self.growth = 0
        self._step_due = False
