"""Counts what came over each of the paths that carry the link together, over time. Pure.

Interfaces keep their number and colour for as long as they are shown, whatever connections they
have had meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_proxy.status.history import BandwidthHistory
from local_proxy.status.snapshot import HistoryStatus
from transport.link.interface import PathStatistics


class PathHistory:
    """The paths of one local proxy."""

    def __init__(self, *, start: float) -> None:
        self._history = BandwidthHistory(start=start)
        self._numbers: dict[str, int] = {}
        """By interface; 0 stands for what is too much to show."""
        self._before: dict[tuple[str, int], int] = {}
        """What each path had carried when it was looked at last."""

    def look(self, paths: Sequence[PathStatistics], *, now: float) -> None:
        """The paths as they are now."""
        before, self._before = self._before, {}
        for path in paths:
            key = (path.name, path.number)
            self._before[key] = path.carried
            more = max(0, path.carried - before.get(key, 0))
            number = self._numbers.setdefault(path.name, len(self._numbers) + 1)
            self._history.record(number, more, now=now)
            self._history.label(number, path.name)

    def status(self, *, now: float) -> HistoryStatus | None:
        """For the page's chart; None: there has been none."""
        return self._history.status(now=now) if self._numbers else None
