"""Modal: which fidelity pictures have follows from the bandwidth (ATP, sections 3.1, 4.4).

The application has modes; in each it sends what the link carries soon enough, and nothing else. It
changes modes when the estimate leaves the range of the one that it is in. What has been sent stays,
and what was cut at a level is not sent on: a mode holds for what is found from then on.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Final, NamedTuple

from policies.api import (
    BandwidthChanged,
    Command,
    Event,
    Kind,
    Rule,
    SessionOpened,
    SessionView,
    SetPlan,
    WatchBandwidth,
)
from policies.api.plan import StopLevel


class PictureMode(NamedTuple):
    """Up to which level pictures are sent, from which bandwidth on."""

    at_least: float
    """Bytes/second."""
    level: StopLevel


MODES: Final = (
    PictureMode(0.0, "none"),
    PictureMode(3_000.0, "low"),
    PictureMode(20_000.0, "medium"),
    PictureMode(60_000.0, "original"),
)
"""A page has some 20 pictures of which 1, 10 and 40 KB make the levels: each mode brings them
within half a minute at its least bandwidth."""
UNKNOWN: Final = 1
"""The mode before anything is known: coarse pictures cost little."""
_PLAY: Final = 0.8
"""Of a mode's least bandwidth: it is left only below that, so as not to flutter."""


class Modal:
    """`modes`: the lowest first, from 0 bytes/second on."""

    name = "modal"

    def __init__(self, *, modes: Iterable[tuple[float, StopLevel]] = MODES) -> None:
        self._modes = [PictureMode(*one) for one in modes]
        self._mode = min(UNKNOWN, len(self._modes) - 1)

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            if view.bandwidth is not None:
                self._mode = self._fitting(view.bandwidth)
        elif isinstance(event, BandwidthChanged):
            self._mode = self._fitting(event.rate)
        else:
            return
        mode = self._modes[self._mode]
        above = self._modes[self._mode + 1 :]
        yield SetPlan(
            (Rule(kind=Kind.IMAGE, level=mode.level),) if mode.level != "original" else ()
        )
        yield WatchBandwidth(mode.at_least * _PLAY, above[0].at_least if above else inf)

    def _fitting(self, rate: float) -> int:
        """The highest mode that the rate carries; the present one has some play."""
        fitting = max((n for n, mode in enumerate(self._modes) if rate >= mode.at_least), default=0)
        if fitting < self._mode and rate >= self._modes[self._mode].at_least * _PLAY:
            return self._mode
        return fitting
