"""Streams find what others leave of a path with real datagrams and real timers, over TUN."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import statistics
from collections.abc import AsyncIterator

import pytest

from bench.scenarios.links.gate import ChunkWatch, EndlessOutbox, Silent
from bench.scenarios.links.gate_virtual import fit
from emulation.lines.profiles import profile
from emulation.memory.datagram_path import HEADERS
from emulation.worlds.cables import NoBackend, World
from emulation.worlds.world import emulate
from tests.transport.udp_ends import links_over_udp
from transport.stream.stream_link import StreamLink

pytestmark = pytest.mark.alone

PACKET = 1000
RESULTS = 9
"""After which their median is judged,"""
WITHIN = 60.0
"""seconds at most: a busy machine's timers are late, and such streams tell nothing."""
LOOK_EVERY = 0.05


@contextlib.asynccontextmanager
async def far_link(world: World) -> AsyncIterator[StreamLink]:
    """The far end's link, which has no end of bytes to send and measures."""
    async with links_over_udp(world, measures=True) as (near, far):
        outbox = EndlessOutbox(512)
        near.start(Silent(), ChunkWatch())
        far.start(outbox, ChunkWatch())
        fitting = asyncio.create_task(keep_fitting(outbox, far))
        yield far
        fitting.cancel()


async def keep_fitting(outbox: EndlessOutbox, link: StreamLink) -> None:
    while True:
        await asyncio.sleep(0.05)
        fit(outbox, link.statistics())


async def others(world: World, rate: float) -> None:
    """Somebody else's datagrams down the same path, so many bytes/second; until cancelled."""
    loop = asyncio.get_running_loop()
    sink = world.near.new_socket(socket.SOCK_DGRAM)
    sink.bind((world.near.address, 0))
    source = world.far.new_socket(socket.SOCK_DGRAM)
    source.setblocking(False)
    due = loop.time()
    try:
        while True:
            with contextlib.suppress(BlockingIOError):
                source.sendto(bytes(PACKET - HEADERS), sink.getsockname())
            due += PACKET / rate
            await asyncio.sleep(due - loop.time())
    finally:
        sink.close()
        source.close()


@pytest.mark.parametrize(("link", "share"), [("384k", 0.0), ("5M", 0.4)])
def test_what_others_leave_is_found_with_real_datagrams(link: str, share: float) -> None:
    line = profile(link)

    async def results() -> list[float]:
        found: list[float] = []
        async with emulate(line, backend="tun") as world, far_link(world) as far:
            beside = asyncio.create_task(others(world, share * line.rate_down)) if share else None
            newest = 0.0
            until = asyncio.get_running_loop().time() + WITHIN
            while len(found) < RESULTS and asyncio.get_running_loop().time() < until:
                await asyncio.sleep(LOOK_EVERY)
                available = far.statistics().available
                if available is not None and available.at != newest:
                    newest = available.at
                    found.append(available.rate / line.rate_down)
            if beside is not None:
                beside.cancel()
        return found

    try:
        found = asyncio.run(results())
    except NoBackend as error:
        pytest.skip(str(error))
    assert len(found) == RESULTS
    assert statistics.median(found) == pytest.approx(0.94 * (1 - share), rel=0.2)
