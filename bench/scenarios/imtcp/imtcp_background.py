"""Runs ImTCP's figure 22, a transfer behind four in front, and asks what a stranger notices.

Four connections through lines of 10 Mbit/s share 50 Mbit/s; after 30 s another begins, of Reno, of
ImTCP in background mode, or of LEDBAT (RFC 6817). And ours: a stranger's ping over 5 Mbit/s with a
queue of 64 KB, while such a transfer has the line. In virtual time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from bench.reports.exhibits import Curve, Curves, Mark
from bench.reports.report import Check
from emulation.dumbbell.events import Events
from emulation.dumbbell.flows import PACKET, Route, SackFlow
from emulation.dumbbell.hops import Hop
from emulation.dumbbell.inline_flow import ImTcpFlow, Transmission
from emulation.tcp.rivals import LedbatSender

KINDS: Final = ("Reno", "LEDBAT", "ImTCP")
RATE: Final = 6_250_000.0
"""Bytes/second that all share, 50 Mbit/s; each in front has a fifth at most."""
QUEUE: Final = 200
FRONT: Final = 4
BEGINS: Final = 30.0
SETTLED: Final = 10.0
"""Seconds after the beginning from which on throughputs count."""
KEPT: Final = 0.975
"""Of what those in front have without it: the paper's 39 of 40 Mbit/s."""
LEFT: Final = 0.85
"""Of what they leave: g is .9."""

DSL: Final = 625_000.0
DSL_QUEUE: Final = 64_000 // PACKET
DSL_DELAY: Final = 0.02
PING: Final = 64
EVERY: Final = 0.1
"""A ping of so many bytes so often."""
MEDIAN: Final = 0.010
P99: Final = 0.025
"""Seconds by which a ping may take longer, in the median and in 99 of a hundred."""


@dataclass(frozen=True, slots=True)
class BackgroundCase:
    """One run: what is in the background, behind whom; what in front or a ping."""

    kind: str
    what: str
    seconds: float
    seed: int


def _transfer(kind: str, events: Events, down: Route, up: Route) -> SackFlow:
    if kind == "ImTCP":
        return ImTcpFlow(events, down, up, mode=Transmission.BACKGROUND)
    sender = LedbatSender() if kind == "LEDBAT" else None
    return SackFlow(events, down, up, sender=sender, every=1)


def beside_others(case: BackgroundCase) -> dict[str, Any]:
    """Throughputs, Mbit/s, with headers: figure 22."""
    events, chance = Events(), random.Random(case.seed)
    shared = Hop(events, rate=RATE, delay=0.02, queue=QUEUE)
    back = Hop(events, rate=RATE, delay=0.02, queue=1000)
    front = []
    for _ in range(FRONT):
        own = Hop(events, rate=RATE / 5, delay=0.005, queue=100)
        access = chance.uniform(0.005, 0.007)
        flow = SackFlow(events, Route((own, shared), access), Route((back,), 0.01), every=1)
        events.at(chance.random(), flow.start)
        front.append(flow)
    behind = _transfer(case.kind, events, Route((shared,), 0.01), Route((back,), 0.01))
    events.at(BEGINS, behind.start)
    series: list[tuple[float, float, float]] = []
    had = mine_before = 0
    for second in range(1, int(case.seconds) + 1):
        events.run(float(second))
        now, mine = sum(flow.delivered for flow in front), behind.delivered
        series.append((float(second), _mbit(now - had), _mbit(mine - mine_before)))
        had, mine_before = now, mine
    alone = [one for at, one, _ in series if SETTLED < at <= BEGINS]
    both = [(one, other) for at, one, other in series if at > BEGINS + SETTLED]
    return {
        "alone": sum(alone) / len(alone),
        "front": sum(one for one, _ in both) / len(both),
        "behind": sum(other for _, other in both) / len(both),
        "series": series,
    }


def _mbit(data: int) -> float:
    """What so many bytes of data in a second are with headers."""
    return data / SackFlow.data * PACKET / 125_000.0


def ping_beside(case: BackgroundCase) -> dict[str, Any]:
    """Seconds of a stranger's pings more than without anybody, and what the transfer gets."""
    events = Events()
    down = Hop(events, rate=DSL, delay=DSL_DELAY, queue=DSL_QUEUE)
    up = Hop(events, rate=DSL / 5, delay=DSL_DELAY, queue=DSL_QUEUE)
    took: list[float] = []

    def ping(_: object) -> None:
        began = events.now
        down.send(PING, lambda _: took.append(events.now - began), None)
        events.at(began + EVERY, ping)

    flow = _transfer(case.kind, events, Route((down,), 0.02), Route((up,), 0.02))
    flow.start()
    events.at(SETTLED, ping)
    events.run(SETTLED)
    before = flow.delivered
    events.run(case.seconds)
    took.sort()
    idle = PING / DSL + DSL_DELAY
    return {
        "median": took[len(took) // 2] - idle,
        "p99": took[int(0.99 * len(took))] - idle,
        "share": _mbit(flow.delivered - before) * 125_000.0 / DSL / (case.seconds - SETTLED),
    }


def _measured(case: BackgroundCase) -> dict[str, Any]:
    return ping_beside(case) if case.what == "ping" else beside_others(case)


def run(
    *,
    seed: int = 1,
    seconds: float = 120.0,
    kinds: Sequence[str] = KINDS,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Both worlds, each kind in the background."""
    cases = [
        BackgroundCase(kind, what, seconds, seed) for what in ("front", "ping") for kind in kinds
    ]
    with ProcessPoolExecutor() as pool:
        found = dict(zip(cases, pool.map(_measured, cases), strict=True))
    rows: list[dict[str, Any]] = []
    checks: dict[str, Check] = {}
    exhibits: list[Curves] = []
    for case, outcome in found.items():
        series = outcome.pop("series", [])
        row = {"background": case.kind, "beside": case.what} | {
            name: round(value, 4) for name, value in outcome.items()
        }
        rows.append(row)
        say("  ".join(f"{name} {value}" for name, value in row.items()))
        if series:
            exhibits.append(_curves(case.kind, series))
        if case.kind == "ImTCP":
            checks |= _checks(case, outcome)
    return {"runs": rows, "exhibits": exhibits, "checks": checks}


def _checks(case: BackgroundCase, outcome: dict[str, float]) -> dict[str, Check]:
    if case.what == "ping":
        median, most = outcome["median"], outcome["p99"]
        return {
            "a stranger's ping, in the median": Check(
                round(1000 * median, 1), "ms more", f"<= {1000 * MEDIAN:g}", median <= MEDIAN
            ),
            "a stranger's ping, 99 of a hundred": Check(
                round(1000 * most, 1), "ms more", f"<= {1000 * P99:g}", most <= P99
            ),
        }
    kept = outcome["front"] / outcome["alone"]
    taken = outcome["behind"] / (RATE / 125_000.0 - outcome["front"])
    return {
        "22: those in front keep": Check(
            round(kept, 4), "of what they had", f">= {KEPT}", kept >= KEPT
        ),
        "22: what is behind gets": Check(
            round(taken, 4), "of the rest", f">= {LEFT}", taken >= LEFT
        ),
    }


def _curves(kind: str, series: Sequence[tuple[float, float, float]]) -> Curves:
    lines = [
        Curve("in front", [(at, one) for at, one, _ in series], 0),
        Curve(f"behind: {kind}", [(at, other) for at, _, other in series], 1),
    ]
    marks = [Mark(BEGINS, "it begins")]
    return Curves(f"Figure 22: {kind} behind four in front", "Mbit/s", lines, 50.0, marks)
