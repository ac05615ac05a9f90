"""How often a receiver reports its progress: what both ends of a direction know of it.

Pure.
"""

from __future__ import annotations

from typing import Final

from monitor.progress import ReportedProgress

REPORT_EVERY: Final = 0.005
"""Seconds between reports at least (measured: longer than the gate's target halves goodput)."""
REPORT_EVERY_THIN: Final = 0.020
"""Seconds; with TCP and IP around it a report is 48 bytes, 200/s would fill 77 kbit/s."""
THIN: Final = 12_500.0
"""Bytes/second (100 kbit/s) in either direction below which a link is thin."""

_BETWEEN: Final = 0.0125
"""Seconds between reports above which they are of the second sort."""
_RISE: Final = 1 / 32
"""Of what a pause is above the least, by which that rises: it is forgotten within a second."""


class HeardSpacing:
    """Tells by a receiver's clock how long it holds reports, whatever the ways do to them."""

    def __init__(self) -> None:
        self._least = REPORT_EVERY
        self._arrived_at: float | None = None

    def heard(self, progress: ReportedProgress) -> None:
        """The next report. One that tells of a single piece was not held: nothing had come."""
        before, self._arrived_at = self._arrived_at, progress.arrived_at
        if before is None or progress.gained <= progress.part:
            return
        pause = min(progress.arrived_at - before, REPORT_EVERY_THIN)
        self._least = min(pause, self._least + max(0.0, pause - self._least) * _RISE)

    @property
    def every(self) -> float:
        """Seconds for which it holds one at most."""
        return REPORT_EVERY_THIN if self._least > _BETWEEN else REPORT_EVERY
