"""On no link may a page come later than without the pair: text, pictures, load event, last pixel.

Each page on each link is loaded in turns directly, over HTTP/1.1 and HTTP/2, and through Sluice,
whose pair runs all along, as a user's does, from the first page on; each load has a browser and an
address of its own, so that nobody has anything of it. Over https both have nginx for an origin,
which speaks HTTP/2 to the browser. A cell falls short only beyond the spread of its loads.

Knows loads and verdicts; does not know what makes a load quick.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.origins import modern, portal
from bench.origins.endpoint import PageAccess
from bench.origins.visits import visits
from bench.pages.page_load import PageStudy, load, study
from bench.pairs.peers import DirectPeer, Peer, SluicePeer, in_world
from bench.reports.report import Check
from bench.rivals.nginx import DirectHttp2, SluiceToHttps
from bench.scenarios.pages.page_load import FAST, SITE
from emulation.lines.profiles import profile

LINKS: Final = ("56k", "384k", "1.6M", "5M", "20M", "50M", "100M")
MEASURES: Final = {"text_s": 0.08, "painted_s": 0.15, "load_s": 0.15, "final_s": 0.15}
"""Seconds that each may be later, where a tenth of direct is less."""
SLOW: Final = ("56k", "384k")
"""One load each: a page takes minutes there, and what others measure is far from these limits."""
MOST_LATER: Final = 0.1
"""Of the better direct median."""
OURS: Final = "sluice"


async def run(
    *, runs: int = 7, parts: Sequence[str] = LINKS, profile_name: str | None = None,
    page: Path | None = None, backend: str = "auto", https: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The scenario. `page`: a folder with an index.html, in place of ours; `parts`: links.

    `https`: the pages come over it. Raises OSError; ValueError for a link that is none of LINKS.
    """
    if unknown := set(parts) - set(LINKS):
        raise ValueError(f"its parts are the links {', '.join(LINKS)}, not {', '.join(unknown)}")
    rows: list[dict[str, Any]] = []
    checks: dict[str, Check] = {}
    with TemporaryDirectory(prefix="sluice-portal-") as name:
        ours = [SITE / "news", SITE / "article"]
        if page is None:
            for made in (portal, modern):
                own = made.__name__.rpartition(".")[2]
                ours.append(await asyncio.to_thread(made.make, Path(name, own)))
        for folder in [page] if page is not None else ours:
            for link in [profile_name] if profile_name is not None else parts:
                peers = _over_https if https else _over_http
                count = 1 if link in SLOW else runs
                found = await _cell(folder, link, count, backend, peers)
                rows += found
                checks |= judge(found, f"{folder.name}, {link}" + (", https" if https else ""))
    return {"runs": rows, "checks": checks}


def _over_http(site: Path) -> list[Peer]:
    http2 = DirectHttp2(site)
    return [DirectPeer(), *(() if http2.missing else (http2,)), SluicePeer()]


def _over_https(site: Path) -> list[Peer]:
    return [DirectHttp2(site), SluiceToHttps(site)]


async def _cell(
    folder: Path, link: str, runs: int, backend: str, peers_of: Callable[[Path], list[Peer]]
) -> list[dict[str, Any]]:
    """All loads of one page on one link."""
    rows: list[dict[str, Any]] = []
    with visits(folder, runs + 1) as site:
        peers = peers_of(site)
        async with contextlib.AsyncExitStack() as stack:
            there: dict[str, PageAccess] = {}
            for one in peers:
                world = in_world(one, site, profile(link), backend=backend)
                there[one.name] = await stack.enter_async_context(world)
            fast = await stack.enter_async_context(
                in_world(DirectPeer(), site, FAST, backend="relay")
            )
            known = await study(fast, "0/index.html")
            for number in range(1, runs + 1):
                for one in peers:
                    row = await _load(there[one.name], known, one.name, number)
                    rows.append(row | {"page": folder.name, "link": link})
    return rows


async def _load(endpoint: PageAccess, known: PageStudy, peer: str, number: int) -> dict[str, Any]:
    mine = replace(known, page=f"{number}/index.html")
    row = (await load(endpoint, mine, peer=peer)).as_json()
    said = "  ".join(f"{name} {row[name]}" for name in MEASURES)
    print(f"{peer:<12}{endpoint.backend:<7}{said}")
    return row | {"backend": endpoint.backend}


def judge(rows: Sequence[dict[str, Any]], cell: str) -> dict[str, Check]:
    """The verdicts on one page and link."""
    checks = {}
    for name, slack in MEASURES.items():
        ours = _times(rows, OURS, name)
        peers = dict.fromkeys(row["peer"] for row in rows if row["peer"] != OURS)
        others = [_times(rows, peer, name) for peer in peers]
        best = min(map(statistics.median, others))
        limit = best + max(slack, MOST_LATER * best)
        spread = max(map(_range, (ours, *others))) / 2
        mine = statistics.median(ours)
        checks[f"{cell}: {name.removesuffix('_s')}"] = Check(
            round(mine, 3),
            f"s ({min(ours):.2f}-{max(ours):.2f}; directly {best:.2f})",
            f"at most {limit:.2f}, or within {spread:.2f} of it, the spread",
            mine <= limit + (spread if min(ours) <= limit else 0.0),
        )
    return checks


def _range(times: Sequence[float]) -> float:
    came = [time for time in times if isfinite(time)]
    return max(came) - min(came) if came else 0.0


def _times(rows: Sequence[dict[str, Any]], peer: str, name: str) -> list[float]:
    """Seconds; infinite where it did not happen."""
    found = [row[name] for row in rows if row["peer"] == peer]
    return [float("inf") if value is None else value for value in found]
