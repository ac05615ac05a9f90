"""Scenarios one after another, and one report of them; one that fails costs the others nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from bench import everything
from bench.compare import compare, read
from bench.registry import Scenario, scenario


def test_one_that_cannot_run_leaves_the_others_reports(tmp_path: Path) -> None:
    absent = Scenario("absent", "nothing", "bench.absent", takes=1, quick_takes=50)
    said: list[str] = []
    chosen = [absent, replace(scenario("transcode"), quick_takes=10)]
    code = everything.run(tmp_path, quick=True, scenarios=chosen, say=said.append)
    assert code == 2
    assert said[0] == "[1/2] absent                   about 60 s left"
    assert "could not run: bench: no scenario 'absent'" in said[1]
    whole = read(tmp_path / "bench.json")
    assert list(whole["reports"]) == ["transcode"]
    assert len(whole["failed"]) == 1
    assert {one.verdict for one in compare(whole, whole)} == {"same"}
    page = (tmp_path / "index.html").read_text()
    assert "no scenario &#x27;absent&#x27;" in page
    assert json.loads((tmp_path / "transcode" / "report.json").read_text())["runs"]


def test_only_what_runs_in_virtual_time_can_be_asked_for(tmp_path: Path) -> None:
    said: list[str] = []
    chosen = [scenario("transcode")]
    assert (
        everything.run(tmp_path, quick=True, virtual=True, scenarios=chosen, say=said.append) == 0
    )
    assert read(tmp_path / "bench.json")["reports"] == {}
