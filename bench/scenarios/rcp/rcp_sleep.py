"""RCP's figure 5c: a mobile host that sleeps while its channel is bad, beside TCP that can't.

Bad states of 1 to 10 s on average between good ones of 10 s, the same for both. RCP's receiver
freezes, and asks again for what it has holes for once the channel is good; TCP goes on, for its
sender would take silence for congestion. In virtual time; energy by the paper's powers
(emulation/dumbbell/sleeping_host.py).

Throughput counts packets that the data fills, headers included, as figure 5a's. Who sleeps through
all bad states has at most what the good ones carry; a TCP whose recovery is as good as the paper's
own (3.4.1) gets a tenth of the rate in bad ones, so the longer they are the less can be reached.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from bench.reports.confidence import e95
from bench.reports.exhibits import Bars, Curve
from bench.reports.report import Check
from emulation.dumbbell.flows import PACKET, RcpFlow, SackFlow
from emulation.dumbbell.sleeping_host import SleepingHost

BAD: Final = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
"""Seconds that bad states last on average."""
KINDS: Final[dict[str, type[RcpFlow] | type[SackFlow]]] = {"TCP": SackFlow, "RCP": RcpFlow}


@dataclass(frozen=True, slots=True)
class SleepRun:
    """One run: which flow, how long bad states are, which chance."""

    kind: str
    bad: float
    seed: int
    seconds: float


def measured(one: SleepRun) -> tuple[float, float]:
    """Watts on average, and bytes/second of packets that the data fills."""
    flow = KINDS[one.kind]
    host = SleepingHost(flow, bad=one.bad, sleeps=flow is RcpFlow, seed=one.seed)
    packets = host.delivered(one.seconds) / flow.data
    return host.energy / one.seconds, packets * PACKET / one.seconds


def run(
    *,
    seed: int = 1,
    runs: int = 10,
    seconds: float = 300.0,
    bad: Sequence[float] = BAD,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """`runs` runs of both at each length, the same channels for both."""
    cases = [
        SleepRun(kind, length, seed + number, seconds)
        for length in bad
        for kind in KINDS
        for number in range(runs)
    ]
    with ProcessPoolExecutor() as pool:
        found = dict(zip(cases, pool.map(measured, cases), strict=True))
    rows: list[dict[str, Any]] = []
    checks: dict[str, Check] = {}
    for length in bad:
        row: dict[str, Any] = {"bad_s": length}
        for kind in KINDS:
            ones = [pair for one, pair in found.items() if (one.bad, one.kind) == (length, kind)]
            for name, values in zip(("watts", "rate"), zip(*ones, strict=True), strict=True):
                row[f"{kind}_{name}"] = round(statistics.fmean(values), 4)
                row[f"{kind}_{name}_e95"] = round(e95(values), 4)
        rows.append(row)
        say(
            f"bad for {length:g} s: "
            + ", ".join(f"{kind} {row[f'{kind}_watts']:.3f} W " for kind in KINDS)
            + ", ".join(f"{kind} {row[f'{kind}_rate'] / 1000:.1f} kB/s" for kind in KINDS)
        )
        watts = row["RCP_watts"] / row["TCP_watts"]
        rate = row["RCP_rate"] / row["TCP_rate"]
        what = f"5c: bad for {length:g} s"
        checks[f"{what}, power"] = Check(round(watts, 3), "of TCP's", "< 1", watts < 1)
        checks[f"{what}, throughput"] = Check(round(rate, 3), "of TCP's", ">= 1", rate >= 1)
    return {"runs": rows, "exhibits": _charts(rows), "checks": checks}


def _charts(rows: Sequence[dict[str, Any]]) -> list[Bars]:
    """Figure 5c, a chart for each of its axes."""
    labels = [f"{row['bad_s']:g} s" for row in rows]
    charts = []
    for title, unit, name, scale in (
        ("Figure 5c: power by the mean length of bad states", "W", "watts", 1.0),
        ("Figure 5c: throughput", "kbit/s", "rate", 1 / 125),
    ):
        series = [
            Curve(
                kind, [(float(n), row[f"{kind}_{name}"] * scale) for n, row in enumerate(rows)], t
            )
            for t, kind in enumerate(KINDS)
        ]
        top = max(value for one in series for _, value in one.points)
        charts.append(Bars(title, unit, labels, series, 1.1 * top))
    return charts
