"""Every scenario, one after another, each in a process of its own; then one report of all.

A scenario that fails or hangs costs its own figures and nobody else's. The folder then holds
index.html, bench.json (which `compare` takes), and a folder of each scenario with its report, its
words and its films. Knows the registry and reports; nothing of what is measured.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from bench.listing import duration
from bench.pairs.bound import bound
from bench.registry import SCENARIOS
from bench.reports import exhibits, report_html
from bench.reports.report import commit, machine
from bench.scenarios.entry import Scenario

PATIENCE: Final = 4.0
"""Times the expected time after which a scenario counts as hanging."""
LEAST: Final = 60.0
"""Seconds that each is given at least."""
FAREWELL: Final = 20.0
"""Seconds that one which hangs gets to clear up."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Ended:
    name: str
    seconds: float
    failure: str
    """Why there is no report; empty: there is one."""


def run(
    folder: Path,
    *,
    quick: bool,
    virtual: bool = False,
    scenarios: Sequence[Scenario] = SCENARIOS,
    say: Say = print,
) -> int:
    """Run them into `folder`; `virtual`: only those in virtual time, `quick`: no slow ones.

    Gives 0, 1 when a check falls short, 2 when a scenario could not run. Raises OSError.
    """
    chosen = [
        entry
        for entry in scenarios
        if (entry.virtual or not virtual) and not (quick and entry.slow)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    ended: list[_Ended] = []
    for number, entry in enumerate(chosen):
        left = sum(_expected(later, quick) for later in chosen[number:])
        say(f"[{number + 1}/{len(chosen)}] {entry.name:<24} about {duration(left)} left")
        ended.append(_child(entry, folder / entry.name, quick))
        say(f"{'':<8}{_told(ended[-1], folder)}")
    return _combine(folder, ended, say)


def _expected(entry: Scenario, quick: bool) -> float:
    return entry.quick_takes if quick else entry.takes


def _child(entry: Scenario, folder: Path, quick: bool) -> _Ended:
    """One scenario in a process, its words in log.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    words = [sys.executable, "-m", "bench", entry.name, f"--report={folder}"]
    words += ["--quick"] if quick else [f"--{key}={value}" for key, value in entry.full.items()]
    began, failure = time.monotonic(), ""
    with (folder / "log.txt").open("w") as log:
        if not ended_by_itself(words, log, seconds=max(LEAST, PATIENCE * _expected(entry, quick))):
            failure = "it took too long and was ended"
    if not failure and not report.exists():
        last = (folder / "log.txt").read_text(errors="replace").strip().splitlines()[-1:]
        failure = last[0] if last else "it said nothing"
    return _Ended(entry.name, time.monotonic() - began, failure)


def ended_by_itself(words: Sequence[str], log: IO[str], *, seconds: float) -> bool:
    """Whether the program ended by itself within so many; else what it has started ends with it."""
    child = subprocess.Popen(
        bound(*words),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    finally:
        _end(child)
    return True


def _end(child: subprocess.Popen[bytes]) -> None:
    """As Ctrl-C does, so that it clears up; what does not heed that is killed, with its group."""
    if child.poll() is not None:
        return
    child.send_signal(signal.SIGINT)
    try:
        child.wait(FAREWELL)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _told(ended: _Ended, folder: Path) -> str:
    if ended.failure:
        return f"could not run: {ended.failure}"
    checks = _report(folder, ended.name)["checks"].values()
    reached = sum(check["ok"] for check in checks)
    return f"{reached} of {len(checks)} goals reached, {duration(ended.seconds)}"


def _report(folder: Path, name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / name / "report.json").read_text())
    return data


def _combine(folder: Path, ended: Sequence[_Ended], say: Say) -> int:
    """bench.json and index.html of all that ran; the exit code."""
    names = [one.name for one in ended if not one.failure]
    reports = {name: _report(folder, name) for name in names}
    shown = [exhibits.decode((folder / name / "exhibits.json").read_bytes()) for name in names]
    failed = [f"{one.name}: {one.failure}" for one in ended if one.failure]
    whole = {"scenario": "all", "commit": commit(), "machine": machine(), "reports": reports}
    (folder / "bench.json").write_text(json.dumps({**whole, "failed": failed}, indent=2) + "\n")
    text = report_html.page(
        list(zip(reports.values(), shown, strict=True)), title="Benches", failed=failed
    )
    (folder / "index.html").write_text(text, encoding="utf-8")
    took = duration(sum(one.seconds for one in ended))
    say(f"{folder / 'index.html'}, {folder / 'bench.json'}: {took} in all")
    if failed:
        return 2
    checks = [check for report in reports.values() for check in report["checks"].values()]
    return 0 if all(check["ok"] for check in checks) else 1
