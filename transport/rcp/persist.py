"""When to ask a sender that throttles whether it still does (5.2.2; RFC 9293, 3.8.6.1). Pure."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 10.0
"""Seconds between two probes."""


class Persist:
    """The persist mode of one pipe: probes, ever more seldom."""

    def __init__(self) -> None:
        self.deadline: float | None = None
        """When the next probe is due; None: the sender does not throttle."""
        self._attempts = 0

    def due(self, now: float, *, throttled: bool, timeout: float) -> bool:
        """Whether a probe goes now; `timeout`: seconds until the first one."""
        if not throttled:
            self.clear()
            return False
        due = self.deadline is not None and self.deadline <= now
        if self.deadline is None or due:
            self.deadline = now + min(timeout * 2**self._attempts, LONGEST)
            self._attempts = min(self._attempts + 1, 16)
        return due

    def clear(self) -> None:
        """It is over."""
        self.deadline, self._attempts = None, 0
