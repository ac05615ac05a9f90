"""Holds one path of the device's end: its link, its duty, and what was told and heard of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from transport.multipath.duty import Fixed, Meter
from transport.multipath.words import LagWord, WordReader, encode
from transport.spp.congestion.interface import Congestion
from transport.spp.congestion.rate_based import RateBased
from transport.spp.edge.link import SppLink

_GRAIN: Final = 0.001
"""Seconds; timers are no finer."""
_PATIENCE: Final = 2.0
"""Seconds at most: the patience of when a path was slow, half a minute perhaps, lasts for long; and
one over which nothing at all comes for so long is better replaced until it answers."""
_NEARLY: Final = 0.2
"""Of what was said: another by less is not told,"""
_AT_REST: Final = 0.04
"""or by less than this, once nothing is under way: what comes next goes by what was said last, and
a queue was part of that."""


@dataclass(eq=False, slots=True)
class DevicePath:
    """One of the paths that have joined."""

    name: str
    """Of the interface."""
    number: int
    """Of the pipe; of two that began, the later has the larger."""
    link: SppLink
    control: Congestion
    """Of what comes over it."""
    meter: Meter = field(default_factory=Fixed)
    """What it is to carry."""
    spare: bool = False
    """Nothing, while one that is no spare answers."""
    leaving: bool = False
    """Nothing more; it ends once what it was asked for is here."""
    lag: LagWord = field(default_factory=lambda: LagWord(0, 0, 0, 0))
    """What the remote was told of it."""
    parted: int = 0
    """How often the remote has said that the stream has lost its order."""
    doubted: bool = False
    """What goes up over it is not answered, so the engine leaves it alone where it has others."""
    reader: WordReader = field(default_factory=WordReader)

    @property
    def mute_in(self) -> float | None:
        """Seconds until it counts as dead if nothing comes, 0 where it does; None: it owes nothing.

        While anything comes over it, an acknowledgement that is late waits behind a queue of data;
        while something is sent time and again, the patience with the last of it never ends.
        """
        unanswered = self.link.unanswered()
        if not unanswered:
            return None
        patience = min(self.link.patience, _PATIENCE)
        left = patience - min(unanswered, self.link.silent())
        return left if left > _GRAIN else 0.0

    @property
    def mute(self) -> bool:
        """It answers no more."""
        return self.mute_in == 0.0

    def pace(self, rate: float) -> None:
        """What goes up leaves at so many bytes/second."""
        if isinstance(self.link.congestion, RateBased):
            self.link.congestion.set_rate(rate)

    def tell(self, lag: LagWord, *, rests: bool) -> None:
        """The remote is to know how far it lags behind others, and its rate, once they are others
        than said. `rests`: nothing is under way, over any path."""
        nearly, told = _AT_REST if rests else _NEARLY, self.lag
        pairs = zip(lag[:-1], told[:-1], strict=True)
        news = lag.void != told.void
        news = news or any(abs(new - old) > old * nearly for new, old in pairs)
        if self.link.open and news:
            self.lag = lag
            self.link.send(encode(lag))
