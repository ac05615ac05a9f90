"""Most of the link for the document in front, whichever that is (HATS, 4.1.2, figure 7).

Two image-rich pages load at once, with equal shares at first. Then page B comes to the front and
has four fifths, and later page A. The paper's quantum of 256 bytes, and ours, fitted to the link.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from bench.origins.synthetic import SyntheticPage, page, prepared
from bench.reports.report import Check
from bench.scenarios.hats.hats import FocusStep, HatsRun, load, used
from bench.scenarios.hats.hats import plot as draw
from bench.scenarios.links.shares import SHARE, TOLERANCE
from bench.scenarios.links.utilisation import FixedQuantum
from policies.api import Command, Event, FocusChanged, Policy, SessionView
from policies.builtin.focus import Focus

LINK: Final = "384k"
PAGE_A: Final = 668_000
"""Bytes."""
PAGE_B: Final = 193_000
_HTML: Final = 10_000
"""Bytes of either at the origin."""
PAPER_LATENCY: Final = 0.24
"""Seconds until a new share stands, the mean of the paper's runs at 384 kbit/s."""
PAPER_USED: Final = 93.08
"""Percent of the link."""
QUANTUM: Final = 256
"""Bytes, the paper's."""
STEPS: Final = (FocusStep(2.5, 0, 5.0), FocusStep(5.0, 1, 8.0))
"""B to the front, then A; page B, which has a fifth from then on, still has pictures to come."""


class Later(Focus):
    """Focus, which a document has once the reader brings it to the front, not when it opens."""

    def __init__(self, *, share: float, since: float) -> None:
        """`since`: seconds, when the reader does so first."""
        super().__init__(share=share)
        self._since = since

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if not (isinstance(event, FocusChanged) and view.now < self._since):
            yield from super().react(event, view)


def pages(*, scale: float = 1.0) -> list[SyntheticPage]:
    """Page B and page A, which opens last and so would have the focus; `scale` times as large."""
    html = int(_HTML * scale)
    return [
        page(f"http://{name}.test/", text=html, large=int(size * scale) - html, seed=seed)
        for name, size, seed in (("b", PAGE_B, 8), ("a", PAGE_A, 7))
    ]


def run(*, plot: Path | None = None, scale: float = 1.0) -> dict[str, Any]:
    """With both quanta; `plot`: where to draw figure 7."""
    both = pages(scale=scale)
    pictures = prepared(both)
    steps = [FocusStep(step.at * scale, step.document, step.until * scale) for step in STEPS]
    since = steps[0].at
    quanta: dict[str, list[Policy]] = {
        f"quantum {QUANTUM}": [Later(share=SHARE, since=since), FixedQuantum(QUANTUM)],
        "quantum fitted": [Later(share=SHARE, since=since)],
    }
    loads = [
        load(both, pictures, policies, name=name, link=LINK, steps=steps)
        for name, policies in quanta.items()
    ]
    print(_table(loads))
    if plot is not None:
        marks = {"low": "low", "all": "original"}
        draw(loads, plot, names=("page B", "page A"), marks=marks)
    return {
        "runs": [{**one.figures(), "switches": _switches(one)} for one in loads],
        "checks": _checks(loads) | used(loads),
    }


def _switches(one: HatsRun) -> list[dict[str, float | None]]:
    return [
        {
            "latency_s": None if switch.latency is None else round(switch.latency, 3),
            "share_pct": round(100 * switch.share, 1),
        }
        for switch in one.switches
    ]


def _checks(loads: list[HatsRun]) -> dict[str, Check]:
    checks = {}
    for one in loads:
        for name, switch in zip("BA", one.switches, strict=True):
            share = round(100 * switch.share, 1)
            right = abs(switch.share - SHARE) <= TOLERANCE
            checks[f"page {name} in front, {one.policy}: share"] = Check(
                share, "%", f"{100 * SHARE:g} +- {100 * TOLERANCE:g}", right
            )
            latency = switch.latency
            checks[f"page {name} in front, {one.policy}: stands after"] = Check(
                latency and round(latency, 3),
                "s",
                f"<= {PAPER_LATENCY:g}",
                latency is not None and latency <= PAPER_LATENCY,
            )
    return checks


def _table(loads: list[HatsRun]) -> str:
    rows = [f"{'':<36}{'paper':>9}{'ours':>9}{'ratio':>7}"]
    for one in loads:
        for name, switch in zip("BA", one.switches, strict=True):
            rows.append(
                _row(f"{one.policy}: share of {name}", 100 * SHARE, 100 * switch.share, "%")
            )
            latency = float("inf") if switch.latency is None else switch.latency
            rows.append(_row(f"{one.policy}: stands after", PAPER_LATENCY, latency, "s"))
        rows.append(_row(f"{one.policy}: link used", PAPER_USED, one.used, "%"))
    return "\n".join(rows)


def _row(what: str, paper: float, ours: float, unit: str) -> str:
    return f"{what:<36}{paper:>7.4g} {unit}{ours:>7.3g} {unit}{ours / paper:>7.2f}"
