"""Loads a page in Chromium over two paths at once, and over each of them alone.

The pair's own commands, over the kernel's UDP through TUN devices (as root). Its paths are open
before; each load has a browser and an address of its own. Text is to come as by the quicker path,
pictures sooner than by either, and all of it in the time that its bytes take at both rates.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bench.origins.endpoint import PageAccess
from bench.origins.site import spawn
from bench.origins.visits import visits
from bench.pages.page_load import PageStudy, load, study
from bench.pairs.peers import DirectPeer, SluicePeer, in_world
from bench.reports.report import Check
from bench.scenarios.pages.page_load import FAST, SITE
from emulation.lines.profiles import Profile, profile
from emulation.worlds.world import emulate

PAIRS: Final[Mapping[str, tuple[Profile, Profile]]] = {
    "384k + satellite": (profile("384k"), profile("satellite")),
    "384k + 384k": (profile("384k"), profile("384k")),
}
"""The quicker one first."""
PAINTED: Final = {"384k + satellite": 0.85, "384k + 384k": 0.6}
"""Of the better single path's time."""
TEXT: Final = 1.1
"""Times that of the quicker path alone, or SLACK beyond it."""
SLACK: Final = 0.05
"""Seconds."""
COMPLETE: Final = 1.15
"""Times what the bytes take at both rates together, beside a round trip of the longer one."""
_JOINING: Final = 6.0
"""Seconds in which all paths are open."""


async def run(
    *, runs: int = 3, pairs: Sequence[str] = tuple(PAIRS), page: Path | None = None
) -> dict[str, Any]:
    """The scenario. `page`: a folder with an index.html, in place of ours. Raises OSError."""
    rows: list[dict[str, Any]] = []
    checks: dict[str, Check] = {}
    for name in pairs:
        found = await _loads(page or SITE / "news", name, runs)
        rows += found
        checks |= judge(found, name)
    return {"runs": rows, "checks": checks}


async def _loads(page: Path, pair: str, runs: int) -> list[dict[str, Any]]:
    """All loads over one pair of paths, in turns."""
    rows: list[dict[str, Any]] = []
    with visits(page, runs + 1) as site:
        async with contextlib.AsyncExitStack() as stack:
            fast = await stack.enter_async_context(
                in_world(DirectPeer(), site, FAST, backend="relay")
            )
            known = await study(fast, "0/index.html")
            ways = {"both": (0, 1), "first": (0,), "second": (1,)}
            there = {
                name: await stack.enter_async_context(_over(site, pair, paths))
                for name, paths in ways.items()
            }
            await asyncio.sleep(_JOINING)
            for number in range(1, runs + 1):
                for name, access in there.items():
                    rows.append({"paths": pair, **await _load(access, known, name, number)})
    return rows


@contextlib.asynccontextmanager
async def _over(site: Path, pair: str, paths: Sequence[int]) -> AsyncIterator[PageAccess]:
    peer = SluicePeer(paths=paths)
    async with (
        emulate(*PAIRS[pair], backend="tun") as world,
        spawn(site, host=world.far) as origin,
        peer.over(world, origin) as access,
    ):
        yield access


async def _load(access: PageAccess, known: PageStudy, name: str, number: int) -> dict[str, Any]:
    mine = replace(known, page=f"{number}/index.html")
    row = (await load(access, mine, peer=name)).as_json()
    print(f"{name:<8}text {row['text_s']}  painted {row['painted_s']}  final {row['final_s']}")
    return row


def judge(rows: Sequence[dict[str, Any]], pair: str) -> dict[str, Check]:
    """The verdicts on one pair of paths."""
    text = {name: _median(rows, name, "text_s") for name in ("both", "first")}
    limit = max(TEXT * text["first"], text["first"] + SLACK)
    painted = {name: _median(rows, name, "painted_s") for name in ("both", "first", "second")}
    share = painted["both"] / min(painted["first"], painted["second"])
    paths = PAIRS[pair]
    size = statistics.median(row["bytes_down"] for row in rows if row["peer"] == "both")
    ideal = size / sum(one.rate_down for one in paths) + 2 * max(one.delay for one in paths)
    final = _median(rows, "both", "final_s")
    return {
        f"{pair}: text": Check(
            round(text["both"], 3),
            f"s (the quicker alone {text['first']:.2f})",
            f"at most {limit:.2f}",
            text["both"] <= limit,
        ),
        f"{pair}: all pictures painted": Check(
            round(share, 3),
            f"of the better path alone ({painted['both']:.1f} s)",
            f"at most {PAINTED[pair]:g}",
            share <= PAINTED[pair],
        ),
        f"{pair}: complete": Check(
            round(final / ideal, 3),
            f"times what its bytes take ({final:.1f} s)",
            f"at most {COMPLETE:g}",
            final <= COMPLETE * ideal,
        ),
    }


def _median(rows: Sequence[dict[str, Any]], peer: str, name: str) -> float:
    """Seconds; infinite where it did not happen."""
    found = [row[name] for row in rows if row["peer"] == peer]
    return statistics.median(float("inf") if value is None else value for value in found)
