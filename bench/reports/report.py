"""Reports: what goes into a JSON file, the table for the terminal, and writing it all out.

The comparable part of a report (`comparable`) holds no date and nothing of the machine. Pure but
for `write` and for asking the machine what it is. Knows runs and checks, not how they were made.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.pages.page_result import marked
from bench.reports import exhibits, report_html
from bench.reports.exhibits import Exhibit

COLUMNS: Final = (
    ("text", "text_s"),
    ("painted", "painted_s"),
    ("good", "good_s"),
    ("final", "final_s"),
    ("load", "load_s"),
    ("SI", "speed_index_s"),
)
FIRST_PAINT: Final = "first_paint_s"
MOST_PIXELS: Final = "pixels_90_s"
_COUNTS: Final = (FIRST_PAINT, MOST_PIXELS, "bytes_down", "bytes_up", "connections")

Run = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Check:
    """One figure against its goal."""

    value: float | str | None
    unit: str
    goal: str
    ok: bool
    doubtful: bool = False
    """It might be otherwise if the emulated link had been punctual."""

    def as_json(self) -> dict[str, Any]:
        """Its form in a report; a doubt is named where there is one."""
        said = asdict(self)
        return {name: value for name, value in said.items() if name != "doubtful" or value}


def report(
    *,
    scenario: str,
    profile: str,
    runs: Sequence[Run],
    checks: Mapping[str, Check],
    seed: int = 0,
    notes: Sequence[str] = (),
    virtual: bool = False,
) -> dict[str, Any]:
    """What goes into a JSON file: it describes itself. `virtual`: every run gives the same."""
    return {
        "scenario": scenario,
        "command": " ".join(sys.orig_argv),
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "seed": seed,
        "profile": profile,
        "virtual": virtual,
        "machine": machine(),
        "notes": list(notes),
        "runs": [dict(run) for run in runs],
        "checks": {name: check.as_json() for name, check in checks.items()},
    }


def comparable(data: Mapping[str, Any]) -> dict[str, Any]:
    """The part that says what was measured: of a virtual scenario, the same on each machine."""
    return {name: data[name] for name in ("scenario", "seed", "profile", "runs", "checks")}


def commit() -> str:
    """The source's commit, or empty outside a checkout."""
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip()


def machine() -> str:
    """Enough to judge a time by: system, processor kind and count, Python."""
    system = f"{platform.system()} {platform.machine()}"
    return f"{system}, {os.cpu_count()} CPUs, Python {platform.python_version()}"


def seconds(value: float | None) -> str:
    """A time for people: three digits at most."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def medians(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """One row per (page, peer), each figure the median of its runs; None if any run lacks it."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run["page"], run["peer"]), []).append(run)
    rows = []
    for (page, peer), group in groups.items():
        row: dict[str, Any] = {"page": page, "peer": peer, "policy": group[0]["policy"]}
        for name in (*(key for _, key in COLUMNS), *_COUNTS):
            values = [run.get(name) for run in group]
            known = [value for value in values if value is not None]
            row[name] = statistics.median(known) if len(known) == len(values) else None
        row["late"] = any(run.get("late") for run in group)
        rows.append(row)
    return rows


def table(runs: Sequence[Run]) -> str:
    """Medians as text, one block a page; seconds, and kilobytes over the link."""
    lines: list[str] = []
    page = None
    for row in medians(runs):
        if row["page"] != page:
            page = row["page"]
            heads = "".join(f"{head:>9}" for head, _ in COLUMNS)
            lines += ["", f"{page:<26}{heads}{'kB down':>10}{'kB up':>8}"]
        cells = "".join(f"{seconds(row[key]):>9}" for _, key in COLUMNS)
        traffic = f"{row['bytes_down'] / 1000:>10.0f}{row['bytes_up'] / 1000:>8.1f}"
        lines.append(f"  {marked(row['peer'], row['late']):<24}{cells}{traffic}")
    return "\n".join(lines).lstrip("\n")


def write(folder: Path, data: Mapping[str, Any], shown: Sequence[Exhibit] = ()) -> Path:
    """Write report.json, exhibits.json and index.html; gives the latter's path. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(data, indent=2) + "\n")
    (folder / "exhibits.json").write_bytes(exhibits.encode(shown))
    index = folder / "index.html"
    index.write_text(report_html.page([(data, shown)]), encoding="utf-8")
    return index
