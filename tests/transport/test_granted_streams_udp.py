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
WITHIN = 120.0
"""Seconds at most: a busy machine's timers are late, and such streams tell nothing."""
LOOK_EVERY = 0.05
HEADERS_LEAVE = 0.94
"""Of what a line carries, that is the stream's."""


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


async def others(world: World, rate: float, sent: list[int]) -> None:
    """Somebody else's datagrams down the same path, so many bytes/second; until cancelled. `sent`:
    the bytes of each, for a busy machine may send fewer."""
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
                sent.append(PACKET)
            due += PACKET / rate
            await asyncio.sleep(due - loop.time())
    finally:
        sink.close()
        source.close()


@pytest.mark.parametrize(("link", "share", "results"), [("384k", 0.0, 9), ("5M", 0.4, 25)])
def test_what_others_leave_is_found_with_real_datagrams(
    link: str, share: float, results: int
) -> None:
    """In the median of so many results: each begins where the one before ended."""
    line = profile(link)

    async def looked() -> tuple[list[float], float]:
        """Parts of the line: what was found, and what others left."""
        found: list[float] = []
        sent: list[int] = []
        loop = asyncio.get_running_loop()
        async with emulate(line, backend="tun") as world, far_link(world) as far:
            beside = None
            if share:
                beside = asyncio.create_task(others(world, share * line.rate_down, sent))
            newest, began = 0.0, loop.time()
            while len(found) < results and loop.time() < began + WITHIN:
                await asyncio.sleep(LOOK_EVERY)
                available = far.statistics().available
                if available is not None and available.at != newest:
                    newest = available.at
                    found.append(available.rate / line.rate_down)
            left = 1.0 - sum(sent) / (loop.time() - began) / line.rate_down
            if beside is not None:
                beside.cancel()
        return found, left

    try:
        found, left = asyncio.run(looked())
    except NoBackend as error:
        pytest.skip(str(error))
    assert len(found) == results
    assert left == pytest.approx(1.0 - share, abs=0.1)
    assert statistics.median(found) == pytest.approx(HEADERS_LEAVE * left, rel=0.2)
