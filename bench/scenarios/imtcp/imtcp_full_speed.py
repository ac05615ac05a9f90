"""Runs ImTCP's figures 26 and 28: windows that grow by what is available, on fast and lossy lines.

Figure 26: one connection over 500 Mbit/s with a queue of 2,000 packets: Reno, HighSpeed TCP (RFC
3649), ImTCP in full-speed mode. Figure 28: one over a hop of 2 Mbit/s that loses .01 to 10 % of
what crosses it: Reno, Westwood, ImTCP. In virtual time.

Left open by the paper and chosen here: round trips of 100 ms on the fast line, 60 ms on the lossy
one; h of 100 on both, which the paper says of the lossy one alone.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from bench.reports.confidence import e95
from bench.reports.exhibits import Bars, Curve, Curves
from bench.reports.report import Check
from emulation.dumbbell.events import Events
from emulation.dumbbell.flows import PACKET, Route, SackFlow
from emulation.dumbbell.hops import Hop
from emulation.dumbbell.inline_flow import ImTcpFlow, Transmission
from emulation.tcp.rivals import HighSpeedSender, WestwoodSender
from monitor.inline.measurement import PATIENCE

FAST: Final = 62_500_000.0
FAST_QUEUE: Final = 2_000
FAST_DELAY: Final = 0.05
"""Bytes/second (500 Mbit/s), packets, seconds each way."""
AIR: Final = 250_000.0
AIR_DELAY: Final = 0.03
AIR_QUEUE: Final = 50
LOSSES: Final = (0.0001, 0.001, 0.01, 0.05, 0.1)
FROM: Final = 0.01
"""Loss from which on ImTCP is to have at least what the others have."""
FILLED: Final = {0.01: 0.95, 0.05: 0.95}
"""Of what passes, what it is to have."""
WARM_UP: Final = 5.0


@dataclass(frozen=True, slots=True)
class SpeedCase:
    """One run of one connection; `loss`: None on the fast line."""

    kind: str
    loss: float | None
    seconds: float
    seed: int


@dataclass(slots=True)
class SpeedRun:
    """What came of it."""

    rate: float
    """Of the line, with headers, once warm."""
    dropped: int
    facts: dict[str, int]
    windows: list[tuple[float, float]] = field(default_factory=list)
    """Seconds, packets."""


def _flow(kind: str, events: Events, down: Route, up: Route) -> SackFlow:
    if kind == "ImTCP":
        return ImTcpFlow(events, down, up, mode=Transmission.FULL_SPEED, patience=PATIENCE)
    senders = {"HSTCP": HighSpeedSender, "Westwood": WestwoodSender}
    sender = senders[kind]() if kind in senders else None
    return SackFlow(events, down, up, sender=sender, every=1)


def observed(case: SpeedCase) -> SpeedRun:
    """One connection, alone."""
    events = Events()
    lossy = case.loss is not None
    rate, delay, queue = (AIR, AIR_DELAY, AIR_QUEUE) if lossy else (FAST, FAST_DELAY, FAST_QUEUE)
    down = Hop(events, rate=rate, delay=delay, queue=queue, loss=case.loss or 0.0,
               chance=random.Random(case.seed))  # fmt: skip
    up = Hop(events, rate=rate, delay=delay, queue=10_000)
    flow = _flow(case.kind, events, Route((down,)), Route((up,)))
    flow.start()
    windows: list[tuple[float, float]] = []
    before, now = 0, 0.0
    while now < case.seconds:
        now += 0.5
        events.run(now)
        windows.append((now, flow.sender.window))
        if now == WARM_UP:
            before = flow.delivered
    packets = (flow.delivered - before) / flow.data
    share = packets * PACKET / (case.seconds - WARM_UP) / rate
    return SpeedRun(share, down.dropped, flow.facts(), windows)


def run(
    *,
    seed: int = 1,
    runs: int = 5,
    seconds: float = 100.0,
    fast: bool = True,
    losses: Sequence[float] = LOSSES,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Both figures."""
    cases = [SpeedCase(kind, None, seconds, seed) for kind in ("Reno", "HSTCP", "ImTCP") if fast]
    cases += [
        SpeedCase(kind, loss, seconds, seed + number)
        for loss in losses
        for kind in ("Reno", "Westwood", "ImTCP")
        for number in range(runs)
    ]
    with ProcessPoolExecutor() as pool:
        found = dict(zip(cases, pool.map(observed, cases), strict=True))
    rows: list[dict[str, Any]] = []
    checks: dict[str, Check] = {}
    exhibits: list[Curves | Bars] = []

    def tell(row: dict[str, Any]) -> None:
        rows.append(row)
        say("  ".join(f"{name} {value}" for name, value in row.items()))

    on_fast = {case.kind: outcome for case, outcome in found.items() if case.loss is None}
    for kind, one in on_fast.items():
        tell({"figure": "26", "kind": kind, "share": round(one.rate, 4), "dropped": one.dropped}
             | one.facts)  # fmt: skip
    if on_fast:
        ours = on_fast.pop("ImTCP")
        best = round(max(one.rate for one in on_fast.values()), 3)
        share = round(ours.rate, 3)
        fewest = on_fast["HSTCP"].dropped
        checks["26: throughput"] = Check(
            share, "of the line", f">= {best} (the best other)", share >= best
        )
        checks["26: packets dropped"] = Check(
            ours.dropped, "packets", f"< {fewest} (HSTCP's)", ours.dropped < fewest
        )
        lines = [
            Curve(kind, one.windows, tone)
            for tone, (kind, one) in enumerate((on_fast | {"ImTCP": ours}).items())
        ]
        most = max(value for one in lines for _, value in one.points)
        exhibits.append(Curves("Figure 26: congestion windows", "packets", lines, most))
    series: dict[str, list[float]] = {}
    for loss in losses:
        shares = {}
        for kind in ("Reno", "Westwood", "ImTCP"):
            ones = [
                one.rate for case, one in found.items() if (case.kind, case.loss) == (kind, loss)
            ]
            shares[kind] = statistics.fmean(ones)
            series.setdefault(kind, []).append(shares[kind] * AIR / 125.0)
            tell({"figure": "28", "loss": loss, "kind": kind, "share": round(shares[kind], 4),
                  "e95": round(e95(ones), 4)})  # fmt: skip
        own, what = shares["ImTCP"], f"28: loss of {loss:.2%}"
        if loss >= FROM:
            best = max(shares["Reno"], shares["Westwood"])
            checks[what] = Check(
                round(own, 3), "of the line", f">= {best:.3f} (the best other)", own >= best
            )
        if loss in FILLED:
            part, least = own / (1 - loss), FILLED[loss]
            checks[f"{what}: of what passes"] = Check(
                round(part, 3), "of that", f">= {least}", part >= least
            )
    if losses:
        bars = [
            Curve(kind, [(float(n), one) for n, one in enumerate(values)], tone)
            for tone, (kind, values) in enumerate(series.items())
        ]
        labels = [f"{loss:.2%}" for loss in losses]
        title = "Figure 28: throughput by what the air loses"
        exhibits.append(Bars(title, "kbit/s", labels, bars, AIR / 125.0))
    return {"runs": rows, "exhibits": exhibits, "checks": checks}
