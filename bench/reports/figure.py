"""Exhibits as a PNG for papers and pages without HTML: films, curves, bands. Needs matplotlib."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from PIL import Image

from bench.reports.exhibits import Arrows, Bands, Bars, Curve, Curves, Exhibit, Film

COLOURS: Final = ("#c2571a", "#0a66c2", "#3c8527", "#8a3fa8", "#b08900", "#00838f", "#6b7280")
"""As report.html has them on white."""
_WIDTH: Final = 10.0
"""Inches."""


def draw(shown: Sequence[Exhibit], file: Path) -> None:
    """One below the other. Raises ValueError when there is nothing to draw, or to draw with."""
    if not shown:
        raise ValueError("there is nothing to draw: this scenario has figures only")
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  # only who draws needs it
    except ModuleNotFoundError as error:
        raise ValueError("--plot needs matplotlib: pip install 'sluice-proxy[bench]'") from error
    heights = [_height(one) for one in shown]
    figure = Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
    parts = figure.subfigures(len(shown), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, one in zip(parts, shown, strict=True):
        match one:
            case Film():
                _film(part, one)
            case Bars():
                _bars(part.subplots(), one)
            case Arrows():
                _arrows(part.subplots(), one)
            case _:
                _chart(part.subplots(), one)
    figure.savefig(file, dpi=130)


def _height(shown: Exhibit) -> float:
    """The figure's height, inches."""
    if isinstance(shown, Film):
        return 1.7 * len(shown.rows) + 0.4
    return 0.4 * (shown.end - shown.begin) + 0.8 if isinstance(shown, Arrows) else 2.8


def _bars(panel: Any, chart: Bars) -> None:
    width = 0.8 / len(chart.series)
    for number, one in enumerate(chart.series):
        places = [group - 0.4 + width * (number + 0.5) for group, _ in one.points]
        panel.bar(
            places, [value for _, value in one.points], width, color=_colour(one), label=one.label
        )
    panel.set_title(chart.title, loc="left", fontsize=10)
    panel.set_ylabel(chart.unit)
    panel.set_ylim(0, chart.most)
    panel.set_xticks(range(len(chart.groups)), chart.groups)
    panel.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _arrows(panel: Any, chart: Arrows) -> None:
    for one in chart.arrows:
        colour = COLOURS[one.tone % len(COLOURS)]
        panel.annotate(
            "", (1, one.right), (0, one.left), arrowprops={"arrowstyle": "->", "color": colour}
        )
        panel.text(1.02, one.right, f"{one.right:.3f} {one.label}", fontsize=6, va="center")
    for mark in chart.left:
        panel.text(
            -0.02, mark.at, f"{mark.label} {mark.at:.3f}", fontsize=6, va="center", ha="right"
        )
    for mark in chart.right:
        panel.text(1.4, mark.at, f"{mark.at:.3f} {mark.label}", fontsize=6, va="center")
    panel.set_title(chart.title, loc="left", fontsize=10)
    panel.set_xlim(-1.2, 2.0)
    panel.set_ylim(chart.end, chart.begin)
    panel.set_xticks([0, 1], ["sender", "receiver"])
    panel.set_yticks([])


def _film(part: Any, film: Film) -> None:
    part.suptitle(film.title, x=0.01, ha="left", fontsize=10)
    panels = part.subplots(len(film.rows), len(film.times), squeeze=False)
    for row, line in zip(film.rows, panels, strict=True):
        for frame, at, panel in zip(row.frames, film.times, line, strict=True):
            panel.set_xticks([])
            panel.set_yticks([])
            panel.set_title(f"{at:.3g} s", fontsize=7)
            if frame:
                panel.imshow(Image.open(io.BytesIO(base64.b64decode(frame.split(",", 1)[1]))))
        line[0].set_ylabel(row.label, fontsize=8)


def _chart(panel: Any, chart: Curves | Bands) -> None:
    lines = chart.lines if isinstance(chart, Curves) else chart.bands
    if isinstance(chart, Bands):
        _stack(panel, lines)
    else:
        for line in lines:
            times, values = zip(*line.points, strict=True)
            dash = (0, tuple(map(float, line.dash.split()))) if line.dash else "-"
            panel.step(
                times, values, where="post", color=_colour(line), linestyle=dash, label=line.label
            )
    for number, mark in enumerate(chart.marks):
        panel.axvline(mark.at, color="black", linestyle=":", linewidth=1)
        panel.annotate(
            f" {mark.label}", (mark.at, chart.most * (1.3 - 0.1 * (number % 3))), fontsize=7
        )
    panel.set_title(chart.title, loc="left", fontsize=10)
    panel.set_ylabel(chart.unit)
    panel.set_xlabel("seconds")
    panel.set_ylim(0, chart.most * (1.4 if chart.marks else 1.02))
    panel.legend(fontsize=7, loc="upper right" if chart.marks else "best")


def _stack(panel: Any, lines: Sequence[Curve]) -> None:
    below: list[float] = [0.0] * max((len(line.points) for line in lines), default=0)
    for line in lines:
        times = [at for at, _ in line.points]
        above = [low + value for low, (_, value) in zip(below, line.points, strict=False)]
        panel.fill_between(
            times, below[: len(times)], above, step="post", color=_colour(line), label=line.label
        )
        below = above + below[len(above) :]


def _colour(line: Curve) -> str:
    return COLOURS[line.tone % len(COLOURS)]
