"""Records of a drawing: lines, words and boxes at their places, and a legend.

Pure. charts.py, bars.py and arrows.py make them; drawing.html writes them as SVG (SVG 2),
in which colours are the page's style.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

SIZE: Final = (720, 270)
TONES: Final = 7
"""Colours that the style has."""


@dataclass(frozen=True, slots=True)
class DrawnPath:
    """A line, or what it goes around."""

    element: ClassVar[str] = "path"
    style: str
    """Classes of the page's style."""
    steps: str
    """As SVG's `d` has them."""
    dash: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class DrawnWords:
    """Words that begin or end at a place, or stand around it."""

    element: ClassVar[str] = "text"
    x: str
    y: str
    words: str
    anchor: str = "start"
    style: str = ""


@dataclass(frozen=True, slots=True)
class DrawnBox:
    """A filled rectangle."""

    element: ClassVar[str] = "rect"
    style: str
    x: str
    y: str
    width: str
    height: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class LegendKey:
    """Says whose a colour is."""

    label: str
    tone: int
    line: bool = False
    """Shown as a line, with its dashes; else as a filled square."""
    dash: str = ""


Shape = DrawnPath | DrawnWords | DrawnBox


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture with its title and legend."""

    title: str
    shapes: Sequence[Shape]
    legend: Sequence[LegendKey] = ()
    height: float = SIZE[1]
    width: int = SIZE[0]


def grid(steps: str) -> DrawnPath:
    """A line of the grid."""
    return DrawnPath("grid", steps)
