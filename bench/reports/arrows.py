"""Draws what passed between two ends: time runs downwards. Pure."""

from __future__ import annotations

from typing import Final

from bench.reports.drawing import SIZE, TONES, Drawing, DrawnPath, DrawnWords, Shape, grid
from bench.reports.exhibits import Arrows

_TOP, _BOTTOM = 24, 10
_SECOND: Final = 46
"""Units of height."""
_LEFT, _RIGHT = 200, 400
_ASIDE: Final = 540
"""Where the receiver's other events stand."""


def arrows(chart: Arrows) -> Drawing:
    """Both ends with their events, and the arrows from left to right."""
    height = _TOP + _BOTTOM + _SECOND * (chart.end - chart.begin)

    def y(at: float) -> float:
        return _TOP + _SECOND * (at - chart.begin)

    shapes: list[Shape] = [
        DrawnWords(f"{_LEFT}", "14", "sender", "end"),
        DrawnWords(f"{_RIGHT}", "14", "receiver"),
        grid(f"M{_LEFT} {_TOP}V{height}M{_RIGHT} {_TOP}V{height}"),
    ]
    for one in chart.arrows:
        end = f"{_RIGHT} {y(one.right):.1f}"
        head = f"M{_RIGHT - 7} {y(one.right) - 4:.1f}L{end}L{_RIGHT - 7} {y(one.right) + 4:.1f}"
        way = f"M{_LEFT} {y(one.left):.1f}L{end}{head}"
        shapes.append(DrawnPath(f"line t{one.tone % TONES}", way))
        said = f"{one.right:.3f} {one.label}"
        shapes.append(DrawnWords(f"{_RIGHT + 6}", f"{y(one.right) + 4:.1f}", said))
    for mark in chart.left:
        said = f"{mark.label} {mark.at:.3f}"
        shapes.append(DrawnWords(f"{_LEFT - 6}", f"{y(mark.at) + 4:.1f}", said, "end"))
    for mark in chart.right:
        said = f"{mark.at:.3f} {mark.label}"
        shapes.append(DrawnWords(f"{_ASIDE}", f"{y(mark.at) + 4:.1f}", said))
    return Drawing(chart.title, shapes, height=max(height, SIZE[1]))
