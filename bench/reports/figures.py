"""Writes docs/figures.md: one small table for each question, out of the reports of runs.

A report that is given is condensed and kept in docs/figures/, in place of an older one of the same
scenario, link and pages; the page is made of all that are kept, and of nothing else. Knows reports
and the list of scenarios; nothing of how anything was measured.
"""

from __future__ import annotations

import json
import re
import shlex
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.registry import SCENARIOS

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
FIELDS: Final = ("scenario", "commit", "date", "machine", "profile", "virtual", "notes", "checks")
"""Of a report, what is kept as it is."""
TIMES: Final = {
    "text": "text_s",
    "painted": "painted_s",
    "load event": "load_s",
    "all final": "final_s",
}
_GROUP: Final = ("link", "page", "peer", "policy")
"""What tells loads apart that are not repetitions of each other."""
_FILES: Final = ("--json", "--report", "--har", "--plot")
"""Options that say where figures go, not what they are."""
_PREFACE: Final = """# Figures

This page is output: `python -m bench figures` makes it of the runs in `docs/figures/`, and
`python -m bench figures REPORT.json` adds a run (`--json` of any scenario). What figures mean, and
those that were taken by hand before: [measured.md](measured.md). Times are seconds from the start
of navigation: medians, with the least and the most where there were several loads. A goal that was
missed says **short**.
"""

Report = Mapping[str, Any]


def condensed(report: Report) -> dict[str, Any]:
    """What is kept of a report. Raises ValueError for one of no scenario that there is."""
    names = {entry.name for entry in SCENARIOS}
    if report.get("scenario") not in names:
        raise ValueError(f"{report.get('scenario')!r} is no scenario: see `python -m bench list`")
    if not report.get("date"):
        raise ValueError(f"the report of {report['scenario']} has no date: run it again")
    kept = {name: report[name] for name in FIELDS}
    kept["command"] = command(report)
    kept["loads"] = list(_loads(report["runs"]))
    return kept


def command(report: Report) -> str:
    """How to have it measured again: without this machine's paths."""
    words = shlex.split(report["command"])
    if "bench" not in words:
        return f"python -m bench {report['scenario']}"
    said, given = [], iter(words[words.index("bench") + 1 :])
    for word in given:
        name = word.partition("=")[0]
        if name in _FILES:
            if "=" not in word:
                next(given, None)
            continue
        said.append(_without_place(word))
    return shlex.join(["python", "-m", "bench", *said])


def _without_place(word: str) -> str:
    """A path of this machine as whoever reads it can have it: from the sources, or by name."""
    option, equals, value = word.rpartition("=")
    path = Path(value)
    if path.is_absolute():
        root = DOCS.parent
        value = str(path.relative_to(root)) if path.is_relative_to(root) else path.name
    return f"{option}{equals}{value}"


def _loads(runs: Iterable[Report]) -> Iterator[dict[str, Any]]:
    """Page loads in groups of repetitions: for each time its median, least and most."""
    groups: dict[tuple[Any, ...], list[Report]] = {}
    for run in runs:
        if "peer" in run and any(key in run for key in TIMES.values()):
            groups.setdefault(tuple(run.get(name, "") for name in _GROUP), []).append(run)
    for names, group in groups.items():
        row = dict(zip(_GROUP, names, strict=True)) | {"loads": len(group)}
        for title, key in TIMES.items():
            values = [run.get(key) for run in group]
            known = [value for value in values if value is not None]
            whole = len(known) == len(values)
            row[title] = [statistics.median(known), min(known), max(known)] if whole else None
        yield row


def file_name(kept: Report) -> str:
    """Where it is kept: one for each scenario, link (or links) and set of pages."""
    pages = sorted({_called(row["page"]) for row in kept["loads"]})
    links = [kept["profile"]] if kept["profile"] else sorted({row["link"] for row in kept["loads"]})
    words = "-".join(word for word in (kept["scenario"], *links, *pages) if word)
    return re.sub(r"[^A-Za-z0-9.-]+", "-", words) + ".json"


def _called(page: str) -> str:
    """What people call it: by its folder, if that is more than a number of a visit."""
    path = Path(page)
    folder = path.parent.name
    return folder if path.name == "index.html" and folder and not folder.isdigit() else path.name


def page(kept: Sequence[Report]) -> str:
    """The page, in Markdown: a section for each, in the order of the list of scenarios."""
    order = {entry.name: place for place, entry in enumerate(SCENARIOS)}
    ranked = sorted(kept, key=lambda one: (order[one["scenario"]], file_name(one)))
    return "\n".join([_PREFACE, *("\n".join(_section(one)) for one in ranked)])


def _section(kept: Report) -> Iterator[str]:
    shows = next(entry.shows for entry in SCENARIOS if entry.name == kept["scenario"])
    link = f", {kept['profile']}" if kept["profile"] else ""
    yield f"## {kept['scenario']}{link}"
    again = "virtual time, the same everywhere" if kept["virtual"] else kept["machine"]
    commit = kept["commit"] or "outside a checkout"
    yield f"Shows {shows}. `{kept['command']}`, commit {commit}, {kept['date']}; {again}."
    for note in kept["notes"]:
        yield f"- {note}"
    yield ""
    if kept["checks"]:
        yield from _table(("what", "measured", "goal"), map(_check, *_items(kept["checks"])))
    if kept["loads"]:
        yield from _table(
            ("link", "page", "peer", "loads", *TIMES),
            (
                (
                    str(row["link"]),
                    _called(str(row["page"])),
                    " ".join(word for word in (row["peer"], row["policy"]) if word),
                    str(row["loads"]),
                    *(_range(row[title]) for title in TIMES),
                )
                for row in kept["loads"]
            ),
        )


def _items(checks: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
    return list(checks), list(checks.values())


def _check(name: str, check: Mapping[str, Any]) -> tuple[str, str, str]:
    measured = f"{number(check['value'])} {check['unit']}".strip()
    doubt = " (doubtful)" if check.get("doubtful") else ""
    return name, measured + doubt, str(check["goal"]) + ("" if check["ok"] else " **short**")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    lines = [list(row) for row in rows]
    shown = [place for place in range(len(heads)) if any(line[place] for line in lines)]
    yield _row([heads[place] for place in shown])
    yield _row(["---"] * len(shown))
    for line in lines:
        yield _row([line[place] for place in shown])
    yield ""


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _range(times: Sequence[float] | None) -> str:
    if times is None:
        return "not all"
    middle, least, most = (number(value) for value in times)
    return middle if least == most else f"{middle} ({least}-{most})"


def number(value: Any) -> str:
    """For people: three digits that count."""
    if not isinstance(value, float):
        return "-" if value is None else str(value)
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def update(files: Sequence[Path], *, docs: Path = DOCS) -> Path:
    """Keep these reports and make the page anew; where that is. Raises OSError, ValueError."""
    folder = docs / "figures"
    folder.mkdir(exist_ok=True)
    for file in files:
        report = json.loads(file.read_text())
        for one in report.get("reports", {"": report}).values():
            kept = condensed(one)
            if not kept["checks"] and not kept["loads"]:
                continue  # there is no figure in it
            (folder / file_name(kept)).write_text(json.dumps(kept, indent=1) + "\n")
    every = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    (docs / "figures.md").write_text(page(every))
    return docs / "figures.md"
