"""A page through Sluice, its site switched to `saver`, beside ziproxy, which saves for good too.

In Chromium over a slow link. How similar each picture is to the origin's is measured on what the
browser shows in the end, by SSIM of luma, at the film's scale.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.browsers.visual import similarity
from bench.origins.site import spawn
from bench.pages.page_load import PageStudy, load, study
from bench.pages.page_result import PageLoad
from bench.pairs.peers import DirectPeer, Peer, in_world
from bench.reports.report import Check
from bench.rivals.registry import line_up
from bench.scenarios.pages.page_load import FAST, SITE
from emulation.lines.profiles import profile

PEERS: Final = ("ziproxy", "sluice-saver")
BYTES: Final = 0.9
"""Of ziproxy's bytes."""
TIME: Final = 0.9
"""Of the time until all of the page is there through ziproxy."""


async def run(
    *, runs: int = 3, profile_name: str = "384k", page: Path | None = None
) -> dict[str, Any]:
    """The scenario. `page`: a folder with an index.html, in place of ours. Raises OSError,
    ValueError where ziproxy is not installed."""
    folder = page or SITE / "news"
    peers = line_up(PEERS, site=folder.parent).peers
    rows: list[dict[str, Any]] = []
    async with spawn(folder) as origin, DirectPeer().start(origin, FAST) as fast:
        known = await study(fast, "index.html")
    for _ in range(runs):
        for peer in peers:
            found = await _load(peer, folder, profile_name, known)
            rows.append(_row(found, known))
            print(
                f"{peer.name:<13} {rows[-1]['bytes_down']} bytes, all there after "
                f"{rows[-1]['load_s']} s, SSIM {min(rows[-1]['ssim']):.3f} to "
                f"{max(rows[-1]['ssim']):.3f}"
            )
    return {"runs": rows, "checks": judge(rows)}


async def _load(peer: Peer, folder: Path, profile_name: str, known: PageStudy) -> PageLoad:
    async with in_world(peer, folder, profile(profile_name), backend="relay") as access:
        return await load(access, known, peer=peer.name)


def _row(found: PageLoad, known: PageStudy) -> dict[str, Any]:
    """The load, and how similar each picture is to the origin's."""
    last = found.frames[-1].image()
    crops = ((box.left, box.top, box.right, box.bottom) for box in known.scene.boxes)
    ssim = [round(similarity(last.crop(c), known.scene.final.crop(c)), 4) for c in crops]
    return {**found.as_json(), "ssim": ssim}


def judge(rows: Sequence[dict[str, Any]]) -> dict[str, Check]:
    """The verdicts; none where ziproxy was not there."""
    mine, theirs = ([row for row in rows if row["peer"] == name] for name in reversed(PEERS))
    if not mine or not theirs:
        return {}
    size, time = (_median(mine, name) / _median(theirs, name) for name in ("bytes_down", "load_s"))
    pictures = zip(mine[-1]["ssim"], theirs[-1]["ssim"], strict=True)
    better = sum(here > there for here, there in pictures)
    count = len(mine[-1]["ssim"])
    return {
        "bytes": Check(round(size, 3), "of ziproxy's", f"at most {BYTES:g}", size <= BYTES),
        "all of it": Check(round(time, 3), "of ziproxy's time", f"at most {TIME:g}", time <= TIME),
        "pictures more like the origin's": Check(
            better, f"of {count}", "each of them", better == count
        ),
    }


def _median(rows: Sequence[dict[str, Any]], name: str) -> float:
    found = [row[name] for row in rows]
    return statistics.median(float("inf") if value is None else value for value in found)
