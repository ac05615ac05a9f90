"""Pulls one of two paths out during a download over the pair's own connection, in virtual time.

Two paths, 4 Mbit/s with 30 ms and 2 Mbit/s with 200 ms. At a random moment of a download one of
them goes: its interface is gone and the device knows, or it swallows all from then on. Counted is
the longest time without anything new for the application, and whether it got every byte once.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.reports.report import Check
from emulation.lines.profiles import Profile
from emulation.memory import virtual_time
from emulation.memory.memory_paths import MemoryPaths

STALL: Final = 1.0
"""Seconds without anything new, at most, while the other path works."""
_REST: Final = 1.0
"""Seconds before the download, in which both paths are joined."""


def _path(name: str, rate: float, delay: float) -> Profile:
    return Profile(name=name, about="", rate_down=rate, rate_up=rate / 4, delay=delay, queue=60_000)


PATHS: Final = (_path("quick", 500_000.0, 0.015), _path("slow", 250_000.0, 0.1))


@dataclass(frozen=True, slots=True)
class PulledOut:
    """One download."""

    victim: int
    """The path that goes."""
    silently: bool
    seed: int
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class PulledOutcome:
    """What came of it."""

    stall: float
    """Seconds without anything new, at most, from the moment on."""
    whole: bool


async def _download(case: PulledOut) -> PulledOutcome:
    chance, loop = random.Random(case.seed), asyncio.get_running_loop()
    paths = MemoryPaths(PATHS, seed=case.seed)
    near, far = paths.links()
    await asyncio.sleep(_REST)
    data = chance.randbytes(case.size)
    far.write(data)
    await asyncio.sleep(chance.uniform(0.1, 0.8 * case.size / sum(one.rate_down for one in PATHS)))
    pulled_at = loop.time()
    if case.silently:
        paths.cut(case.victim)
    else:
        paths.leave(case.victim)
    await near.has(case.size)
    times = [pulled_at, *(at for at in near.heard_at if at >= pulled_at)]
    stall = max(late - soon for soon, late in itertools.pairwise(times))
    outcome = PulledOutcome(stall, bytes(near.got) == data and near.error is None)
    paths.close()
    return outcome


def observe(case: PulledOut) -> PulledOutcome:
    """Runs one."""
    return virtual_time.run(_download(case))


def run(
    *, runs: int = 50, size: int = 3_000_000, say: Callable[[str], None] = print
) -> dict[str, Any]:
    """Runs so many of each kind, of downloads of `size` bytes."""
    rows, checks = [], {}
    for silently in (False, True):
        for victim, path in enumerate(PATHS):
            cases = [PulledOut(victim, silently, seed, size) for seed in range(runs)]
            outcomes = [observe(case) for case in cases]
            row = _row(f"{path.name} {'swallows all' if silently else 'is gone'}", outcomes)
            say("  ".join(f"{name} {value}" for name, value in row.items()))
            rows.append(row)
            longest = row["stall_s"]
            checks[f"{row['what']}: without anything new"] = Check(
                longest, f"s at most, of {runs} downloads", f"<= {STALL} s", longest <= STALL
            )
            checks[f"{row['what']}: whole, each byte once"] = Check(
                row["whole"], f"of {runs}", str(runs), row["whole"] == runs
            )
    return {"runs": rows, "checks": checks}


def _row(what: str, outcomes: Sequence[PulledOutcome]) -> dict[str, Any]:
    stalls = sorted(one.stall for one in outcomes)
    return {
        "what": what,
        "stall_median_s": round(stalls[len(stalls) // 2], 3),
        "stall_s": round(stalls[-1], 3),
        "whole": sum(one.whole for one in outcomes),
    }
