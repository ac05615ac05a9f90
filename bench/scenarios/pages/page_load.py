"""Page loads over an emulated link, by several peers, each with a cold cache and a fresh pair.

Peers take turns within each run, so that what disturbs the machine disturbs them alike; figures
are medians. Knows how to arrange loads; what is measured is bench/pages' affair, or
bench/origins/scripted.py's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from bench.browsers.cdp import BrowserError, find_chromium
from bench.origins import scripted
from bench.origins.endpoint import PageAccess
from bench.origins.site import spawn
from bench.pages.page_load import PageStudy, load, study
from bench.pages.page_result import PageLoad
from bench.pairs.peers import DirectPeer, Peer, in_world
from bench.reports import comparison
from bench.reports.conditions import Conditions, Watched, until_fit
from bench.reports.report import Check, medians, table
from bench.reports.verdict import MOVED
from bench.rivals.nginx import DirectHttp2
from bench.rivals.registry import RIVALS, line_up
from emulation.lines.profiles import Profile, profile

SITE: Final = Path(__file__).resolve().parents[3] / "demo" / "site"
"""The sample site: two pages of public-domain text and pictures."""
PAGES: Final = ("news/index.html", "article/index.html")
NOISE: Final = 0.3
"""Seconds by which two like loads of a text-heavy page differ on a machine with two processors."""
AGAIN: Final = 2
"""Times that a load is repeated because the emulated link was not the one asked for."""

FAST: Final = profile("fast")
"""The link over which it is learnt what pages end up as."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a series of loads gave."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    loads: list[PageLoad] = field(default_factory=list)
    """Empty where the scripted client measured."""
    discarded: list[dict[str, Any]] = field(default_factory=list)
    """Runs that do not count, each with "why"."""
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
    keep_late: bool = False,
) -> Measured:
    """Load each page by each peer, `runs` times. `backend`: what emulates the link.

    `keep_late`: where no load had a punctual link the best counts, marked; else none does.

    Raises OSError, ValueError, BrowserError.
    """
    plan = _Plan(peers, profile, site, pages, runs, say, backend, keep_late)
    for peer in peers:  # One that does not start should say so before minutes are spent.
        async with plan.through(peer) as endpoint:
            backend = endpoint.backend
    note = f"The link was emulated by the {backend} backend (emulation/worlds/world.py)."
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
    keep_late: bool

    def through(self, peer: Peer) -> AbstractAsyncContextManager[PageAccess]:
        return in_world(peer, self.site, self.link, backend=self.backend)

    def each(self) -> list[Peer]:
        """The peers in the order of their turns at one page."""
        return [peer for _ in range(self.runs) for peer in self.peers]


async def _with_chromium(plan: _Plan, fast: PageAccess) -> Measured:
    measured = Measured()
    studies = [await study(fast, page) for page in plan.pages]
    for known in studies:

        async def one(endpoint: PageAccess, peer: Peer, known: PageStudy = known) -> _Run:
            result = await load(endpoint, known, peer=peer.name, policy=peer.policy)
            return result.as_json(), result

        for peer in plan.each():
            await _fit(plan, peer, known.page, one, measured)
    return measured


async def _with_script(plan: _Plan, fast: PageAccess) -> Measured:
    measured = Measured(notes=[scripted.NOTE])
    if any(peer.name == DirectHttp2.name for peer in plan.peers):
        measured.notes.append(f"{DirectHttp2.name} was left out: that client has no HTTP/2")
    plan.say("\n".join(measured.notes))
    for page in plan.pages:

        async def one(endpoint: PageAccess, peer: Peer, page: str = page) -> _Run:
            names = {"peer": peer.name, "policy": peer.policy}
            return await scripted.load(endpoint, fast, page, **names), None

        for peer in plan.each():
            if peer.name != DirectHttp2.name:
                await _fit(plan, peer, page, one, measured)
    return measured


_Run = tuple[dict[str, Any], PageLoad | None]
"""A run's figures, and the load where Chromium made it."""


async def _fit(
    plan: _Plan,
    peer: Peer,
    page: str,
    one: Callable[[PageAccess, Peer], Awaitable[_Run]],
    measured: Measured,
) -> None:
    """One load that counts, if AGAIN repetitions give one."""

    async def once() -> tuple[_Run, Conditions]:
        async with plan.through(peer) as endpoint:
            watched = Watched.begin()
            figures, result = await one(endpoint, peer)
            conditions = watched.end(endpoint.statistics)
        figures["conditions"] = conditions.as_json()
        plan.say(_line(figures) + (f" (discarded: {conditions.unfit})" if conditions.unfit else ""))
        return (figures, result), conditions

    survives = (BrowserError, OSError) if plan.keep_late else ()
    fit = await until_fit(once, again=AGAIN, survives=survives)
    for why in fit.failed:
        measured.notes.append(f"{page}, {peer.name}: a load failed: {why}")
        plan.say(measured.notes[-1])
    for (figures, _), why in fit.discarded:
        measured.discarded.append({**figures, "why": why})
        measured.notes.append(f"{figures['page']}, {peer.name}: a load was discarded: {why}")
    if fit.kept is not None:
        _count(measured, fit.kept)
    elif plan.keep_late and fit.least_late is not None:
        (figures, result), why = fit.least_late
        late = replace(result, late=why) if result is not None else None
        _count(measured, ({**figures, "late": why}, late))
        plan.say(f"{figures['page']}, {peer.name}: the least late of its loads is shown")
    else:
        measured.notes.append(f"{page}, {peer.name}: given up after {AGAIN + 1} loads")
        plan.say(measured.notes[-1])


def _count(measured: Measured, run: _Run) -> None:
    figures, result = run
    measured.runs.append(figures)
    measured.loads.extend([result] if result else [])


def _line(run: dict[str, Any]) -> str:
    def at(name: str) -> str:
        return "never" if run[name] is None else f"{run[name]:.1f} s"

    return (
        f"{run['page']}, {run['peer']}: text {at('text_s')}, pictures painted {at('painted_s')}, "
        f"final {at('final_s')}"
    )


def planned(peers: Sequence[Peer], pages: Sequence[str]) -> list[tuple[str, str]]:
    """Whose loads of what there should be."""
    return [(page, peer.name) for page in pages for peer in peers]


GOALS: Final[dict[tuple[str, str], dict[str, float]]] = {
    ("news", "384k"): {"text_s": 1.0, "painted_s": 2.5},
    ("news", "56k"): {"painted_s": 14.0},
}
"""Seconds at most through the pair, by page and profile: what the project promises."""


def checks(
    runs: Sequence[dict[str, Any]],
    *,
    base: str = "direct",
    profile: str = "",
    planned: Sequence[tuple[str, str]] = (),
) -> dict[str, Check]:
    """Ours, each against the direct load of the same page.

    `planned`: pages and peers that there should be runs of: goals without a run are not reached.
    """
    rows = {(row["page"], row["peer"]): row for row in medians(runs)}
    found: dict[str, Check] = {}
    wanted = dict.fromkeys([*planned, *rows])
    for place, peer in wanted:
        if peer == base or peer in RIVALS:
            continue
        row, other = rows.get((place, peer), _MISSING), rows.get((place, base), _MISSING)
        page = place.split("/")[0]
        about = f"{page}, {peer}"
        for name, goal in GOALS.get((page, profile), {}).items():
            found[f"{about}: {name}"] = _at_most(row, name, goal)
        if (place, base) not in wanted:
            continue
        found[f"{about}: pictures painted sooner"] = _ratio(other, row, "painted_s", goal=2.0)
        found[f"{about}: text later by"] = _later(other, row, "text_s")
        found[f"{about}: load event later by"] = _later(other, row, "load_s")
        found[f"{about}: final pixels later by"] = _later(other, row, "final_s")
    return found


_MISSING: Final[dict[str, Any]] = dict.fromkeys(
    ("text_s", "painted_s", "load_s", "final_s", "late")
)
"""The row of a peer that has no run: no figure of it is known."""


def _slack(*rows: dict[str, Any]) -> float:
    """Seconds by which figures may be off, those of late loads."""
    return MOVED * sum(bool(row["late"]) for row in rows)


def _at_most(row: dict[str, Any], name: str, goal: float) -> Check:
    value, wanted = row[name], f"at most {goal:g}"
    if value is None:
        return Check(None, "s", wanted, False)
    return Check(value, "s", wanted, value <= goal, abs(value - goal) < _slack(row))


def _ratio(base: dict[str, Any], row: dict[str, Any], name: str, *, goal: float) -> Check:
    """How many times sooner."""
    unit, wanted = "times as soon as direct", f"at least {goal}"
    if not base[name] or not row[name]:
        return Check(None, unit, wanted, False)
    ratio = round(base[name] / row[name], 2)
    lead = base[name] - goal * row[name]
    doubtful = abs(lead) < _slack(base) + goal * _slack(row)
    return Check(ratio, unit, wanted, ratio >= goal, doubtful)


def _later(base: dict[str, Any], row: dict[str, Any], name: str) -> Check:
    wanted = f"at most {NOISE} (two direct loads differ by as much)"
    if base[name] is None or row[name] is None:
        return Check(None, "s", wanted, False)
    later = round(row[name] - base[name], 2)
    return Check(later, "s", wanted, later <= NOISE, abs(later - NOISE) < _slack(base, row))


async def run(
    *,
    profile_name: str = "384k",
    page: Path | None = None,
    runs: int = 1,
    peer_names: Sequence[str] = ("direct", "sluice"),
    backend: str = "relay",
) -> dict[str, Any]:
    """The scenario. `page`: a folder with an index.html instead of the sample site.

    `peer_names`: as bench/rivals/registry.py has them, "all" among them.
    """
    site = page or SITE
    pages = ("index.html",) if page else PAGES
    chosen = line_up(peer_names, site=site)
    for absent in chosen.absent:
        print(absent)
    result = await measure(
        peers=chosen.peers,
        profile=profile(profile_name),
        site=site,
        pages=pages,
        runs=runs,
        backend=backend,
    )
    rows = comparison.compared(result.runs)
    print(f"\n{table(result.runs)}\n\n{comparison.table(rows)}")
    return {
        "runs": result.runs,
        "checks": checks(result.runs, profile=profile_name, planned=planned(chosen.peers, pages))
        | comparison.checks(rows, profile=profile_name, planned=planned(chosen.peers, pages)),
        "notes": [*chosen.absent, *result.notes],
        "loads": result.loads,
        "more": {"compared": rows, "discarded": result.discarded},
    }
