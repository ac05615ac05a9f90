"""Drains: now and then the queue runs empty once, and the least delay is learnt anew.

Pure. Knows when, not how: the gate lowers its cap (transport/gate/controller.py).
"""

from __future__ import annotations

from typing import Final

from monitor.sensors.path_delay import MEMORY
from transport.gate.path_facts import PathFacts

_EVERY: Final = 10.0
"""Seconds between drains, or _ROUNDS rounds on long paths."""
_ROUNDS: Final = 20
_COST: Final = 0.005
"""Of the link, that drains may take after the first. With 0.01 goodput at 56 kbit/s is .003 less,
and an urgent quantum there as soon."""
_LONGEST: Final = 0.8 * MEMORY
"""Seconds between drains on short paths, or a least delay would be forgotten before the next."""


class Drains:
    """Lets one gate's queue run empty now and then."""

    def __init__(self, *, now: float) -> None:
        self.count = 0
        self.end = now
        """When the newest one is over."""
        self._next = now + _EVERY

    def begin(self, now: float, path: PathFacts) -> None:
        """The queue runs empty for one least delay from `now` on."""
        self.count += 1
        self.end = now + path.window
        self.put_off(now, path)

    def put_off(self, now: float, path: PathFacts) -> None:
        """The next one is due no sooner than if one had been `now`."""
        self._next = now + self._interval(path)

    def due(self, now: float, path: PathFacts, *, empty_at: float) -> bool:
        """Is it time? `empty_at`: when the queue has run empty by itself, last."""
        return now >= max(self._next, empty_at + self._interval(path))

    def _interval(self, path: PathFacts) -> float:
        """Seconds: more where a drain costs more, but before a least delay is forgotten."""
        cheap = min(_LONGEST, path.drained / _COST) if self.count else 0.0
        return max(_EVERY, _ROUNDS * path.window, cheap)
