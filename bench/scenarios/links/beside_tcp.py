"""Shows what share of a line a link has beside somebody else's downloads by TCP.

Gate, SPP and both ends of the link are the product's, in virtual time; TCP is the model of
emulation/tcp/, over the same line and queue. What is sent has no end. A fair share is one of all
connections; afterwards the link is alone again, and its queue is to be short. Where what it sends
gives way (`--congestion background`), the others are to have nearly all.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.reports.report import Check
from bench.scenarios.links.endless_link import EndlessLink
from emulation.lines.profiles import profile
from emulation.memory.tcp_beside import TcpBeside
from emulation.memory.virtual_time import run as run_virtually

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
LEFT: Final = 0.85
"""Of the line, that another one is to have at least beside what gives way."""


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
    rows, polite, checks = [], [], {}
    print(_HEAD)
    for line in lines:
        for many in others:
            took = seconds or SECONDS.get(line, 60.0)
            found = run_virtually(shares(line, others=many, seconds=took))
            rows.append(_row(line, many, found))
            print(_told(rows[-1]))
            checks[f"{line}, {many} beside"] = _check(found, many)
    print(_GIVES_WAY)
    for line in lines:
        took = seconds or SECONDS.get(line, 60.0)
        found = run_virtually(shares(line, others=1, seconds=took, competes=False))
        polite.append(_row(line, 1, found))
        print(_told(polite[-1]))
        left = round(found.theirs, 2)
        checks[f"{line}, beside what gives way"] = Check(
            *(left, "of the line", f">= {LEFT:g}", found.theirs >= LEFT)
        )
    notes = [_HEAD, *map(_told, rows), _GIVES_WAY, *map(_told, polite)]
    return {"runs": rows, "gives_way": polite, "checks": checks, "notes": notes}


def _check(found: SharedLine, many: int) -> Check:
    fair = 1.0 / (many + 1)
    least = min(found.ours / fair, found.theirs / (many * fair))
    told = "of a fair share, the worse side"
    return Check(round(least, 2), told, f">= {FAIR:g}", least >= FAIR)


def _row(line: str, many: int, found: SharedLine) -> dict[str, Any]:
    return {
        "line": line,
        "others": many,
        "ours": round(found.ours, 3),
        "theirs": round(found.theirs, 3),
        "fair": round(1.0 / (many + 1), 3),
        "alone": round(found.alone, 3),
        "queue_ms": round(1e3 * found.queue, 1),
    }


async def shares(line: str, *, others: int, seconds: float, competes: bool = True) -> SharedLine:
    """A link down that line, beside so many downloads for so long. `competes`: what it sends does
    not give way to them."""
    rate, delay = profile(line).rate_down, profile(line).delay
    link = EndlessLink(profile(line), competes=competes)
    flows = [TcpBeside(link.path.down, delay=delay) for _ in range(others)]

    async def carried(span: float) -> tuple[float, list[float]]:
        """What of the line is ours in that time, and the queue's seconds at each look."""
        before = link.sent
        queues = [link.queue async for _ in link.looks(span)]
        return (link.sent - before) / span / rate, queues

    await carried(BEFORE)
    for flow in flows:
        flow.start()
    ours, _ = await carried(seconds)
    theirs = sum(flow.delivered for flow in flows) / seconds / rate
    for flow in flows:
        flow.stop()
    await carried(SETTLED)
    alone, queues = await carried(AFTER)
    return SharedLine(ours, theirs, alone, statistics.median(queues))


_GIVES_WAY: Final = "the same, where what the link sends gives way:"
_HEAD: Final = "line        others    ours  theirs    fair     alone again   queue"


def _told(row: dict[str, Any]) -> str:
    return (
        f"{row['line']:<12}{row['others']:>6}{row['ours']:>8.2f}{row['theirs']:>8.2f}"
        f"{row['fair']:>8.2f}{row['alone']:>16.2f}{row['queue_ms']:>8.0f} ms"
    )
