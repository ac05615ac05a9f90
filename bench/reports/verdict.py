"""Says in sentences what a comparison of page loads came to: how much sooner, and how sure that is.

Pure; knows runs and checks as bench/reports/report.py does, nothing of how they were made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bench.reports.report import Check, Run, medians, seconds

MOVED: Final = 1.0
"""Seconds by which the figures of a load moved whose link was late
(bench/reports/conditions.py)."""


def verdict(
    runs: Sequence[Run], checks: Mapping[str, Check], *, base: str = "direct", ours: str = "sluice"
) -> list[str]:
    """For people, the most important first."""
    rows = {(row["page"], row["peer"]): row for row in medians(runs)}
    said = [
        _compared(page, rows.get((page, ours)), rows.get((page, base)))
        for page in dict.fromkeys(run["page"] for run in runs)
    ]
    return [*said, _reached(checks), _trust(runs)]


def _compared(page: str, ours: Run | None, base: Run | None) -> str:
    name = page.split("/", maxsplit=1)[0]
    if ours is None or base is None:
        return f"{name}: one side is missing, so there is nothing to compare."
    here, there = ours["painted_s"], base["painted_s"]
    if not here or not there:
        return f"{name}: on one side the pictures were never all painted."
    return (
        f"{name}: pictures painted after {seconds(here)} s through Sluice, after "
        f"{seconds(there)} s directly: {there / here:.1f} times as soon."
    )


def _reached(checks: Mapping[str, Check]) -> str:
    reached = sum(check.ok for check in checks.values())
    doubtful = sum(check.ok and check.doubtful for check in checks.values())
    missing = sum(check.value is None for check in checks.values())
    words = [f"{reached} of {len(checks)} goals reached"]
    if doubtful:
        words.append(f"{doubtful} of these in doubt")
    if missing:
        words.append(f"{missing} could not be judged")
    return ", ".join(words) + "."


def _trust(runs: Sequence[Run]) -> str:
    late = [run for run in runs if run.get("late")]
    if not late:
        return "The emulated link was punctual in every load: the figures can be trusted."
    busy = [(run.get("conditions") or {}).get("busy") for run in late]
    known = [share for share in busy if share is not None]
    why = f" (the processors were {100 * max(known):.0f} % busy)" if known else ""
    return (
        f"In {len(late)} of {len(runs)} loads the emulated link was late{why}: their times may be "
        f"off by {MOVED:g} s, so that smaller differences say nothing, and ratios are a hint. "
        "Try again when nothing else runs."
    )
