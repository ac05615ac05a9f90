"""Two documents over one link, in virtual time: what figures 5, 6 and 7 of the HATS paper share.

The session engines, policies, import driver and levels are the real ones; time, link and origin
are not. Sizes are those that cross the link, text coded, since the paper's text was not coded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.origins.synthetic import Prepared, Shelf, SyntheticPage
from bench.pairs.pair import FrameArrival, Pair, memory_pair
from bench.reports.exhibits import Bands, Mark, of_documents
from bench.reports.report import Check
from bench.scenarios.links.shares import WINDOW, Switch, judge
from emulation.lines.profiles import Profile, profile
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run as run_virtually
from policies.api import Policy
from remote_proxy.jobs.services import Services
from wire.skeleton import LEVELS

MODEM: Final = "56k"
LEAST_USED: Final = 95.0
"""Percent of the link; the paper's runs used 92.6 to 93.1."""
_BIN: Final = 14_000
"""Bytes of the link over which a figure's bandwidth is the mean: 2 s of a modem."""


class FocusStep(NamedTuple):
    """A document comes to the front. Seconds since both were asked for."""

    at: float
    document: int
    """Which of the pages."""
    until: float
    """As long as both have something to send, and no other step follows."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """One document's times, seconds since both were asked for."""

    text: float
    """The page itself is here."""
    levels: Mapping[str, float]
    """All of it is here, every picture at least at that level."""


@dataclass(frozen=True, slots=True)
class HatsRun:
    """What came of one run."""

    policy: str
    documents: tuple[Loaded, ...]
    """In the order of the pages."""
    curves: tuple[tuple[tuple[float, float], ...], ...]
    """Each document's bandwidth: seconds, bytes/second."""
    used: float
    """Percent of the link, from the first frame to the last."""
    rate: float
    """Of the link, bytes/second."""
    switches: tuple[Switch, ...]
    """What became of each step, see `judge`."""

    def figures(self) -> dict[str, Any]:
        """For a report."""
        return {
            "policy": self.policy,
            "used_pct": round(self.used, 1),
            "documents": [
                {"text_s": round(one.text, 2), **{k: round(v, 2) for k, v in one.levels.items()}}
                for one in self.documents
            ],
        }


def load(
    pages: Sequence[SyntheticPage],
    pictures: Prepared,
    policies: Sequence[Policy],
    *,
    name: str,
    link: str = MODEM,
    steps: Sequence[FocusStep] = (),
) -> HatsRun:
    """Load the pages at once over a link, under these policies; bring some to the front."""
    services = Services(Shelf(pages), pictures)
    return run_virtually(_load(profile(link), pages, services, policies, name=name, steps=steps))


async def _load(
    link: Profile,
    pages: Sequence[SyntheticPage],
    services: Services,
    policies: Sequence[Policy],
    *,
    name: str,
    steps: Sequence[FocusStep],
) -> HatsRun:
    model = LinkModel(
        rate_up=link.rate_up, rate_down=link.rate_down, delay=link.delay, queue=link.queue
    )
    async with memory_pair(model, services, policies) as pair:
        start, before = asyncio.get_running_loop().time(), pair.tap.received
        seen = len(pair.tap.arrivals)
        stepping = asyncio.create_task(_step(pair, pages, start, steps))
        documents = await asyncio.gather(*(pair.load(page.url) for page in pages))
        await pair.complete(*documents)
        await stepping
        arrivals = pair.tap.arrivals[seen:]
        took = arrivals[-1].at - arrivals[0].at
        own = [set(pair.witness.components(document)) for document in documents]
        for page, components in zip(pages, own, strict=True):
            assert len(components) == len(page.files)
        return HatsRun(
            name,
            tuple(_loaded(pair, document, start) for document in documents),
            tuple(
                _curve([a for a in arrivals if a.component in components], start, link.rate_down)
                for components in own
            ),
            100 * (pair.tap.received - before) / took / link.rate_down,
            link.rate_down,
            tuple(_switches(arrivals, own, start, steps)),
        )


async def _step(
    pair: Pair, pages: Sequence[SyntheticPage], start: float, steps: Sequence[FocusStep]
) -> None:
    loop = asyncio.get_running_loop()
    for step in steps:
        await asyncio.sleep(start + step.at - loop.time())
        pair.focus(pair.witness.documents[pages[step.document].url])


def _switches(
    arrivals: Sequence[FrameArrival],
    own: Sequence[set[int]],
    start: float,
    steps: Sequence[FocusStep],
) -> list[Switch]:
    """What became of each step while it lasted, as the frames say."""
    data = [one for one in arrivals if any(one.component in components for components in own)]
    found = []
    for step in steps:
        during = [one for one in data if step.at < one.at - start <= step.until]
        window = WINDOW * max((one.size for one in during), default=0)
        found.append(judge(during, own[step.document], at=start + step.at, window=window))
    return found


def _loaded(pair: Pair, document: int, start: float) -> Loaded:
    times = {level: pair.witness.when(document, level) for level in LEVELS}
    levels = {level: at - start for level, at in times.items() if at is not None}
    return Loaded(pair.witness.reached[document, "original"] - start, levels)


def _curve(
    arrivals: Sequence[FrameArrival], start: float, rate: float
) -> tuple[tuple[float, float], ...]:
    width, bins = _BIN / rate, dict[int, int]()
    for arrival in arrivals:
        number = int((arrival.at - start) / width)
        bins[number] = bins.get(number, 0) + arrival.size
    count = max(bins, default=0) + 2
    return tuple(((i + 0.5) * width, bins.get(i, 0) / width) for i in range(count))


def used(loads: Sequence[HatsRun]) -> dict[str, Check]:
    """How much of the link each run used, against the goal."""
    return {
        f"link used, {one.policy}": Check(
            round(one.used, 1), "%", f">= {LEAST_USED:g}", one.used >= LEAST_USED
        )
        for one in loads
    }


def charts(
    loads: Sequence[HatsRun], *, names: Sequence[str], marks: Mapping[str, str]
) -> list[Bands]:
    """Bandwidth by document over time, one chart a run. `marks`: as `plot` has them."""
    return [
        of_documents(
            one.policy, dict(zip(names, one.curves, strict=True)), _marks(one, names, marks)
        )
        for one in loads
    ]


def _marks(one: HatsRun, names: Sequence[str], levels: Mapping[str, str]) -> list[Mark]:
    return [
        Mark(document.text if level == "text" else document.levels[level], f"{name}: {label}")
        for name, document in zip(names, one.documents, strict=True)
        for label, level in levels.items()
    ]


def saving(before: float, after: float) -> float:
    """How much sooner, percent."""
    return round(100 * (1 - after / before), 1)


def plot(
    loads: Sequence[HatsRun], file: Path, *, names: Sequence[str], marks: Mapping[str, str]
) -> None:
    """Bandwidth by document over time, one panel a run. `marks`: what is marked, level by label.

    Raises ValueError when matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  # only who draws needs it
    except ModuleNotFoundError as error:
        raise ValueError("--plot needs matplotlib: pip install 'sluice-proxy[bench]'") from error
    figure = Figure(figsize=(9, 2.8 * len(loads)), layout="constrained")
    panels = figure.subplots(len(loads), 1, sharex=True, squeeze=False)[:, 0]
    for panel, one in zip(panels, loads, strict=True):
        most = one.rate * 8 / 1000 * 1.07
        for name, curve, document, colour in zip(
            names, one.curves, one.documents, ("tab:blue", "tab:orange"), strict=True
        ):
            panel.step(
                *zip(*((t, rate * 8 / 1000) for t, rate in curve), strict=True),
                where="mid",
                color=colour,
                label=name,
            )
            for label, level in marks.items():
                at = document.text if level == "text" else document.levels[level]
                panel.axvline(at, color=colour, linestyle=":", linewidth=1)
                panel.annotate(
                    f"{label} {at:.3g} s",
                    (at, most * 0.97),
                    rotation=90,
                    fontsize=7,
                    va="top",
                    ha="right",
                    color=colour,
                )
        panel.set_title(one.policy, loc="left", fontsize=10)
        panel.set_ylabel("kbit/s")
        panel.set_ylim(0, most)
    panels[0].legend(loc="upper right", fontsize=8)
    panels[-1].set_xlabel("seconds")
    figure.savefig(file, dpi=75)
