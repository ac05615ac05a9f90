"""Keeps what each priority has been sending lately, for those below it to reckon with.

A message of low priority that would just be in time if nothing more came is late when messages of
higher priority come as they have before; it is interrupted, and all that was sent of it is wasted.
So admission leaves to higher priorities what they took in nearly all of the last seconds. A burst
now and then is not counted, since most messages would be sent in between.

Pure: `now` is an argument. It must not know messages.
"""

from __future__ import annotations

from collections import deque
from typing import Final

_SECONDS: Final = 5
"""Whole ones that are looked at."""
_UNLIKE: Final = 1
"""Of these may have had less."""


class Demand:
    """Bytes that entered, by second and priority, of one queue."""

    def __init__(self) -> None:
        self._seconds: deque[tuple[int, dict[int, int]]] = deque(maxlen=_SECONDS + 1)
        """The last one is not over."""

    def entered(self, priority: int, size: int, now: float) -> None:
        """A message was admitted."""
        if not self._seconds or self._seconds[-1][0] != int(now):
            self._seconds.append((int(now), {}))
        levels = self._seconds[-1][1]
        levels[priority] = levels.get(priority, 0) + size

    def above(self, priority: int, now: float) -> float:
        """Bytes/second that higher priorities took in all of the last seconds but one."""
        sums = [
            sum(size for level, size in levels.items() if level > priority)
            for second, levels in self._seconds
            if int(now) - _SECONDS <= second < int(now)
        ]
        missing = _SECONDS - len(sums)
        return float(sorted([0] * missing + sums)[_UNLIKE])
