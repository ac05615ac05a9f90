"""Shows what share of a line a link has beside somebody else's downloads by TCP.

Gate, SPP and both ends of the link are the product's, in virtual time; TCP is the model of
emulation/tcp/, over the same line and queue. What is sent has no end. A fair share is one of all
connections; afterwards the link is alone again, and its queue is to be short. Where what it sends
gives way (`--congestion background`), the others are to have nearly all. Pages come one after the
other beside a download that began while the link was silent; a TCP that begins anew with each of
them has as much in its place as is told beside.
"""

from __future__ import annotations

import asyncio
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
PAGES: Final = 6
PAGE: Final = 3.0
"""Seconds of each,"""
READ: Final = 4.0
"""and between two."""
SILENT: Final = (9.0, 11.3, 13.1, 20.0, 45.0)
"""Seconds of the others' download before the first: what a page has depends on where that one's
window is just then, so they begin at several moments."""
ROUND_TRIPS: Final = ("384k", "1.6M", "5M", "20M")
"""Lines on which such a page lasts for some."""
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
    rows, polite, paged, checks = [], [], [], {}
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
    print(_PAGES)
    for line in (line for line in lines if line in ROUND_TRIPS):
        ours = [run_virtually(pages(line, silent=silent)) for silent in SILENT]
        tcp = [run_virtually(tcp_pages(line, silent=silent)) for silent in SILENT]
        paged.append({"line": line, "pages": ours, "tcp": tcp})
        print(_told_pages(paged[-1]))
        middle = statistics.median(_all(ours))
        least = FAIR / 2
        checks[f"{line}, pages beside 1"] = Check(
            *(round(middle, 2), "of the line, the median page", f">= {least:g}", middle >= least)
        )
    notes = [
        *(_HEAD, *map(_told, rows), _GIVES_WAY, *map(_told, polite)),
        *(_PAGES, *map(_told_pages, paged)),
    ]
    return {"runs": rows, "gives_way": polite, "pages": paged, "checks": checks, "notes": notes}


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


async def pages(line: str, *, silent: float) -> list[float]:
    """What part of the line each page has, of which the first begins when the link has been silent
    for so many seconds, and somebody's download has been there for as long."""
    link = EndlessLink(profile(line))
    rate, delay = profile(line).rate_down, profile(line).delay
    async for _ in link.looks(BEFORE):
        pass
    link.speak(False)
    await asyncio.sleep(1.0)
    TcpBeside(link.path.down, delay=delay).start()
    await asyncio.sleep(silent)
    found = []
    for _ in range(PAGES):
        before = link.sent
        link.speak(True)
        async for _ in link.looks(PAGE):
            pass
        link.speak(False)
        await asyncio.sleep(READ)
        found.append(round((link.sent - before) / PAGE / rate, 3))
    return found


async def tcp_pages(line: str, *, silent: float) -> list[float]:
    """The same of connections by TCP, one a page."""
    rate, delay = profile(line).rate_down, profile(line).delay
    link = EndlessLink(profile(line))
    link.speak(False)
    TcpBeside(link.path.down, delay=delay).start()
    await asyncio.sleep(silent)
    found = []
    for _ in range(PAGES):
        page = TcpBeside(link.path.down, delay=delay)
        page.start()
        await asyncio.sleep(PAGE)
        page.stop()
        found.append(round(page.delivered / PAGE / rate, 3))
        await asyncio.sleep(READ)
    return found


_PAGES: Final = (
    "pages of 3 s beside one download: the first, and all (least, median, most);"
    " and those of a TCP that begins with each:"
)
_GIVES_WAY: Final = "the same, where what the link sends gives way:"
_HEAD: Final = "line        others    ours  theirs    fair     alone again   queue"


def _told(row: dict[str, Any]) -> str:
    return (
        f"{row['line']:<12}{row['others']:>6}{row['ours']:>8.2f}{row['theirs']:>8.2f}"
        f"{row['fair']:>8.2f}{row['alone']:>16.2f}{row['queue_ms']:>8.0f} ms"
    )


def _told_pages(row: dict[str, Any]) -> str:
    ours, theirs = (_told_visits(row[who]) for who in ("pages", "tcp"))
    return f"{row['line']:<12}{ours}    TCP {theirs}"


def _told_visits(visits: Sequence[Sequence[float]]) -> str:
    first, every = statistics.median(visit[0] for visit in visits), _all(visits)
    return f"{first:.2f}  {min(every):.2f} {statistics.median(every):.2f} {max(every):.2f}"


def _all(visits: Sequence[Sequence[float]]) -> list[float]:
    return [page for visit in visits for page in visit]
