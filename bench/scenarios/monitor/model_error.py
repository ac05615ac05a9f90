"""How far throughput models of TCP are from what connections get, over random emulated paths.

The kernel's TCP Reno sends over each path until it has had thirty loss events, or its time is
over. The model gets the facts that TCP_INFO gave, twenty times a second; what it says is held
against the bytes acknowledged in the same time. Source: Bolliger and Gross, "Bandwidth monitoring
for network-aware applications", section 2.2 (their error: below 20 % for 75 % of connections, below
50 % for 99 %). Needs root.
"""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final

from bench.reports.report import Check
from bench.scenarios.monitor.modelled_transfers import WatchedTransfer, side_by_side
from bench.scenarios.monitor.random_paths import draw
from monitor.models import mathis, model

SIDE_BY_SIDE: Final = 8
"""Paths at a time, each with a link of its own."""
GOALS: Final = ((20, 75), (50, 95))
"""An error of at most so many per cent, for so many per cent of connections."""

Row = dict[str, Any]


def run(
    *,
    runs: int = 200,
    seconds: float = 40.0,
    seed: int = 1,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """`runs`: paths. `seconds`: most of each connection. Raises OSError without root."""
    rows: list[Row] = []
    late, gaps = 0.0, list[float]()
    paths = iter(draw(runs, seed=seed))
    while some := list(islice(paths, SIDE_BY_SIDE)):
        made = side_by_side(some, seconds=seconds, events=model.ENOUGH, seed=seed + len(rows))
        transfers, lateness = asyncio.run(made)
        late = max(late, lateness[1])
        rows += [_row(one) for one in transfers]
        gaps += [gap for one in transfers for gap in one.gaps()]
        say("\n".join(_line(row) for row in rows[-len(some) :]))
    notes = [
        "links emulated by tun; the kernel's TCP Reno",
        f"99 % of deliveries were at most {1000 * late:.2f} ms late",
        f"99 % of views came within {1000 * _most(gaps):.0f} ms of the one before",
        *_by_class(rows),
    ]
    say("\n".join(notes))
    return {"runs": rows, "notes": notes, "checks": checks_of(rows)}


def _row(transfer: WatchedTransfer) -> Row:
    facts = transfer.facts
    estimate = None if facts is None else model.estimate(facts)
    error = None
    if estimate is not None and transfer.rate:
        error = round(100 * (estimate.rate / transfer.rate - 1), 1)
    row: Row = {
        **transfer.path.row(),
        "model": estimate.source if estimate else "none",
        "error_percent": error,
        "mathis_error_percent": _mathis_error(transfer),
        "modelled_kb_s": round(estimate.rate / 1000, 2) if estimate else None,
        "had_kb_s": round(transfer.rate / 1000, 2),
    }
    if facts is not None:
        row |= {
            "seconds": round(facts.duration, 1),
            "rtt_ms": round(1000 * facts.rtt, 1),
            "segments": facts.segments,
            "sent_again": facts.retransmitted,
            "loss_events": round(facts.loss_events, 1),
            "timeouts": facts.timeouts,
            "timeout_s": round(facts.timeout_seconds, 2),
            "segments_per_ack": round(facts.segments_per_ack, 2),
            "window_segments": None if facts.window is None else round(facts.window, 1),
        }
    return row


def _mathis_error(transfer: WatchedTransfer) -> float | None:
    """How far the square-root law would have been off, for comparison; None without losses."""
    facts = transfer.facts
    if facts is None or not facts.loss_rate or not transfer.rate:
        return None
    rate = mathis.throughput(
        facts.loss_rate,
        rtt=facts.rtt,
        segment_size=facts.segment_size,
        constant=mathis.PERIODIC["every"],
    )
    return round(100 * (rate / transfer.rate - 1), 1)


def _most(gaps: Sequence[float]) -> float:
    """All but a hundredth are at most so long."""
    return sorted(gaps)[int(0.99 * len(gaps))] if gaps else 0.0


def _line(row: Row) -> str:
    return (
        f"{row['kind']:<7}loss {row['loss_percent']:.2f} %  rtt {row['delay_rtt_ms']:.0f} ms  "
        f"{row['model']:<9}events {row.get('loss_events')}  had {row['had_kb_s']} kB/s  "
        f"error {row['error_percent']} %"
    )


def checks_of(rows: Sequence[Row]) -> dict[str, Check]:
    """A connection of which no model says anything counts as a failure of the model."""
    errors = sorted(_size(row) for row in rows)
    checks = {}
    for error, share in GOALS:
        had = 100 * sum(one <= error for one in errors) / len(errors) if errors else 0.0
        checks[f"connections with an error of at most {error} %"] = Check(
            round(had, 1), "%", f"at least {share} %", had >= share
        )
    return checks


def _size(row: Row) -> float:
    error = row["error_percent"]
    return math.inf if error is None else abs(error)


def _by_class(rows: Sequence[Row]) -> list[str]:
    """Errors of each kind of path under each model."""
    lines = []
    for kind, source in sorted({(row["kind"], row["model"]) for row in rows}):
        of = [row for row in rows if (row["kind"], row["model"]) == (kind, source)]
        known = [row["error_percent"] for row in of if row["error_percent"] is not None]
        if known:
            sizes = sorted(map(abs, known))
            middle, size = statistics.median(known), statistics.median(sizes)
            lines.append(
                f"{kind}, {source}: {len(of)} connections, error {middle:+.1f} % in the median, "
                f"its size {size:.1f} %, at most {sizes[-1]:.1f} %"
            )
    return lines
