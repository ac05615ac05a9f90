"""Beside a download by the kernel's own TCP a link has its share, over TUN, by UDP and by TCP."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from bench.scenarios.links.gate import ChunkWatch, EndlessOutbox, Silent
from bench.scenarios.links.gate_virtual import fit
from emulation.lines.profiles import profile
from emulation.worlds.cables import NoBackend, World
from emulation.worlds.world import emulate
from tests.transport.udp_ends import links_over_udp
from transport.stream.stream_link import StreamLink
from transport.tcp.connection import TcpConnection

pytestmark = pytest.mark.alone

LINE = "5M"
SETTLES = 6.0
"""Seconds from the other's beginning until shares count,"""
COUNTS = 12.0
"""and for how long."""
LEAST = 0.2
"""Of the line: a fair share is a half. Who gives way to every queue has .02 to .06 of it."""


async def streams(world: World) -> tuple[socket.socket, socket.socket]:
    """A TCP connection from the far host to the near one; the near end first."""
    loop = asyncio.get_running_loop()
    with contextlib.closing(world.near.new_socket(socket.SOCK_STREAM)) as server:
        server.bind((world.near.address, 0))
        server.listen(1)
        far = world.far.new_socket(socket.SOCK_STREAM)
        for one in (server, far):
            one.setblocking(False)
        accepting = asyncio.create_task(loop.sock_accept(server))
        await loop.sock_connect(far, server.getsockname())
        near, _ = await accepting
        near.setblocking(False)
        return near, far


@contextlib.asynccontextmanager
async def by_tcp(world: World) -> AsyncIterator[tuple[StreamLink, StreamLink]]:
    near, far = await streams(world)
    links = StreamLink(TcpConnection(near)), StreamLink(TcpConnection(far))
    yield links
    for link in links:
        link.close()


@contextlib.asynccontextmanager
async def download(world: World) -> AsyncIterator[list[int]]:
    """Somebody else's, by the kernel's TCP; the bytes that have come."""
    loop = asyncio.get_running_loop()
    near, far = await streams(world)
    come = [0]

    async def send() -> None:
        while True:
            await loop.sock_sendall(far, bytes(65_536))

    async def receive() -> None:
        while data := await loop.sock_recv(near, 65_536):
            come[0] += len(data)

    tasks = [asyncio.create_task(one()) for one in (send, receive)]
    yield come
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for one in (near, far):
        one.close()


@pytest.mark.parametrize("joined", [links_over_udp, by_tcp], ids=["udp", "tcp"])
def test_a_download_of_somebody_elses_leaves_us_our_share(
    joined: Callable[[World], AbstractAsyncContextManager[tuple[StreamLink, StreamLink]]],
) -> None:
    rate = profile(LINE).rate_down

    async def shares() -> tuple[float, float]:
        async with emulate(profile(LINE), backend="tun") as world, joined(world) as (near, far):
            outbox = EndlessOutbox(512)
            near.start(Silent(), ChunkWatch())
            far.start(outbox, ChunkWatch())

            async def passed(seconds: float) -> None:
                for _ in range(round(seconds / 0.05)):
                    await asyncio.sleep(0.05)
                    fit(outbox, far.statistics())

            await passed(2.0)
            async with download(world) as come:
                await passed(SETTLES)
                before, ours = come[0], far.statistics().sent
                await passed(COUNTS)
                ours, theirs = far.statistics().sent - ours, come[0] - before
        return ours / COUNTS / rate, theirs / COUNTS / rate

    try:
        ours, theirs = asyncio.run(shares())
    except NoBackend as error:
        pytest.skip(str(error))
    assert ours >= LEAST
    assert theirs >= LEAST
