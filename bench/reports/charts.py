"""Draws charts: curves and stacked bands over time. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from bench.reports.drawing import (
    SIZE,
    TONES,
    Drawing,
    DrawnPath,
    DrawnWords,
    LegendKey,
    Shape,
    grid,
)
from bench.reports.exhibits import Bands, Curve, Curves, Mark, Points

_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 20, 14, 34
_MARK_ROWS: Final = 3
"""Rows above a chart that the labels of its marks take turns in."""
_MARKS_TOP: Final = 14 * _MARK_ROWS + 8


def steps(most: float, *, about: int) -> list[float]:
    """Round values from 0 to `most`, about so many: 1, 2, 2.5 or 5 times a power of ten apart."""
    rough = (most or 1.0) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 2.5, 5, 10) if power * times >= rough * 0.999)
    return [step * number for number in range(int(most / step + 1e-9) + 1)]


class Scale:
    """Where a value is in the picture."""

    def __init__(self, *, end: float, most: float, marked: bool) -> None:
        self._end = end or 1.0
        self._most = most or 1.0
        self._top = _MARKS_TOP if marked else _TOP

    def x(self, at: float) -> float:
        return _LEFT + (SIZE[0] - _LEFT - _RIGHT) * min(at / self._end, 1.0)

    def y(self, value: float) -> float:
        height = SIZE[1] - self._top - _BOTTOM
        return self._top + height * (1 - min(value / self._most, 1.0))

    def frame(self, unit: str) -> Iterator[Shape]:
        """Grid and axes."""
        for value in steps(self._most, about=4):
            y = self.y(value)
            yield grid(f"M{_LEFT} {y:.1f}H{SIZE[0] - _RIGHT}")
            yield DrawnWords(f"{_LEFT - 7}", f"{y + 4:.1f}", f"{value:g}", "end")
        yield DrawnWords(f"{_LEFT - 7}", "12", unit, "end")
        for at in steps(self._end, about=6):
            yield DrawnWords(f"{self.x(at):.1f}", f"{SIZE[1] - 12}", f"{at:g} s", "middle")

    def mark(self, mark: Mark, number: int) -> Iterator[Shape]:
        """A dotted line with its label above the chart."""
        x, y = self.x(mark.at), 12 + 14 * (number % _MARK_ROWS)
        left = x > SIZE[0] * 0.75
        yield DrawnPath("mark", f"M{x:.1f} {y + 3}V{SIZE[1] - _BOTTOM}")
        side = f"{x + (-4 if left else 4):.1f}"
        yield DrawnWords(side, f"{y}", mark.label, "end" if left else "start", "said")


def curves(chart: Curves) -> Drawing:
    """Steps over time, and their legend."""
    end = max((at for line in chart.lines for at, _ in line.points), default=1.0)
    scale = Scale(end=end, most=chart.most, marked=bool(chart.marks))
    shapes = list(scale.frame(chart.unit))
    for line in chart.lines:
        style = f"line t{line.tone % TONES}"
        shapes.append(DrawnPath(style, _steps(line.points, scale), line.dash, line.label))
    for number, mark in enumerate(chart.marks):
        shapes += scale.mark(mark, number)
    legend = [LegendKey(one.label, one.tone % TONES, True, one.dash) for one in chart.lines]
    return Drawing(chart.title, shapes, legend)


def bands(chart: Bands) -> Drawing:
    """One band upon the other, and their legend."""
    end = max((at for band in chart.bands for at, _ in band.points), default=1.0)
    scale = Scale(end=end, most=chart.most, marked=bool(chart.marks))
    times = sorted({at for band in chart.bands for at, _ in band.points})
    below = [0.0] * len(times)
    shapes: list[Shape] = []
    for band in chart.bands:
        above = [
            low + value for low, value in zip(below, _sampled(band.points, times), strict=True)
        ]
        top, bottom = (list(zip(times, edge, strict=True)) for edge in (above, below))
        path = f"{_steps(top, scale)}L{_backwards(bottom, scale)}Z"
        shapes.append(DrawnPath(f"band t{band.tone % TONES}", path, title=band.label))
        below = above
    shapes += scale.frame(chart.unit)
    for number, mark in enumerate(chart.marks):
        shapes += scale.mark(mark, number)
    return Drawing(chart.title, shapes, band_legend(chart.bands))


def _sampled(points: Points, times: Sequence[float]) -> Iterable[float]:
    """The value at each time: what held since the last point, 0 before the first."""
    value, rest = 0.0, list(points)
    for at in times:
        while rest and rest[0][0] <= at:
            value = rest.pop(0)[1]
        yield value


def _steps(points: Points, scale: Scale) -> str:
    if not points:
        return "M0 0"
    path = f"M{scale.x(points[0][0]):.1f} {scale.y(points[0][1]):.1f}"
    return path + "".join(f"H{scale.x(at):.1f}V{scale.y(value):.1f}" for at, value in points[1:])


def _backwards(points: Points, scale: Scale) -> str:
    """The same steps from the end to the start: a value holds until the next point."""
    path = f"{scale.x(points[-1][0]):.1f} {scale.y(points[-1][1]):.1f}"
    for (before, value), _ in reversed(list(pairwise(points))):
        path += f"V{scale.y(value):.1f}H{scale.x(before):.1f}"
    return path


def band_legend(lines: Sequence[Curve]) -> list[LegendKey]:
    """What the colours are."""
    return [LegendKey(line.label, line.tone % TONES) for line in lines]
