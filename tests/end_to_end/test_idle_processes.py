"""A pair of processes that has nothing to do sleeps: the kernel counts how often they wake up."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import aiohttp

from bench.capacity.pairs import Process, device, remote
from bench.origins.site import Address, spawn
from bench.pairs.processes import text
from bench.scenarios.pages.page_load import SITE

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


async def rests(far: Process, near: Process) -> None:
    """Fails unless both of a pair come to rest."""
    async with asyncio.timeout(MOST):
        while True:
            before = far.spent(), near.spent()
            await asyncio.sleep(REST)
            there, here = far.spent() - before[0], near.spent() - before[1]
            if there.wake_ups <= 1 and here.wake_ups <= 1:
                return


def test_a_pair_that_has_nothing_to_do_sleeps() -> None:
    async def go() -> None:
        async with AsyncExitStack() as stack:
            origin = await stack.enter_async_context(spawn(SITE))
            pairs = []
            for transport in ("tcp", "atp-udp"):
                far = await stack.enter_async_context(remote(1))
                near = await stack.enter_async_context(device(far, 0, transport=transport))
                await load(origin, near.address)
                pairs.append((far.process, near))
            await asyncio.gather(*(rests(*pair) for pair in pairs))

    asyncio.run(go())
