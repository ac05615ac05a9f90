"""Loads a page within a time through both proxies, in virtual time, over a piece of a trace.

Measures what section 4.1 of Bolliger and Gross does: how far from the limit the last byte of what
was chosen came, and how much of the bandwidth until the limit was left unused. The piece is scaled
so that all of them carry equally much until the limit, and not the originals.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench.origins.synthetic import Prepared, Shelf, SyntheticPage
from bench.pairs.pair import Pair, memory_pair
from bench.scenarios.deadline import due_levels
from bench.scenarios.deadline.estimates import EstimateError, MisjudgedLink
from emulation.lines.schedule import Steps
from emulation.memory.memory import LinkModel, MemoryLink
from emulation.memory.virtual_time import run as run_virtually
from policies.api import Policy
from policies.builtin.default import Default
from policies.builtin.within import Within
from remote_proxy.jobs.services import Services
from transport.link.interface import Link
from wire.skeleton import LEVELS

SHARE: Final = 0.6
"""Of the page's bytes, that the link carries until the limit."""
WARM: Final = 1.0
"""Seconds between the session's beginning and the request."""
DELAY: Final = 0.04
"""Seconds one way, as links that are named by a trace have."""
RATE_UP: Final = 20_000.0
"""Bytes/second."""
_RANKS: Final = ("none", *LEVELS)
_LOOK: Final = 0.1
_PATIENCE: Final = 120.0
"""Seconds after the limit for what was chosen and is late."""


@dataclass(frozen=True, slots=True)
class TracePiece:
    """Where in which trace a load begins."""

    name: str
    start: float
    """Seconds."""


@dataclass(frozen=True, slots=True)
class TimedLoad:
    """What came of one load."""

    piece: TracePiece
    error: EstimateError
    deviation: float
    """Per cent of the limit, from it to the last byte of what was chosen; below 0: earlier."""
    unused: float
    """Per cent of what the line could have carried until the limit."""
    levels: Mapping[str, int]
    """Pictures by the level that they had at the limit; "none": not even the coarsest."""
    late: int
    """Pictures that did not have what was chosen for them, or were not promised."""

    @property
    def fineness(self) -> float:
        """The mean level of the pictures, from 0 (none) to 4 (original)."""
        total = sum(self.levels.values())
        return sum(_RANKS.index(name) * count for name, count in self.levels.items()) / max(
            1, total
        )

    def as_json(self) -> dict[str, Any]:
        """A row of the report."""
        return {
            "trace": self.piece.name,
            "start_s": round(self.piece.start, 2),
            "estimate": self.error.label,
            "deviation_pct": round(self.deviation, 2),
            "unused_pct": round(self.unused, 2),
            "late": self.late,
            "mean_level": round(self.fineness, 3),
            "levels": {name: self.levels[name] for name in _RANKS if self.levels.get(name)},
        }


@dataclass(slots=True)
class _AtTheLimit:
    """What is seen at the limit itself."""

    received: int = 0
    chosen: dict[int, str] | None = None
    """By picture; None: the page was not known yet."""


def timed_load(
    page: SyntheticPage,
    pictures: Prepared,
    trace: Steps,
    piece: TracePiece,
    error: EstimateError,
    *,
    limit: float,
) -> TimedLoad:
    """One load; `limit`: seconds from the device's request.

    What other loads have left is cleared away before: a full collection takes a tenth of a second,
    and in the middle of a page it would count as time that its parts are looked for
    (remote_proxy/promises/document_import.py), so that some would not be promised.
    """
    gc.collect()
    carried = trace.carried(piece.start, piece.start + limit)
    scaled = trace.scaled(SHARE * page.size / carried)
    services = Services(Shelf([page]), pictures)
    return run_virtually(_load(page, services, scaled, piece, error, limit=limit))


async def _load(
    page: SyntheticPage,
    services: Services,
    trace: Steps,
    piece: TracePiece,
    error: EstimateError,
    *,
    limit: float,
) -> TimedLoad:
    loop = asyncio.get_running_loop()
    schedule = trace.from_epoch(loop.time() + WARM - piece.start)

    def far_end(link: MemoryLink) -> Link:
        link.outgoing.set_schedule(schedule)
        if error.percent is None:
            return link
        return MisjudgedLink(link, lambda now: error.rate(schedule, now), loop.time)

    model = LinkModel(rate_up=RATE_UP, rate_down=trace.mean, delay=DELAY)
    policies: list[Policy] = [Default(), Within(seconds=limit)]
    async with memory_pair(model, services, policies, far_end=far_end) as pair:
        await asyncio.sleep(WARM - loop.time())
        began, before = loop.time(), pair.tap.received
        seen = _AtTheLimit()
        loop.call_at(began + limit, _look, seen, pair, page.url)
        document = await pair.load(page.url)
        await asyncio.sleep(max(0.0, began + limit + _LOOK - loop.time()))
        chosen = seen.chosen or dict.fromkeys(due_levels.images(pair.witness), LEVELS[0])
        absent = len(page.files) - 1 - len(chosen)
        came = await due_levels.arrivals(
            pair.witness, {**chosen, document: "original"}, loop.time() + _PATIENCE
        )
        capacity = schedule.carried(began, began + limit)
        return TimedLoad(
            piece,
            error,
            100 * (max(came.values()) - began - limit) / limit,
            100 * (1 - (seen.received - before) / capacity),
            Counter(due_levels.level_at(pair.witness, one, began + limit) for one in chosen)
            + Counter({_RANKS[0]: absent}),
            sum(came[one] > began + limit for one in chosen) + absent,
        )


def _look(seen: _AtTheLimit, pair: Pair, url: str) -> None:
    """Note what has come, and what is chosen for each picture."""
    seen.received = pair.tap.received
    document = pair.witness.documents.get(url)
    if document is not None:
        seen.chosen = due_levels.chosen(pair.remote, pair.witness, document)
