"""Draws figure 7 of Bolliger and Gross from our loads, and its like for estimates that are late.

Above by the estimate's error, below by its delay: the relative deviation from the limit, and the
bandwidth left unused; means with 95 % error bars. Loads with the product's own estimates are dotted
lines. Knows loads; not how they were made.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.reports.confidence import e95
from bench.scenarios.deadline.timed_load import TimedLoad
from bench.scenarios.monitor.monitor_figures import canvas

__all__ = ["canvas", "draw"]

_COLOURS: Final = ("tab:green", "tab:blue", "tab:red", "tab:purple")
_FIGURES: Final = (
    ("deviation", "deviation from the limit, %"),
    ("unused", "bandwidth left unused, %"),
)
_ROWS: Final = (("percent", "error of the estimate, %"), ("delay", "delay of the estimate, s"))


def draw(found: Sequence[TimedLoad], file: Path, *, figure_class: Any) -> None:
    """All in one picture; `figure_class`: of `canvas`."""
    figure = figure_class(figsize=(11, 8), layout="constrained")
    own = [one for one in found if one.error.percent is None]
    for row, (by, label) in zip(figure.subplots(2, 2, squeeze=False), _ROWS, strict=True):
        shown = [one for one in found if _is_of(one, by)]
        for panel, (measured, title) in zip(row, _FIGURES, strict=True):
            for colour, trace in zip(_COLOURS, _names(found), strict=False):
                points = _points(_only(shown, trace), by, measured)
                if points:
                    _curve(panel, points, f"{trace} volatility", colour)
                usual = [getattr(one, measured) for one in _only(own, trace)]
                if usual:
                    panel.axhline(statistics.mean(usual), color=colour, linestyle=":", linewidth=1)
            panel.set_title(f"figure 7: {title}", loc="left", fontsize=10)
            panel.set_xlabel(f"{label}; dotted: own estimates")
            panel.set_ylabel("%")
            panel.legend(fontsize=8)
    figure.savefig(file, dpi=90)


def _is_of(one: TimedLoad, by: str) -> bool:
    """By error: estimates that are in time. By delay: those that are right."""
    if by == "percent":
        return one.error.percent is not None and not one.error.delay
    return one.error.percent == 0.0


def _names(found: Sequence[TimedLoad]) -> list[str]:
    return list(dict.fromkeys(one.piece.name for one in found))


def _only(found: Sequence[TimedLoad], trace: str) -> list[TimedLoad]:
    return [one for one in found if one.piece.name == trace]


def _points(own: Sequence[TimedLoad], by: str, measured: str) -> dict[float, list[float]]:
    """What was measured, by the estimate's error or delay."""
    points: dict[float, list[float]] = {}
    for one in sorted(own, key=lambda one: getattr(one.error, by)):
        points.setdefault(getattr(one.error, by), []).append(getattr(one, measured))
    return points


def _curve(panel: Any, points: Mapping[float, Sequence[float]], label: str, colour: str) -> None:
    means = [statistics.mean(values) for values in points.values()]
    bars = [e95(values) for values in points.values()]
    panel.errorbar(list(points), means, yerr=bars, label=label, color=colour, capsize=3)
