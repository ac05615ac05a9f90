"""A session asks here what its link carries: decisions on one page ask dozens of times.

Knows the link; does not know who decides what.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from transport.link.interface import Link, LinkStatistics

CONFIDENT: Final = 0.5
"""Confidence from which an estimate of the link counts. Two small messages that a relay passed on
together look like a link of gigabits, and a quantum fitted to that is seconds of a slow one."""
PROMISED: Final = 0.95
"""Of the estimate, that fetches are admitted by: frames have headers, and an estimate that is two
percent too high would be a promise that is not kept."""
GLANCE: Final = 0.02
"""Seconds for which a look at the link is good: each takes a tenth of a millisecond, and where a
hundred pages came at once they were a tenth of all that the event loop did."""


class LinkRate:
    """Reads the rate of one link, in bytes/second."""

    def __init__(self, link: Link, now: Callable[[], float]) -> None:
        """`now`: seconds on the loop's clock."""
        self._link = link
        self._now = now
        self._seen: LinkStatistics | None = None
        self._seen_at = 0.0

    @property
    def measured(self) -> float | None:
        """What it carries; None: not measured yet."""
        estimate = self._glance().outgoing
        if estimate is None or estimate.confidence < CONFIDENT:
            return None
        return estimate.rate

    @property
    def promised(self) -> float | None:
        """As much of it as may be promised; None: not measured yet."""
        measured = self.measured
        return None if measured is None else PROMISED * measured

    @property
    def expected(self) -> float | None:
        """What to reckon with: the link as it is now, or as it was when it was asked last; None:
        nothing is known.

        Who reads leaves the link alone for longer than an estimate lasts, and then wants a page.
        """
        return self.measured or self._glance().seen or None

    def _glance(self) -> LinkStatistics:
        now = self._now()
        if self._seen is None or now >= self._seen_at + GLANCE:
            self._seen, self._seen_at = self._link.statistics(), now
        return self._seen
