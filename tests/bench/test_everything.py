"""Scenarios one after another, and one report of them; one that fails costs the others nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bench import all_scenarios
from bench.registry import scenario
from bench.reports.compare import compare, read
from bench.scenarios.entry import Scenario


def test_one_that_cannot_run_leaves_the_others_reports(tmp_path: Path) -> None:
    absent = Scenario("absent", "nothing", "bench.absent", takes=1, quick_takes=50)
    said: list[str] = []
    chosen = [absent, replace(scenario("transcode"), quick_takes=10)]
    code = all_scenarios.run(tmp_path, quick=True, scenarios=chosen, say=said.append)
    assert code == 2
    assert said[0] == "[1/2] absent                   about 60 s left"
    assert "could not run: bench: no scenario 'absent'" in said[1]
    whole = read(tmp_path / "bench.json")
    assert list(whole["reports"]) == ["transcode"]
    assert len(whole["failed"]) == 1
    assert {one.verdict for one in compare(whole, whole)} == {"same"}
    page = (tmp_path / "index.html").read_text()
    assert "no scenario &#39;absent&#39;" in page
    assert json.loads((tmp_path / "transcode" / "report.json").read_text())["runs"]


def test_only_what_runs_in_virtual_time_can_be_asked_for(tmp_path: Path) -> None:
    said: list[str] = []
    chosen = [scenario("transcode")]
    assert (
        all_scenarios.run(tmp_path, quick=True, virtual=True, scenarios=chosen, say=said.append)
        == 0
    )
    assert read(tmp_path / "bench.json")["reports"] == {}


def test_what_runs_in_virtual_time_runs_beside_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    said: list[str] = []
    chosen = [scenario("hats-focus"), scenario("rcp-wireless"), scenario("priority")]
    assert not all_scenarios.run(
        tmp_path, quick=True, virtual=True, scenarios=chosen, say=said.append
    )
    assert [line.split()[0] for line in said[:2]] == ["[1/3]", "[2/3]"]  # none has ended by then
    assert [line.split()[1] for line in said[:2]] == ["hats-focus", "rcp-wireless"]
    assert sum("goals reached" in line for line in said) == len(chosen)
    reports = read(tmp_path / "bench.json")["reports"]
    assert list(reports) == [entry.name for entry in chosen]


HANGS = """
import signal, subprocess, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
print(subprocess.Popen(["sleep", "600"]).pid, flush=True)
time.sleep(600)
"""


def test_what_hangs_leaves_nothing_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_scenarios, "FAREWELL", 0.5)
    log = tmp_path / "log"
    with log.open("w") as words:
        hangs = [sys.executable, "-c", HANGS]
        assert not asyncio.run(all_scenarios.ended_by_itself(hangs, words, seconds=1.0))
    status = Path(f"/proc/{int(log.read_text())}/stat")
    deadline = time.monotonic() + 20  # a kill that was sent is obeyed when the machine has a moment
    with contextlib.suppress(FileNotFoundError):  # somebody may not have taken note of its end yet
        while status.read_text().split()[2] != "Z":
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_what_ends_by_itself_is_left_alone(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as words:
        ends = [sys.executable, "-c", "pass"]
        assert asyncio.run(all_scenarios.ended_by_itself(ends, words, seconds=20.0))
