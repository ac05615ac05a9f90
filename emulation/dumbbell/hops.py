"""One hop of a path: a queue that drops from its tail, a rate, a delay, and losses in the air.

The queue counts packets, not bytes, as ns-2's does, so that a request or an acknowledgement is
dropped as often as a packet of data. A packet is its size and what becomes of it at each end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from emulation.dumbbell.events import Events

if TYPE_CHECKING:
    from random import Random

Deliver = Callable[[Any], None]


class Hop:
    """One direction of one link."""

    def __init__(
        self,
        events: Events,
        *,
        rate: float,
        delay: float,
        queue: int,
        chance: Random | None = None,
        loss: float = 0.0,
    ) -> None:
        """`rate` bytes/second, `delay` seconds, `queue` packets; `loss`: share lost in the air."""
        self._events = events
        self._rate, self._delay, self._queue = rate, delay, queue
        self._chance = chance
        self.loss = loss
        """Share of packets that the air loses from now on."""
        self._leaves: deque[float] = deque()
        """When each packet of the queue has left it."""
        self.offered = self.dropped = self.lost = 0
        """Packets: that came, that found the queue full, that were lost in the air."""
        self.carried = 0
        """Bytes that left the queue, or will."""

    def send(
        self,
        size: int,
        deliver: Deliver | None,
        what: Any,
        *,
        further: float = 0.0,
        on_lost: Deliver | None = None,
    ) -> None:
        """A packet of so many bytes; `further`: seconds of other links behind this one.

        `deliver` gets it where the hop ends (None: nobody waits), `on_lost` if the air lost it,
        at the moment at which it would have come.
        """
        now = self._events.now
        leaves = self._leaves
        while leaves and leaves[0] <= now:
            leaves.popleft()
        self.offered += 1
        if len(leaves) >= self._queue:
            self.dropped += 1
            return
        end = max(now, leaves[-1] if leaves else now) + size / self._rate
        leaves.append(end)
        self.carried += size
        due = end + self._delay + further
        if self.loss and self._chance is not None and self._chance.random() < self.loss:
            self.lost += 1
            if on_lost is not None:
                self._events.at(due, on_lost, what)
        elif deliver is not None:
            self._events.at(due, deliver, what)
