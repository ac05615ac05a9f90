"""Says how soon a policy hears of a line that has become slower or faster while it rested.

A page is loaded, the link rests, and towards the device the line takes another rate; then another
page is asked for, with a download beside it that keeps the link busy. Time counts from the first
bytes that reach the device after the rest. Profiles whose rate varies have their mean here; the
queue in front of a line stays as large as the profile says.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.origins.synthetic import File, Prepared, Shelf, SyntheticPage, page
from bench.pairs.pair import Pair, memory_pair
from bench.scenarios.bandwidth.hearing import EveryChange
from bench.scenarios.bandwidth.reading_tour import fetch
from emulation.lines.profiles import Profile
from emulation.memory.memory import LinkModel, MemoryLink
from emulation.memory.virtual_time import run as run_virtually
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services

RESTS: Final = (1.0, 10.0, 60.0, 600.0)
"""Seconds."""
FACTORS: Final = (1.0, 0.1, 10.0)
"""Times the rate before."""
CLOSE: Final = 0.15
"""Of the line's rate."""
WATCHED: Final = (3.0, 10.0)
"""Seconds of use after the first bytes, least and most."""
_WATCHED_BYTES: Final = 20e6
"""Bytes that cross meanwhile, where that takes longer than the least."""
_TEXT: Final = 6_000
_BEFORE: Final = 4.0
"""Seconds of the link that the page before the rest takes."""
_PICTURES: Final = 60_000
"""Bytes of the page after it."""
_LIMIT: Final = 300.0
"""Seconds for the first bytes to come."""


@dataclass(frozen=True, slots=True)
class RateStep:
    """What was heard after one rest."""

    link: str
    rest: float
    factor: float
    watched: float
    """Seconds from the first bytes on in which it was."""
    within: float | None
    """Of these, until what is heard is within `CLOSE`; None: it was not."""
    stays: float | None
    """The same, until it is and stays so to the end."""

    def as_json(self) -> dict[str, Any]:
        """A row of the report."""
        return {
            "part": "step",
            "link": self.link,
            "rest_s": self.rest,
            "factor": self.factor,
            "watched_s": round(self.watched, 1),
            "within_s": None if self.within is None else round(self.within, 2),
            "stays_s": None if self.stays is None else round(self.stays, 2),
        }


@dataclass(frozen=True, slots=True)
class StepPages:
    """What is loaded before and after a rest over one line."""

    before: SyntheticPage
    after: SyntheticPage

    @classmethod
    def of(cls, rate: float) -> StepPages:
        """For a line of `rate` bytes/second."""
        return cls(
            page("http://before.test/", text=_TEXT, large=round(_BEFORE * rate)),
            page("http://after.test/", text=_TEXT, large=_PICTURES, seed=2),
        )


def stepped(
    link: Profile,
    pages: StepPages,
    pictures: Prepared,
    *,
    factor: float,
    rest: float,
    seed: int = 1,
) -> RateStep:
    """One step, in a session of its own; `seed`: which packets the line loses. Not from within a
    loop."""
    rate = factor * link.rate_down
    watched = min(WATCHED[1], max(WATCHED[0], _WATCHED_BYTES / rate))
    bulk = _bulk(round(1.2 * watched * rate))
    services = Services(Shelf([pages.before, pages.after, bulk]), pictures)
    model = LinkModel.of(link, seed=seed)
    told, first = run_virtually(
        _step(model, link, pages, bulk, services, rest=rest, rate=rate, watched=watched)
    )
    times = settled(told, rate, since=first, watched=watched)
    return RateStep(link.name, rest, factor, watched, *times)


def _bulk(size: int) -> SyntheticPage:
    url = "http://bulk.test/file.bin"
    file = File("application/octet-stream", random.Random(size).randbytes(size))
    return SyntheticPage(url, {url: file})


async def _step(
    model: LinkModel,
    link: Profile,
    pages: StepPages,
    bulk: SyntheticPage,
    services: Services,
    *,
    rest: float,
    rate: float,
    watched: float,
) -> tuple[list[tuple[float, float]], float]:
    """What was told and when, and when the first bytes came after the rest."""
    policy, loop = EveryChange(), asyncio.get_running_loop()
    async with memory_pair(model, services, [Default(), policy]) as pair:
        end = pair.remote.link
        assert isinstance(end, MemoryLink)
        end.outgoing.set_rate(link.rate_down)
        await pair.complete(await pair.load(pages.before.url))
        await asyncio.sleep(rest)
        end.outgoing.set_rate(rate)
        seen = len(pair.tap.arrivals)
        asked = [
            asyncio.create_task(fetch(pair, bulk.url)),
            asyncio.create_task(pair.load(pages.after.url)),
        ]
        try:
            first = await _first_bytes(pair, seen)
            await asyncio.sleep(first + watched - loop.time())
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
    return policy.told, first


async def _first_bytes(pair: Pair, seen: int) -> float:
    """When the device had the first frame after so many. Raises TimeoutError."""
    async with asyncio.timeout(_LIMIT):
        while len(pair.tap.arrivals) <= seen:  # noqa: ASYNC110  # a tap sets no event
            await asyncio.sleep(0.01)
    return pair.tap.arrivals[seen].at


def settled(
    told: Sequence[tuple[float, float]], rate: float, *, since: float, watched: float
) -> tuple[float | None, float | None]:
    """Seconds until what is told is close to the rate, and until it is and stays so.

    `told`: times and rates, in their order; what holds at `since` is the last one before.
    """
    before = [one for at, one in told if at <= since]
    changes = [(since, before[-1] if before else 0.0)]
    changes += [(at, one) for at, one in told if since < at <= since + watched]
    close = [abs(one - rate) <= CLOSE * rate for _, one in changes]
    if not any(close):
        return None, None
    within = changes[close.index(True)][0] - since
    if not close[-1]:
        return within, None
    last_away = max((place for place, near in enumerate(close) if not near), default=-1)
    return within, changes[last_away + 1][0] - since
