"""Pages over paths that fade, die and come back at random moments, in virtual time."""

from __future__ import annotations

import asyncio
import random
from statistics import mean

import pytest

from bench.origins.synthetic import Shelf, page, prepared
from bench.pairs.paths_pair import paths_pair
from emulation.lines.profiles import profile
from emulation.memory.virtual_time import run
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services

NAMES = ("128k", "384k", "1.6M", "5M", "lte", "3g", "satellite", "satellite-50M")
SIZES = random.Random(7)
PAGES = [
    page(
        f"http://p{number}.test/",
        text=SIZES.choice([2_000, 40_000]),
        large=SIZES.choice([5_000, 60_000, 200_000]),
    )
    for number in range(12)
]
MADE = prepared(PAGES)
LONGEST = 200.0
"""Seconds that a page may take: the slowest path of all, faded, brings the largest in 160."""


async def _loads(seed: int) -> list[float]:
    """Five pages over two or three paths, of which up to two change for each page: seconds until
    each has its text. Raises TimeoutError where one is not whole after LONGEST."""
    chance, loop = random.Random(seed), asyncio.get_running_loop()
    names = [chance.choice(NAMES) for _ in range(chance.choice([2, 2, 3]))]
    pages = chance.sample(PAGES, 5)
    texts = []
    async with paths_pair(
        [profile(name) for name in names], Services(Shelf(PAGES), MADE), [Default()]
    ) as (pair, paths):
        for one in pages:
            await asyncio.sleep(chance.choice([0.3, 2, 6]))
            for _ in range(chance.randrange(3)):
                place, rate = chance.randrange(len(names)), chance.choice([0.05, 0.1, 0.3, 1, 1, 3])
                later = chance.choice([0, chance.uniform(0, 2)])
                loop.call_later(later, paths.set_rate, place, rate)
            if chance.random() < 0.15:
                place = chance.randrange(len(names))
                paths.cut(place)
                loop.call_later(chance.uniform(0, 4), paths.mend, place)
            began = loop.time()
            async with asyncio.timeout(LONGEST):
                document = await pair.load(one.url)
                texts.append(loop.time() - began)
                await pair.complete(document)
    return texts


@pytest.mark.parametrize(
    ("seeds", "most"), [(range(440, 456), 0.29), (range(660, 676), 0.355), (range(224, 240), 0.42)]
)
def test_every_page_comes_whatever_becomes_of_the_paths(seeds: range, most: float) -> None:
    """Texts took .31, .37 and .49 s in the mean while what stood with a path that fades or dies was
    asked of nobody else for long, and a queue was not seen that no round trip tells of."""
    texts = [text for seed in seeds for text in run(_loads(seed))]
    assert len(texts) == 5 * len(seeds)
    assert mean(texts) < most
