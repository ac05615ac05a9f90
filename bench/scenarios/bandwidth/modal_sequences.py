"""Shows that the policy `modal` is never left in a mode that the link has left (ATP, 4.2).

A sequence is drawn by its seed: a link, and three to eight steps. Each changes the rate, stops the
line or cuts the link, mostly has a page or a small answer asked for, and rests. Then the link is
good again, and the reader waits or reads on. A mode without pictures fills no link, so it could be
held for ever.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from bench.origins.synthetic import Prepared, Shelf, SyntheticPage, page, prepared
from bench.pairs.mending import MendingPair, mending_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run as run_virtually
from local_proxy.http.model import Request
from local_proxy.link.components import ComponentFailed
from policies.builtin.default import Default
from policies.builtin.modal import Modal
from remote_proxy.jobs.services import Services
from transport.link.interface import LinkError
from wire.skeleton import LEVELS, Kind

GOOD_FOR: Final = 60.0
"""Seconds for which the link is good again before pictures count."""
GOOD: Final = (80_000.0, 250_000.0)
"""Bytes/second of a good link: well within the mode of all pictures."""
POOR: Final = 1_000.0
"""Bytes/second of the slowest: the mode without pictures."""
DELAY: Final = (0.01, 0.3)
"""Seconds one way."""
STEPS: Final = (3, 8)
REST: Final = (0.2, 60.0)
"""Seconds after a step; each factor is as likely, as with the rates and delays."""
STOPPED: Final = (1.0, 20.0)
"""Seconds for which a line stops, or can't be dialled after a cut."""
_STOPS, _CUTS = 0.15, 0.15
"""Chances that a step stops the line, or cuts the link; else it has another rate."""
_PAGES, _SMALL = 0.6, 0.2
"""Chances that a page, or a small answer, is asked for."""
_EVERY: Final = 10.0
"""Seconds between two pages that a reader opens once the link is good again."""
_COUNT: Final = 3
"""Pages with pictures."""
_PICTURES: Final = 90_000
"""Bytes of a page's pictures."""
MOST_PAGES: Final = 20
_NAVIGATE: Final = [("accept", "text/html"), ("sec-fetch-dest", "document")]
_IMAGE: Final = ("accept", "image/avif,image/webp,image/*,*/*;q=0.8")


class LinkStep(NamedTuple):
    """One step: what happens to the line, what is asked for, and how long it rests."""

    what: str
    """"rate", "stop" or "cut"."""
    amount: float
    """Bytes/second, or seconds."""
    asked: int | None
    """Number of what is asked for, the small answer last; None: nothing."""
    rest: float


@dataclass(frozen=True, slots=True)
class ModalSequence:
    """One drawn sequence."""

    seed: int
    good: float
    """Bytes/second when all is well."""
    delay: float
    steps: tuple[LinkStep, ...]
    reads_on: bool
    """Once the link is good again other pages are opened; else the reader waits."""

    @classmethod
    def drawn(cls, seed: int) -> ModalSequence:
        """The sequence of this seed."""
        chance = random.Random(f"modal {seed}")
        good = _between(GOOD, chance)
        steps = tuple(_steps(chance, good))
        return cls(seed, good, _between(DELAY, chance), steps, chance.random() < 0.5)


def _steps(chance: random.Random, good: float) -> Iterator[LinkStep]:
    for _ in range(chance.randint(*STEPS)):
        what, draw = "rate", chance.random()
        if draw < _STOPS + _CUTS:
            what = "stop" if draw < _STOPS else "cut"
        amount = _between((POOR, good) if what == "rate" else STOPPED, chance)
        asked, draw = None, chance.random()
        if draw < _PAGES + _SMALL:
            asked = chance.randrange(_COUNT) if draw < _PAGES else _COUNT
        yield LinkStep(what, amount, asked, _between(REST, chance))


@dataclass(frozen=True, slots=True)
class SequenceEnd:
    """What became of a sequence."""

    sequence: ModalSequence
    pictures: int
    """Asked for until the link had been good for `GOOD_FOR` seconds."""
    missing: int
    """Of these, that were not even coarse by then."""
    waited: float
    """Seconds from when the link was good until all that were asked for before were coarse."""
    failures: tuple[str, ...]
    """Pictures of which the browser was told that they could not be had, and why."""
    refused: int
    """Pages for which there was no link, as the browser was told; they ask for no pictures."""
    pages: int | None
    """How many more were opened, one in 10 s, until all pictures of one came whole within these: a
    page may find out about the next mode only. None: not even of the last of `MOST_PAGES`."""
    links: int
    """That were made."""

    @property
    def ok(self) -> bool:
        """Every picture that was asked for came."""
        return self.pages is not None and not self.missing and not self.failures

    def as_json(self) -> dict[str, Any]:
        """A row of the report; of a sequence that went wrong with what happened in it."""
        row: dict[str, Any] = {
            "seed": self.sequence.seed,
            "pictures": self.pictures,
            "missing": self.missing,
            "waited_s": round(self.waited, 1),
            "failures": list(self.failures),
            "refused": self.refused,
            "pages": self.pages,
            "links": self.links,
        }
        if not self.ok:
            row["steps"] = [list(step) for step in self.sequence.steps]
        return row


class ModalReader:
    """Opens pages as a browser does: the page, then all of its pictures."""

    def __init__(self, pair: MendingPair) -> None:
        self._pair = pair
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self.failures: list[str] = []
        """Pictures that could not be had, and why."""
        self.refused = 0
        """Pages that could not be had."""

    def open(self, one: SyntheticPage) -> None:
        """Begins to."""
        self._tasks.add(self._loop.create_task(self._open(one)))

    async def close(self) -> None:
        """Gives up what has not come."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _open(self, one: SyntheticPage) -> None:
        if await self._read(one.url, _NAVIGATE):
            self.refused += 1
            return
        for url in list(one.files)[1:]:
            self._tasks.add(self._loop.create_task(self._picture(url, one.url)))

    async def _picture(self, url: str, referer: str) -> None:
        why = await self._read(url, [_IMAGE, ("referer", referer)])
        if why:
            self.failures.append(f"{url}: {why}")

    async def _read(self, url: str, headers: Sequence[tuple[str, str]]) -> str:
        """Read an answer to its end, which a picture that is cut at a level does not have; why
        there is none: empty if there is."""
        try:
            answer = await self._pair.local.core.handle(Request("GET", url, list(headers)))
            if not isinstance(answer.body, bytes):
                async for _ in answer.body:
                    pass
        except (OSError, LinkError, ComponentFailed) as error:
            return str(error)
        return "" if answer.status == 200 else str(answer.status)


class ModalWorld:
    """The pages, and their pictures transcoded once for all sequences. Not from within a loop."""

    def __init__(self) -> None:
        self.pages = [
            page(f"http://p{n}.test/", text=6_000, large=_PICTURES, seed=n + 1)
            for n in range(_COUNT)
        ]
        self.small = page("http://small.test/", text=60)
        self._pictures: Prepared = prepared(self.pages)

    def play(self, sequence: ModalSequence) -> SequenceEnd:
        """One sequence to its end."""
        return run_virtually(self._play(sequence))

    async def _play(self, sequence: ModalSequence) -> SequenceEnd:
        good = sequence.good
        model = LinkModel(rate_up=good / 4, rate_down=good, delay=sequence.delay)
        services = Services(Shelf([*self.pages, self.small]), self._pictures)
        loop = asyncio.get_running_loop()
        async with mending_pair(model, services, [Default(), Modal()]) as pair:
            reader = ModalReader(pair)
            for step in sequence.steps:
                await self._step(pair, reader, step, good)
            pair.line.set_rate(good)
            since, before, reached = loop.time(), set(_pictures(pair)), pair.witness.reached
            if sequence.reads_on:
                await self._read_on(reader, _COUNT, every=GOOD_FOR / _COUNT)
            else:
                await asyncio.sleep(GOOD_FOR)
            asked = _pictures(pair)
            missing = sum((one, LEVELS[0]) not in reached for one in asked)
            came = [reached[one, LEVELS[0]] for one in before if (one, LEVELS[0]) in reached]
            pages = await self._until_whole(pair, reader)
            await reader.close()
            return SequenceEnd(
                sequence,
                len(asked),
                missing,
                max(0.0, max(came, default=since) - since),
                tuple(reader.failures),
                reader.refused,
                pages,
                pair.line.links,
            )

    async def _read_on(self, reader: ModalReader, count: int, *, every: float) -> None:
        """Open so many pages, one every so many seconds."""
        for number in range(count):
            reader.open(self.pages[number % _COUNT])
            await asyncio.sleep(every)

    async def _until_whole(self, pair: MendingPair, reader: ModalReader) -> int | None:
        """Open one page after another until one comes whole; how many that were."""
        for number in range(MOST_PAGES):
            one = self.pages[number % _COUNT]
            reader.open(one)
            await asyncio.sleep(_EVERY)
            if pair.witness.when(pair.witness.documents[one.url]) is not None:
                return number + 1
        return None

    async def _step(
        self, pair: MendingPair, reader: ModalReader, step: LinkStep, good: float
    ) -> None:
        if step.what == "rate":
            pair.line.set_rate(step.amount)
        elif step.what == "stop":
            pair.line.set_rate(0.0)
        else:
            pair.line.cut(away=step.amount)
        if step.asked is not None:
            reader.open([*self.pages, self.small][step.asked])
        if step.what == "stop":
            await asyncio.sleep(step.amount)
            pair.line.set_rate(good)
        await asyncio.sleep(step.rest)


def _pictures(pair: MendingPair) -> list[int]:
    return [one for one, part in pair.witness.parts.items() if part.kind is Kind.IMAGE]


def _between(range_: tuple[float, float], chance: random.Random) -> float:
    """A number from a range, each factor as likely."""
    least, most = range_
    return least * math.exp(chance.uniform(0.0, math.log(most / least)))
