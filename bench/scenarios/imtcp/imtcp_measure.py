"""ImTCP's figures 5 and 6: available bandwidth that steps and that slopes, measured by streams.

The measurement alone (III-C): its packets cross a bottleneck that UDP flows share, and the sender
hears when each has come. A stream leaves once the one before has been heard, so a measurement takes
two to four round trips. In virtual time. The paper has 100 Mbit/s; slower lines are ours, with the
same shares of others.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from bench.reports.exhibits import Curve, Curves
from bench.reports.report import Check
from bench.scenarios.imtcp.crossed_path import CrossedPath
from monitor.inline.measurement import PATIENCE, InlineMeasurement, Where
from monitor.inline.stream import StreamTimes

STEPS: Final = ((0.0, 0.6), (50.0, 0.6), (50.0, 0.4), (100.0, 0.4), (100.0, 0.6), (150.0, 0.6),
                (150.0, 0.2), (200.0, 0.2), (200.0, 0.6), (300.0, 0.6))  # fmt: skip
"""Seconds, and the part of the line that others leave then (figure 5)."""
SLOPES: Final = ((0.0, 0.6), (50.0, 0.6), (100.0, 0.4), (150.0, 0.6), (210.0, 0.2), (270.0, 0.6),
                 (300.0, 0.6))  # fmt: skip
"""The same of figure 6."""
SHAPES: Final = {"steps": STEPS, "slopes": SLOPES}
COUNTS: Final = (3, 5, 8)
"""Packets of a stream."""
LINES: Final = {
    "100M": (12_500_000.0, 0.18),
    "20M": (2_500_000.0, 0.06),
    "5M": (625_000.0, 0.06),
    "1.6M": (200_000.0, 0.1),
    "384k": (48_000.0, 0.15),
}
"""Bytes/second, and a round trip in seconds. The paper's three links have 30 ms each way each."""
PACKET: Final = 1500
SECONDS: Final = 300.0
GOAL: Final = 0.1
"""Of what is available, the median error at 100 Mbit/s with N = 5 and 8."""
SLOW_GOAL: Final = 0.15
AGAIN: Final = 10
"""Measurements after a step by which it is found again, in nine of ten steps. The paper's range
grows by half at a time; begun anew by a burst after `PATIENCE` it is sooner."""
NEAR: Final = 0.25
"""Of what is available: a result within that has found it."""
_MBIT: Final = 125_000.0


@dataclass(slots=True)
class MeasuredPath:
    """What one run has found. Bytes/second."""

    at: list[float] = field(default_factory=list)
    found: list[float] = field(default_factory=list)
    truth: list[float] = field(default_factory=list)
    inside: int = 0
    took: list[float] = field(default_factory=list)
    """Round trips of each measurement."""

    @property
    def errors(self) -> list[float]:
        """How far each result was off, as a part of what was available, sorted."""
        pairs = zip(self.found, self.truth, strict=True)
        return sorted(abs(found - truth) / truth for found, truth in pairs)


def left(shape: Sequence[tuple[float, float]], at: float) -> float:
    """The part of the line that others leave."""
    for (since, before), (until, after) in pairwise(shape):
        if since <= at < until:
            return before + (after - before) * (at - since) / (until - since)
    return shape[-1][1]


def measure(
    line: str,
    shape: str,
    count: int,
    *,
    seed: int,
    seconds: float = SECONDS,
    even: bool = True,
    patience: int | None = None,
) -> MeasuredPath:
    """One run. `even`: others' packets come at even intervals, else at random."""
    capacity, round_trip = LINES[line]
    path = CrossedPath(
        capacity=capacity,
        delay=round_trip / 2,
        others=lambda at: capacity * (1.0 - left(SHAPES[shape], at)),
        seed=seed,
        even=even,
    )
    measurement, outcome = (
        InlineMeasurement(packet=PACKET, count=count, patience=patience),
        MeasuredPath(),
    )
    now = began = 0.0
    while now < seconds:
        stream = measurement.stream
        sent = [now + offset for offset in stream.offsets]
        arrived = path.send(sent, stream.packet)
        result = measurement.observed(StreamTimes(sent, arrived))
        heard = arrived[-1] + round_trip / 2
        if result is None:
            now = heard  # whether another stream is needed is known then
            continue
        outcome.at.append(now)
        outcome.found.append(result.available)
        outcome.truth.append(path.available(now))
        outcome.inside += result.where is Where.INSIDE
        outcome.took.append((heard - began) / round_trip)
        now = began = heard
    return outcome


def found_again(outcome: MeasuredPath, steps: Sequence[float]) -> list[int]:
    """After how many measurements each step was found, the least error within `NEAR`."""
    counts = []
    for step in steps:
        later = [
            abs(found - truth) / truth <= NEAR
            for at, found, truth in zip(outcome.at, outcome.found, outcome.truth, strict=True)
            if at >= step
        ]
        if later:
            counts.append(later.index(True) + 1 if True in later else len(later) + 1)
    return counts


def run(
    *,
    seed: int = 1,
    lines: Sequence[str] = tuple(LINES),
    seconds: float = SECONDS,
    runs: int = 3,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Both shapes on each line with each number of packets; steps `runs` times, with a range that
    grows and one that is begun anew; and once with others at random."""
    rows: list[dict[str, Any]] = []
    exhibits: list[Curves] = []
    checks: dict[str, Check] = {}

    def tell(row: dict[str, Any]) -> None:
        rows.append(row)
        say("  ".join(f"{name} {value}" for name, value in row.items()))

    for line in lines:
        for shape in SHAPES:
            for count in COUNTS:
                outcome = measure(line, shape, count, seed=seed, seconds=seconds)
                tell(_row(line, shape, count, outcome))
                if line == lines[0]:
                    exhibits.append(_curves(line, shape, count, outcome))
                if count != COUNTS[0]:
                    checks |= _error(line, shape, count, outcome)
        for patience in (None, PATIENCE):
            again = _again(line, seed=seed, seconds=seconds, runs=runs, patience=patience)
            tell({"line": line, "range": "grows" if patience is None else "begun anew"} | again)
        checks[f"{line}: a step is found again, where the range is begun anew"] = Check(
            again["again_p90"], "measurements", f"<= {AGAIN}", again["again_p90"] <= AGAIN
        )
    rough = measure(lines[0], "steps", 5, seed=seed, seconds=seconds, even=False)
    tell(_row(lines[0], "steps, others at random", 5, rough))
    return {"runs": rows, "exhibits": exhibits, "checks": checks}


def _again(
    line: str, *, seed: int, seconds: float, runs: int, patience: int | None
) -> dict[str, Any]:
    """After how many measurements steps were found by streams of 5 and 8."""
    steps = [at for at, _ in STEPS[2:-1:2] if at < seconds]
    counts = sorted(
        again
        for count in COUNTS[1:]
        for number in range(runs)
        for again in found_again(
            measure(line, "steps", count, seed=seed + number, seconds=seconds, patience=patience),
            steps,
        )
    )
    return {
        "steps": len(counts),
        "again": statistics.median(counts),
        "again_p90": counts[int(0.9 * len(counts))],
        "again_most": counts[-1],
    }


def _row(line: str, shape: str, count: int, outcome: MeasuredPath) -> dict[str, Any]:
    errors = outcome.errors
    return {
        "line": line,
        "shape": shape,
        "packets": count,
        "measurements": len(errors),
        "error": round(statistics.median(errors), 3),
        "error_p90": round(errors[int(0.9 * len(errors))], 3),
        "inside": round(outcome.inside / len(errors), 2),
        "round_trips": round(statistics.fmean(outcome.took), 2),
    }


def _curves(line: str, shape: str, count: int, outcome: MeasuredPath) -> Curves:
    lines = [
        Curve(name, [(at, value / _MBIT) for at, value in zip(outcome.at, values, strict=True)], n)
        for n, (name, values) in enumerate(
            {"available": outcome.truth, "measured": outcome.found}.items()
        )
    ]
    most = LINES[line][0] / _MBIT
    return Curves(f"{line}, {shape}, streams of {count}", "Mbit/s", lines, most)


def _error(line: str, shape: str, count: int, outcome: MeasuredPath) -> dict[str, Check]:
    goal = GOAL if line == "100M" else SLOW_GOAL
    error = statistics.median(outcome.errors)
    name = f"{line}, {shape}, streams of {count}: error in the median"
    return {name: Check(round(error, 3), "of what is available", f"<= {goal}", error <= goal)}
