"""A page in Chromium over a slow link, alone and beside transfers that would take all of it.

Beside a download whose reader rests, one that runs, and an upload. Each load has a pair of proxies
of its own, since one that has brought a page may answer from what it still holds of it; kinds take
turns, so that a drift of the machine meets them alike. What is looked at is pixels: text, every
picture painted, every picture final.

Knows a browser, processes and clients; knows nothing of how the link is shared.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from bench.origins import bulk_origin
from bench.origins.bulk_client import Download, upload
from bench.origins.endpoint import PageAccess
from bench.origins.site import Address, spawn
from bench.pages.page_load import LIMIT, PageStudy, load, study
from bench.pairs.peers import LOOPBACK, relay
from bench.pairs.processes import proxy, text
from bench.reports.report import Check
from bench.scenarios.pages.page_load import SITE
from emulation.lines.profiles import Profile, profile

MOST_SLOWER: Final = 5.0
"""Per cent by which a page may be later beside a transfer."""
LINK: Final = "384k"
ALONE: Final = "alone"
BESIDE: Final = ("resting download", "running download", "upload")
MEASURES: Final = ("text_s", "painted_s", "final_s")
_ENOUGH: Final = 1 << 29
"""Bytes of a transfer that is still running when the last page has loaded."""
_GOING: Final = 5.0
"""Seconds for a transfer to get going before a page is asked for."""
_HELD: Final = 2_600_000
"""Bytes of a transfer that rests which credit and sockets hold: a page is asked for after those."""
_LONGER: Final = 1.5
"""Times a page's time alone for which it is watched beside a transfer, since a link that carries
one never gets quiet."""


async def run(
    *, runs: int = 5, page: Path | None = None, profile_name: str = LINK
) -> dict[str, Any]:
    """Runs the scenario."""
    folder, link = page or SITE / "news", profile(profile_name)
    rows: list[dict[str, Any]] = []
    async with spawn(folder.parent) as site, bulk_origin.spawn() as origin:
        base = f"http://{text(site)}/"
        async with relay(site, link) as unused:
            known = await study(PageAccess(base, unused.statistics), f"{folder.name}/index.html")
        for _ in range(runs):
            limit = LIMIT
            for kind in (ALONE, *BESIDE):
                async with (
                    _pair(base, link) as (local, through),
                    _beside(kind, local, origin, link),
                ):
                    row = await _row(kind, through, known, limit)
                rows.append(row)
                print(f"{kind:<18}", "  ".join(f"{name} {row[name]}" for name in MEASURES))
                if kind == ALONE and row["final_s"]:
                    limit = 3.0 + _LONGER * row["final_s"]
    return {"runs": rows, "checks": _checks(rows)}


@contextlib.asynccontextmanager
async def _pair(base: str, link: Profile) -> AsyncIterator[tuple[Address, PageAccess]]:
    """A pair that has brought nothing yet: the local proxy, and the site by it."""
    async with (
        proxy("remote", *LOOPBACK) as (remote, _),
        relay(remote, link) as between,
        proxy("local", f"--remote={text(between.address)}") as (local, _),
    ):
        yield local, PageAccess(base, between.statistics, proxy=f"http://{text(local)}")


async def _row(kind: str, through: PageAccess, known: PageStudy, limit: float) -> dict[str, Any]:
    got = (await load(through, known, peer="sluice-plain", policy="default", limit=limit)).as_json()
    return {"beside": kind} | got


def _median(rows: list[dict[str, Any]], kind: str, name: str) -> float | None:
    """None when it did not happen in time in half of the loads."""
    of_kind = [row[name] for row in rows if row["beside"] == kind]
    happened = [float("inf") if value is None else value for value in of_kind]
    median = statistics.median(happened)
    return None if median == float("inf") else round(median, 3)


def _checks(rows: list[dict[str, Any]]) -> dict[str, Check]:
    checks = {}
    for kind in BESIDE:
        for name in MEASURES:
            alone, beside = (_median(rows, which, name) for which in (ALONE, kind))
            later = None if not alone or beside is None else round(100 * (beside / alone - 1), 1)
            checks[f"{name} beside a {kind}: later by"] = Check(
                value=later,
                unit="%",
                goal=f"at most {MOST_SLOWER:g}",
                ok=later is not None and later <= MOST_SLOWER,
            )
    return checks


@contextlib.asynccontextmanager
async def _beside(kind: str, local: Address, origin: Address, link: Profile) -> AsyncIterator[None]:
    """The transfer under way for as long as the block lasts."""
    if kind == ALONE:
        yield
        return
    going = _GOING
    if kind == "upload":
        url = f"http://{text(origin)}/sink"
        task = asyncio.create_task(upload(local, url, _ENOUGH, chunked=False))
    else:
        rest_at = 1 if kind == "resting download" else _ENOUGH
        going += _HELD / link.rate_down if rest_at == 1 else 0.0
        url = f"http://{text(origin)}/bytes?size={_ENOUGH}"
        task = asyncio.create_task(Download(_ENOUGH, rest_at).run(local, url))
    try:
        await asyncio.sleep(going)
        if task.done():  # it has failed, and says why
            await task
        yield
        if task.done():
            await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
