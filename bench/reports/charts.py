"""Charts as inline SVG: curves and stacked bands over time. Pure; colours are the page's style."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from bench.reports.exhibits import Bands, Curve, Curves, Mark, Points

SIZE: Final = (720, 270)
_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 20, 14, 34
_MARK_ROWS: Final = 3
"""Rows above a chart that the labels of its marks take turns in."""
_MARKS_TOP: Final = 14 * _MARK_ROWS + 8
TONES: Final = 7
"""Colours that the style has."""


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

    def frame(self, unit: str) -> str:
        """Grid and axes."""
        parts = []
        for value in steps(self._most, about=4):
            y = self.y(value)
            parts.append(f'<path class=grid d="M{_LEFT} {y:.1f}H{SIZE[0] - _RIGHT}"/>')
            parts.append(f'<text x="{_LEFT - 7}" y="{y + 4:.1f}" text-anchor=end>{value:g}</text>')
        parts.append(f'<text x="{_LEFT - 7}" y="12" text-anchor=end>{unit}</text>')
        for at in steps(self._end, about=6):
            label = f'y="{SIZE[1] - 12}" text-anchor=middle>{at:g} s'
            parts.append(f'<text x="{self.x(at):.1f}" {label}</text>')
        return "".join(parts)

    def mark(self, mark: Mark, number: int) -> str:
        """A dotted line with its label above the chart."""
        x, y = self.x(mark.at), 12 + 14 * (number % _MARK_ROWS)
        left = x > SIZE[0] * 0.75
        return (
            f'<path class=mark d="M{x:.1f} {y + 3}V{SIZE[1] - _BOTTOM}"/>'
            f'<text class=said x="{x + (-4 if left else 4):.1f}" y="{y}" '
            f"text-anchor={'end' if left else 'start'}>{html.escape(mark.label)}</text>"
        )


def curves(chart: Curves) -> str:
    """Steps over time, and their legend."""
    end = max((at for line in chart.lines for at, _ in line.points), default=1.0)
    scale = Scale(end=end, most=chart.most, marked=bool(chart.marks))
    parts = [scale.frame(html.escape(chart.unit))]
    for line in chart.lines:
        style = f'class="line t{line.tone % TONES}" stroke-dasharray="{line.dash}"'
        title = f"<title>{html.escape(line.label)}</title>"
        parts.append(f'<path {style} d="{_steps(line.points, scale)}">{title}</path>')
    parts += [scale.mark(mark, number) for number, mark in enumerate(chart.marks)]
    return framed(chart.title, parts, _line_legend(chart.lines))


def bands(chart: Bands) -> str:
    """One band upon the other, and their legend."""
    end = max((at for band in chart.bands for at, _ in band.points), default=1.0)
    scale = Scale(end=end, most=chart.most, marked=bool(chart.marks))
    times = sorted({at for band in chart.bands for at, _ in band.points})
    below = [0.0] * len(times)
    parts = []
    for band in chart.bands:
        above = [
            low + value for low, value in zip(below, _sampled(band.points, times), strict=True)
        ]
        top, bottom = (list(zip(times, edge, strict=True)) for edge in (above, below))
        path = f"{_steps(top, scale)}L{_backwards(bottom, scale)}Z"
        title = f"<title>{html.escape(band.label)}</title>"
        parts.append(f'<path class="band t{band.tone % TONES}" d="{path}">{title}</path>')
        below = above
    parts.append(scale.frame(html.escape(chart.unit)))
    parts += [scale.mark(mark, number) for number, mark in enumerate(chart.marks)]
    return framed(chart.title, parts, band_legend(chart.bands))


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


def framed(title: str, parts: Iterable[str], legend: str, *, height: float = SIZE[1]) -> str:
    """A picture with its title and legend."""
    label = html.escape(title)
    return (
        f"<figure><figcaption>{label}</figcaption><div class=scroll tabindex=0>"
        f'<svg viewBox="0 0 {SIZE[0]} {height:g}" role=img aria-label="{label}">{"".join(parts)}'
        f"</svg></div>{legend}</figure>"
    )


def _line_legend(lines: Sequence[Curve]) -> str:
    items = "".join(
        f'<span><svg viewBox="0 0 32 8" aria-hidden=true><path class="line t{line.tone % TONES}" '
        f'stroke-dasharray="{line.dash}" d="M0 4H32"/></svg>{html.escape(line.label)}</span>'
        for line in lines
    )
    return f"<p class=legend>{items}</p>"


def band_legend(lines: Sequence[Curve]) -> str:
    """What the colours are."""
    items = "".join(
        f"<span><i class=t{band.tone % TONES}></i>{html.escape(band.label)}</span>"
        for band in lines
    )
    return f"<p class=legend>{items}</p>"
