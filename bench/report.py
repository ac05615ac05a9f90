"""Reports of page loads: a table for the terminal, report.json, and one HTML file to look at.

Pure but for `write` and for asking the machine what it is. Knows measured loads; knows nothing of
how they were made. The HTML needs nothing from outside and no script.
"""

from __future__ import annotations

import base64
import html
import io
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Final

from PIL import Image

from bench.capture import Frame
from bench.page_load import PageLoad
from bench.visual import State

FILM_FRAMES: Final = 8
FILM_SIZE: Final = (240, 300)
"""Pixels of one film frame."""
FILM_TOP: Final = 800
"""Frame pixels from the page's top that the film shows: two screens."""

COLUMNS: Final = (
    ("text", "text_s"),
    ("painted", "painted_s"),
    ("good", "good_s"),
    ("final", "final_s"),
    ("load", "load_s"),
    ("SI", "speed_index_s"),
)
_DASHES: Final = {State.PAINTED: "", State.GOOD: "6 4", State.FINAL: "1.5 3.5"}
_CHART: Final = (720, 240)
_MARGIN: Final = (44, 12, 12, 34)
"""Left, top, right, bottom of the chart."""

Run = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Check:
    """One figure against its goal."""

    value: float | str | None
    unit: str
    goal: str
    ok: bool


def report(
    *,
    scenario: str,
    profile: str,
    runs: Sequence[Run],
    checks: Mapping[str, Check],
    seed: int = 0,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """What goes into a JSON file: it describes itself."""
    return {
        "scenario": scenario,
        "command": " ".join(sys.orig_argv),
        "commit": commit(),
        "seed": seed,
        "profile": profile,
        "machine": machine(),
        "notes": list(notes),
        "runs": [dict(run) for run in runs],
        "checks": {name: asdict(check) for name, check in checks.items()},
    }


def commit() -> str:
    """The source's commit, or empty outside a checkout."""
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip()


def machine() -> str:
    """Enough to judge a time by: system, processor kind and count, Python."""
    system = f"{platform.system()} {platform.machine()}"
    return f"{system}, {os.cpu_count()} CPUs, Python {platform.python_version()}"


def seconds(value: float | None) -> str:
    """A time for people: three digits at most."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def medians(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """One row per (page, peer), each figure the median of its runs; None if any run lacks it."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run["page"], run["peer"]), []).append(run)
    rows = []
    for (page, peer), group in groups.items():
        row: dict[str, Any] = {"page": page, "peer": peer, "policy": group[0]["policy"]}
        for name in (*(key for _, key in COLUMNS), "bytes_down", "bytes_up", "connections"):
            values = [run[name] for run in group]
            row[name] = None if None in values else statistics.median(values)
        rows.append(row)
    return rows


def table(runs: Sequence[Run]) -> str:
    """Medians as text, one block a page; seconds, and kilobytes over the link."""
    lines: list[str] = []
    page = None
    for row in medians(runs):
        if row["page"] != page:
            page = row["page"]
            heads = "".join(f"{head:>9}" for head, _ in COLUMNS)
            lines += ["", f"{page:<26}{heads}{'kB down':>10}{'kB up':>8}"]
        cells = "".join(f"{seconds(row[key]):>9}" for _, key in COLUMNS)
        traffic = f"{row['bytes_down'] / 1000:>10.0f}{row['bytes_up'] / 1000:>8.1f}"
        lines.append(f"  {row['peer']:<24}{cells}{traffic}")
    return "\n".join(lines).lstrip("\n")


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


def film(loads: Sequence[PageLoad]) -> str:
    """One row a peer, one column a time."""
    times = film_times(page_end(loads))
    cells = ["<th></th>", *(f"<th scope=col>{seconds(at)} s</th>" for at in times)]
    rows = [f"<tr>{''.join(cells)}</tr>"]
    for load in loads:
        pictures = []
        for at in times:
            frame = frame_at(load.frames, at)
            alt = html.escape(f"{load.peer} after {seconds(at)} seconds")
            shown = f'<img alt="{alt}" src="{thumbnail(frame)}">' if frame else "<i></i>"
            pictures.append(f"<td>{shown}</td>")
        rows.append(f"<tr><th scope=row>{html.escape(load.peer)}</th>{''.join(pictures)}</tr>")
    return f"<div class=scroll tabindex=0><table class=film>{''.join(rows)}</table></div>"


def chart(loads: Sequence[PageLoad]) -> str:
    """Share of pictures painted, good and final over time, as inline SVG."""
    width, height = _CHART
    left, top, right, bottom = _MARGIN
    end = page_end(loads)

    def x(at: float) -> float:
        return left + (width - left - right) * at / end

    def y(share: float) -> float:
        return top + (height - top - bottom) * (1 - share)

    parts = []
    for percent in (0, 25, 50, 75, 100):
        level = y(percent / 100)
        parts.append(f'<path class=grid d="M{left} {level:.1f}H{width - right}"/>')
        parts.append(f'<text x="{left - 6}" y="{level + 4:.1f}" text-anchor=end>{percent} %</text>')
    for number in range(6):
        at = end * number / 5
        parts.append(
            f'<text x="{x(at):.1f}" y="{height - 12}" text-anchor=middle>{seconds(at)} s</text>'
        )
    for number, load in enumerate(loads):
        for state, dash in _DASHES.items():
            steps = f"M{x(0):.1f} {y(0):.1f}"
            for moment in load.moments:
                steps += f"H{x(moment.at):.1f}V{y(moment.share(state)):.1f}"
            steps += f"H{x(end):.1f}"
            title = html.escape(f"{load.peer}: {state.name.lower()}")
            parts.append(
                f'<path class="line p{number}" stroke-dasharray="{dash}" d="{steps}">'
                f"<title>{title}</title></path>"
            )
    label = "Share of the pictures painted, good and final over time"
    return (
        f'<svg viewBox="0 0 {width} {height}" role=img aria-label="{label}">{"".join(parts)}</svg>'
    )


def legend(loads: Sequence[PageLoad]) -> str:
    peers = "".join(
        f"<span><i class=p{number}></i>{html.escape(load.peer)}</span>"
        for number, load in enumerate(loads)
    )
    states = "".join(
        f'<span><svg viewBox="0 0 32 8"><path class=line stroke-dasharray="{dash}" d="M0 4H32"/>'
        f"</svg>{state.name.lower()}</span>"
        for state, dash in _DASHES.items()
    )
    return f"<p class=legend>{peers}{states}</p>"


def figures(runs: Sequence[Run]) -> str:
    heads = "".join(f"<th scope=col>{head}</th>" for head, _ in COLUMNS)
    rows = []
    for row in medians(runs):
        cells = "".join(f"<td>{seconds(row[key])}</td>" for _, key in COLUMNS)
        traffic = f"<td>{row['bytes_down'] / 1000:.0f}</td><td>{row['bytes_up'] / 1000:.1f}</td>"
        rows.append(f"<tr><th scope=row>{html.escape(row['peer'])}</th>{cells}{traffic}</tr>")
    head = f"<tr><th></th>{heads}<th scope=col>kB down</th><th scope=col>kB up</th></tr>"
    return f"<div class=scroll tabindex=0><table class=figures>{head}{''.join(rows)}</table></div>"


def page_html(data: Mapping[str, Any], loads: Sequence[PageLoad]) -> str:
    """The whole report as one HTML document. `loads`: one of each page and peer is shown."""
    sections = []
    for page in dict.fromkeys(run["page"] for run in data["runs"]):
        runs = [run for run in data["runs"] if run["page"] == page]
        shown = list({load.peer: load for load in reversed(loads) if load.page == page}.values())
        shown.reverse()
        pictures = film(shown) + chart(shown) + legend(shown) if shown else ""
        sections.append(f"<section><h2>{html.escape(page)}</h2>{pictures}{figures(runs)}</section>")
    checks = "".join(
        f"<li class={'ok' if check['ok'] else 'short'}>{html.escape(name)}: "
        f"<b>{html.escape(str(check['value']))} {html.escape(check['unit'])}</b>, "
        f"goal {html.escape(check['goal'])}</li>"
        for name, check in data["checks"].items()
    )
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in data["notes"])
    template = Template(resources.files("bench").joinpath("report.html").read_text())
    return template.substitute(
        profile=html.escape(data["profile"]),
        command=html.escape(data["command"]),
        commit=html.escape(data["commit"] or "unknown"),
        machine=html.escape(data["machine"]),
        sections="".join(sections),
        checks=f"<ul class=checks>{checks}</ul>" if checks else "",
        notes=notes,
    )


def write(folder: Path, data: Mapping[str, Any], loads: Sequence[PageLoad]) -> Path:
    """Write report.json and index.html; gives the latter's path. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(data, indent=2) + "\n")
    index = folder / "index.html"
    index.write_text(page_html(data, loads), encoding="utf-8")
    return index
