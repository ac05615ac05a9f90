"""Remembers the most recent blocks that were asked for by pull, or sent by it (3.3.1). Pure.

Both ends keep the last three: the receiver repeats its three in every request, the sender sends
those of them that its cyclic buffer does not have. So a pull must be lost in four requests running
to be lost. One that asks for more than three blocks at once has all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from transport.rcp.segments import Block

RECENT: Final = 3
"""Blocks, as the SACK option has (RFC 2018)."""


class RecentBlocks:
    """The cyclic buffer of either end."""

    def __init__(self) -> None:
        self._blocks: deque[Block] = deque(maxlen=RECENT)

    def carried(self, fresh: Sequence[Block], *, deq: int) -> tuple[Block, ...]:
        """Adds fresh blocks; all that a request carries, less what has arrived wholly."""
        before = list(self._blocks)
        self._blocks.extend(fresh)
        older = before[max(0, len(before) + len(fresh) - RECENT) :] if before else []
        older = older if len(fresh) < RECENT else []
        return tuple(one for one in (*older, *fresh) if one.end > deq)

    def missing(self, carried: Iterable[Block]) -> list[Block]:
        """The blocks of a request that were not sent, which are kept as sent from now on."""
        found = [one for one in carried if one not in self._blocks]
        self._blocks.extend(found)
        return found
