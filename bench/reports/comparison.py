"""Page loads by several peers against each other: medians, spread, ratios, and what is promised.

Ratios and not seconds are what one machine's figures say about another's. Pure; knows runs as
bench/reports/report.py does, nothing of how they were made.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bench.reports.report import Check, Run, seconds

DIRECT: Final = "direct"
OURS: Final = "sluice"
MEASURES: Final = {"text": "text_s", "painted": "painted_s", "final": "final_s"}

PROMISED_AT: Final = frozenset(("56k", "384k", "1.6M"))
"""Profiles of these promises; faster links leave less to win."""
PROMISES: Final = (
    # this measure of ours, at most so many times that peer's
    ("painted", 0.45, "ziproxy"),
    ("painted", 0.16, "direct"),
    ("text", 1.10, "direct"),
    ("final", 1.00, "direct-h2"),
)


def compared(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One row per (page, peer): of each measure median, least, most, and its share of others'.

    A measure that any run lacks is None, and so is a ratio to such.
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for run in runs:
        key = run["page"], run["peer"]
        if key not in rows:
            group = [other for other in runs if (other["page"], other["peer"]) == key]
            rows[key] = {"page": key[0], "peer": key[1], "runs": len(group)} | {
                name: _spread([other[measure] for other in group])
                for name, measure in MEASURES.items()
            }
            rows[key]["kb_down"] = statistics.median(one["bytes_down"] for one in group) / 1000
    for row in rows.values():
        for peer in (DIRECT, OURS):
            base = rows.get((row["page"], peer))
            row[f"to_{peer}"] = {name: ratio(row, base, name) for name in MEASURES}
    return list(rows.values())


def ratio(row: Mapping[str, Any], base: Mapping[str, Any] | None, measure: str) -> float | None:
    """The ratio of medians; None where there are not two."""
    if base is None or row[measure] is None or not base[measure]:
        return None
    one, other = float(row[measure]["median"]), float(base[measure]["median"])
    return round(one / other, 3)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """For a terminal: per measure the median, its range, and how many times direct's and ours."""
    lines: list[str] = []
    page = None
    for row in rows:
        if row["page"] != page:
            page = row["page"]
            heads = "".join(f"{name:>22}{'/direct':>9}{'/ours':>8}" for name in MEASURES)
            lines += ["", f"{page:<16}{'runs':>5}{heads}"]
        cells = "".join(
            f"{_range(row[name]):>22}{_times(row['to_direct'][name]):>9}"
            f"{_times(row['to_sluice'][name]):>8}"
            for name in MEASURES
        )
        lines.append(f"  {row['peer']:<14}{row['runs']:>5}{cells}")
    return "\n".join(lines).lstrip("\n")


def checks(
    rows: Sequence[Mapping[str, Any]],
    *,
    profile: str,
    planned: Sequence[tuple[str, str]] = (),
) -> dict[str, Check]:
    """What is promised over this link, wherever both sides of it ran, or should have.

    `planned`: pages and peers that there should be runs of.
    """
    if profile not in PROMISED_AT:
        return {}
    by = {(row["page"], row["peer"]): row for row in rows}
    there = dict.fromkeys([*planned, *by])
    found = {}
    for page in dict.fromkeys(page for page, _ in there):
        ours = by.get((page, OURS))
        for measure, goal, peer in PROMISES:
            other = by.get((page, peer))
            if (page, OURS) not in there or (page, peer) not in there:
                continue
            value = None if ours is None else ratio(ours, other, measure)
            unit, wanted = f"x {peer}'s", f"at most {goal:g}"
            ok = value is not None and value <= goal
            found[f"{page}, ours: {measure} against {peer}"] = Check(value, unit, wanted, ok)
    return found


def _spread(values: Sequence[float | None]) -> dict[str, float] | None:
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return {"median": statistics.median(known), "least": min(known), "most": max(known)}


def _range(spread: Mapping[str, float] | None) -> str:
    if spread is None:
        return "-"
    median, least, most = (seconds(spread[name]) for name in ("median", "least", "most"))
    return median if least == most else f"{median} ({least}-{most})"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
