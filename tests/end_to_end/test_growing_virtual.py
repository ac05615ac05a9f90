"""A page in which no driver runs, in virtual time: all photos show before any is half there."""

from __future__ import annotations

import asyncio

from bench.origins.synthetic import Shelf, page, prepared
from bench.pairs.pair import memory_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from local_proxy.http.model import Request
from policies.builtin.low_fidelity_first import LowFidelityFirst
from remote_proxy.jobs.services import Services

PAGE = page("http://one.test/", text=40_000, large=500_000)
MODEL = LinkModel(rate_up=16_000, rate_down=48_000, delay=0.05)
PICTURE = [("accept", "image/avif,image/webp,image/*,*/*;q=0.8"), ("referer", PAGE.url)]
TENTH = 0.08
"""Of a photo: the least that its first step has (transcoders/make/jpeg.py, SNAP)."""
MADE = prepared([PAGE])


async def _shown() -> list[float]:
    """When each photo's response had its tenth; then, when all was here. Seconds from the start."""
    loop = asyncio.get_running_loop()
    async with memory_pair(MODEL, Services(Shelf([PAGE]), MADE), [LowFidelityFirst()]) as pair:
        began = loop.time()
        document = await pair.load(PAGE.url)

        async def photo(url: str, size: int) -> float:
            answer = await pair.local.core.handle(Request("GET", url, PICTURE))
            assert not isinstance(answer.body, bytes)
            had, at = 0, 0.0
            async for piece in answer.body:
                had += len(piece)
                if had >= TENTH * size and not at:
                    at = loop.time() - began
            return at

        photos = {u: f for u, f in PAGE.files.items() if f.content_type == "image/jpeg"}
        times = await asyncio.gather(*(photo(url, len(f.data)) for url, f in photos.items()))
        await pair.complete(document)
        return [*sorted(times), loop.time() - began]


def test_the_last_photo_shows_at_a_tenth_before_the_first_is_half_there() -> None:
    *shown, whole = run(_shown())
    assert len(shown) == 13
    assert shown[-1] < 2.0
    assert whole > 3 / 7 * PAGE.size / MODEL.rate_down > 2 * shown[-1]
