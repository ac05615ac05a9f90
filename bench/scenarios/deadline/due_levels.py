"""Says which level is due for each picture of a document at a limit, and when it was there.

Asks the remote's own choice (scheduling/timely.py) what is due, and a witness on the device what
came; not the choice whether it was kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from bench.pairs.pair import Witness
from remote_proxy.session import RemoteSession
from wire.skeleton import LEVELS, Kind

_LOOK: Final = 0.1
"""Seconds between two looks at what has come."""


def images(witness: Witness) -> list[int]:
    """All pictures that were promised."""
    return [one for one, part in witness.parts.items() if part.kind is Kind.IMAGE]


def chosen(remote: RemoteSession, witness: Witness, document: int) -> dict[int, str]:
    """What the remote has chosen for each picture, as it stands now.

    What has left the tree was sent to its end. For what has no levels yet the coarsest is due.
    """
    found = remote.obedience.timely.document(document)
    levels = found.levels if found is not None else {}
    return {
        one: levels.get(one, LEVELS[0] if remote.tree.find_leaf(one) else LEVELS[-1])
        for one in images(witness)
    }


async def arrivals(witness: Witness, due: Mapping[int, str], until: float) -> dict[int, float]:
    """When each component had the level that was due, on the loop's clock; `until` for what had
    it not by then."""
    loop, reached = asyncio.get_running_loop(), witness.reached
    while loop.time() < until and any(  # noqa: ASYNC110  # the witness sets no event
        one not in reached for one in due.items()
    ):
        await asyncio.sleep(_LOOK)
    return {one: reached.get((one, level), until) for one, level in due.items()}


def level_at(witness: Witness, component: int, at: float) -> str:
    """The finest level that a picture had by then; "none": not even the coarsest."""
    times = ((name, witness.reached.get((component, name))) for name in reversed(LEVELS))
    return next((name for name, time in times if time is not None and time <= at), "none")
