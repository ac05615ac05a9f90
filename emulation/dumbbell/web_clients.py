"""Loads pages over a shared hop again and again: the ImTCP paper's web traffic (IV-E.2).

220 clients of 20 servers; a page is eight objects, whose sizes have a Pareto distribution of shape
1.2 and 12 KB in the mean, each over a connection of its own. Left open by the paper and chosen
here: four objects of a page at a time, as browsers then had it; how long a reader rests (so that
the web takes about half of the line); no object is larger than `LARGEST`, for with shape 1.2 one in
some ten thousand would be all that a run is about.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from emulation.dumbbell.events import Events
from emulation.dumbbell.flows import Route, SackFlow
from emulation.tcp.sack_sender import SackAck, SackSender

CLIENTS: Final = 220
OBJECTS: Final = 8
SHAPE: Final = 1.2
MEAN: Final = 12_000.0
LARGEST: Final = 2_000_000.0
"""Bytes."""
AT_ONCE: Final = 4
REST: Final = 5.0
"""Seconds between two pages, the mean of an exponential distribution."""
HANDSHAKE: Final = 1.0
"""Round trips before the first byte of an object: SYN."""


class ObjectFlow(SackFlow):
    """One object over its own connection, which tells when all of it is there."""

    def __init__(
        self, events: Events, down: Route, up: Route, size: float, done: Callable[[], None]
    ) -> None:
        self._amount = max(1, round(size / SackFlow.data))
        self._done = done
        self._over = False
        super().__init__(events, down, up, sender=SackSender(amount=self._amount), every=1)

    def _at_sender(self, ack: SackAck) -> None:
        super()._at_sender(ack)
        if not self._over and self.sender.first >= self._amount:
            self._over = True
            self._done()


class WebClient:
    """One reader: a page, a rest, another page."""

    def __init__(
        self,
        events: Events,
        down: Route,
        up: Route,
        chance: random.Random,
        *,
        round_trip: float,
        took: Callable[[float, float], object],
    ) -> None:
        """`took`: told of each page, when it began and seconds that it took."""
        self._events, self._down, self._up, self._chance = events, down, up, chance
        self._handshake = HANDSHAKE * round_trip
        self._took = took
        self._began = 0.0
        self._sizes: list[float] = []
        self._under_way = 0
        events.at(chance.expovariate(1 / REST), self._page)

    def _page(self, _: object) -> None:
        self._began = self._events.now
        self._sizes = [self._size() for _ in range(OBJECTS)]
        for _ in range(AT_ONCE):
            self._next()

    def _size(self) -> float:
        least = MEAN * (SHAPE - 1) / SHAPE
        return min(least * self._chance.paretovariate(SHAPE), LARGEST)

    def _next(self) -> None:
        flow = ObjectFlow(self._events, self._down, self._up, self._sizes.pop(), self._there)
        self._under_way += 1
        self._events.at(self._events.now + self._handshake, flow.start)

    def _there(self) -> None:
        self._under_way -= 1
        if self._sizes:
            self._next()
        elif not self._under_way:
            self._took(self._began, self._events.now - self._began)
            self._events.at(self._events.now + self._chance.expovariate(1 / REST), self._page)
