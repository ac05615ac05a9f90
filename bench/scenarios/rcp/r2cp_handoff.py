"""R2CP's figure 8: a handoff with and without overlap, a move to another server, and two at once.

A download over network A for 58 s. Then network B: the pipe over A stays for two more seconds, or
ends at once (8a); B leads to the same server, or to another one with the same file, nearer and
faster (8b); or A stays (8c). In virtual time, for the testbed's networks are not ours to have: A
has 2 Mbit/s and 80 ms, B 2 Mbit/s and 60 ms, and to the other server 4 Mbit/s and 30 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.reports.exhibits import Curve, Curves, Mark
from bench.reports.report import Check
from emulation.dumbbell.events import Events
from emulation.dumbbell.flows import PACKET
from emulation.dumbbell.several_paths import PathModel, R2cpFlow
from transport.rcp.settings import RcpSettings

MBIT: Final = 125_000.0
A: Final = PathModel(2 * MBIT, 0.08)
B: Final = PathModel(2 * MBIT, 0.06)
NEARER: Final = PathModel(4 * MBIT, 0.03)
HANDOFF: Final = 58.0
"""Seconds after the start (figure 8a)."""
OVERLAP: Final = 2.0
GAP: Final = 0.05
"""Seconds without anything new for the application, at most, where both overlap."""
AGGREGATE: Final = 0.97
_SHARE: Final = RcpSettings().size / PACKET
_STEP: Final = 0.1
_AFTERWARDS: Final = 2.0
"""Seconds behind the overlap that count as the handoff's."""


@dataclass(frozen=True, slots=True)
class Handoff:
    """One download and what becomes of it."""

    name: str
    second: PathModel
    overlap: float | None
    """Seconds for which both pipes are open; None: to the end."""


HANDOFFS: Final = (
    Handoff("8a: with overlap", B, OVERLAP),
    Handoff("8a: without", B, 0.0),
    Handoff("8b: to another server", NEARER, OVERLAP),
    Handoff("8c: both", B, None),
)
NAMES: Final = tuple(handoff.name for handoff in HANDOFFS)


@dataclass(slots=True)
class HandoffOutcome:
    """What one has come to."""

    handoff: Handoff
    curve: list[tuple[float, float]]
    """Seconds, and bytes in order."""
    gap: float
    """Seconds without anything new, at most, from the handoff on until it is over."""
    usual: float
    """The same before, over the first path alone: what its losses cost."""
    twice: int
    """Bytes that came more than once."""
    after: float
    """Bytes/second in the last third of what follows the handoff."""
    round_trip: float
    """Seconds, of the first path when the second one opened, queue included."""


def observe(handoff: Handoff, *, at: float, seconds: float) -> HandoffOutcome:
    """Runs one; the handoff is `at` that second."""
    events, curve = Events(), []
    flow = R2cpFlow(events, [A])
    flow.start()

    def until(end: float) -> None:
        while events.now < end - 1e-9:
            events.run(min(end, events.now + _STEP))
            curve.append((events.now, float(flow.delivered)))

    until(at / 3)
    flow.longest_gap = 0.0
    until(at)
    usual = flow.longest_gap
    round_trip = flow.engine.pipe(0).round_trip.smoothed
    flow.longest_gap = 0.0
    flow.open(handoff.second)
    flow.start()
    if handoff.overlap is not None:
        until(at + handoff.overlap)
        flow.close(0)
    until(at + OVERLAP + _AFTERWARDS)
    gap = flow.longest_gap
    last = seconds - (seconds - at) / 3
    until(last)
    before = flow.delivered
    until(seconds)
    after = (flow.delivered - before) / (seconds - last)
    return HandoffOutcome(handoff, curve, gap, usual, flow.engine.duplicates, after, round_trip)


def run(
    *,
    seconds: float = 90.0,
    at: float = HANDOFF,
    handoffs: Sequence[str] = NAMES,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Runs those of these names; the handoff is `at` that second of `seconds`."""
    outcomes = [
        observe(one, at=at, seconds=seconds) for one in HANDOFFS if one.name in set(handoffs)
    ]
    rows = [
        {
            "handoff": one.handoff.name,
            "gap_s": round(one.gap, 4),
            "usual_gap_s": round(one.usual, 4),
            "twice_bytes": one.twice,
            "after": round(one.after, 1),
            "round_trip_s": round(one.round_trip, 3),
        }
        for one in outcomes
    ]
    for row in rows:
        say("  ".join(f"{name} {value}" for name, value in row.items()))
    return {
        "runs": rows,
        "exhibits": [_chart(one, at) for one in outcomes],
        "checks": _checks({one.handoff.name: one for one in outcomes}),
    }


def _checks(outcomes: Mapping[str, HandoffOutcome]) -> dict[str, Check]:
    """Holds those that were run against their goals."""
    overlap, bare, moved, both = (outcomes.get(one.name) for one in HANDOFFS)
    checks = {}
    if overlap is not None:
        checks["8a: with overlap, without anything new"] = Check(
            round(overlap.gap, 3),
            f"s at most; before it {overlap.usual:.3f}",
            f"<= {GAP} s",
            overlap.gap <= GAP,
        )
    if bare is not None:
        longest = 2 * bare.round_trip + 0.1
        checks["8a: without overlap"] = Check(
            round(bare.gap, 3), "s at most", f"<= {longest:.3f} s", bare.gap <= longest
        )
    if moved is not None:
        faster = moved.after / (NEARER.rate * _SHARE)
        checks["8b: rate from the nearer server"] = Check(
            round(faster, 3), "of what its path carries", f">= {AGGREGATE}", faster >= AGGREGATE
        )
        checks["8b: bytes that came twice"] = Check(moved.twice, "", "none", moved.twice == 0)
    if both is not None:
        aggregate = both.after / ((A.rate + B.rate) * _SHARE)
        checks["8c: rate of both"] = Check(
            round(aggregate, 3), "of the sum", f">= {AGGREGATE}", aggregate >= AGGREGATE
        )
    return checks


def _chart(outcome: HandoffOutcome, at: float) -> Curves:
    points = [(when, amount / 1e6) for when, amount in outcome.curve]
    most = points[-1][1]
    marks = [Mark(at, "B opens")]
    if outcome.handoff.overlap is not None:
        marks.append(Mark(at + outcome.handoff.overlap, "A closes"))
    return Curves(outcome.handoff.name, "MB", [Curve("in order", points, 0)], most, marks)
