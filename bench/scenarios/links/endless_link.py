"""Connects two ends over UDP in virtual time, of which the far one has always something to send.

    link = EndlessLink(profile("5M"))
    async for seen in link.looks(60.0):
        link.queue                  # seconds that the line's queue lasts
    link.path.down                  # where others may send too

Gate, SPP and both ends are the product's, and the quantum is fitted as the remote's session does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from bench.scenarios.links.gate import ChunkWatch, EndlessOutbox, Silent
from bench.scenarios.links.gate_virtual import fit
from emulation.lines.profiles import Profile
from emulation.memory.memory_spp import memory_links
from transport.link.interface import LinkStatistics
from transport.stream.stream_link import StreamLink
from transport.udp.connection import DEVICE, REMOTE, congestion, udp_connection

_UNFITTED: Final = 512
"""Bytes of a quantum until the rate is known."""
_LOOK: Final = 0.0101
"""Seconds between two looks, which chunks do not leave in step with."""


class EndlessLink:
    """Such a link, which has begun. Make it within the loop."""

    def __init__(self, line: Profile, *, measures: bool = False, competes: bool = True) -> None:
        """`measures`: the far end learns what others leave of the line. `competes`: what it sends
        does not give way to them."""
        self._line = line
        near, far, self.path = memory_links(
            line, near=DEVICE, far=REMOTE, near_control=congestion(), far_control=congestion()
        )
        self._near = StreamLink(udp_connection(near, lingers=False))
        self._far = StreamLink(udp_connection(far, lingers=True), measures=measures)
        self._outbox = EndlessOutbox(_UNFITTED)
        self._near.start(Silent(), ChunkWatch())
        self._far.start(self._outbox, ChunkWatch(), competes=lambda: competes)

    @property
    def sent(self) -> int:
        """Bytes of the far end."""
        return self._far.statistics().sent

    @property
    def queue(self) -> float:
        """Seconds that the line's queue lasts."""
        return self.path.down.statistics().backlog / self._line.rate_down

    def speak(self, speaks: bool) -> None:
        """Whether the far end has something to send from now on."""
        self._outbox.silent = not speaks
        if speaks:
            self._far.wake()

    async def looks(self, seconds: float) -> AsyncIterator[LinkStatistics]:
        """The far end's statistics, again and again for so long."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while loop.time() < until:
            await asyncio.sleep(_LOOK)
            seen = self._far.statistics()
            fit(self._outbox, seen)
            yield seen
