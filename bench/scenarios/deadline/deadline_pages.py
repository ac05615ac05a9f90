"""Loads a news page in Chromium within some seconds, and with fixed levels, over emulated links.

Network-aware delivery as a reader sees it (Bolliger and Gross, section 1): whether all text and
every picture is there by the limit, and how like the originals the pictures are then. Beside it
what fixed levels do, and what the page takes without pictures.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from bench.browsers.cdp import find_chromium
from bench.origins.site import spawn
from bench.pages.page_load import study
from bench.pairs.peers import DirectPeer
from bench.reports.report import Check
from bench.scenarios.deadline.timed_page import NOTHING, WITHIN, TimedPage, timed_page
from bench.scenarios.pages.page_load import FAST, SITE
from emulation.lines.profiles import TRACE, TRACES, profile

CASES: Final = (
    ("384k", 3.0),
    ("384k", 5.0),
    ("384k", 10.0),
    ("56k", 15.0),
    (f"{TRACE}{TRACES / 'internet-high.trace'}", 5.0),
)
"""Links, and seconds. The last is the most volatile that there is a trace of which may be kept."""
LEVELS: Final = ("low", "medium", "high")
ENOUGH: Final = 95.0
"""Per cent of loads in time: 19 of 20."""


async def run(
    *,
    runs: int = 4,
    page: Path | None = None,
    cases: Sequence[tuple[str, float]] = CASES,
    levels: Sequence[str] = LEVELS,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """`runs`: loads within each time; of each fixed level a fourth as many. `page`: a folder with
    an index.html. Raises OSError, BrowserError, ValueError without Chromium."""
    if find_chromium() is None:
        raise ValueError("deadline-pages needs Chromium")
    site, path = (page, "index.html") if page else (SITE, "news/index.html")
    loads: list[TimedPage] = []
    async with spawn(site) as origin:
        async with DirectPeer().start(origin, FAST) as fast:
            known = await study(fast, path)
        for name, limit in cases:
            link = profile(name)
            few = max(1, runs // 4)
            ways = [NOTHING, *(WITHIN for _ in range(runs)), *(few * list(levels))]
            for way in ways:
                loads.append(await timed_page(origin, known, link, limit=limit, way=way))
                say(line(loads[-1]))
    return {
        "runs": [one.as_json() for one in loads],
        "checks": checks_of(loads),
        "notes": [f"{len(known.scene.boxes)} pictures; {path}", *map(line, loads)],
    }


def line(one: TimedPage) -> str:
    """A load for people."""
    text = "never" if one.text is None else f"{one.text:.1f} s"
    if one.way == NOTHING:
        return f"{_short(one.link)}: without pictures: text {text}, all {one.came:.1f} s"
    kept = "in time" if one.in_time else f"{one.late} late"
    shown = ", ".join(f"{count} {name}" for name, count in sorted(one.levels.items()))
    return (
        f"{_short(one.link)}, {one.limit:g} s, {one.way:<7} {kept}: text {text}, what was due "
        f"{one.came:.1f} s, SSIM {one.ssim:.3f}, least {one.worst:.3f} ({shown})"
    )


def _short(link: str) -> str:
    """A trace by its file's name."""
    return link.rpartition("/")[2]


def checks_of(loads: Iterable[TimedPage]) -> dict[str, Check]:
    """Loads within a time are in time, and finer than any fixed level that is so too."""
    every = [one for one in loads if one.way != NOTHING]
    within = [one for one in every if one.way == WITHIN]
    if not within:
        return {}
    kept = 100 * sum(one.in_time for one in within) / len(within)
    checks = {
        f"loads in time, of {len(within)}": Check(
            round(kept, 1), "%", f"at least {ENOUGH:g} %", kept >= ENOUGH
        )
    }
    for link, limit in dict.fromkeys((one.link, one.limit) for one in within):
        own = [one for one in every if (one.link, one.limit) == (link, limit)]
        best = max(_fixed(own).values(), default=None)
        ours = statistics.mean(one.ssim for one in own if one.way == WITHIN)
        if best is not None:
            checks[f"{_short(link)}, {limit:g} s: mean SSIM"] = Check(
                round(ours, 4),
                "",
                f"at least {best:.4f}, of the best fixed level that is in time",
                ours >= best,
            )
    return checks


def _fixed(own: Sequence[TimedPage]) -> dict[str, float]:
    """The mean SSIM of each fixed level whose loads all were in time."""
    found: dict[str, float] = {}
    for way in dict.fromkeys(one.way for one in own if one.way != WITHIN):
        loads = [one for one in own if one.way == way]
        if all(one.in_time for one in loads):
            found[way] = statistics.mean(one.ssim for one in loads)
    return found
