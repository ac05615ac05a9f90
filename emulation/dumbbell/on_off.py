"""Sends nothing, then a burst, then nothing: UDP of flash crowds, as the RCP paper has it (3.4.1).

Bursts and rests last as long as a Pareto distribution says. Nothing listens: such packets only take
places in the queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from emulation.dumbbell.events import Events
from emulation.dumbbell.hops import Hop

if TYPE_CHECKING:
    from random import Random

SHAPE: Final = 1.5
"""ns-2's own. The paper says 1, with which no mean exists."""
IDLE: Final = 2.0
BURST: Final = 1.0
"""Seconds, the means."""
RATE: Final = 62_500.0
"""Bytes/second within a burst."""
SIZE: Final = 1_000
"""Bytes of a packet."""


class OnOffSource:
    """One source into one hop."""

    def __init__(self, events: Events, hop: Hop, chance: Random) -> None:
        self._events, self._hop, self._chance = events, hop, chance
        self._until = 0.0
        events.at(self._pareto(IDLE), self._burst)

    def _pareto(self, mean: float) -> float:
        return mean * (SHAPE - 1) / SHAPE * self._chance.paretovariate(SHAPE)

    def _burst(self, _: object) -> None:
        self._until = self._events.now + self._pareto(BURST)
        self._packet(None)

    def _packet(self, _: object) -> None:
        now = self._events.now
        if now >= self._until:
            self._events.at(now + self._pareto(IDLE), self._burst)
            return
        self._hop.send(SIZE, None, None)
        self._events.at(now + SIZE / RATE, self._packet)
