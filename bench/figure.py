"""Exhibits as a PNG for papers and pages without HTML: films, curves, bands. Needs matplotlib."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from PIL import Image

from bench.exhibits import Bands, Curves, Exhibit, Film, Line

COLOURS: Final = ("#c2571a", "#0a66c2", "#3c8527", "#8a3fa8", "#b08900", "#00838f")
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
    heights = [1.7 * len(one.rows) + 0.4 if isinstance(one, Film) else 2.8 for one in shown]
    figure = Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
    parts = figure.subfigures(len(shown), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, one in zip(parts, shown, strict=True):
        _film(part, one) if isinstance(one, Film) else _chart(part.subplots(), one)
    figure.savefig(file, dpi=130)


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
    panel.legend(fontsize=7, loc="upper right")


def _stack(panel: Any, lines: Sequence[Line]) -> None:
    below: list[float] = [0.0] * max((len(line.points) for line in lines), default=0)
    for line in lines:
        times = [at for at, _ in line.points]
        above = [low + value for low, (_, value) in zip(below, line.points, strict=False)]
        panel.fill_between(
            times, below[: len(times)], above, step="post", color=_colour(line), label=line.label
        )
        below = above + below[len(above) :]


def _colour(line: Line) -> str:
    return COLOURS[line.tone % len(COLOURS)]
