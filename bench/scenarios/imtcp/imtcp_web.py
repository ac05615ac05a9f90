"""Runs ImTCP's figures 15, 16, 23 and 24: a transfer beside 220 readers of web pages.

The transfer is Reno's, ImTCP's, ImTCP's in background mode, or none; the same pages at the same
rests beside each, by seed. 50 Mbit/s with a queue of 1,000 packets, for 500 s, as the paper has it:
with such a queue one saw tooth of Reno's window takes some 150 s. In virtual time.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from bench.reports.exhibits import Curve, Curves
from bench.reports.report import Check
from emulation.dumbbell.events import Events
from emulation.dumbbell.flows import PACKET, Route, SackFlow
from emulation.dumbbell.hops import Hop
from emulation.dumbbell.inline_flow import ImTcpFlow, Transmission
from emulation.dumbbell.web_clients import CLIENTS, WebClient
from monitor.inline.measurement import PATIENCE

KINDS: Final = ("none", "Reno", "ImTCP", "background")
RATE: Final = 6_250_000.0
"""Bytes/second."""
QUEUE: Final = 1000
ROUND_TRIP: Final = 0.1
WARM_UP: Final = 20.0
ALIKE: Final = 0.03
"""By which pages' times may differ from those beside Reno, in mean and 90th percentile."""
THROUGHPUT: Final = 0.98
UNNOTICED: Final = 1.02
"""Of pages' times without a transfer, what they are beside one in the background at most."""
_MBIT: Final = 125_000.0


@dataclass(frozen=True, slots=True)
class WebCase:
    """One run."""

    kind: str
    seed: int
    seconds: float
    clients: int


@dataclass(slots=True)
class WebRun:
    """What came of it."""

    pages: list[float]
    """Seconds of each page that began once it was warm, sorted."""
    throughput: float
    """Bytes/second of the transfer, with headers."""
    web: float
    """The same of all pages."""
    results: list[tuple[float, float]] = field(default_factory=list)
    """Seconds, and bytes/second that were measured."""

    @property
    def mean(self) -> float:
        return statistics.fmean(self.pages)

    @property
    def p90(self) -> float:
        """Seconds within which nine of ten pages were there."""
        return self.pages[int(0.9 * len(self.pages))]


def observed(case: WebCase) -> WebRun:
    """One world."""
    events, chance = Events(), random.Random(case.seed)
    shared = Hop(events, rate=RATE, delay=0.02, queue=QUEUE)
    back = Hop(events, rate=RATE, delay=0.02, queue=10 * QUEUE)
    pages: list[float] = []

    def took(began: float, seconds: float) -> None:
        if began >= WARM_UP:
            pages.append(seconds)

    for _ in range(case.clients):
        access = chance.uniform(0.01, 0.05)
        WebClient(
            *(events, Route((shared,), access), Route((back,), access)),
            random.Random(chance.random()),
            round_trip=0.04 + 2 * access,
            took=took,
        )
    run = WebRun(pages, 0.0, 0.0)
    flow = _transfer(case.kind, events, Route((shared,), 0.03), Route((back,), 0.03), run)
    if flow is not None:
        flow.start()
    events.run(WARM_UP)
    before, carried = (flow.delivered if flow else 0), shared.carried
    events.run(case.seconds)
    seconds = case.seconds - WARM_UP
    if flow is not None:
        run.throughput = (flow.delivered - before) / flow.data * PACKET / seconds
    run.web = (shared.carried - carried) / seconds - run.throughput
    pages.sort()
    return run


def _transfer(kind: str, events: Events, down: Route, up: Route, run: WebRun) -> SackFlow | None:
    if kind == "none":
        return None
    if kind == "Reno":
        return SackFlow(events, down, up, every=1)
    mode = Transmission.BACKGROUND if kind == "background" else Transmission.NORMAL
    heard = lambda now, found: run.results.append((now, found))  # noqa: E731
    return ImTcpFlow(events, down, up, mode=mode, patience=PATIENCE, heard=heard)


def run(
    *,
    seed: int = 1,
    runs: int = 10,
    seconds: float = 500.0,
    clients: int = CLIENTS,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Each kind with the same readers, `runs` times."""
    cases = [
        WebCase(kind, seed + number, seconds, clients) for number in range(runs) for kind in KINDS
    ]
    with ProcessPoolExecutor() as pool:
        found = dict(zip(cases, pool.map(observed, cases), strict=True))
    rows: list[dict[str, Any]] = []
    for kind in KINDS:
        ones = [outcome for case, outcome in found.items() if case.kind == kind]
        row = {
            "transfer": kind,
            "pages": sum(len(one.pages) for one in ones),
            "page_mean_s": round(statistics.fmean(one.mean for one in ones), 3),
            "page_p90_s": round(statistics.fmean(one.p90 for one in ones), 3),
            "transfer_mbit": round(statistics.fmean(one.throughput for one in ones) / _MBIT, 2),
            "web_mbit": round(statistics.fmean(one.web for one in ones) / _MBIT, 2),
        }
        rows.append(row)
        say("  ".join(f"{name} {value}" for name, value in row.items()))
    return {"runs": rows, "exhibits": _curves(found, seed), "checks": _checks(found)}


def _pairs(found: dict[WebCase, WebRun], kind: str, other: str) -> list[tuple[WebRun, WebRun]]:
    """Runs of two kinds with the same readers."""
    by = {(case.kind, case.seed): outcome for case, outcome in found.items()}
    return [(outcome, by[other, seed]) for (name, seed), outcome in by.items() if name == kind]


def _checks(found: dict[WebCase, WebRun]) -> dict[str, Check]:
    checks = {}
    beside = _pairs(found, "ImTCP", "Reno")
    for name in ("mean", "p90"):
        ratio = statistics.fmean(getattr(one, name) / getattr(other, name) for one, other in beside)
        ok = abs(ratio - 1) <= ALIKE
        checks[f"16: pages' times, {name}: beside ImTCP by beside Reno"] = Check(
            round(ratio, 3), "", f"1 +- {ALIKE}", ok
        )
    ratio = statistics.fmean(one.throughput / other.throughput for one, other in beside)
    checks["ImTCP's throughput"] = Check(
        round(ratio, 3), "of Reno's", f">= {THROUGHPUT}", ratio >= THROUGHPUT
    )
    behind = _pairs(found, "background", "none")
    for name in ("mean", "p90"):
        ratio = statistics.fmean(getattr(one, name) / getattr(other, name) for one, other in behind)
        checks[f"23: pages' times, {name}: beside the background by beside nothing"] = Check(
            round(ratio, 3), "", f"<= {UNNOTICED}", ratio <= UNNOTICED
        )
    return checks


def _curves(found: dict[WebCase, WebRun], seed: int) -> list[Curves]:
    """Figures 16 (distributions), 15 and 24 (what was measured)."""
    ones = {case.kind: outcome for case, outcome in found.items() if case.seed == seed}
    lines = [
        Curve(
            f"beside {kind}",
            [
                (seconds, (number + 1) / len(one.pages))
                for number, seconds in enumerate(one.pages)
                if number % max(1, len(one.pages) // 200) == 0
            ],
            tone,
        )
        for tone, (kind, one) in enumerate(ones.items())
    ]
    title = "Figures 16 and 23: part of the pages that are there after so many seconds"
    charts = [Curves(title, "of all", lines, 1.0)]
    for figure, kind in (("15", "ImTCP"), ("24", "background")):
        said = [(at, value / _MBIT) for at, value in ones[kind].results]
        charts.append(
            Curves(f"Figure {figure}: measured by {kind}", "Mbit/s", [Curve(kind, said)], 50.0)
        )
    return charts
