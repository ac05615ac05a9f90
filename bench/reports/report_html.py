"""Reports as one HTML document that needs nothing from outside and no script.

Pure but for reading its own template. Knows a report's JSON form and exhibits, of one scenario or
of many; knows nothing of measuring. Puts together what the document says, as text and numbers;
report.html writes them as HTML.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final
from zlib import crc32

import msgspec

from bench.pages.page_result import marked
from bench.reports import arrows, bars, charts
from bench.reports.drawing import TONES, Drawing
from bench.reports.exhibits import Arrows, Bands, Bars, Curves, Exhibit, Film
from web.templates import template

Data = Mapping[str, Any]
Section = tuple[Data, Sequence[Exhibit]]

TIMES: Final = (
    ("text", "text_s", "all of the text is there and styled"),
    ("first paint", "first_paint_s", "anything at all is on the screen"),
    ("painted", "painted_s", "every picture covers at least half of its own pixels"),
    (
        "90 % of pixels",
        "pixels_90_s",
        "nine tenths of what the page paints have their last colour, to 12 of 255",
    ),
    ("good", "good_s", "every picture is hard to tell from its end (SSIM 0.98 at half size)"),
    ("final", "final_s", "every picture shows the pixels of an undisturbed load"),
    ("load", "load_s", "the document's load event"),
    ("Speed Index", "speed_index_s", "what is still missing of the page, added up over time"),
)
"""Heads of a page load's figures, their fields, their meanings."""
HELD: Final = 1.25
"""Times its length that a film takes to begin again: its end stays on the screen meanwhile (in
report.html as the clock's 80 %)."""
PACES: Final = ((1, "as it was"), (4, "4 times as fast"))
_MOST_ROWS: Final = 60
"""Of a table of runs; the JSON has them all."""
_MOST_COLUMNS: Final = 9
_NUMBER: Final = r"\s*(-?\d+(?:\.\d+)?)"
_MOST: Final = re.compile(f"(?:at most|below|<=?){_NUMBER}")
_LEAST: Final = re.compile(f"(?:at least|more than|>=?){_NUMBER}")
_AROUND: Final = re.compile(rf"{_NUMBER} (\+-|to){_NUMBER}")
_PAGE: Final = template(__package__, "report.html")


@dataclass(frozen=True, slots=True)
class _Tile:
    """A scenario at a glance."""

    kind: str
    name: str
    reached: int
    all: int


@dataclass(frozen=True, slots=True)
class _Goal:
    """A goal, and what was reached of it."""

    kind: str
    name: str
    value: str
    goal: str
    width: str = ""
    """Of its gauge, percent: what the goal allows is the half. Empty: it has none."""


@dataclass(frozen=True, slots=True)
class _Bar:
    """One peer's times as a bar."""

    label: str
    tone: int
    width: str = ""
    """Of the widest, percent; empty: it has no median."""
    said: str = "never"
    spread: str = ""


@dataclass(frozen=True, slots=True)
class _Table:
    """Figures in rows that begin with their heads."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    left_out: int = 0
    """Rows that are in the JSON alone."""


@dataclass(frozen=True, slots=True)
class _Visit:
    """One visit to a page: each time of TIMES with the peers' bars, and the traffic."""

    name: str
    groups: Sequence[tuple[str, Sequence[_Bar]]]
    traffic: _Table


@dataclass(frozen=True, slots=True)
class _Screen:
    """One side of a film that is played."""

    label: str
    shots: Sequence[tuple[str, str, str]]
    """The animation's name, when it begins in percent of the cycle, and the picture."""


@dataclass(frozen=True, slots=True)
class _Film:
    """A film to be played, where it has screens, and its strip."""

    number: str
    cycle: str
    end: str
    screens: Sequence[_Screen]
    times: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    """Each peer with its pictures, each with its time; empty: nothing was on the screen yet."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """A film or a drawing."""

    film: _Film | None = None
    drawing: Drawing | None = None


@dataclass(frozen=True, slots=True)
class _PageLoads:
    """A page's exhibits and its visits."""

    name: str
    exhibits: Sequence[_Shown]
    visits: Sequence[_Visit]


@dataclass(frozen=True, slots=True)
class _Scenario:
    """A section of the document."""

    name: str
    title: str
    link: str
    notes: Sequence[str]
    goals: Sequence[_Goal]
    pages: Sequence[_PageLoads]
    exhibits: Sequence[_Shown]
    """Those that belong to no page."""
    runs: _Table | None


def page(sections: Sequence[Section], *, title: str = "", failed: Sequence[str] = ()) -> str:
    """The document. `failed`: what could not run at all, in words."""
    first = sections[0][0] if sections else {}
    return _PAGE.render(
        title=title or _title(first),
        subtitle=_subtitle(sections),
        many=len(sections) != 1 or bool(failed),
        tiles=[_tile(data) for data, _ in sections],
        failed=failed,
        sections=[_section(data, shown) for data, shown in sections],
        meanings=[(head, said) for head, _, said in TIMES]
        if any(_is_page_loads(data["runs"]) for data, _ in sections)
        else [],
        paces=PACES,
        commands=[data["command"] for data, _ in sections],
        commit=first.get("commit") or "unknown",
        machine=first.get("machine", ""),
    )


def _title(data: Data) -> str:
    return str(data.get("scenario", "Report")).replace("-", " ").capitalize()


def _subtitle(sections: Sequence[Section]) -> str:
    checks = [check for data, _ in sections for check in data["checks"].values()]
    reached = sum(check["ok"] for check in checks)
    links = sorted({data["profile"] for data, _ in sections if data["profile"]})
    words = [f"{reached} of {len(checks)} goals reached"] if checks else []
    doubtful = sum(bool(check["ok"] and check.get("doubtful")) for check in checks)
    words += [f"{doubtful} of these in doubt: the emulated link was late"] if doubtful else []
    words += ["link: " + ", ".join(links)] if links else []
    return "; ".join(words)


def _tile(data: Data) -> _Tile:
    checks = data["checks"].values()
    reached = sum(check["ok"] for check in checks)
    kind = "ok" if reached == len(checks) else "short"
    return _Tile(kind, data["scenario"], reached, len(checks))


def _section(data: Data, shown: Sequence[Exhibit]) -> _Scenario:
    loads = _is_page_loads(data["runs"])
    pages = list(_pages(data["runs"], shown)) if loads else []
    left = [one for one in shown if not any(_is_of(one, page.name) for page in pages)]
    return _Scenario(
        name=data["scenario"],
        title=_title(data),
        link=data["profile"],
        notes=data["notes"],
        goals=[_goal(name, check) for name, check in data["checks"].items()],
        pages=pages,
        exhibits=[_exhibit(one) for one in left],
        runs=None if loads else _runs(data["runs"]),
    )


def _goal(name: str, check: Mapping[str, Any]) -> _Goal:
    value, goal = f"{_text(check['value'])} {check['unit']}", str(check["goal"])
    share = share_of_goal(check["value"], goal)
    width = "" if share is None else f"{min(50 * share, 100.0):.0f}"
    return _Goal(_kind(check), name, value, goal, width)


def share_of_goal(value: object, goal: str) -> float | None:
    """How much of what its goal allows a figure takes: 1 is all of it, more is too much. Where at
    least so much is wanted it is the other way round, so less is always better. None: one of the
    two is no number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if found := _AROUND.match(goal):
        middle, off = float(found[1]), float(found[3])
        if found[2] == "to":
            middle, off = (middle + off) / 2, (off - middle) / 2
        return _share(abs(value - middle), off)
    if found := _MOST.match(goal):
        return _share(value, float(found[1]))
    if found := _LEAST.match(goal):
        return _share(float(found[1]), value)
    return _share(value, 0.0) if goal in ("none", "0") else None


def _share(value: float, of: float) -> float | None:
    if value < 0 or of < 0:
        return None
    return value / of if of else (inf if value else 0.0)


def _kind(check: Mapping[str, Any]) -> str:
    if check.get("doubtful"):
        return "doubt"
    return "ok" if check["ok"] else "short"


def _is_page_loads(runs: Sequence[Data]) -> bool:
    return bool(runs) and all({"page", "peer", "painted_s"} <= set(run) for run in runs)


def _pages(runs: Sequence[Data], shown: Sequence[Exhibit]) -> Iterator[_PageLoads]:
    """Each page with its films and figures."""
    left = list(shown)
    for name in dict.fromkeys(run["page"] for run in runs):
        own = [one for one in left if _is_of(one, name)]
        left = [one for one in left if one not in own]
        of_page = [run for run in runs if run["page"] == name]
        visits = [
            _visit(visit, [run for run in of_page if run.get("visit", "") == visit])
            for visit in dict.fromkeys(run.get("visit", "") for run in of_page)
        ]
        yield _PageLoads(name, [_exhibit(one) for one in own], visits)


def _is_of(exhibit: Exhibit, page_name: str) -> bool:
    return exhibit.title == page_name or exhibit.title.endswith(f" of {page_name}")


def _exhibit(exhibit: Exhibit) -> _Shown:
    match exhibit:
        case Film():
            return _Shown(film=_film(exhibit))
        case Curves():
            return _Shown(drawing=charts.curves(exhibit))
        case Bands():
            return _Shown(drawing=charts.bands(exhibit))
        case Bars():
            return _Shown(drawing=bars.bars(exhibit))
        case Arrows():
            return _Shown(drawing=arrows.arrows(exhibit))


def _film(film: Film) -> _Film:
    number = f"{crc32(msgspec.json.encode(film)):08x}"
    end = film.times[-1] if film.times else 0.0
    times = [_seconds(at) for at in film.times]
    rows = [(row.label, list(zip(times, row.frames, strict=True))) for row in film.rows]
    screens = _screens(film, number, end) if end and all(row.shots for row in film.rows) else []
    return _Film(number, f"{HELD * end:.2f}", _seconds(end), screens, times, rows)


def _screens(film: Film, number: str, end: float) -> list[_Screen]:
    """All sides in step, as they were: styles alone move them, at each reader's wish."""
    screens = []
    for side, row in enumerate(film.rows):
        shots = [
            (f"f{number}-{side}-{shot}", f"{min(99.9, 100 * at / (HELD * end)):.2f}", frame)
            for shot, (at, frame) in enumerate(row.shots)
        ]
        screens.append(_Screen(row.label, shots))
    return screens


def _visit(name: str, runs: Sequence[Data]) -> _Visit:
    """Medians of each time as bars, with the range of the runs; then what crossed the link."""
    peers = list(dict.fromkeys(run["peer"] for run in runs))
    late = {peer: any(run.get("late") for run in runs if run["peer"] == peer) for peer in peers}
    groups = []
    for head, field, _ in TIMES:
        values = {p: [r.get(field) for r in runs if r["peer"] == p] for p in peers}
        known = [value for row in values.values() for value in row if value is not None]
        if known:
            of_peers = [
                _bar(number, marked(peer, late[peer]), values[peer], most=max(known))
                for number, peer in enumerate(peers)
            ]
            groups.append((head, of_peers))
    return _Visit(name, groups, _traffic(runs, peers))


def _bar(number: int, peer: str, values: Sequence[float | None], *, most: float) -> _Bar:
    known = [value for value in values if value is not None]
    tone = number % TONES
    if len(known) < len(values) or not known:
        return _Bar(peer, tone)
    median = statistics.median(known)
    spread = f"{_seconds(min(known))}-{_seconds(max(known))}" if known[1:] else ""
    return _Bar(peer, tone, f"{100 * median / (most or 1):.1f}", f"{_seconds(median)} s", spread)


def _traffic(runs: Sequence[Data], peers: Sequence[str]) -> _Table:
    heads = ("", "runs", "kB down", "kB up", "connections", "browser's own")
    rows = [[peer, *_counts([run for run in runs if run["peer"] == peer])] for peer in peers]
    return _Table(heads, rows)


def _counts(runs: Sequence[Data]) -> list[str]:
    down, up, connections = (
        statistics.median(run.get(name) or 0 for run in runs)
        for name in ("bytes_down", "bytes_up", "connections")
    )
    own = [(run.get("chatter") or {}).get("through_proxy", 0) for run in runs]
    return [
        str(len(runs)),
        f"{down / 1000:.0f}",
        f"{up / 1000:.1f}",
        f"{connections:g}",
        f"{statistics.median(own):g}",
    ]


def _runs(runs: Sequence[Data]) -> _Table | None:
    """Runs of any form: a table of what is a plain value in them."""
    plain: dict[str, None] = {}
    for run in runs:
        plain |= {key: None for key, value in run.items() if not isinstance(value, dict | list)}
    columns = list(plain)[:_MOST_COLUMNS]
    rows = [[_text(run.get(name)) for name in columns] for run in runs[:_MOST_ROWS]]
    if not columns:
        return None
    heads = [name.replace("_", " ") for name in columns]
    return _Table(heads, rows, left_out=len(runs) - len(rows))


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "-" if value is None else str(value)
