"""Keeps what crosses the link in a day to a size that its user has set. Pure.

While some is left, pages come as a saver's; once it is gone pictures, sound, film and fonts stay
away until midnight, by this machine's calendar, but for what a reader asks for by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

from local_proxy.sites.sites import Mode

RESERVE: Final = 0.025
"""Part of it that is kept for texts: in thirty pages they took two to three hundredths of it once
pictures had come to their end."""
LITTLE: Final = 0.05
"""Part of it that is as good as nothing: a picture that it has no room for ends the day's."""


class DayBudget:
    """So many bytes a day, both ways."""

    def __init__(
        self,
        size: int,
        *,
        crossed: Callable[[], int],
        today: Callable[[], date] = date.today,
    ) -> None:
        """`crossed`: bytes over the link since the start of the run, both ways."""
        self.size = size
        self._crossed = crossed
        self._today = today
        self._seen = 0
        self.month = today().isoformat()
        """The day that `spent` is of."""
        self.spent = 0
        self._short = False
        """Little was left, and something had no room."""

    def look(self) -> None:
        """Count what has crossed since the last look; another day begins with nothing."""
        day, crossed = self._today().isoformat(), self._crossed()
        if day != self.month:
            self.month, self.spent, self._short = day, 0, False
        self.spent += max(0, crossed - self._seen)
        self._seen = crossed

    @property
    def gone(self) -> bool:
        """Whether no more pictures may cross today."""
        return self.left <= 0 or self._short

    @property
    def left(self) -> float:
        """Bytes that pictures may still take today; below 0 where texts have taken more."""
        self.look()
        return (1.0 - RESERVE) * self.size - self.spent

    def takes(self, size: int, *, coming: int) -> bool:
        """Whether there is room for something of that size, where so many bytes are still to come
        of what was let in."""
        if self.gone:
            return False
        left = self.left - coming
        self._short = size > left and left < LITTLE * self.size
        return size <= left

    @property
    def until(self) -> date:
        """The day on which the next one begins."""
        return self._today() + timedelta(days=1)

    def mode(self, mode: Mode) -> Mode:
        """What becomes of a site that is set to that mode."""
        if mode not in (Mode.ADAPT, Mode.SAVER):
            return mode
        return Mode.TEXT_ONLY if self.gone else Mode.SAVER
