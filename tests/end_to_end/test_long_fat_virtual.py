"""A download over a link that is fast and long, through both proxies, in virtual time."""

from __future__ import annotations

import asyncio
import random

from bench.origins.synthetic import File, Prepared, Shelf, SyntheticPage
from bench.pairs.pair import memory_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from local_proxy.http.model import Request
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services

URL = "http://one.test/film.bin"
RATE = 6_250_000
"""Bytes/second: 50 Mbit/s by a satellite, .6 s there and back."""
LINK = LinkModel(rate_up=RATE // 4, rate_down=RATE, delay=0.3, queue=RATE)
SIZE = 80_000_000


def test_a_download_has_all_of_a_link_that_is_fast_and_long() -> None:
    file = File("application/octet-stream", random.Random(3).randbytes(SIZE))
    shelf = Shelf([SyntheticPage(URL, {URL: file})])

    async def go() -> float:
        """Seconds that the second half of it takes."""
        loop = asyncio.get_running_loop()
        async with memory_pair(LINK, Services(shelf, Prepared({})), [Default()]) as pair:
            response = await pair.local.core.handle(Request("GET", URL, []))
            assert not isinstance(response.body, bytes)
            came, half = 0, 0.0
            async for piece in response.body:
                came += len(piece)
                half = half or (loop.time() if came >= SIZE / 2 else 0.0)
            assert came == SIZE
            return loop.time() - half

    assert run(go()) < 1.1 * SIZE / 2 / RATE
