"""Keeps a session fitted to its link: quantum, timers, what schedulers are told of the rate.

Looks while something crosses the link, has been sent and not arrived, or a timer runs; rests with
the link.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from scheduling.commands import Obedience
from scheduling.deadlines import Missed
from scheduling.tree import Tree
from transport.link.activity import Activity
from transport.link.interface import Link, LinkStatistics
from transport.link.quantum import Chunks
from transport.sending.outbox import TreeOutbox
from wire import messages as m

RENEW: Final = 0.25
"""Seconds between two looks at the link's estimate."""


class Fitting:
    """For one session."""

    def __init__(
        self,
        link: Link,
        tree: Tree,
        obedience: Obedience,
        outbox: TreeOutbox,
        *,
        rate: Callable[[], float | None],
        say: Callable[[m.Message], None],
    ) -> None:
        """`rate`: bytes/second; None: not measured yet."""
        self.activity = Activity()
        """To be told of all that is said, comes, or is there to be sent."""
        self._link = link
        self._tree = tree
        self._obedience = obedience
        self._outbox = outbox
        self._rate = rate
        self._say = say
        self._usual = 0
        """Bytes of a quantum that suits the link where the loop is in time; 0: nothing is known."""

    def latency(self, rate: float | None) -> float:
        """Seconds until a byte that is sent now is there: the link's way, and two quanta at `rate`
        bytes/second, one that has begun and one whose last byte is wanted."""
        return self._latency(rate, self._link.statistics().delay or 0.0)

    def _latency(self, rate: float | None, way: float) -> float:
        return way if not rate else way + 2 * self._outbox.quantum / rate

    async def run(self, also: Callable[[], None]) -> None:
        """Until cancelled. `also` is called at each look."""
        watch, sent = self.activity.watch(), 0
        while True:
            late = await watch.news(pause=RENEW)
            rate = self._rate()
            now = asyncio.get_running_loop().time()
            link = self._link.statistics()  # once: the kernel is asked for a part of it
            if self._obedience.look(now, rate=rate, latency=self._latency(rate, link.delay or 0.0)):
                self._link.wake()  # it may have had nothing to send
            if rate is None:
                self._raise_quantum(link)
            else:
                self._fit(rate, late, link.chunks)
            also()
            # A gate that has just found its link slow lets nothing go while much is under way.
            moves = self._outbox.payload_sent != sent or link.under_way > 0
            sent = self._outbox.payload_sent
            if moves or self._obedience.deadlines or self._obedience.timely:
                self.activity.happened()  # it goes on by itself

    def _fit(self, rate: float, late: float, chunks: Chunks) -> None:
        self._tree.hierarchy.bandwidth_changed(rate)
        now = asyncio.get_running_loop().time()
        for missed in self._obedience.expire(now, rate=rate):
            self._say(expired(missed))
        if not self._obedience.fixed_quantum:
            self._usual = chunks.quantum(rate)
            self._tree.multiplexer.quantum = chunks.quantum(rate, late=late)

    def _raise_quantum(self, statistics: LinkStatistics) -> None:
        """Where sources are slower than the link it is never filled, so never measured; what it
        carries of them says enough not to cut it small."""
        if statistics.outgoing is None or self._obedience.fixed_quantum:
            return
        rate, multiplexer = statistics.outgoing.rate, self._tree.multiplexer
        least = statistics.chunks.quantum_at_least(rate, cap=statistics.cap)
        # Not what a late loop has made larger: it may be in time again, and the link slow.
        multiplexer.quantum = self._usual = max(self._usual or multiplexer.quantum, least)


def expired(missed: Missed) -> m.Expired:
    """What the device is told of a fetch that can't be in time."""
    return m.Expired(missed.component, missed.level, round(missed.within, 2), missed.refused)
