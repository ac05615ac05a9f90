"""A pair of processes that has nothing to do sleeps: the kernel counts how often they wake up."""

from __future__ import annotations

import asyncio

import aiohttp

from bench.capacity.pairs import device, remote
from bench.origin import Address, spawn
from bench.processes import text
from bench.scenarios.page_load import SITE

REST = 4.0
"""Seconds: a look every second would show four times over."""
MOST = 60.0
"""Seconds until they rest: heartbeats of a page that has just come are 4, 8, 16 s apart."""


async def load(origin: Address, port: Address) -> None:
    """A page, so that the link has been used."""
    url = f"http://{text(origin)}/news/"
    async with aiohttp.request("GET", url, proxy=f"http://{text(port)}") as answer:
        assert answer.status == 200
        await answer.read()


async def rests(origin: Address, transport: str) -> None:
    """Fails unless both of a pair come to rest."""
    async with remote(1) as far, device(far, 0, transport=transport) as (near, _):
        await load(origin, near.address)
        async with asyncio.timeout(MOST):
            while True:
                before = far.process.spent(), near.spent()
                await asyncio.sleep(REST)
                there, here = far.process.spent() - before[0], near.spent() - before[1]
                if there.wake_ups <= 1 and here.wake_ups <= 1:
                    return


def test_a_pair_that_has_nothing_to_do_sleeps() -> None:
    async def go() -> None:
        async with spawn(SITE) as origin:
            await asyncio.gather(*(rests(origin, over) for over in ("tcp", "atp-udp")))

    asyncio.run(go())
