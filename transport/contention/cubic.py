"""Grows and cuts a window as CUBIC does (RFC 9438), TCP's usual congestion avoidance today.

Reno's segment a round trip is next to nothing where a round trip takes a second; CUBIC goes by the
clock, so that flows of different round trips, and after a long one, come to a fair share soon.

Pure. Bytes and seconds.
"""

from __future__ import annotations

from typing import Final

SEGMENT: Final = 1448
"""Bytes: TCP's usual segment."""
_LEAST: Final = 2 * SEGMENT
"""Bytes that a loss leaves at least (RFC 5681, 3.1)."""
_BETA: Final = 0.7
"""Of the window, after a loss (4.6)."""
_C: Final = 0.4 * SEGMENT
"""Bytes/second^3 (5.1)."""
_ALPHA: Final = 3.0 * (1.0 - _BETA) / (1.0 + _BETA)
"""Segments a round trip for as much as Reno has (4.3)."""
_FASTEST: Final = 1.5
"""Times the window, at most, in a round trip (4.2)."""
_UNUSED: Final = 2.0
"""Round trips since the last that count, at most: time in which nothing was sent does not (5.8)."""


class Cubic:
    """One window."""

    def __init__(self) -> None:
        self.window = 0.0
        """Bytes."""
        self._most = 0.0
        """Bytes at which the curve is level: about where the last loss was."""
        self._reno = 0.0
        """Bytes that Reno would have."""
        self._last: float | None = None
        """When the last round trip ended; None: the curve begins with the next."""
        self._age = 0.0
        """Seconds of the curve until then."""
        self._level_after = 0.0
        """Seconds from its beginning until it is level (K)."""

    def begin(self, window: float) -> None:
        """So many bytes are right, as far as is known: the curve is level now."""
        self.window, self._most, self._last = window, window, None

    def rest(self, window: float) -> None:
        """The window was held at so many bytes for a while: the curve begins anew from there."""
        self.window, self._last = max(window, min(_LEAST, self.window)), None

    def round(self, now: float, *, loop: float) -> None:
        """A round trip of so many seconds has ended, in which the window was used up."""
        if self._last is None:
            self._last, self._age, self._reno = now, 0.0, self.window
            below = max(0.0, self._most - self.window)
            self._level_after = (below / _C) ** (1 / 3)
            self._most = max(self._most, self.window)
        self._age += min(now - self._last, _UNUSED * loop)
        self._last = now
        self._reno += SEGMENT * (_ALPHA if self._reno < self._most else 1.0)
        target = _C * (self._age + loop - self._level_after) ** 3 + self._most
        grown = min(max(target, self.window), _FASTEST * self.window)
        self.window = max(grown, self._reno)

    def cut(self) -> None:
        """Something was lost. Who is below where he was lost last leaves room (4.7)."""
        self._most = self.window * ((1.0 + _BETA) / 2 if self.window < self._most else 1.0)
        self.window = max(_BETA * self.window, min(_LEAST, self.window))
        self._last = None
