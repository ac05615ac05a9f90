"""Learns how long a picture waits for word of an <img> that shows it (made.js).

A driver says so as its browser asks, 1 to 3 ms behind the request; on a slow or a busy device it
takes longer. Pictures that stand in no <img> wait in vain, and each teaches to wait less.

Pure. Knows neither pages nor pictures.
"""

from __future__ import annotations

from typing import Final

_FIRST: Final = 0.2
"""Seconds, while nothing is known,"""
_LEAST: Final = 0.02
_MOST: Final = 0.3
"""and the bounds."""
_TIMES: Final = 3.0
"""Times what a word took."""
_LESS: Final = 0.7
"""Of what was waited in vain."""


class WordPatience:
    """What one device has learnt."""

    def __init__(self) -> None:
        self.seconds = _FIRST
        """For which a picture waits."""

    def came(self, after: float) -> None:
        """Word came so many seconds after the request, in time or not."""
        self.seconds = min(_MOST, max(self.seconds, _TIMES * after))

    def vain(self) -> None:
        """None came."""
        self.seconds = max(_LEAST, self.seconds * _LESS)
