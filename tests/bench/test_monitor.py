"""The bench of monitoring: a small experiment has figures of all sensors; errors are right."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import pytest

from bench.reports.confidence import e95
from bench.scenarios.monitor.experiment import HERE, MonitorRun
from bench.scenarios.monitor.monitor import run
from bench.scenarios.monitor.monitor_figures import draw
from bench.scenarios.monitor.watched_daemon import ArrivalLog
from monitor.samples import ProgressSample


def test_gaps_are_between_samples_of_one_connection() -> None:
    log = ArrivalLog()
    for at, names in ((1.0, (1, 2)), (1.5, (1,)), (3.0, (1, 2))):
        log.note([ProgressSample(name, 0) for name in names], at)
    assert sorted(log.gaps()) == [0.5, 1.5, 2.0]
    assert log.counts() == [(1.0, 2), (1.5, 1), (3.0, 2)]


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ([], 0.0),
        ([5.0], 0.0),
        ([1.0, 3.0], 12.71),
        ([1.0, 2.0, 3.0, 4.0, 5.0], 1.963),
        ([float(n % 2) for n in range(100)], 0.0998),
    ],
)
def test_errors_are_student_s(values: list[float], error: float) -> None:
    assert e95(values) == pytest.approx(error, rel=0.01)


def test_a_small_experiment_measures_all_sensors_and_draws_them(tmp_path: Path) -> None:
    file = tmp_path / "plot.png" if find_spec("matplotlib") else None
    found = run(runs=1, counts=(2,), intervals=(0.05,), seconds=0.6, plot=file)
    rows = found["runs"]
    ways = {(row["sensor"], row["where"]) for row in rows}
    assert ways == {
        ("app_rcv", "udp"), ("app_snd", "udp"), ("transport", "udp"), ("transport", HERE)
    }  # fmt: skip
    for row in rows:
        assert row["samples"] >= 4
        assert row["all_in"] >= row["collection"] > 0
        assert row["processing"] > 0
        assert 0 <= row["p10"] <= row["median"] <= row["p90"]
        if row["where"] != HERE:
            assert row["observer"] > row["processing"]
    assert len(found["checks"]) == 3
    assert found["exhibits"][0].groups == ["0.05 s"]
    if file is not None:
        assert file.stat().st_size > 10_000


class Panel:
    """Stands in for a panel of matplotlib's, where that is not installed; remembers the bars."""

    bars: ClassVar[list[tuple[str, list[float], Any]]] = []

    def errorbar(self, _: object, means: list[float], *, yerr: Any, label: str, **__: Any) -> None:
        self.bars.append((label, means, yerr))

    def __getattr__(self, _: str) -> Any:
        return lambda *_, **__: None


class Figure:
    """Has panels, and saves nothing."""

    def __init__(self, **_: Any) -> None:
        pass

    def subplots(self, rows: int, columns: int, **_: Any) -> list[list[Panel]]:
        return [[Panel() for _ in range(columns)] for _ in range(rows)]

    def savefig(self, file: Path, **_: Any) -> None:
        file.write_text("drawn")


def made(sensor: str, connections: int, interval: float, all_in: float) -> MonitorRun:
    return MonitorRun(
        sensor, "udp", connections, interval, 9, 1.0, 2.0, 3.0, all_in, 0.7, 0.9, 1.0, 1.5
    )


def test_error_bars_are_those_of_several_runs_or_of_one_s_windows(tmp_path: Path) -> None:
    Panel.bars.clear()
    costs = ((0.05, 10.0), (0.05, 14.0), (1.0, 9.0))
    found = [made("app_snd", 5, interval, all_in) for interval, all_in in costs]
    draw(found, tmp_path / "figures", figure_class=Figure)
    assert (tmp_path / "figures").read_text() == "drawn"
    (label, means, bars), (_, _, same), (_, middle, spread), _ = Panel.bars
    assert (label, means) == ("app_snd", [12.0, 9.0])
    assert bars == same == pytest.approx([25.41, 0.7], rel=0.01)
    assert middle == [1.0, 1.0]
    assert spread == [pytest.approx([0.1, 0.1]), pytest.approx([0.5, 0.5])]


def test_without_a_library_to_draw_with_nothing_is_measured_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr("bench.scenarios.monitor.monitor.laboratory", pytest.fail)
    with pytest.raises(ValueError, match="matplotlib"):
        run(plot=tmp_path / "plot.png")
