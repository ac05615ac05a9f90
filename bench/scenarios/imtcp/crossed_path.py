"""A path whose bottleneck other packets share: what the ImTCP paper measures (figure 4).

The others are UDP flows, each of packets of one size at even intervals, in three sizes; together
they send what the schedule says. Or their packets come at random (Poisson), which is harder: within
the millisecond that a stream takes at 60 Mbit/s, what they leave varies by a third then. One queue
serves all in the order of their coming. Time is virtual, and only moves when a packet is sent:
others are drawn up to then.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from typing import Final

FLOWS: Final = {200: 4, 500: 4, 1000: 4}
"""Bytes of others' packets, and how many flows have these; all flows send as many packets. The
paper says "various packet sizes" and no more."""
_EACH: Final = sum(size * count for size, count in FLOWS.items())
"""Bytes of one packet from each flow."""
WARM_UP: Final = 0.05
"""Seconds of others' packets before one of ours after a pause: what the queue is like then does not
depend on what came before."""
_IDLE: Final = 0.01
"""Seconds after which a flow that sends nothing looks again whether it should."""


class CrossedPath:
    """One way through a bottleneck."""

    def __init__(
        self,
        *,
        capacity: float,
        delay: float,
        others: Callable[[float], float],
        seed: int,
        even: bool = True,
    ) -> None:
        """`capacity`: bytes/second; `delay`: seconds of the way without its queue; `others`:
        bytes/second that others send at a time; `even`: at even intervals."""
        self._capacity, self._delay, self._others = capacity, delay, others
        self._random, self._even = random.Random(seed), even
        self._free_at = 0.0
        """When the queue will have served all that has come."""
        self._coming: list[tuple[float, int, int]] = []
        """When each flow's next packet comes, the flow's number, its packets' size."""
        self._begin(0.0)

    def available(self, at: float) -> float:
        """Bytes/second that others leave, the truth."""
        return self._capacity - self._others(at)

    def send(self, times: Sequence[float], size: int) -> list[float]:
        """When packets of `size` bytes arrive that leave at these times, each after the last."""
        if self._coming[0][0] < times[0] - WARM_UP:
            self._free_at = max(self._free_at, times[0] - WARM_UP)
            self._begin(times[0] - WARM_UP)
        arrived = []
        for at in times:
            while self._coming[0][0] <= at:
                due, flow, of = self._coming[0]
                if self._others(due) > 0:
                    self._serve(due, of)
                heapq.heapreplace(self._coming, (due + self._pause(due), flow, of))
            arrived.append(self._serve(at, size) + self._delay)
        return arrived

    def _begin(self, at: float) -> None:
        sizes = [size for size, count in FLOWS.items() for _ in range(count)]
        self._coming = [
            (at + self._random.random() * self._pause(at), flow, size)
            for flow, size in enumerate(sizes)
        ]
        heapq.heapify(self._coming)

    def _serve(self, at: float, size: int) -> float:
        self._free_at = max(self._free_at, at) + size / self._capacity
        return self._free_at

    def _pause(self, now: float) -> float:
        rate = self._others(now)
        if rate <= 0:
            return _IDLE
        mean = _EACH / rate
        return mean if self._even else self._random.expovariate(1 / mean)
