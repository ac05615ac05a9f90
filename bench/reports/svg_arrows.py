"""Draws what passed between two ends, as inline SVG: time runs downwards. Pure."""

from __future__ import annotations

import html
from typing import Final

from bench.reports.charts import SIZE, TONES, framed
from bench.reports.exhibits import Arrows

_TOP, _BOTTOM = 24, 10
_SECOND: Final = 46
"""Units of height."""
_LEFT, _RIGHT = 200, 400
_ASIDE: Final = 540
"""Where the receiver's other events stand."""


def arrows(chart: Arrows) -> str:
    """Both ends with their events, and the arrows from left to right."""
    height = _TOP + _BOTTOM + _SECOND * (chart.end - chart.begin)

    def y(at: float) -> float:
        return _TOP + _SECOND * (at - chart.begin)

    parts = [
        f'<text x="{_LEFT}" y="14" text-anchor=end>sender</text>',
        f'<text x="{_RIGHT}" y="14">receiver</text>',
        f'<path class=grid d="M{_LEFT} {_TOP}V{height}M{_RIGHT} {_TOP}V{height}"/>',
    ]
    for one in chart.arrows:
        style = f'class="line t{one.tone % TONES}"'
        end = f"{_RIGHT} {y(one.right):.1f}"
        head = f"M{_RIGHT - 7} {y(one.right) - 4:.1f}L{end}L{_RIGHT - 7} {y(one.right) + 4:.1f}"
        parts.append(f'<path {style} d="M{_LEFT} {y(one.left):.1f}L{end}{head}"/>')
        said = html.escape(f"{one.right:.3f} {one.label}")
        parts.append(f'<text x="{_RIGHT + 6}" y="{y(one.right) + 4:.1f}">{said}</text>')
    for mark in chart.left:
        said = html.escape(f"{mark.label} {mark.at:.3f}")
        place = f'x="{_LEFT - 6}" y="{y(mark.at) + 4:.1f}" text-anchor=end'
        parts.append(f"<text {place}>{said}</text>")
    for mark in chart.right:
        said = html.escape(f"{mark.at:.3f} {mark.label}")
        parts.append(f'<text x="{_ASIDE}" y="{y(mark.at) + 4:.1f}">{said}</text>')
    return framed(chart.title, parts, "", height=max(height, SIZE[1]))
