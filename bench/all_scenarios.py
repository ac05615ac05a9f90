"""Runs every scenario, each in a process of its own; then writes one report of all.

One after another, for they measure the machine; those in virtual time do not, and keep all of its
processors busy.

A scenario that fails or hangs costs its own figures and nobody else's. The folder then holds
index.html, bench.json (which `compare` takes), and a folder of each scenario with its report, its
words and its films. Knows the registry and reports; nothing of what is measured.
"""

from __future__ import annotations

import asyncio
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


@dataclass(frozen=True, slots=True)
class _All:
    ended: list[_Ended]
    seconds: float


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
    for entry in chosen:
        (folder / entry.name).mkdir(parents=True, exist_ok=True)
        (folder / entry.name / "report.json").unlink(missing_ok=True)
    at_once = os.cpu_count() or 1 if virtual else 1
    return _combine(folder, asyncio.run(_run(chosen, folder, quick, at_once, say)), say)


async def _run(
    chosen: Sequence[Scenario], folder: Path, quick: bool, at_once: int, say: Say
) -> _All:
    """All of them, so many at a time, in the order given."""
    began, free = time.monotonic(), asyncio.Semaphore(at_once)

    async def one(number: int, entry: Scenario) -> _Ended:
        async with free:
            left = sum(_expected(later, quick) for later in chosen[number:]) / at_once
            say(f"[{number + 1}/{len(chosen)}] {entry.name:<24} about {duration(left)} left")
            ended = await _child(entry, folder / entry.name, quick)
            say(f"{'':<8}{f'{ended.name}: ' if at_once > 1 else ''}{_told(ended, folder)}")
            return ended

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(*numbered)) for numbered in enumerate(chosen)]
    return _All([task.result() for task in tasks], time.monotonic() - began)


def _expected(entry: Scenario, quick: bool) -> float:
    return entry.quick_takes if quick else entry.takes


async def _child(entry: Scenario, folder: Path, quick: bool) -> _Ended:
    """One scenario in a process, its words in log.txt."""
    report = folder / "report.json"
    words = [sys.executable, "-m", "bench", entry.name, f"--report={folder}"]
    words += ["--quick"] if quick else [f"--{key}={value}" for key, value in entry.full.items()]
    began, failure = time.monotonic(), ""
    with (folder / "log.txt").open("w") as log:
        patience = max(LEAST, PATIENCE * _expected(entry, quick))
        if not await ended_by_itself(words, log, seconds=patience):
            failure = "it took too long and was ended"
    if not failure and not report.exists():
        last = (folder / "log.txt").read_text(errors="replace").strip().splitlines()[-1:]
        failure = last[0] if last else "it said nothing"
    return _Ended(entry.name, time.monotonic() - began, failure)


async def ended_by_itself(words: Sequence[str], log: IO[str], *, seconds: float) -> bool:
    """Whether the program ended by itself within so many; else what it has started ends with it."""
    child = await asyncio.create_subprocess_exec(
        *bound(*words),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            await child.wait()
    except TimeoutError:
        return False
    finally:
        await _end(child)
    return True


async def _end(child: asyncio.subprocess.Process) -> None:
    """As Ctrl-C does, so that it clears up; what does not heed that is killed, with its group."""
    if child.returncode is not None:
        return
    child.send_signal(signal.SIGINT)
    ended = asyncio.ensure_future(child.wait())
    await asyncio.wait([ended], timeout=FAREWELL)
    if not ended.done():
        os.killpg(child.pid, signal.SIGKILL)
    await ended


def _told(ended: _Ended, folder: Path) -> str:
    if ended.failure:
        return f"could not run: {ended.failure}"
    checks = _report(folder, ended.name)["checks"].values()
    reached = sum(check["ok"] for check in checks)
    return f"{reached} of {len(checks)} goals reached, {duration(ended.seconds)}"


def _report(folder: Path, name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / name / "report.json").read_text())
    return data


def _combine(folder: Path, all_of_them: _All, say: Say) -> int:
    """bench.json and index.html of all that ran; the exit code."""
    ended = all_of_them.ended
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
    took = duration(all_of_them.seconds)
    say(f"{folder / 'index.html'}, {folder / 'bench.json'}: {took} in all")
    if failed:
        return 2
    checks = [check for report in reports.values() for check in report["checks"].values()]
    return 0 if all(check["ok"] for check in checks) else 1
