"""Runs ImTCP's figures 18 and 20: how connections that measure share a line.

Figure 18: 2 to 40 connections of one kind over 50 Mbit/s with a queue of 200 packets. Figure 20:
half of them ImTCP, half Reno, with UDP of random sizes beside, and 0 to 20 round trips between two
measurements, or as many as losses say (monitor/inline/pause.py, ours). In virtual time.

From the paper: 50 Mbit/s, 200 packets, the round trip of .14 s that it tells of figure 20, the same
for all, and 100 Mbit/s of each host's own link, as in its other worlds. Left open, and chosen:

- Each sending host takes a random time before it sends, up to that of one packet on the line. In a
  simulator where all is exact and all round trips are alike, whose packets find the queue full is
  otherwise decided once and stays so (Floyd and Jacobson, "On traffic phase effects in
  packet-switched gateways", 1992; ns-2's remedy is the same, `overhead_`). Without it ten of Reno's
  have a fairness of .3 to .6, which falls the longer they run, and with it .99.
- Connections begin within the first five seconds, and count from the tenth on, for 200 s: where two
  share the line each halves its window every 26 s.
- Utilisation counts headers.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from bench.reports.confidence import e95
from bench.reports.exhibits import Bars, Curve
from bench.reports.report import Check
from emulation.dumbbell.cross_traffic import RandomSizes
from emulation.dumbbell.events import Events
from emulation.dumbbell.flows import PACKET, Flow, Route, SackFlow
from emulation.dumbbell.hops import Hop
from emulation.dumbbell.inline_flow import ImTcpFlow
from monitor.inline.pause import AdaptivePause

RATE: Final = 6_250_000.0
"""Bytes/second: 50 Mbit/s."""
QUEUE: Final = 200
ACCESS: Final = 12_500_000.0
"""Bytes/second of each sender's own link."""
ROUND_TRIP: Final = 0.14
UDP: Final = 12_500.0
"""Bytes/second of the UDP flow beside."""
COUNTS: Final = (2, 4, 10, 20, 40)
"""Connections."""
PAUSES: Final = ("0", "12", "15", "20", "adaptive")
WARM_UP: Final = 10.0
PART: Final = 50.0
"""Seconds of a run that are one sample of how far its ratio spreads."""
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


@dataclass(frozen=True, slots=True)
class Shares:
    """What each connection had in one part of a run after the other, bytes/second with headers."""

    parts: list[list[float]]
    measuring: int
    """So many are ImTCP's, the first ones."""

    @property
    def rates(self) -> list[float]:
        """What each had over the whole run."""
        return [statistics.fmean(rates) for rates in zip(*self.parts, strict=True)]

    def ratios(self, first: int) -> list[float]:
        """For each part, what the first so many had by what the others had."""
        return [sum(part[:first]) / sum(part[first:]) for part in self.parts]


def observed(case: ShareCase) -> Shares:
    """One world."""
    events, chance = Events(), random.Random(case.seed)
    forward = Hop(events, rate=RATE, delay=ROUND_TRIP / 4, queue=QUEUE)
    backward = Hop(events, rate=RATE, delay=ROUND_TRIP / 4, queue=QUEUE)
    if case.measuring < case.count:
        RandomSizes(events, forward, UDP, chance, sizes=(300, 600))
    flows: list[Flow] = []
    for number in range(case.count):
        access = Hop(events, rate=ACCESS, delay=ROUND_TRIP / 8, queue=10 * QUEUE)
        down, up = Route((access, forward), ROUND_TRIP / 8), Route((backward,), ROUND_TRIP / 4)
        overhead = partial(random.Random(chance.random()).uniform, 0.0, PACKET / RATE)
        if number < case.measuring:
            pause = _pause(case.pause)
            flow: Flow = ImTcpFlow(events, down, up, pause=pause, overhead=overhead)
        else:
            flow = SackFlow(events, down, up, every=1, overhead=overhead)
        events.at(chance.uniform(0.0, 5.0), flow.start)
        flows.append(flow)
    events.run(WARM_UP)
    count = max(1, round((case.seconds - WARM_UP) / PART))
    span = (case.seconds - WARM_UP) / count
    parts = []
    for number in range(1, count + 1):
        before = [flow.delivered for flow in flows]
        events.run(WARM_UP + number * span)
        parts.append(
            [
                (flow.delivered - had) / SackFlow.data * PACKET / span
                for flow, had in zip(flows, before, strict=True)
            ]
        )
    return Shares(parts, case.measuring)


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
    runs: int = 2,
    seconds: float = 210.0,
    counts: Sequence[int] = COUNTS,
    pauses: Sequence[str] = PAUSES,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Both figures; says what each number of connections has come to as soon as it is known."""
    seeds = range(seed, seed + runs)
    rows: list[dict[str, Any]] = []
    checks: dict[str, Check] = {}

    def tell(**row: Any) -> None:
        rows.append(row)
        say("  ".join(f"{name} {value}" for name, value in row.items()))

    with ProcessPoolExecutor() as pool:
        for count in counts:
            kinds = [("Reno", 0, "0"), ("ImTCP", count, "0")]
            kinds += [(pause, count // 2, pause) for pause in pauses]
            cases = [
                ShareCase(count, of, pause, number, seconds)
                for _, of, pause in kinds
                for number in seeds
            ]
            found = list(pool.map(observed, cases))
            of_kind = {
                kind: found[at * runs : (at + 1) * runs] for at, (kind, _, _) in enumerate(kinds)
            }
            checks |= _figure_18(count, of_kind, tell) | _figure_20(count, of_kind, pauses, tell)
    return {"runs": rows, "exhibits": _charts(rows, counts, pauses), "checks": checks}


def _figure_18(
    count: int, found: Mapping[str, Sequence[Shares]], tell: Callable[..., None]
) -> dict[str, Check]:
    """One kind alone."""
    used, fair = {}, {}
    for kind in ("Reno", "ImTCP"):
        used[kind] = statistics.fmean(sum(one.rates) for one in found[kind]) / RATE
        fair[kind] = statistics.fmean(fairness(one.rates) for one in found[kind])
        halves, spread = _ratio(found[kind], count // 2)
        tell(figure="18", connections=count, kind=kind, fairness=round(fair[kind], 4),
             utilisation=round(used[kind], 4), halves=round(halves, 3), e95=round(spread, 3),
             )  # fmt: skip
    share = used["ImTCP"] / used["Reno"]
    return {
        f"18a: {count} connections: fairness": Check(
            round(fair["ImTCP"], 4), "Jain's index", f">= {FAIR}", fair["ImTCP"] >= FAIR
        ),
        f"18b: {count} connections: utilisation": Check(
            round(share, 4), "of Reno's", f">= {FULL}", share >= FULL
        ),
    }


def _figure_20(
    count: int,
    found: Mapping[str, Sequence[Shares]],
    pauses: Sequence[str],
    tell: Callable[..., None],
) -> dict[str, Check]:
    """Both kinds side by side."""
    checks = {}
    for pause in pauses:
        ratio, spread = _ratio(found[pause], count // 2)
        tell(figure="20", connections=count, pause=pause, ratio=round(ratio, 3),
             e95=round(spread, 3))  # fmt: skip
        if pause == "adaptive":
            ok = abs(ratio - 1.0) <= NEAR
            name = f"20: {count} connections, adaptive pause: ImTCP's by Reno's"
            checks[name] = Check(round(ratio, 3), f"+- {spread:.3f}", f"1 +- {NEAR}", ok)
    return checks


def _ratio(found: Sequence[Shares], first: int) -> tuple[float, float]:
    """What the first so many had in all runs by what the others had, and how far that spreads from
    part to part."""
    had = sum(sum(one.rates[:first]) for one in found)
    others = sum(sum(one.rates[first:]) for one in found)
    return had / others, e95([ratio for one in found for ratio in one.ratios(first)])


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
