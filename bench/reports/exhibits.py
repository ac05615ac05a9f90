"""Data that a report shows beside figures: films, curves, and who had the link.

Pure. Made from measured loads or by a scenario; drawn as HTML by report_html.py and as PNG by
figure.py, which know nothing of where it came from. All of it survives JSON.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from PIL import Image

from bench.browsers.capture import Frame
from bench.browsers.visual import PictureState
from bench.pages.page_result import PageLoad

FILM_FRAMES: Final = 8
SHOTS: Final = 30
"""Frames of one peer in a film that is played."""
FILM_SIZE: Final = (240, 300)
"""Pixels of one film frame."""
FILM_TOP: Final = 800
"""Frame pixels from the page's top that the film shows: two screens."""

Points = list[tuple[float, float]]


class FilmRow(msgspec.Struct, frozen=True):
    """One peer's frames."""

    label: str
    frames: list[str]
    """Data URIs, one for each time; empty: nothing was on the screen yet."""
    shots: list[tuple[float, str]] = []
    """When something else was on the screen, seconds, and what: data URIs, for who plays it."""


class Film(msgspec.Struct, frozen=True, tag="film"):
    """One row a peer, one column a time."""

    title: str
    times: list[float]
    """Seconds."""
    rows: list[FilmRow]


class Curve(msgspec.Struct, frozen=True):
    """One curve, or one band of a stack."""

    label: str
    points: Points
    """Seconds, value; the value holds until the next point."""
    tone: int = 0
    """Number of its colour: the same peer or document has the same one."""
    dash: str = ""
    """As SVG has it."""


class Mark(msgspec.Struct, frozen=True):
    """A moment worth a line across a chart."""

    at: float
    label: str


class Curves(msgspec.Struct, frozen=True, tag="curves"):
    """Values over time."""

    title: str
    unit: str
    lines: list[Curve]
    most: float
    """Upper end of the scale."""
    marks: list[Mark] = []


class Bands(msgspec.Struct, frozen=True, tag="bands"):
    """Values over time, stacked: who had how much of the link."""

    title: str
    unit: str
    bands: list[Curve]
    """The points of all are at the same times."""
    most: float
    marks: list[Mark] = []


class Bars(msgspec.Struct, frozen=True, tag="bars"):
    """Values side by side, in groups."""

    title: str
    unit: str
    groups: list[str]
    series: list[Curve]
    """One colour each; a point is a group's number and its value, which a group may lack."""
    most: float


class Arrow(msgspec.Struct, frozen=True):
    """Something left on the left side and came on the right."""

    left: float
    right: float
    """Seconds."""
    label: str
    tone: int = 0


class Arrows(msgspec.Struct, frozen=True, tag="arrows"):
    """What passed between two ends; time runs downwards."""

    title: str
    begin: float
    end: float
    arrows: list[Arrow]
    left: list[Mark]
    """What happened at the sender besides."""
    right: list[Mark]


Exhibit = Film | Curves | Bands | Bars | Arrows


def encode(exhibits: Sequence[Exhibit]) -> bytes:
    return msgspec.json.encode(exhibits)


def decode(data: bytes) -> list[Exhibit]:
    """The exhibits that were encoded so. Raises msgspec.DecodeError."""
    return msgspec.json.decode(data, type=list[Exhibit])


def of_loads(loads: Sequence[PageLoad]) -> list[Exhibit]:
    """A film and curves of each page, from the first load of each peer."""
    found: list[Exhibit] = []
    for page in dict.fromkeys(load.page for load in loads):
        shown: dict[str, PageLoad] = {}
        for load in loads:
            if load.page == page:
                shown.setdefault(load.peer, load)
        found += [film(page, list(shown.values())), curves(page, list(shown.values()))]
    return found


def of_documents(
    title: str, curves: Mapping[str, Sequence[tuple[float, float]]], marks: Sequence[Mark] = ()
) -> Bands:
    """Who had the link: bytes/second over time by document, as kbit/s.

    The curves' points are at multiples of one time, some curves ending before others.
    """
    times = sorted({at for points in curves.values() for at, _ in points})
    bands = []
    for tone, (name, points) in enumerate(curves.items()):
        rate = dict(points)
        bands.append(Curve(name, [(at, 8 * rate.get(at, 0.0) / 1000) for at in times], tone))
    sums = [sum(band.points[number][1] for band in bands) for number in range(len(times))]
    return Bands(title, "kbit/s", bands, max(sums, default=1.0), list(marks))


def film_times(end: float, *, count: int = FILM_FRAMES) -> list[float]:
    """Times to show, seconds: closer together at first, where most happens; the last is `end`."""
    return [end * ((number + 1) / count) ** 1.7 for number in range(count)]


def frame_at(frames: Sequence[Frame], at: float) -> Frame | None:
    """The frame on the screen at that time; None: nothing yet."""
    shown = None
    for frame in frames:
        if frame.at > at:
            break
        shown = frame
    return shown


def thumbnail(frame: Frame) -> str:
    """The top of a frame as a data URI."""
    image = frame.image()
    top = image.crop((0, 0, image.width, min(image.height, FILM_TOP)))
    out = io.BytesIO()
    top.resize(FILM_SIZE, Image.Resampling.LANCZOS).save(out, "JPEG", quality=72, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode()


def page_end(loads: Iterable[PageLoad]) -> float:
    """Seconds until the last peer has painted its last pixel."""
    ends = [moment.at for load in loads for moment in load.moments[-1:]]
    return max(ends, default=1.0)


def film(title: str, loads: Sequence[PageLoad]) -> Film:
    end = page_end(loads)
    times = film_times(end)
    rows = []
    for load in loads:
        shown = [frame_at(load.frames, at) for at in times]
        played = shots(load.frames, end)
        drawn = {frame.at: thumbnail(frame) for frame in (*played, *shown) if frame is not None}
        rows.append(
            FilmRow(
                load.label,
                [drawn[frame.at] if frame is not None else "" for frame in shown],
                [(round(frame.at, 3), drawn[frame.at]) for frame in played],
            )
        )
    return Film(title, [round(at, 3) for at in times], rows)


def shots(frames: Sequence[Frame], end: float) -> list[Frame]:
    """Choose what is played until `end`: SHOTS at most, closer together at first."""
    found: list[Frame] = []
    for at in film_times(end, count=SHOTS):
        frame = frame_at(frames, at)
        if frame is not None and frame not in found[-1:]:
            found.append(frame)
    return found


_DASHES: Final = {PictureState.PAINTED: "", PictureState.GOOD: "6 4", PictureState.FINAL: "1.5 3.5"}


def curves(title: str, loads: Sequence[PageLoad]) -> Curves:
    """Share of the pictures that have painted, are good, are final; percent."""
    end = page_end(loads)
    lines = [
        Curve(f"{load.label}: {state.name.lower()}", _shares(load, state, end), number, dash)
        for number, load in enumerate(loads)
        for state, dash in _DASHES.items()
    ]
    return Curves(f"Pictures of {title}", "%", lines, 100.0)


def _shares(load: PageLoad, state: PictureState, end: float) -> Points:
    """From the start to `end`, points only where the share changes."""
    points: Points = [(0.0, 0.0)]
    for moment in load.moments:
        share = round(100 * moment.share(state), 1)
        if share != points[-1][1]:
            points.append((round(moment.at, 3), share))
    return [*points, (round(end, 3), points[-1][1])]
