"""Runs ImTCP's figures 18 and 20: how connections that measure share a line.

Figure 18: 2 to 40 connections of one kind over 50 Mbit/s with a queue of 200 packets. Figure 20:
half of them ImTCP, half Reno, with UDP of random sizes beside, and 0 to 20 round trips between two
measurements, or as many as losses say (monitor/inline/pause.py, ours). In virtual time.

Left open by the paper and chosen here: figure 20's round trip of .14 s for all, give or take a
hundredth; connections begin within the first five seconds, and count from the tenth on.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from bench.reports.confidence import e95
from bench.reports.exhibits import Bars, Curve
from bench.reports.report import Check
from emulation.dumbbell.cross_traffic import RandomSizes
from emulation.dumbbell.events import Events
from emulation.dumbbell.flows import Flow, Route, SackFlow
from emulation.dumbbell.hops import Hop
from emulation.dumbbell.inline_flow import ImTcpFlow
from monitor.inline.pause import AdaptivePause

RATE: Final = 6_250_000.0
"""Bytes/second: 50 Mbit/s."""
QUEUE: Final = 200
ROUND_TRIP: Final = 0.14
UDP: Final = 12_500.0
"""Bytes/second of the UDP flow beside."""
COUNTS: Final = (2, 4, 10, 20, 40)
"""Connections."""
PAUSES: Final = ("0", "12", "15", "20", "adaptive")
WARM_UP: Final = 10.0
FAIR: Final = 0.97
FULL: Final = 0.98
NEAR: Final = 0.05


@dataclass(frozen=True, slots=True)
class ShareCase:
    """One run: `measuring` of `count` connections are ImTCP's."""

    count: int
    measuring: int
    pause: str
    seed: int
    seconds: float


def throughputs(case: ShareCase) -> tuple[list[float], list[float]]:
    """Bytes/second of each ImTCP connection, and of each of Reno's."""
    events, chance = Events(), random.Random(case.seed)
    forward = Hop(events, rate=RATE, delay=ROUND_TRIP / 4, queue=QUEUE)
    backward = Hop(events, rate=RATE, delay=ROUND_TRIP / 4, queue=QUEUE)
    if case.measuring < case.count:
        RandomSizes(events, forward, UDP, chance, sizes=(300, 600))
    flows: list[Flow] = []
    for number in range(case.count):
        access = ROUND_TRIP / 4 + chance.uniform(-0.005, 0.005) / 2
        down, up = Route((forward,), access), Route((backward,), access)
        if number < case.measuring:
            flow: Flow = ImTcpFlow(events, down, up, pause=_pause(case.pause))
        else:
            flow = SackFlow(events, down, up, every=1)
        events.at(chance.uniform(0.0, 5.0), flow.start)
        flows.append(flow)
    events.run(WARM_UP)
    before = [flow.delivered for flow in flows]
    events.run(case.seconds)
    rates = [
        (flow.delivered - had) / (case.seconds - WARM_UP)
        for flow, had in zip(flows, before, strict=True)
    ]
    return rates[: case.measuring], rates[case.measuring :]


def _pause(name: str) -> Callable[[], float]:
    if name == "adaptive":
        return AdaptivePause()
    return lambda: float(name)


def fairness(rates: Sequence[float]) -> float:
    """Jain's index."""
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))


def run(
    *,
    seed: int = 1,
    runs: int = 5,
    seconds: float = 110.0,
    counts: Sequence[int] = COUNTS,
    pauses: Sequence[str] = PAUSES,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Both figures."""
    seeds = range(seed, seed + runs)
    alone = [
        ShareCase(count, of, "0", number, seconds)
        for count in counts
        for of in (0, count)
        for number in seeds
    ]
    mixed = [
        ShareCase(count, count // 2, pause, number, seconds)
        for count in counts
        for pause in pauses
        for number in seeds
    ]
    with ProcessPoolExecutor() as pool:
        cases = alone + mixed
        found = dict(zip(cases, pool.map(throughputs, cases), strict=True))
    rows: list[dict[str, Any]] = []
    checks: dict[str, Check] = {}

    def tell(row: dict[str, Any]) -> None:
        rows.append(row)
        say("  ".join(f"{name} {value}" for name, value in row.items()))

    for count in counts:
        full = {}
        for of in (0, count):
            ones = [found[case] for case in alone if (case.count, case.measuring) == (count, of)]
            all_rates = [one[0] + one[1] for one in ones]
            full[of] = statistics.fmean(sum(rates) for rates in all_rates)
            jain = statistics.fmean(fairness(rates) for rates in all_rates)
            kind = "ImTCP" if of else "Reno"
            tell(
                {
                    "figure": "18",
                    "connections": count,
                    "kind": kind,
                    "fairness": round(jain, 4),
                    "utilisation": round(full[of] / RATE, 4),
                }
            )
        share = full[count] / full[0]
        checks[f"18a: {count} connections: fairness"] = Check(
            round(jain, 4), "Jain's index", f">= {FAIR}", jain >= FAIR
        )
        checks[f"18b: {count} connections: utilisation"] = Check(
            round(share, 4), "of Reno's", f">= {FULL}", share >= FULL
        )
        for pause in pauses:
            ratios = [
                sum(found[case][0]) / sum(found[case][1])
                for case in mixed
                if (case.count, case.pause) == (count, pause)
            ]
            mean, spread = statistics.fmean(ratios), e95(ratios)
            tell({"figure": "20", "connections": count, "pause": pause,
                  "ratio": round(mean, 4), "e95": round(spread, 4)})  # fmt: skip
            if pause == "adaptive":
                ok = abs(mean - 1.0) <= NEAR
                name = f"20: {count} connections, adaptive pause: ImTCP's by Reno's"
                checks[name] = Check(round(mean, 3), f"+- {spread:.3f}", f"1 +- {NEAR}", ok)
    return {"runs": rows, "exhibits": _charts(rows, counts, pauses), "checks": checks}


def _charts(
    rows: Sequence[dict[str, Any]], counts: Sequence[int], pauses: Sequence[str]
) -> list[Bars]:
    labels = [str(count) for count in counts]

    def bars(title: str, unit: str, key: str, names: Sequence[str], column: str) -> Bars:
        series = [
            Curve(
                name,
                [
                    (float(labels.index(str(row["connections"]))), row[column])
                    for row in rows
                    if row.get(key) == name
                ],
                tone,
            )
            for tone, name in enumerate(names)
        ]
        return Bars(title, unit, labels, series, 1.2)

    return [
        bars("Figure 18a: fairness", "Jain's index", "kind", ("Reno", "ImTCP"), "fairness"),
        bars("Figure 18b: utilisation", "of the line", "kind", ("Reno", "ImTCP"), "utilisation"),
        bars("Figure 20: ImTCP's throughput by Reno's, by round trips between measurements",
             "ratio", "pause", pauses, "ratio"),
    ]  # fmt: skip
