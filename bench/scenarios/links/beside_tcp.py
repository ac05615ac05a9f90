"""Shows what share of a line a link has beside somebody else's downloads by TCP.

Gate, SPP and both ends of the link are the product's, in virtual time; TCP is the model of
emulation/tcp/, over the same line and queue. What is sent has no end. A fair share is one of all
connections; afterwards the link is alone again, and its queue is to be short.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.reports.report import Check
from bench.scenarios.links.gate import ChunkWatch, EndlessOutbox, Silent
from bench.scenarios.links.gate_virtual import fit
from emulation.lines.profiles import profile
from emulation.memory.memory_spp import memory_links
from emulation.memory.tcp_beside import TcpBeside
from emulation.memory.virtual_time import run as run_virtually
from transport.stream.stream_link import StreamLink
from transport.udp.connection import DEVICE, REMOTE, congestion, udp_connection

LINES: Final = ("384k", "1.6M", "5M", "20M", "satellite")
OTHERS: Final = (1, 3)
SECONDS: Final = {"384k": 120.0, "satellite": 200.0, "20M": 30.0}
"""Where a round trip takes a second or so, or there are many packets; elsewhere 60."""
BEFORE: Final = 3.0
"""Seconds for which the link is alone, at first."""
SETTLED: Final = 5.0
"""Seconds after the others' end, after which the link is to be as before them."""
AFTER: Final = 10.0
FAIR: Final = 0.6
"""Of a fair share, that either side is to have at least."""
_LOOK: Final = 0.0101


@dataclass(frozen=True, slots=True)
class SharedLine:
    """Parts of the line, and seconds of its queue."""

    ours: float
    theirs: float
    alone: float
    """After they are over,"""
    queue: float
    """and the queue then, in the median."""


def run(
    *,
    lines: Sequence[str] = LINES,
    others: Sequence[int] = OTHERS,
    seconds: float | None = None,
) -> dict[str, Any]:
    """Each line with so many others. Raises ValueError for a line that there is not."""
    rows, checks = [], {}
    print(_HEAD)
    for line in lines:
        for many in others:
            took = seconds or SECONDS.get(line, 60.0)
            found = run_virtually(shares(line, others=many, seconds=took))
            fair = 1.0 / (many + 1)
            rows.append(
                {
                    "line": line,
                    "others": many,
                    "ours": round(found.ours, 3),
                    "theirs": round(found.theirs, 3),
                    "fair": round(fair, 3),
                    "alone": round(found.alone, 3),
                    "queue_ms": round(1e3 * found.queue, 1),
                }
            )
            print(_told(rows[-1]))
            least = min(found.ours / fair, found.theirs / (many * fair))
            checks[f"{line}, {many} beside"] = Check(
                round(least, 2), "of a fair share, the worse side", f">= {FAIR:g}", least >= FAIR
            )
    return {"runs": rows, "checks": checks, "notes": [_HEAD, *map(_told, rows)]}


async def shares(line: str, *, others: int, seconds: float) -> SharedLine:
    """A link down that line, beside so many downloads for so long."""
    link, loop = profile(line), asyncio.get_running_loop()
    near_spp, far_spp, path = memory_links(
        link, near=DEVICE, far=REMOTE, near_control=congestion(), far_control=congestion()
    )
    near = StreamLink(udp_connection(near_spp, lingers=False))
    far = StreamLink(udp_connection(far_spp, lingers=True))
    outbox = EndlessOutbox(512)
    near.start(Silent(), ChunkWatch())
    far.start(outbox, ChunkWatch())
    flows = [TcpBeside(path.down, delay=link.delay) for _ in range(others)]

    async def carried(span: float) -> tuple[float, list[float]]:
        """Bytes of the link in that time, and the queue's seconds at each look."""
        before, until, queues = far.statistics().sent, loop.time() + span, []
        while loop.time() < until:
            await asyncio.sleep(_LOOK)
            fit(outbox, far.statistics())
            queues.append(path.down.statistics().backlog / link.rate_down)
        return (far.statistics().sent - before) / span / link.rate_down, queues

    await carried(BEFORE)
    for flow in flows:
        flow.start()
    ours, _ = await carried(seconds)
    theirs = sum(flow.delivered for flow in flows) / seconds / link.rate_down
    for flow in flows:
        flow.stop()
    await carried(SETTLED)
    alone, queues = await carried(AFTER)
    return SharedLine(ours, theirs, alone, statistics.median(queues))


_HEAD: Final = "line        others    ours  theirs    fair     alone again   queue"


def _told(row: dict[str, Any]) -> str:
    return (
        f"{row['line']:<12}{row['others']:>6}{row['ours']:>8.2f}{row['theirs']:>8.2f}"
        f"{row['fair']:>8.2f}{row['alone']:>16.2f}{row['queue_ms']:>8.0f} ms"
    )
