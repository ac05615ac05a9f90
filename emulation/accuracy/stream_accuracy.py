"""The same as accuracy.py for a backend that carries streams, not packets; and for virtual time.

Knows worlds and streams; not what is good enough.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import statistics
import struct
from collections.abc import AsyncIterator
from typing import Final, NamedTuple, cast

from emulation.accuracy.accuracy import Spread
from emulation.lines.line import packet_size
from emulation.lines.profiles import Profile
from emulation.memory.memory_world import MemoryWorld
from emulation.worlds.cables import World
from emulation.worlds.world import emulate

SETTLE: Final = 0.5
"""Seconds until a transfer runs steadily."""
_PIECE: Final = 65_536
_BYTES_ACKED: Final = 120
"""Offset in struct tcp_info."""


class BusyLink(NamedTuple):
    """Measurements of a link with a transfer towards the near side."""

    rate: float
    """Bytes/second."""
    hidden: int
    """Bytes at most that the sender's kernel saw acknowledged and the receiver had not got."""


async def busy(world: World, *, seconds: float) -> BusyLink:
    """Measured for so long."""
    loop = asyncio.get_running_loop()
    async with _connected(world) as (near, far):
        sending = asyncio.create_task(_send(far))
        counted, begin, end = 0, loop.time() + SETTLE, 0.0
        first, last, hidden = 0, 0, 0
        while end < begin + seconds:
            counted += len(await loop.sock_recv(near, 2048))
            end = loop.time()
            if not first and end >= begin:
                first, begin = counted, end
            last, hidden = counted, max(hidden, _acknowledged(far) - counted)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    return BusyLink((last - first) / (end - begin), hidden)


async def added_delay(world: World, *, count: int) -> Spread:
    """How much later a byte is than the profile says, one way: half of what an echo is."""
    profile, loop = world.cables[0].profile, asyncio.get_running_loop()
    own = 2 * profile.delay + 1 / profile.rate_up + 1 / profile.rate_down
    added = []
    async with _connected(world) as (near, far):
        for number in range(count + 1):
            began = loop.time()
            await loop.sock_sendall(near, b"?")
            await loop.sock_sendall(far, await loop.sock_recv(far, 1))
            await loop.sock_recv(near, 1)
            if number:  # the first one waits for the handshake
                added.append((loop.time() - began - own) / 2)
    added.sort()
    return Spread(statistics.median(added), added[int(len(added) * 0.99)])


async def in_memory(profile: Profile, *, seconds: float) -> tuple[float, float]:
    """For virtual time: bytes/second towards the near side, and seconds that one byte is late."""
    loop, arrivals = asyncio.get_running_loop(), list[tuple[float, int]]()
    async with emulate(profile, backend="memory") as world:
        _, far = cast(MemoryWorld, world).links()
        far.outgoing.deliver = lambda data: arrivals.append((loop.time(), len(data)))
        began = loop.time()
        far.inject(b"?")
        await asyncio.sleep(2 * profile.delay + 1.0)
        late = arrivals.pop()[0] - began - profile.delay - 1 / profile.rate_down
        size = packet_size(profile.rate_down)
        for _ in range(int(seconds * profile.rate_down / size)):
            far.inject(bytes(size))
            await asyncio.sleep(size / profile.rate_down / 2)
        await asyncio.sleep(profile.queue / profile.rate_down + profile.delay)
    carried = sum(count for _, count in arrivals[1:])
    return carried / (arrivals[-1][0] - arrivals[0][0]), late


def _acknowledged(end: socket.socket) -> int:
    """Bytes sent whose arrival the kernel has heard of."""
    info = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    return int(struct.unpack_from("=Q", info, _BYTES_ACKED)[0])


async def _send(far: socket.socket) -> None:
    while True:
        await asyncio.get_running_loop().sock_sendall(far, bytes(_PIECE))


@contextlib.asynccontextmanager
async def _connected(world: World) -> AsyncIterator[tuple[socket.socket, socket.socket]]:
    """A connection's near and far end."""
    loop = asyncio.get_running_loop()
    with world.far.new_socket() as listener, world.near.new_socket() as near:
        for one in (listener, near):
            one.setblocking(False)
        listener.bind((world.far.address, 0))
        listener.listen()
        where = await world.reach(listener.getsockname())
        _, (far, _) = await asyncio.gather(
            loop.sock_connect(near, where), loop.sock_accept(listener)
        )
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with far:
            yield near, far
