"""Runs ImTCP's figures 11 to 13: a connection that measures while it sends, beside UDP that steps.

Its results against what others leave, and against those of the algorithm alone (imtcp-measure); its
throughput beside Reno's; and the estimate of Westwood, which knows only what it gets itself. In
virtual time; the product's Control unit below a model of TCP.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from bench.reports.exhibits import Curve, Curves
from bench.reports.report import Check
from bench.scenarios.imtcp.imtcp_measure import LINES, SHAPES, left, measure
from emulation.dumbbell.cross_traffic import CrossTraffic
from emulation.dumbbell.events import Events
from emulation.dumbbell.flows import PACKET, Route, SackFlow
from emulation.dumbbell.hops import Hop
from emulation.dumbbell.inline_flow import ImTcpFlow
from emulation.tcp.rivals import WestwoodSender
from monitor.inline.measurement import PATIENCE

KINDS: Final = ("Reno", "Westwood", "ImTCP")
STEP: Final = 0.5
"""Seconds over which figure 12 averages."""
GOAL: Final = 0.1
SLOW_GOAL: Final = 0.15
"""Of what is available: the median error at 100 Mbit/s, and on slower lines."""
SHORT: Final = 0.8
"""Of what is available: who gets less has more to learn than its own rate."""
SOME: Final = 5
"""Results from which on a median says something."""
LEAST: Final = 0.98
"""Of Reno's throughput."""
_MBIT: Final = 125_000.0


@dataclass(frozen=True, slots=True)
class FlowCase:
    """One run."""

    kind: str
    line: str
    shape: str
    seconds: float
    seed: int


@dataclass(slots=True)
class MeasuredFlow:
    """What one run has found; bytes/second."""

    results: list[tuple[float, float]] = field(default_factory=list)
    """Seconds, and what was said to be available: by measurements, or by Westwood's estimate."""
    delivered: list[tuple[float, float]] = field(default_factory=list)
    """Seconds, and the throughput since the moment before."""


def observed(case: FlowCase) -> MeasuredFlow:
    """One connection alone with others' UDP."""
    capacity, round_trip = LINES[case.line]
    events, outcome = Events(), MeasuredFlow()
    queue = max(20, int(capacity * round_trip / PACKET))
    forward = Hop(events, rate=capacity, delay=round_trip / 2, queue=queue)
    backward = Hop(events, rate=capacity, delay=round_trip / 2, queue=queue)
    shape = SHAPES[case.shape]
    CrossTraffic(
        *(events, forward, lambda at: capacity * (1.0 - left(shape, at))), random.Random(case.seed)
    )
    down, up = Route((forward,)), Route((backward,))
    westwood: WestwoodSender | None = None
    if case.kind == "ImTCP":
        note = lambda now, found: outcome.results.append((now, found))  # noqa: E731
        flow: SackFlow = ImTcpFlow(events, down, up, heard=note, patience=PATIENCE)
    elif case.kind == "Westwood":
        westwood = WestwoodSender()
        flow = SackFlow(events, down, up, sender=westwood, every=1)
    else:
        flow = SackFlow(events, down, up, every=1)
    events.at(0.0, flow.start)
    before, now = 0, 0.0
    while now < case.seconds:
        now += STEP
        events.run(now)
        outcome.delivered.append((now, (flow.delivered - before) / STEP))
        before = flow.delivered
        if westwood is not None:
            outcome.results.append((now, westwood.bandwidth * PACKET))
    return outcome


def error(case: FlowCase, results: Sequence[tuple[float, float]], *, after: float = 5.0) -> float:
    """How far results are off, as a part of what is available, in the median."""
    capacity, shape = LINES[case.line][0], SHAPES[case.shape]
    found = []
    for at, value in results:
        truth = capacity * left(shape, at)
        if at >= after:
            found.append(abs(value - truth) / truth)
    return statistics.median(found)


def run(
    *,
    seed: int = 1,
    lines: Sequence[str] = ("100M", "20M", "5M", "1.6M"),
    seconds: float = 300.0,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Each kind over each line, with steps and with slopes."""
    cases = [
        FlowCase(kind, line, shape, seconds, seed)
        for line in lines
        for shape in SHAPES
        for kind in KINDS
    ]
    with ProcessPoolExecutor() as pool:
        outcomes = dict(zip(cases, pool.map(observed, cases), strict=True))
    rows: list[dict[str, Any]] = []
    exhibits: list[Curves] = []
    checks: dict[str, Check] = {}
    for line in lines:
        for shape in SHAPES:
            ours = {one.kind: outcome for one, outcome in outcomes.items()
                    if (one.line, one.shape) == (line, shape)}  # fmt: skip
            case = FlowCase("ImTCP", line, shape, seconds, seed)
            bare = measure(line, shape, 5, seed=seed, seconds=seconds, patience=PATIENCE)
            row = _row(case, ours, bare=statistics.median(bare.errors))
            rows.append(row)
            say("  ".join(f"{name} {value}" for name, value in row.items()))
            checks |= _checks(row)
            exhibits += _curves(case, ours)
    return {"runs": rows, "exhibits": exhibits, "checks": checks}


def _row(case: FlowCase, ours: dict[str, MeasuredFlow], *, bare: float) -> dict[str, Any]:
    rates = {
        kind: statistics.fmean(rate for at, rate in outcome.delivered if at > 5.0)
        for kind, outcome in ours.items()
    }
    apart = [later[0] - before[0] for before, later in pairwise(ours["ImTCP"].results)]
    return {
        "line": case.line,
        "shape": case.shape,
        "error": round(error(case, ours["ImTCP"].results), 3),
        "bare_error": round(bare, 3),
        **_short(case, ours),
        "measurements": len(apart) + 1,
        "round_trips_apart": round(statistics.median(apart) / LINES[case.line][1], 1),
        **{f"{kind}_mbit": round(rate / _MBIT, 3) for kind, rate in rates.items()},
        "of_reno": round(rates["ImTCP"] / rates["Reno"], 3),
    }


def _short(case: FlowCase, ours: dict[str, MeasuredFlow]) -> dict[str, Any]:
    """How far each is off while it gets less than `SHORT` of what is available: Westwood's estimate
    is of what it gets (IV-E.1)."""
    capacity, shape = LINES[case.line][0], SHAPES[case.shape]
    found: dict[str, Any] = {}
    for kind in ("ImTCP", "Westwood"):
        short = {
            int(at / STEP + 0.5)
            for at, rate in ours[kind].delivered
            if rate < SHORT * capacity * left(shape, at)
        }
        results = [one for one in ours[kind].results if int(one[0] / STEP + 1) in short]
        found[f"{kind}_short_s"] = round(len(short) * STEP, 1)
        if len(results) >= SOME:
            found[f"{kind}_error_short"] = round(error(case, results, after=1.0), 3)
    return found


def _checks(row: dict[str, Any]) -> dict[str, Check]:
    what = f"{row['line']}, {row['shape']}"
    goal = GOAL if row["line"] == "100M" else SLOW_GOAL
    rate = row["of_reno"]
    checks = {
        f"{what}: error in the median": Check(
            row["error"], "of what is available", f"<= {goal}", row["error"] <= goal
        ),
        f"{what}: throughput": Check(rate, "of Reno's", f">= {LEAST}", rate >= LEAST),
    }
    if "ImTCP_error_short" in row and "Westwood_error_short" in row:
        own, other = row["ImTCP_error_short"], row["Westwood_error_short"]
        name = f"{what}: error while it gets less than {SHORT:.0%} of what is available"
        checks[name] = Check(own, "of that", f"< {other} (Westwood's)", own < other)
    return checks


def _curves(case: FlowCase, ours: dict[str, MeasuredFlow]) -> list[Curves]:
    """Figures 12 and 13."""
    capacity, shape = LINES[case.line][0], SHAPES[case.shape]
    truth = [(at, capacity * left(shape, at) / _MBIT) for at, _ in ours["Reno"].delivered]
    said = [Curve("available", truth, 0)]
    for tone, kind in enumerate(("ImTCP", "Westwood"), 1):
        said.append(Curve(kind, _averaged(ours[kind].results), tone))
    got = [
        Curve(kind, [(at, rate / _MBIT) for at, rate in ours[kind].delivered], tone)
        for tone, kind in enumerate(KINDS, 1)
    ]
    most, what = capacity / _MBIT, f"{case.line}, {case.shape}"
    return [
        Curves(f"Figure 12: {what}: what was measured", "Mbit/s", said, most),
        Curves(f"Figure 13: {what}: throughput", "Mbit/s", got, most),
    ]


def _averaged(results: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Means of every half second, Mbit/s."""
    steps: dict[int, list[float]] = {}
    for at, value in results:
        steps.setdefault(int(at / STEP), []).append(value)
    return [(step * STEP, statistics.fmean(values) / _MBIT) for step, values in steps.items()]
