"""Loads 25 pictures within 15 s over volatile links, with estimates that are wrong, or late.

The experiments of Bolliger and Gross, "Bandwidth monitoring for network-aware applications", 4.1
(figure 7) and 4.2, with the policy `within` through both proxies, in virtual time. Their traces are
not to be had: ours are drawn, with the same mean and three volatilities (emulation/traces/NOTICE).
"Own" is the product's own estimate; else the estimate is the actual bandwidth, made wrong.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from bench.origins.synthetic import prepared
from bench.reports.confidence import e95
from bench.reports.exhibits import Bars, Curve
from bench.reports.report import Check
from bench.scenarios.deadline.deadline_figures import canvas, draw
from bench.scenarios.deadline.estimates import EstimateError
from bench.scenarios.deadline.picture_request import request
from bench.scenarios.deadline.timed_load import TimedLoad, TracePiece, timed_load
from emulation.lines import traces
from emulation.lines.profiles import TRACES

LIMIT: Final = 15.0
"""Seconds (section 4.1)."""
VOLATILITIES: Final = ("low", "medium", "high")
ERRORS: Final = (-50.0, -25.0, 0.0, 25.0, 50.0, 100.0)
"""Per cent."""
DELAYS: Final = (0.5, 1.0, 2.0, 4.0)
"""Seconds; 0 is the error of 0."""
CLOSE: Final = 5.0
"""Per cent of the limit, that the median is within."""
NEAR: Final = 10.0
"""Per cent of the limit, that nearly all are within."""
MOST: Final = 95.0
"""Per cent of loads."""
USED: Final = 90.0
"""Per cent of the bandwidth until the limit."""
_OWN: Final = EstimateError()


def run(
    *,
    runs: int = 5,
    seed: int = 1,
    volatilities: Sequence[str] = VOLATILITIES,
    errors: Sequence[float] = ERRORS,
    delays: Sequence[float] = DELAYS,
    plot: Path | None = None,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """`runs`: loads of each trace and estimate, from other places of the trace. Raises OSError,
    ValueError for a plot without matplotlib."""
    figure_class = canvas() if plot is not None else None
    page = request()
    pictures = prepared([page])
    wrong = [EstimateError(percent) for percent in errors]
    late = [EstimateError(0.0, delay) for delay in delays]
    found: list[TimedLoad] = []
    say(_HEAD)
    for volatility in volatilities:
        trace = traces.read(TRACES / f"internet-{volatility}.trace")
        chance = random.Random(f"{seed} {volatility}")
        pieces = [TracePiece(volatility, chance.uniform(0, 120)) for _ in range(runs)]
        for error in (_OWN, *wrong, *late):
            group = [
                timed_load(page, pictures, trace, piece, error, limit=LIMIT) for piece in pieces
            ]
            found += group
            say(line(group))
    if plot is not None:
        draw(found, plot, figure_class=figure_class)
    groups = _groups(found)
    return {
        "runs": [one.as_json() for one in found],
        "checks": checks_of(found),
        "exhibits": [_unused(groups, wrong, "error"), _unused(groups, late, "delay")],
        "notes": [
            f"{len(page.files) - 1} JPEGs, {page.size} bytes with the page; limit {LIMIT:g} s, in "
            "which the link carries .6 of that; means with 95 % confidence (t)",
            _HEAD,
            *map(line, groups.values()),
        ],
    }


_HEAD: Final = "trace   estimate        loads  deviation, %     unused, %     late  mean level"


def line(group: Sequence[TimedLoad]) -> str:
    """A row of the table: means of loads that are alike, with 95 % confidence."""
    one = group[0]
    deviations, unused = [one.deviation for one in group], [one.unused for one in group]
    return (
        f"{one.piece.name:<8}{one.error.label:<16}{len(group):>5}  "
        f"{statistics.mean(deviations):>+6.1f} ± {e95(deviations):<6.1f}"
        f"{statistics.mean(unused):>6.1f} ± {e95(unused):<6.1f}"
        f"{sum(one.late for one in group):>5}"
        f"{statistics.mean(one.fineness for one in group):>9.2f}"
    )


def checks_of(loads: Iterable[TimedLoad]) -> dict[str, Check]:
    """What loads with the product's own estimates are to keep."""
    own = [one for one in loads if one.error == _OWN]
    if not own:
        return {}
    away = [abs(one.deviation) for one in own]
    middle = statistics.median(away)
    near = 100 * sum(one <= NEAR for one in away) / len(away)
    checks = {
        "own estimates: the last byte, from the limit, median": Check(
            round(middle, 2), "%", f"at most {CLOSE:g} %", middle <= CLOSE
        ),
        f"own estimates: loads within {NEAR:g} % of the limit": Check(
            round(near, 1), "%", f"at least {MOST:g} %", near >= MOST
        ),
    }
    for name in dict.fromkeys(one.piece.name for one in own):
        used = 100 - statistics.mean(one.unused for one in own if one.piece.name == name)
        checks[f"own estimates: bandwidth used, {name} volatility"] = Check(
            round(used, 1), "%", f"at least {USED:g} %", used >= USED
        )
    return checks


Groups = dict[tuple[str, EstimateError], list[TimedLoad]]


def _groups(loads: Iterable[TimedLoad]) -> Groups:
    groups: Groups = {}
    for one in loads:
        groups.setdefault((one.piece.name, one.error), []).append(one)
    return groups


def _unused(groups: Groups, errors: Sequence[EstimateError], by: str) -> Bars:
    """Figure 7 (b), as bars."""
    shown = (_OWN, *errors)
    means = {
        key: statistics.mean(one.unused for one in group)
        for key, group in groups.items()
        if key[1] in shown
    }
    series = [
        Curve(
            f"{name} volatility",
            [
                (float(shown.index(error)), mean)
                for (own, error), mean in means.items()
                if own == name
            ],
            tone,
        )
        for tone, name in enumerate(dict.fromkeys(name for name, _ in groups))
    ]
    title = f"Bandwidth left unused until the limit, by the estimate's {by}"
    most = max(means.values(), default=1.0)
    return Bars(title, "%", [one.label for one in shown], series, most)
