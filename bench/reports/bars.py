"""Draws bars in groups. Pure."""

from __future__ import annotations

from typing import Final

from bench.reports.charts import band_legend, steps
from bench.reports.drawing import SIZE, TONES, Drawing, DrawnBox, DrawnWords, Shape, grid
from bench.reports.exhibits import Bars

_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 20, 14, 34
_GAP: Final = 0.2
"""Of a group's width, between it and the next."""


def bars(chart: Bars) -> Drawing:
    """The bars, and their legend."""
    group_width = (SIZE[0] - _LEFT - _RIGHT) / max(1, len(chart.groups))
    width = group_width * (1 - _GAP) / max(1, len(chart.series))
    shapes: list[Shape] = [DrawnWords(f"{_LEFT - 7}", "12", chart.unit, "end")]
    for value in steps(chart.most, about=4):
        y = _y(value, chart.most)
        shapes.append(grid(f"M{_LEFT} {y:.1f}H{SIZE[0] - _RIGHT}"))
        shapes.append(DrawnWords(f"{_LEFT - 7}", f"{y + 4:.1f}", f"{value:g}", "end"))
    for number, one in enumerate(chart.series):
        for group, value in one.points:
            left = _LEFT + group_width * (group + _GAP / 2) + width * number
            top, bottom = _y(value, chart.most), _y(0.0, chart.most)
            place = (f"{left:.1f}", f"{top:.1f}", f"{width:.1f}", f"{bottom - top:.1f}")
            said = f"{one.label}: {value:g}"
            shapes.append(DrawnBox(f"band t{one.tone % TONES}", *place, said))
    for number, name in enumerate(chart.groups):
        middle = _LEFT + group_width * (number + 0.5)
        shapes.append(DrawnWords(f"{middle:.1f}", f"{SIZE[1] - 12}", name, "middle"))
    return Drawing(chart.title, shapes, band_legend(chart.series))


def _y(value: float, most: float) -> float:
    return _TOP + (SIZE[1] - _TOP - _BOTTOM) * (1 - min(value / (most or 1.0), 1.0))
