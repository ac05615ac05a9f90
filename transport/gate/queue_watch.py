"""The band that the queue may fill: above it the link has become slower, or the path longer.

Pure. Told of each report what its delay says; knows nothing of what is done about it.
"""

from __future__ import annotations

import enum
from typing import Final

from transport.gate.path_facts import PathFacts

_BAND: Final = 3.1
"""Times the target: a queue above it means that the link has become slower."""
_LONGER_PATH: Final = 4
"""Delays that must pass above the band with nothing queued until the path counts as longer."""


class QueueVerdict(enum.Enum):
    """What a delay above its band means."""

    SLOWER = "slower"
    """The link carries less: what was delivered before is to be forgotten."""
    LONGER = "longer"
    """Nothing of ours is queued, yet the delay stays: another route."""


class Band:
    """Watches one gate's delays for a standing queue."""

    def __init__(self) -> None:
        self._since: float | None = None
        """When the delay rose above the band; None: it is within."""
        self._ends = 0.0
        """Seconds of excess that end it."""
        self._overfull_at = float("-inf")
        """When more than the cap was under way, last."""
        self.rate = 0.0
        """Bytes/second delivered when the delay rose above the band."""

    def judge(self, now: float, path: PathFacts, *, overfull: bool) -> QueueVerdict | None:
        """A report came; None: nothing is to be done. `overfull`: the cap is exceeded."""
        excess, jitter, window = path.excess, path.jitter, path.window
        if overfull:
            self._overfull_at = now
        if self._since is None and excess > _BAND * path.target + jitter:
            self._since, self._ends, self.rate = now, _BAND * path.target, path.rate
        if self._since is None:
            return None
        since, delay = now - self._since, window + excess
        if excess <= self._ends + jitter:
            self._since = None
        elif since > _LONGER_PATH * delay and now - self._overfull_at > delay:
            self._since = None
            return QueueVerdict.LONGER
        elif since > window / 2:
            return QueueVerdict.SLOWER
        return None
