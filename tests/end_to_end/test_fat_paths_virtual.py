"""A download over a fast satellite beside a quick path, through both proxies, in virtual time."""

from __future__ import annotations

import asyncio
import random

import msgspec
import pytest

from bench.origins.synthetic import File, Prepared, Shelf, SyntheticPage
from bench.pairs.paths_pair import paths_pair
from emulation.lines.profiles import profile
from emulation.memory.virtual_time import run
from local_proxy.http.model import Request
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services

URL = "http://one.test/film.bin"
SATELLITE = msgspec.structs.replace(
    profile("satellite-50M"), rate_down=2_500_000, rate_up=625_000, queue=3_000_000
)
QUICK = profile("5M")
SIZE = 32_000_000
OURS = 0.9
"""Of a path's bytes: what headers leave."""


@pytest.mark.long
def test_it_has_all_of_both() -> None:
    """The satellite holds more than a megabyte, and leaves the quick path what that brings."""
    file = File("application/octet-stream", random.Random(3).randbytes(SIZE))
    shelf = Shelf([SyntheticPage(URL, {URL: file})])

    async def go() -> float:
        """Seconds that the second half of it takes."""
        loop = asyncio.get_running_loop()
        services = Services(shelf, Prepared({}))
        async with paths_pair([SATELLITE, QUICK], services, [Default()]) as (pair, _):
            response = await pair.local.core.handle(Request("GET", URL, []))
            assert not isinstance(response.body, bytes)
            came, half = 0, 0.0
            async for piece in response.body:
                came += len(piece)
                half = half or (loop.time() if came >= SIZE / 2 else 0.0)
            assert came == SIZE
            return loop.time() - half

    both = SATELLITE.rate_down + QUICK.rate_down
    assert SIZE / 2 / run(go()) > OURS * both
