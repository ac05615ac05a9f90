"""Shows what policies hear of a link's bandwidth, through both proxies, in virtual time.

Ten minutes of random reading over six links that differ; rests after which the line is another one;
and random sequences of trouble in which `modal`, which goes by nothing else, is to lose no picture.
Nothing is put in the place of the product's own estimates.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from bench.origins.synthetic import Prepared, prepared
from bench.pairs.pair import memory_pair
from bench.reports.exhibits import Curve, Curves, Points
from bench.reports.report import Check
from bench.scenarios.bandwidth.hearing import EveryChange, HeardSample, Hearing
from bench.scenarios.bandwidth.modal_sequences import (
    GOOD_FOR,
    MOST_PAGES,
    ModalSequence,
    ModalWorld,
    SequenceEnd,
)
from bench.scenarios.bandwidth.outside import LATELY, LEAST, MOST, HeardVerdict, judged
from bench.scenarios.bandwidth.rate_steps import (
    CLOSE,
    FACTORS,
    RESTS,
    RateStep,
    StepPages,
    stepped,
)
from bench.scenarios.bandwidth.reading_tour import ReadingTour
from emulation.lines.profiles import Profile, profile
from emulation.memory.memory import LinkModel, MemoryLink
from emulation.memory.virtual_time import run as run_virtually
from policies.builtin.default import Default

LINKS: Final = ("56k", "384k", "satellite", "lossy", "wlan", "20M")
"""Thin; usual for its time; long; with losses; of a rate that varies; fast."""
SECONDS: Final = 600.0
OUTSIDE: Final = 3.0
"""Seconds that what is heard may be outside the bounds."""
SOON: Final = 2.0
"""Seconds from the first bytes until what is heard is close."""
_KINDS: Final = {1.0: "a rest", 0.1: "a fade to a tenth", 10.0: "a rise by ten"}
_CHART: Final = 3.0
"""Times the line's rate: the chart's upper end."""


@dataclass(frozen=True, slots=True)
class HeardTour:
    """What came of reading over one link."""

    link: str
    seed: int
    done: dict[str, int]
    samples: list[HeardSample]
    verdict: HeardVerdict

    def as_json(self) -> dict[str, Any]:
        """A row of the report."""
        one = self.verdict
        return {
            "part": "reading",
            "link": self.link,
            "seed": self.seed,
            **self.done,
            "first_s": None if one.first is None else round(one.first, 1),
            "counted_s": round(one.counted, 1),
            "longest_s": round(one.longest, 1),
            "longest_at_s": round(one.longest_at, 1),
            "outside_pct": round(one.share, 2),
            "median_error_pct": round(one.error, 2),
        }


def run(
    *,
    runs: int = 1000,
    seed: int = 1,
    seconds: float = SECONDS,
    links: Sequence[str] = LINKS,
    rests: Sequence[float] = RESTS,
    factors: Sequence[float] = FACTORS,
    rises: Sequence[str] = LINKS,
    draws: int = 5,
    profile_name: str = "",
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """`runs`: sequences of `modal`; `seconds` of reading; `rests` and `factors` as rate_steps.py
    has them; `rises`: links on which a rise is looked at; `draws` of the packets that a lossy line
    loses; `profile_name`: the only link. Raises ValueError for a link that there is not."""
    known = [profile(name) for name in ([profile_name] if profile_name else links)]
    tours = [ReadingTour.drawn(rate=link.rate_down, seed=seed) for link in known]
    steps_of = {link.name: StepPages.of(link.rate_down) for link in known}
    pictures = prepared(
        [
            *(one for tour in tours for one in tour.pages),
            *(one for pages in steps_of.values() for one in (pages.before, pages.after)),
        ]
    )
    lines = [_TOURS]
    say(_TOURS)
    read = []
    for link, tour in zip(known, tours, strict=True):
        read.append(_read(link, tour, pictures, seed=seed, seconds=seconds))
        lines.append(_tour_line(read[-1]))
        say(lines[-1])
    steps = []
    for link in known:
        for factor in factors:
            if factor > 1 and link.name not in rises:
                continue
            group = [
                stepped(link, steps_of[link.name], pictures, factor=factor, rest=rest, seed=draw)
                for rest in rests
                for draw in range(1, (draws if link.loss else 1) + 1)
            ]
            steps += group
            lines.append(_step_line(group))
            say(lines[-1])
    world = ModalWorld()
    ends = [world.play(ModalSequence.drawn(seed * 100_000 + n)) for n in range(runs)]
    lines.append(_modal_line(ends))
    say(lines[-1])
    return {
        "runs": [
            *(one.as_json() for one in read),
            *(one.as_json() for one in steps),
            *({"part": "modal", **one.as_json()} for one in ends if not one.ok),
        ],
        "checks": _tour_checks(read) | _step_checks(steps) | _modal_checks(ends),
        "exhibits": [_chart(one) for one in read],
        "notes": [_COUNTS, *lines],
    }


_COUNTS: Final = (
    f"outside: below {LEAST:g} or above {MOST:g} times the line's own rate over the last second; "
    "all time counts from the first word on, rests too; on wlan, whose rate varies, only while "
    f"something was on the line within {LATELY:g} s"
)
_TOURS: Final = "reading    first word   longest outside   time outside   median error"


def _read(
    link: Profile, tour: ReadingTour, pictures: Prepared, *, seed: int, seconds: float
) -> HeardTour:
    samples = run_virtually(_heard(link, tour, pictures, seed=seed, seconds=seconds))
    return HeardTour(link.name, seed, tour.done, samples, judged(samples, varies=link.changes))


async def _heard(
    link: Profile, tour: ReadingTour, pictures: Prepared, *, seed: int, seconds: float
) -> list[HeardSample]:
    policy = EveryChange()
    model = LinkModel.of(link, seed=seed)
    async with memory_pair(model, tour.services(pictures), [Default(), policy]) as pair:
        end = pair.remote.link
        assert isinstance(end, MemoryLink)
        schedule = link.schedule(down=True, epoch=0.0)  # the link was made at the loop's beginning
        async with Hearing(policy, end, schedule) as hearing:
            await tour.go(pair, seconds=seconds)
    return hearing.samples


def _tour_line(one: HeardTour) -> str:
    verdict = one.verdict
    first = "never" if verdict.first is None else f"{verdict.first:.1f} s"
    return (
        f"{one.link:<11}{first:>10}{verdict.longest:>16.1f} s{verdict.share:>13.1f} %"
        f"{verdict.error:>13.1f} %"
    )


def _step_line(group: Sequence[RateStep]) -> str:
    one = group[0]
    cells = ", ".join(f"{_time(step, step.within)} after {step.rest:g} s" for step in group)
    return f"{one.link}, {_kind(one)}: within {100 * CLOSE:g} % after {cells}"


def _time(step: RateStep, at: float | None) -> str:
    return f"> {step.watched:.1f}" if at is None else f"{at:.1f}"


def _kind(step: RateStep) -> str:
    return _KINDS.get(step.factor, f"{step.factor:g} times the rate")


def _modal_line(ends: Sequence[SequenceEnd]) -> str:
    if not ends:
        return "modal: no sequences"
    waited, pages = [one.waited for one in ends], [one.pages or MOST_PAGES for one in ends]
    return (
        f"modal: {len(ends)} sequences, {sum(one.pictures for one in ends)} pictures, "
        f"{sum(one.links - 1 for one in ends)} cuts; from when the link was good, the last coarse "
        f"one: median {statistics.median(waited):.1f} s, at most {max(waited):.1f} s; pages until "
        f"one came whole: median {statistics.median(pages):g}, at most {max(pages)}"
    )


def _tour_checks(read: Iterable[HeardTour]) -> dict[str, Check]:
    return {
        f"{one.link}: heard outside {LEAST:g} to {MOST:g} times the rate at a time": Check(
            round(one.verdict.longest, 1),
            "s at most",
            f"<= {OUTSIDE:g} s",
            one.verdict.first is not None and one.verdict.longest <= OUTSIDE,
        )
        for one in read
    }


def _step_checks(steps: Sequence[RateStep]) -> dict[str, Check]:
    """The slowest of the rests, for each link and change; of a line that loses packets by chance
    the median of all draws."""
    checks = {}
    for link, factor in dict.fromkeys((one.link, one.factor) for one in steps):
        group = [one for one in steps if (one.link, one.factor) == (link, factor)]
        ranked = sorted(group, key=lambda one: inf if one.within is None else one.within)
        by_chance = len({one.rest for one in group}) < len(group)
        judged_by = ranked[len(ranked) // 2] if by_chance else ranked[-1]
        unit = "s after the first bytes"
        if by_chance:
            times = [_time(one, one.within) for one in (ranked[0], ranked[-1])]
            unit += f" (median of {times[0]} to {times[1]})"
        checks[f"{link}: heard within {100 * CLOSE:g} % after {_kind(judged_by)}"] = Check(
            _time(judged_by, judged_by.within),
            unit,
            f"<= {SOON:g} s",
            judged_by.within is not None and judged_by.within <= SOON,
        )
    return checks


def _modal_checks(ends: Sequence[SequenceEnd]) -> dict[str, Check]:
    good = sum(one.ok for one in ends)
    name = f"modal: sequences in which every picture came, {GOOD_FOR:g} s after all was well"
    return {name: Check(f"{good} of {len(ends)}", "", "all", good == len(ends))} if ends else {}


def _chart(one: HeardTour) -> Curves:
    """What was heard, over what the line carried; points where that changes."""
    points: Points = []
    for sample in one.samples:
        if sample.heard is None:
            continue
        ratio = min(_CHART, sample.heard / sample.true) if sample.true else _CHART
        if not points or abs(ratio - points[-1][1]) > 0.01:
            points.append((round(sample.at, 1), round(ratio, 3)))
    if one.samples and points:
        points.append((round(one.samples[-1].at, 1), points[-1][1]))
    title = f"What a policy hears, over what the line carries: {one.link}"
    return Curves(title, "times", [Curve("heard / carried", points)], _CHART)
