"""Draws figures 2 to 5 of Bolliger and Gross from our runs, with 95 % error bars.

Rows: cost by number of connections (figure 2), by sensor (3), timeliness by number (4), by sensor
(5). Knows runs; not how they were made.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.reports.confidence import e95
from bench.scenarios.monitor.experiment import HERE, MonitorRun

_COLOURS: Final = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple")

Labels = Sequence[int] | Sequence[str]


def canvas() -> Any:
    """What makes a figure. Raises ValueError without matplotlib."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  # only who draws needs it
    except ModuleNotFoundError as error:
        raise ValueError("--plot needs matplotlib: pip install 'sluice-proxy[bench]'") from error
    return Figure


def draw(found: Sequence[MonitorRun], file: Path, *, figure_class: Any) -> None:
    """All four, in one picture; `figure_class`: of `canvas`."""
    runs = [one for one in found if one.where != HERE]
    counts = sorted({one.connections for one in runs})
    sensors = sorted({one.sensor for one in runs})
    figure = figure_class(figsize=(16, 14), layout="constrained")
    panels = figure.subplots(4, max(len(counts), len(sensors)), squeeze=False)
    rows: tuple[tuple[str, Labels, Labels], ...] = (
        ("figure 2: cost", counts, sensors),
        ("figure 3: cost", sensors, counts),
        ("figure 4: timeliness", counts, sensors),
        ("figure 5: timeliness", sensors, counts),
    )
    for row, (title, columns, lines) in enumerate(rows):
        for panel, column in zip(panels[row], columns, strict=False):
            panel.set_title(f"{title}, {column}", loc="left", fontsize=9)
            panel.set_xlabel("sampling interval, s")
            panel.set_xscale("log")
            for colour, line in zip(_COLOURS, lines, strict=False):
                own = [one for one in runs if {column, line} == {one.connections, one.sensor}]
                (_cost if "cost" in title else _timeliness)(panel, own, str(line), colour)
            panel.legend(fontsize=7)
        for unused in panels[row][len(columns) :]:
            unused.set_axis_off()
        panels[row][0].set_ylabel("us a sample" if row < 2 else "inter-arrival / interval")
    figure.savefig(file, dpi=80)


def _by_interval(own: Sequence[MonitorRun], name: str) -> dict[float, list[float]]:
    found: dict[float, list[float]] = {}
    for one in sorted(own, key=lambda one: one.interval):
        found.setdefault(one.interval, []).append(getattr(one, name))
    return found


def _cost(panel: Any, own: Sequence[MonitorRun], label: str, colour: str) -> None:
    """All in, solid, with error bars: of several runs, or of the windows of one; processing."""
    total, within = _by_interval(own, "all_in"), _by_interval(own, "all_in_e95")
    bars = [
        e95(values) if len(values) > 1 else within[interval][0]
        for interval, values in total.items()
    ]
    means = [statistics.mean(values) for values in total.values()]
    panel.errorbar(list(total), means, yerr=bars, label=label, color=colour, capsize=2)
    processing = _by_interval(own, "processing")
    means = [statistics.mean(values) for values in processing.values()]
    panel.plot(list(processing), means, color=colour, linestyle=":")


def _timeliness(panel: Any, own: Sequence[MonitorRun], label: str, colour: str) -> None:
    """The median, with the 10th and the 90th percentile as bars."""
    middle, low, high = (_by_interval(own, name) for name in ("median", "p10", "p90"))
    means = [statistics.mean(values) for values in middle.values()]
    below = [mean - statistics.mean(low[at]) for at, mean in zip(middle, means, strict=True)]
    above = [statistics.mean(high[at]) - mean for at, mean in zip(middle, means, strict=True)]
    bars = [[max(0.0, one) for one in below], [max(0.0, one) for one in above]]
    panel.errorbar(list(middle), means, yerr=bars, label=label, color=colour, capsize=2)
