"""UDP of others across a hop: packets of several sizes that together send what a schedule says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from emulation.dumbbell.events import Events
from emulation.dumbbell.hops import Hop

if TYPE_CHECKING:
    from random import Random

SIZES: Final = (200, 500, 1000)
"""Bytes of a packet; as many of each."""
_IDLE: Final = 0.01
"""Seconds after which a source that sends nothing looks again whether it should."""


class CrossTraffic:
    """Sources at even intervals, one for each size; nothing listens."""

    def __init__(
        self,
        events: Events,
        hop: Hop,
        rate: Callable[[float], float],
        chance: Random,
        *,
        sizes: Sequence[int] = SIZES,
    ) -> None:
        """`rate`: bytes/second of all together, at a time."""
        self._events, self._hop, self._rate = events, hop, rate
        self._sum = sum(sizes)
        for size in sizes:
            events.at(events.now + chance.random() * _IDLE, self._packet, size)

    def _packet(self, size: int) -> None:
        now, rate = self._events.now, self._rate(self._events.now)
        if rate <= 0:
            self._events.at(now + _IDLE, self._packet, size)
            return
        self._hop.send(size, None, None)
        self._events.at(now + self._sum / rate, self._packet, size)


class RandomSizes:
    """One source of packets whose sizes are drawn anew, at an even rate."""

    def __init__(
        self, events: Events, hop: Hop, rate: float, chance: Random, *, sizes: tuple[int, int]
    ) -> None:
        """`rate`: bytes/second; `sizes`: the least and the most bytes of a packet."""
        self._events, self._hop, self._rate = events, hop, rate
        self._chance, self._sizes = chance, sizes
        self._packet(None)

    def _packet(self, _: object) -> None:
        size = self._chance.randint(*self._sizes)
        self._hop.send(size, None, None)
        self._events.at(self._events.now + size / self._rate, self._packet)
