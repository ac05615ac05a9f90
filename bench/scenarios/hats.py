"""Two documents over one modem, in virtual time: what figures 5 and 6 of the HATS paper share.

The session engines, policies, import driver and levels are the real ones; time, link and origin
are not. Sizes are those that cross the link, text coded, since the paper's text was not coded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.exhibits import Bands, Mark, of_documents
from bench.links.memory import LinkModel
from bench.pair import Arrival, memory_pair
from bench.profiles import Profile, profile
from bench.synthetic import Page, Prepared, Shelf
from bench.virtual_time import run as run_virtually
from policies.api import Policy
from remote_proxy.delivery import Services

MODEM: Final = "56k"
_BIN: Final = 2.0
"""Seconds over which a figure's bandwidth is the mean."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """One document's times, seconds since both were asked for."""

    text: float
    """The page itself is here."""
    levels: Mapping[str, float]
    """All of it is here, every picture at least at that level."""


@dataclass(frozen=True, slots=True)
class Load:
    """What came of one run."""

    policy: str
    documents: tuple[Loaded, ...]
    """In the order of the pages."""
    curves: tuple[tuple[tuple[float, float], ...], ...]
    """Each document's bandwidth: seconds, bytes/second."""

    def figures(self) -> dict[str, Any]:
        """For a report."""
        return {
            "policy": self.policy,
            "documents": [
                {"text_s": round(one.text, 2), **{k: round(v, 2) for k, v in one.levels.items()}}
                for one in self.documents
            ],
        }


def load(
    pages: Sequence[Page], pictures: Prepared, policies: Sequence[Policy], *, name: str
) -> Load:
    """Load the pages at once over the modem, under these policies."""
    services = Services(Shelf(pages), pictures)
    return run_virtually(_load(profile(MODEM), pages, services, policies, name))


async def _load(
    link: Profile, pages: Sequence[Page], services: Services, policies: Sequence[Policy], name: str
) -> Load:
    model = LinkModel(
        rate_up=link.rate_up, rate_down=link.rate_down, delay=link.delay, queue=link.queue
    )
    async with memory_pair(model, services, policies) as pair:
        start = asyncio.get_running_loop().time()
        documents = await asyncio.gather(*(pair.load(page.url) for page in pages))
        await pair.complete(*documents)
        witness, found, curves = pair.witness, [], []
        for page, document in zip(pages, documents, strict=True):
            assert len(witness.components(document)) == len(page.files)
            times = {
                level: witness.when(document, level)
                for level in ("low", "medium", "high", "original")
            }
            levels = {level: at - start for level, at in times.items() if at is not None}
            found.append(Loaded(witness.reached[document, "original"] - start, levels))
            own = set(witness.components(document))
            curves.append(_curve([a for a in pair.tap.arrivals if a.component in own], start))
        return Load(name, tuple(found), tuple(curves))


def _curve(arrivals: Sequence[Arrival], start: float) -> tuple[tuple[float, float], ...]:
    bins: dict[int, int] = {}
    for arrival in arrivals:
        number = int((arrival.at - start) / _BIN)
        bins[number] = bins.get(number, 0) + arrival.size
    return tuple(((i + 0.5) * _BIN, bins.get(i, 0) / _BIN) for i in range(max(bins, default=0) + 2))


def charts(loads: Sequence[Load], *, names: Sequence[str], marks: Mapping[str, str]) -> list[Bands]:
    """Bandwidth by document over time, one chart a run. `marks`: as `plot` has them."""
    return [
        of_documents(
            one.policy, dict(zip(names, one.curves, strict=True)), _marks(one, names, marks)
        )
        for one in loads
    ]


def _marks(one: Load, names: Sequence[str], levels: Mapping[str, str]) -> list[Mark]:
    return [
        Mark(document.text if level == "text" else document.levels[level], f"{name}: {label}")
        for name, document in zip(names, one.documents, strict=True)
        for label, level in levels.items()
    ]


def saving(before: float, after: float) -> float:
    """How much sooner, percent."""
    return round(100 * (1 - after / before), 1)


def plot(
    loads: Sequence[Load], file: Path, *, names: Sequence[str], marks: Mapping[str, str]
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
                    f"{label} {at:.0f} s",
                    (at, 58),
                    rotation=90,
                    fontsize=7,
                    va="top",
                    ha="right",
                    color=colour,
                )
        panel.set_title(one.policy, loc="left", fontsize=10)
        panel.set_ylabel("kbit/s")
        panel.set_ylim(0, 60)
    panels[0].legend(loc="upper right", fontsize=8)
    panels[-1].set_xlabel("seconds")
    figure.savefig(file, dpi=130)
