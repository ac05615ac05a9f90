"""R2CP's figure 9: what two unequal paths carry together, and how full that makes the buffer.

Beside the product's R2CP: R2CP-s, in which whoever asks first gets the first bytes, and an
application that takes turns between connections of its own. Their ideal is the sum of the rates; of
paths that lose, the sum of what each carries alone. Then pairs that people have: a fast and a thin
line, a satellite and a phone, a fast satellite and mobile data, a path that loses beside one that
does not. In virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from bench.reports.exhibits import Bars, Curve
from bench.reports.report import Check
from emulation.dumbbell.events import Events
from emulation.dumbbell.flows import PACKET
from emulation.dumbbell.several_paths import PathModel, R2cpFlow, StripedFlows
from transport.rcp.settings import LARGEST, RcpSettings

MBIT: Final = 125_000.0
BUFFER: Final = 512 << 10
"""Bytes at the receiver in 9b and c: what 4 and 4 Mbit/s bring in half a second."""
SETTINGS: Final = {
    "9b": RcpSettings(buffer=BUFFER),
    "beyond": RcpSettings(largest=LARGEST),  # as the product has it
}
AT_BEGINNING: Final = 1 / 3
"""Of a run, that does not count: the paths' congestion controls begin."""
GOAL: Final = 0.97
GOAL_BEYOND: Final = 0.95
_SHARE: Final = RcpSettings().size / PACKET
"""Of packets that is data."""
KINDS: Final = ("R2CP", "R2CP-s", "turns")


class PathCase(NamedTuple):
    """Two paths, and which part of the figure they are."""

    part: str
    label: str
    paths: tuple[PathModel, PathModel]


def cases(rates: Sequence[float], trips: Sequence[float]) -> list[PathCase]:
    """`rates`: Mbit/s of the second path in 9a; `trips`: its round trips in 9b, seconds."""
    first = PathModel(4 * MBIT, 0.03)
    thin, dish = PathModel(0.384 * MBIT, 0.1), PathModel(1 * MBIT, 0.6)
    clean = PathModel(2 * MBIT, 0.06)
    found = [
        PathCase("9a", f"4M + {rate:g}M", (first, first._replace(rate=rate * MBIT)))
        for rate in rates
    ]
    found += [
        PathCase("9b", f"30 + {1e3 * trip:.0f} ms", (first, first._replace(round_trip=trip)))
        for trip in trips
    ]
    return [
        *found,
        PathCase("beyond", "5M + 384k", (PathModel(5 * MBIT, 0.06), thin)),
        PathCase("beyond", "satellite 1M + 384k", (dish, thin)),
        PathCase(
            "beyond",
            "satellite 20M + 5M",
            (PathModel(20 * MBIT, 0.6), PathModel(5 * MBIT, 0.04)),
        ),
        PathCase("beyond", "2M that loses 1 % + 2M", (clean._replace(loss=0.01), clean)),
    ]


def carried(flow: R2cpFlow | StripedFlows, events: Events, seconds: float) -> float:
    """Bytes/second of data in order, after the beginning."""
    flow.start()
    began = seconds * AT_BEGINNING
    events.run(began)
    before = flow.delivered
    events.run(seconds)
    return (flow.delivered - before) / (seconds - began)


def measure(case: PathCase, *, seconds: float, seed: int) -> dict[str, Any]:
    """One case in all ways: parts of the ideal, and of arrivals that found the buffer full."""
    settings = SETTINGS.get(case.part, RcpSettings())
    row: dict[str, Any] = {"part": case.part, "paths": case.label}
    alone = []
    for path in case.paths:
        events = Events()
        flow = R2cpFlow(events, [path], settings=settings, seed=seed)
        alone.append(carried(flow, events, seconds))
    loses = any(path.loss for path in case.paths)
    ideal = sum(alone) if loses else sum(path.rate for path in case.paths) * _SHARE
    for kind in KINDS:
        events = Events()
        if kind == "turns":
            turns = StripedFlows(events, case.paths, settings=settings, seed=seed)
            row[kind] = round(carried(turns, events, seconds) / ideal, 3)
            continue
        ranked = kind == "R2CP"
        flow = R2cpFlow(events, case.paths, settings=settings, ranked=ranked, seed=seed)
        row[kind] = round(carried(flow, events, seconds) / ideal, 3)
        row[f"{kind}_full"] = round(flow.full / flow.arrivals, 3)
        if ranked:
            row["requests"] = round(flow.request_bytes / flow.delivered, 4)
    row["best_alone"] = round(max(alone) / ideal, 3)
    return row


def run(
    *,
    seed: int = 1,
    seconds: float = 90.0,
    rates: Sequence[float] = (1, 2, 3, 4, 5, 6),
    trips: Sequence[float] = (0.03, 0.06, 0.09, 0.12, 0.15, 0.18, 0.21),
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Every case once, for `seconds`."""
    rows = []
    for case in cases(rates, trips):
        rows.append(measure(case, seconds=seconds, seed=seed))
        say("  ".join(f"{name} {value}" for name, value in rows[-1].items()))
    return {
        "runs": rows,
        "exhibits": [_chart(rows, "9a"), _chart(rows, "9b"), _chart(rows, "beyond"), _full(rows)],
        "checks": _checks(rows),
    }


def _checks(rows: Sequence[dict[str, Any]]) -> dict[str, Check]:
    checks = {}
    for row in rows:
        goal = GOAL_BEYOND if row["part"] == "beyond" else GOAL
        ok = row["R2CP"] >= max(goal, row["best_alone"])
        checks[f"{row['part']}: {row['paths']}"] = Check(
            row["R2CP"],
            f"of the ideal; the better one alone {row['best_alone']}",
            f">= {goal}",
            ok,
        )
    most = max(row["requests"] for row in rows)
    checks["requests"] = Check(most, "of the data's bytes at most", "<= 0.04", most <= 0.04)
    fullest = max(row["R2CP_full"] for row in rows if row["part"] == "9b")
    without = max(row["R2CP-s_full"] for row in rows if row["part"] == "9b")
    checks["9c: arrivals that find the buffer three quarters full"] = Check(
        fullest, f"at most; R2CP-s {without}", "less than R2CP-s", fullest < without or not without
    )
    return checks


def _chart(rows: Sequence[dict[str, Any]], part: str) -> Bars:
    shown = [row for row in rows if row["part"] == part]
    series = [
        Curve(kind, [(float(n), row[kind]) for n, row in enumerate(shown)], tone)
        for tone, kind in enumerate((*KINDS, "best_alone"))
    ]
    title = (
        f"Figure {part}: part of the ideal" if part[0] == "9" else "Other pairs: part of the sum"
    )
    return Bars(f"{title}: part of the ideal", "", [row["paths"] for row in shown], series, 1.0)


def _full(rows: Sequence[dict[str, Any]]) -> Bars:
    shown = [row for row in rows if row["part"] == "9b"]
    series = [
        Curve(kind, [(float(n), 100 * row[f"{kind}_full"]) for n, row in enumerate(shown)], tone)
        for tone, kind in enumerate(KINDS[:2])
    ]
    labels = [row["paths"] for row in shown]
    title = "Figure 9c: arrivals that find the buffer three quarters full"
    return Bars(title, "%", labels, series, 100.0)
