"""Checks the kernel's own emulator, `tc netem`, and the TUN relay against it.

This machine's kernel may have none: so one that has, user-mode Linux, runs the link checks, and
page loads by the scripted client over both. It is a process with one processor and dear system
calls; what it can't carry itself (100 Mbit/s) is shown, without a goal. As root, with Debian's
user-mode-linux.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.reports.report import Check, medians
from emulation.uml import kernel

ROOT: Final = Path(__file__).resolve().parents[3]
RATE_OFF: Final = 0.2
"""Per cent."""
DELAY_ADDED_MS: Final = 0.5
APART: Final = 0.1
"""Part of a page's time by which the two backends may differ."""
BEYOND: Final = "100 Mbit/s"
"""The link that this kernel is too slow for."""
FIGURES: Final = ("text_s", "painted_s", "final_s")
BACKENDS: Final = ("netem", "tun")
TURNS: Final = 3
_FAULT: Final = 2
"""Exit code of a bench that could not run."""


async def run(*, profile_name: str = "384k", runs: int = TURNS) -> dict[str, Any]:
    """`runs`: turns of page loads over each backend."""
    if why := kernel.missing():
        print(f"not here: {why}")
        return {"checks": {}, "runs": []}
    links = await _inside("links", "--backend=netem")
    loads: dict[str, list[dict[str, Any]]] = {backend: [] for backend in BACKENDS}
    for _ in range(runs):
        for backend in BACKENDS:
            page = ("--page=demo/site/article", f"--profile={profile_name}", "--runs=1")
            report = await _inside("page-load", *page, f"--backend={backend}")
            loads[backend] += report["runs"]
    rows = [{"backend": name, **row} for name in BACKENDS for row in medians(loads[name])]
    return {"runs": [*links["runs"], *rows], "checks": judge(links["runs"], rows)}


def judge(
    links: Sequence[Mapping[str, Any]], loads: Sequence[Mapping[str, Any]]
) -> dict[str, Check]:
    """The rows of `bench links`, and medians of page loads by backend."""
    checks = {}
    for row in links:
        if "value" not in row or BEYOND in row["what"]:
            continue
        most = row["most"]
        if row["what"].endswith(": rate"):
            most = RATE_OFF
        elif row["what"].endswith(": delay added"):
            most = DELAY_ADDED_MS
        ok = abs(row["value"]) <= most
        checks[row["what"]] = Check(round(row["value"], 4), row["unit"], f"at most {most:.3g}", ok)
    for peer in dict.fromkeys(row["peer"] for row in loads):
        of = {row["backend"]: row for row in loads if row["peer"] == peer}
        for figure in FIGURES:
            netem, tun = (of[backend].get(figure) for backend in BACKENDS)
            if netem is None or tun is None:
                continue
            ratio = netem / tun
            checks[f"page load, {peer}, {figure}: netem of tun"] = Check(
                round(ratio, 3), "times", f"1 +- {APART:g}", abs(ratio - 1) <= APART
            )
    return checks


async def _inside(*words: str) -> dict[str, Any]:
    """The report of a bench that runs in the other kernel. Raises OSError."""
    with TemporaryDirectory(prefix="sluice-netem-") as folder:
        file = Path(folder) / "report.json"
        code = await kernel.run(
            [sys.executable, "-m", "bench", *words, f"--json={file}"],
            say=lambda line: print(f"  | {line}", flush=True),
            folder=ROOT,
            environment={"CHROMIUM": "none", "PYTHONDONTWRITEBYTECODE": "1"},
        )
        if code >= _FAULT or not file.exists():
            raise OSError(f"bench {' '.join(words)} failed in user-mode Linux (exit code {code})")
        report: dict[str, Any] = json.loads(file.read_text())
        return report
