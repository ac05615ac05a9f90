"""The scenario in docs/benches.md runs as it stands there, and the same each time."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from bench import registry
from bench.reports.exhibits import Bands
from bench.reports.report import comparable
from bench.runner import run
from bench.scenarios.entry import Scenario

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "benches.md"


def blocks() -> dict[str, str]:
    """The guide's files by name."""
    return dict(re.findall(r"```python file=(\S+)\n(.*?)```", GUIDE.read_text(), re.DOTALL))


def test_the_scenario_runs_and_gives_the_same_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = blocks()
    source = found["coarse_soon.py"]
    assert len(source.splitlines()) < 40
    (tmp_path / "coarse_soon.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    name = found["entry.py"].replace("bench.scenarios.pages.coarse_soon", "coarse_soon")
    entry: Scenario = eval(name, {"Scenario": Scenario})
    first, second = (run(entry, {}, quick=True) for _ in range(2))
    assert first.ok
    assert comparable(first.data) == comparable(second.data)
    assert first.data["virtual"]
    (equal, _) = first.exhibits
    assert isinstance(equal, Bands)
    assert sum(value for _, value in equal.bands[0].points) > 0
    with pytest.raises(ValueError, match="no use for --profile, --seed"):
        run(entry, {"seed": 1, "profile": "56k", "profile_name": "56k"})
    with pytest.raises(ValueError, match="no HAR"):
        run(entry, {"har": tmp_path / "x.har"}, quick=True)
    sys.modules.pop("coarse_soon")


def test_every_command_of_the_guide_names_a_scenario() -> None:
    names = re.findall(r"python -m bench ([a-z][a-z0-9-]*)", GUIDE.read_text())
    known = {entry.name for entry in registry.SCENARIOS} | {
        "list",
        "all",
        "compare",
        "figures",
        "link",
    }
    assert names
    assert set(names) <= known
