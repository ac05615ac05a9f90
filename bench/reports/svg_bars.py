"""Bars in groups as inline SVG. Pure; colours are the page's style."""

from __future__ import annotations

import html
from typing import Final

from bench.reports.charts import SIZE, TONES, band_legend, framed, steps
from bench.reports.exhibits import Bars

_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 20, 14, 34
_GAP: Final = 0.2
"""Of a group's width, between it and the next."""


def bars(chart: Bars) -> str:
    """The bars, and their legend."""
    group_width = (SIZE[0] - _LEFT - _RIGHT) / max(1, len(chart.groups))
    width = group_width * (1 - _GAP) / max(1, len(chart.series))
    parts = [f'<text x="{_LEFT - 7}" y="12" text-anchor=end>{html.escape(chart.unit)}</text>']
    for value in steps(chart.most, about=4):
        y = _y(value, chart.most)
        parts.append(f'<path class=grid d="M{_LEFT} {y:.1f}H{SIZE[0] - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 7}" y="{y + 4:.1f}" text-anchor=end>{value:g}</text>')
    for number, one in enumerate(chart.series):
        for group, value in one.points:
            left = _LEFT + group_width * (group + _GAP / 2) + width * number
            top, bottom = _y(value, chart.most), _y(0.0, chart.most)
            parts.append(
                f'<rect class="band t{one.tone % TONES}" x="{left:.1f}" y="{top:.1f}" '
                f'width="{width:.1f}" height="{bottom - top:.1f}">'
                f"<title>{html.escape(one.label)}: {value:g}</title></rect>"
            )
    for number, name in enumerate(chart.groups):
        middle = _LEFT + group_width * (number + 0.5)
        label = f'y="{SIZE[1] - 12}" text-anchor=middle>{html.escape(name)}</text>'
        parts.append(f'<text x="{middle:.1f}" {label}')
    return framed(chart.title, parts, band_legend(chart.series))


def _y(value: float, most: float) -> float:
    return _TOP + (SIZE[1] - _TOP - _BOTTOM) * (1 - min(value / (most or 1.0), 1.0))
