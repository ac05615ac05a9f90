"""Shows what the remote's end of a link over UDP finds that others leave of its line.

Gate, SPP and both ends of the link are the product's, in virtual time; what is sent has no end.
Others send datagrams of a fixed size at an even rate. What they leave is what the same link carries
beside them when it does not measure; the difference between both is what measuring costs. How long
a stranger's datagram waits is read from the line's queue.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.pairs.udp_pair import steady
from bench.reports.report import Check
from bench.scenarios.links.endless_link import EndlessLink
from emulation.lines.profiles import profile
from emulation.memory.virtual_time import run as run_virtually

LINES: Final = ("384k", "1.6M", "5M", "20M", "satellite", "lossy")
SHARES: Final = (0.0, 0.2, 0.4, 0.6)
"""Of the line, that others send."""
PACKET: Final = 500
"""Bytes of each of the others' datagrams."""
SECONDS: Final = 60.0
SETTLED: Final = 10.0
"""Seconds after which results count."""
ERROR: Final = 15.0
"""Percent of what others leave, in the median."""
COST: Final = 1.0
"""Percent of what the link carries."""
PING: Final = {"median": 10.0, "99 %": 25.0}
"""Milliseconds that a stranger's ping waits on 5M, where nobody else is, for our datagrams."""


@dataclass(frozen=True, slots=True)
class LinkLook:
    """What one run of a link has shown."""

    carried: float
    """Bytes/second."""
    found: list[float]
    """Results, bytes/second."""
    waits: list[float]
    """Milliseconds that the line's queue lasts, sorted."""

    def wait(self, share: float) -> float:
        """What so many of the looks are below."""
        return self.waits[int(share * (len(self.waits) - 1))]


def run(
    *, lines: Sequence[str] = LINES, shares: Sequence[float] = SHARES, seconds: float = SECONDS
) -> dict[str, Any]:
    """Each line with each share of others. Raises ValueError for a line that there is not."""
    rows, errors = [], dict.fromkeys(lines, 0.0)
    print(_HEAD)
    for line in lines:
        for share in shares:
            bare, measured = (
                run_virtually(_looked(line, share, measures=measures, seconds=seconds))
                for measures in (False, True)
            )
            rows.append(_row(line, share, bare, measured))
            errors[line] = max(errors[line], rows[-1]["error_pct"])
            print(_told(rows[-1]))
    return {"runs": rows, "checks": _checks(rows, errors), "notes": [_HEAD, *map(_told, rows)]}


async def _looked(line: str, share: float, *, measures: bool, seconds: float) -> LinkLook:
    link = EndlessLink(profile(line), measures=measures)
    beside = None
    if share:
        others = steady(link.path.down, rate=share * profile(line).rate_down, packet=PACKET)
        beside = asyncio.create_task(others)
    async for _ in link.looks(SETTLED):
        pass
    before, began = link.sent, asyncio.get_running_loop().time()
    found: dict[float, float] = {}
    waits = []
    async for seen in link.looks(seconds - began):
        waits.append(1e3 * link.queue)
        if seen.available is not None and seen.available.at >= SETTLED:
            found[seen.available.at] = seen.available.rate
    carried = (link.sent - before) / (asyncio.get_running_loop().time() - began)
    if beside is not None:
        beside.cancel()
    return LinkLook(carried, list(found.values()), sorted(waits))


def _row(line: str, share: float, bare: LinkLook, measured: LinkLook) -> dict[str, Any]:
    found = statistics.median(measured.found) if measured.found else 0.0
    return {
        "line": line,
        "others": share,
        "left_kbytes": round(bare.carried / 1e3, 2),
        "found_kbytes": round(found / 1e3, 2),
        "least_kbytes": round(min(measured.found, default=0.0) / 1e3, 2),
        "most_kbytes": round(max(measured.found, default=0.0) / 1e3, 2),
        "results": len(measured.found),
        "error_pct": round(100 * abs(found - bare.carried) / bare.carried, 1),
        "cost_pct": round(100 * (1 - measured.carried / bare.carried), 3),
        "wait_ms": round(measured.wait(0.5), 1),
        "wait_99_ms": round(measured.wait(0.99), 1),
        "bare_wait_ms": round(bare.wait(0.5), 1),
        "bare_wait_99_ms": round(bare.wait(0.99), 1),
    }


_HEAD: Final = (
    "line       others       left      found (from, to)            error    cost"
    "   queue, median and 99 %"
)


def _told(row: dict[str, Any]) -> str:
    spread = f"({row['least_kbytes']:.1f}, {row['most_kbytes']:.1f})"
    return (
        f"{row['line']:<11}{row['others']:>4.0%}{row['left_kbytes']:>10.1f} kB/s"
        f"{row['found_kbytes']:>8.1f} {spread:<18}"
        f"{row['error_pct']:>6.1f} %{row['cost_pct']:>7.2f} %"
        f"{row['wait_ms']:>8.1f} {row['wait_99_ms']:>7.1f} ms"
    )


def _checks(rows: Sequence[dict[str, Any]], errors: dict[str, float]) -> dict[str, Check]:
    checks = {
        f"{line}: found of what others leave": Check(
            worst, "% off in the median, at the worst share", f"<= {ERROR:g} %", worst <= ERROR
        )
        for line, worst in errors.items()
    }
    most = max(row["cost_pct"] for row in rows)
    checks["measuring costs"] = Check(most, "% of a link at most", f"<= {COST:g} %", most <= COST)
    alone = [row for row in rows if (row["line"], row["others"]) == ("5M", 0.0)]
    for row in alone:
        for (name, goal), wait in zip(PING.items(), ("wait_ms", "wait_99_ms"), strict=True):
            checks[f"5M: a stranger's ping waits, {name}"] = Check(
                row[wait], "ms more", f"<= {goal:g} ms", row[wait] <= goal
            )
    return checks
