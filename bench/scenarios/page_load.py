"""Page loads over an emulated link, by several peers, each with a cold cache and a fresh pair.

Peers take turns within each run, so that what disturbs the machine disturbs them alike; figures
are medians. Knows how to arrange loads; what is measured is page_load.py's, or scripted.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench import scripted
from bench.cdp import find_chromium
from bench.links.world import AUTO
from bench.origin import spawn
from bench.page_load import Endpoint, PageLoad, load, study
from bench.peers import DirectPeer, Peer, in_world, peers
from bench.profiles import Profile, profile
from bench.report import Check, medians, table

SITE: Final = Path(__file__).resolve().parents[2] / "demo" / "site"
"""The sample site: two pages of public-domain text and pictures."""
PAGES: Final = ("news/index.html", "article/index.html")
NOISE: Final = 0.3
"""Seconds by which two like loads of a text-heavy page differ on a machine with two processors."""

FAST: Final = profile("fast")
"""The link over which it is learnt what pages end up as."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a series of loads gave."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    loads: list[PageLoad] = field(default_factory=list)
    """Empty where the scripted client measured."""
    notes: list[str] = field(default_factory=list)


async def measure(
    *,
    peers: Sequence[Peer],
    profile: Profile,
    site: Path = SITE,
    pages: Sequence[str] = PAGES,
    runs: int = 1,
    say: Say = print,
    backend: str = "relay",
) -> Measured:
    """Load each page by each peer, `runs` times. `backend`: what emulates the link.

    Raises OSError, ValueError, BrowserError.
    """
    plan = _Plan(peers, profile, site, pages, runs, say, backend)
    for peer in peers:  # One that does not start should say so before minutes are spent.
        async with plan.through(peer) as endpoint:
            backend = endpoint.backend
    note = f"The link was emulated by the {backend} backend (bench/links/world.py)."
    say(note)
    async with spawn(site) as origin, DirectPeer().start(origin, FAST) as fast:
        measured = await (_with_chromium if find_chromium() else _with_script)(plan, fast)
    measured.notes.append(note)
    return measured


@dataclass(frozen=True, slots=True)
class _Plan:
    peers: Sequence[Peer]
    link: Profile
    site: Path
    pages: Sequence[str]
    runs: int
    say: Say
    backend: str

    def through(self, peer: Peer) -> AbstractAsyncContextManager[Endpoint]:
        return in_world(peer, self.site, self.link, backend=self.backend)

    def each(self) -> list[Peer]:
        """The peers in the order of their turns at one page."""
        return [peer for _ in range(self.runs) for peer in self.peers]


async def _with_chromium(plan: _Plan, fast: Endpoint) -> Measured:
    measured = Measured()
    studies = [await study(fast, page) for page in plan.pages]
    for known in studies:
        for peer in plan.each():
            async with plan.through(peer) as endpoint:
                result = await load(endpoint, known, peer=peer.name, policy=peer.policy)
            measured.loads.append(result)
            measured.runs.append(result.as_json())
            plan.say(_line(measured.runs[-1]))
    return measured


async def _with_script(plan: _Plan, fast: Endpoint) -> Measured:
    measured = Measured(notes=[scripted.NOTE])
    plan.say(scripted.NOTE)
    for page in plan.pages:
        for peer in plan.each():
            async with plan.through(peer) as endpoint:
                figures = await scripted.load(
                    endpoint, fast, page, peer=peer.name, policy=peer.policy
                )
            measured.runs.append(figures)
            plan.say(_line(figures))
    return measured


def _line(run: dict[str, Any]) -> str:
    def at(name: str) -> str:
        return "never" if run[name] is None else f"{run[name]:.1f} s"

    return (
        f"{run['page']}, {run['peer']}: text {at('text_s')}, pictures painted {at('painted_s')}, "
        f"final {at('final_s')}"
    )


GOALS: Final[dict[tuple[str, str], dict[str, float]]] = {
    ("news", "384k"): {"text_s": 1.0, "painted_s": 2.5},
    ("news", "56k"): {"painted_s": 14.0},
}
"""Seconds at most through the pair, by page and profile: what the project promises."""


def checks(
    runs: Sequence[dict[str, Any]], *, base: str = "direct", profile: str = ""
) -> dict[str, Check]:
    """Every other peer against the direct load of the same page."""
    rows = medians(runs)
    found: dict[str, Check] = {}
    for row in rows:
        other = next((r for r in rows if r["page"] == row["page"] and r["peer"] == base), None)
        if row["peer"] == base:
            continue
        page = row["page"].split("/")[0]
        about = f"{page}, {row['peer']}"
        for name, goal in GOALS.get((page, profile), {}).items():
            found[f"{about}: {name}"] = _at_most(row, name, goal)
        if other is None:
            continue
        found[f"{about}: pictures painted sooner"] = _ratio(other, row, "painted_s", goal=2.0)
        found[f"{about}: text later by"] = _later(other, row, "text_s")
        found[f"{about}: load event later by"] = _later(other, row, "load_s")
        found[f"{about}: final pixels later by"] = _later(other, row, "final_s")
    return found


def _at_most(row: dict[str, Any], name: str, goal: float) -> Check:
    value = row[name]
    return Check(value, "s", f"at most {goal:g}", value is not None and value <= goal)


def _ratio(base: dict[str, Any], row: dict[str, Any], name: str, *, goal: float) -> Check:
    """How many times sooner."""
    unit, wanted = "times as soon as direct", f"at least {goal}"
    if not base[name] or not row[name]:
        return Check(None, unit, wanted, False)
    ratio = round(base[name] / row[name], 2)
    return Check(ratio, unit, wanted, ratio >= goal)


def _later(base: dict[str, Any], row: dict[str, Any], name: str) -> Check:
    wanted = f"at most {NOISE} (two direct loads differ by as much)"
    if base[name] is None or row[name] is None:
        return Check(None, "s", wanted, False)
    later = round(row[name] - base[name], 2)
    return Check(later, "s", wanted, later <= NOISE)


async def run(
    *,
    profile_name: str = "384k",
    page: Path | None = None,
    runs: int = 1,
    peer_names: Sequence[str] = ("direct", "sluice"),
    backend: str = AUTO,
) -> dict[str, Any]:
    """The scenario. `page`: a folder with an index.html instead of the sample site."""
    result = await measure(
        peers=peers(peer_names),
        profile=profile(profile_name),
        site=page or SITE,
        pages=("index.html",) if page else PAGES,
        runs=runs,
        backend=backend,
    )
    print("\n" + table(result.runs))
    return {
        "runs": result.runs,
        "checks": checks(result.runs, profile=profile_name),
        "notes": result.notes,
        "loads": result.loads,
    }
