"""Two reports of one scenario, figure by figure: better, the same within the spread, or worse.

A figure differs when the medians are further apart than both spreads together, a spread being the
greatest distance of a run from its median. Where there is a single run nothing is known of its
spread, and what two like runs have been seen to differ by is assumed, and said. Virtual time has
no spread. Pure but for `read`.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from bench.reports.report import seconds

Data = Mapping[str, Any]
Values = list[float | None]

WHICH: Final = (
    "page", "peer", "policy", "visit", "profile", "queue", "quantum", "beside", "kind", "picture",
    "first_page", "second_page",
)  # fmt: skip
"""Fields that say what a run is of; runs alike in these are repetitions."""
_LOWER: Final = re.compile(
    r"(_s|_ms|_us|_mib|_percent|_bytes|_difference)$|(^|\.)(bytes|connections|dropped)"
)
_HIGHER: Final = re.compile(r"(goodput|_share|_used|utilisation|images_per_s)$")
_NOISE: Final = re.compile(r"relay_late|attempts|conditions|chatter|over_time|machine|all_s")
"""What is of the machine, or too many figures."""
ASSUMED: Final = 0.15
"""Share of a single run's figure by which two like runs differ on a machine with two processors."""
ASSUMED_SECONDS: Final = 0.3
"""The same of times: two direct loads of a page differ by as much (scenario `page-load`)."""
_LEAST: Final = 0.01
"""Share of a figure below which nobody calls it a difference."""


class Judgement(StrEnum):
    BETTER = "better"
    SAME = "same"
    WORSE = "worse"
    UNJUDGED = "no direction"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure, before and after."""

    name: str
    before: float | None
    """Median; infinite: in some run it never happened. None: there was no such figure."""
    after: float | None
    spread: float
    """How far apart the medians may be and still be the same."""
    verdict: Judgement
    assumed: bool = False
    """The spread is an assumption: one side is a single run."""


@dataclass(frozen=True, slots=True)
class _Figure:
    values: tuple[float, ...]
    lower: bool | None
    """Lower is better; None: nobody knows."""
    is_time: bool


def read(file: Path) -> Data:
    """A report. Raises OSError, ValueError that names the file."""
    try:
        data: Data = json.loads(file.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file}: no report: {error}") from error
    whole = isinstance(data, dict) and ("reports" in data or {"runs", "checks"} <= set(data))
    if not whole:
        raise ValueError(f"{file}: no report: it has neither runs and checks nor reports")
    return data


def compare(before: Data, after: Data) -> list[Difference]:
    """Figure by figure; reports of `all` scenario by scenario. Raises ValueError for two kinds."""
    if "reports" in before and "reports" in after:
        return _compare_all(before["reports"], after["reports"])
    if before.get("scenario") != after.get("scenario") or "reports" in {*before, *after}:
        raise ValueError(
            f"reports of two scenarios: {before.get('scenario')!r} and {after.get('scenario')!r}"
        )
    if before.get("profile") != after.get("profile"):
        links = f"{before.get('profile')!r} and {after.get('profile')!r}"
        raise ValueError(f"reports of {before['scenario']} over two links: {links}")
    old, new = dict(_figures(before)), dict(_figures(after))
    virtual = bool(before.get("virtual") and after.get("virtual"))
    names = [*old, *(name for name in new if name not in old)]
    prefix = str(before["scenario"])
    return [
        _judge(f"{prefix}: {name}", old.get(name), new.get(name), virtual=virtual) for name in names
    ]


def _compare_all(before: Data, after: Data) -> list[Difference]:
    found = []
    for name in [*before, *(name for name in after if name not in before)]:
        if name in before and name in after:
            found += compare(before[name], after[name])
        else:
            verdict = Judgement.NEW if name in after else Judgement.GONE
            found.append(Difference(name, None, None, 0.0, verdict))
    return found


def _judge(name: str, old: _Figure | None, new: _Figure | None, *, virtual: bool) -> Difference:
    if old is None or new is None:
        verdict = Judgement.NEW if old is None else Judgement.GONE
        return Difference(name, _median(old), _median(new), 0.0, verdict)
    before, after = statistics.median(old.values), statistics.median(new.values)
    single = not virtual and 1 in (len(old.values), len(new.values))
    spread = 0.0 if virtual else _spread(old) + _spread(new)
    if single:
        least = ASSUMED_SECONDS if old.is_time else 0.0
        spread = max(spread, least, ASSUMED * abs(before) if before != float("inf") else 0.0)
    spread = max(spread, _LEAST * abs(before) if before != float("inf") else 0.0)
    distance = 0.0 if before == after else after - before
    if abs(distance) <= spread:
        verdict = Judgement.SAME
    elif old.lower is None:
        verdict = Judgement.UNJUDGED
    else:
        verdict = Judgement.WORSE if (distance > 0) is old.lower else Judgement.BETTER
    return Difference(name, before, after, spread, verdict, single)


def _median(figure: _Figure | None) -> float | None:
    return statistics.median(figure.values) if figure else None


def _spread(figure: _Figure) -> float:
    """Greatest distance of a run from the median; runs that never came to it count as no spread."""
    known = [value for value in figure.values if value != float("inf")]
    middle = statistics.median(known) if known else 0.0
    return max((abs(value - middle) for value in known), default=0.0)


def _figures(data: Data) -> Iterator[tuple[str, _Figure]]:
    groups: dict[str, dict[str, Values]] = defaultdict(lambda: defaultdict(list))
    for run in data["runs"]:
        which = ", ".join(str(run[name]) for name in WHICH if run.get(name) not in (None, ""))
        for name, value in _flat(run):
            groups[which][name].append(value)
    for which, figures in groups.items():
        for name, values in figures.items():
            lower = _direction(name)
            known = [float("inf") if value is None else value for value in values]
            if values.count(None) < len(values) or lower:
                is_time = name.endswith("_s")
                yield f"{which}, {name}" if which else name, _Figure(tuple(known), lower, is_time)
    for name, check in data["checks"].items():
        value = check["value"]
        if isinstance(value, int | float):
            lower = _goal_direction(check["goal"])
            unit = str(check["unit"])
            yield f"check: {name}", _Figure((float(value),), lower, unit == "s")


def _flat(run: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float | None]]:
    """Numbers of a run at any depth, under dotted names."""
    for name, value in run.items():
        full = f"{prefix}{name}"
        if name in WHICH or _NOISE.search(full):
            continue
        if isinstance(value, dict):
            yield from _flat(value, f"{full}.")
        elif isinstance(value, list):
            yield from _flat({str(number): one for number, one in enumerate(value)}, f"{full}.")
        elif value is None or isinstance(value, int | float):
            yield full, None if value is None else float(value)


def _direction(name: str) -> bool | None:
    """Whether lower is better, by what a figure's name ends in."""
    if _HIGHER.search(name):
        return False
    return True if _LOWER.search(name) else None


def _goal_direction(goal: Any) -> bool | None:
    """The same by a goal's words; a bare number is an upper bound."""
    text = str(goal)
    if text.startswith(("at least", ">", "True")):
        return False
    if text.startswith(("at most", "<")) or isinstance(goal, int | float):
        return True
    return None


def show(differences: Sequence[Difference]) -> str:
    """A table of what is not the same, and how much there was."""
    counts = dict.fromkeys(Judgement, 0)
    for one in differences:
        counts[one.verdict] += 1
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    rows = [_line(one) for one in _worst_first(differences) if one.verdict is not Judgement.SAME]
    if any(one.assumed for one in differences):
        rows.append(
            f"~ a single run: {ASSUMED:.0%} or {ASSUMED_SECONDS} s are taken for its spread"
        )
    return "\n".join([*rows, said or "nothing to compare"])


def _worst_first(differences: Iterable[Difference]) -> list[Difference]:
    order = [Judgement.WORSE, Judgement.BETTER, Judgement.GONE, Judgement.NEW, Judgement.UNJUDGED]
    rank = {verdict: number for number, verdict in enumerate(order)}
    return sorted(differences, key=lambda one: rank.get(one.verdict, len(order)))


def _line(one: Difference) -> str:
    spread = f" (spread {'~' if one.assumed else ''}{seconds(one.spread)})"
    known = one.before is not None and one.after is not None
    return (
        f"{one.verdict.upper():<13}{one.name}: {_value(one.before)} -> {_value(one.after)}"
        f"{spread if known else ''}"
    )


def _value(value: float | None) -> str:
    if value == float("inf"):
        return "never"
    return "-" if value is None else f"{value:.4g}"
