"""Bytes through an emulated network, by kernel sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

from emulation.worlds.cables import World


@contextlib.asynccontextmanager
async def connected(
    world: World, *, address: str = ""
) -> AsyncIterator[tuple[socket.socket, socket.socket]]:
    """A connection's near and far end; `address`: the far one's, and so the path."""
    loop = asyncio.get_running_loop()
    with world.far.new_socket() as listener, world.near.new_socket() as near:
        listener.bind((address or world.far.address, 0))
        listener.listen()
        for one in (listener, near):
            one.setblocking(False)
        where = await world.reach(listener.getsockname())
        _, (far, _) = await asyncio.gather(
            loop.sock_connect(near, where), loop.sock_accept(listener)
        )
        with far:
            yield near, far


async def quiet(world: World) -> None:
    """Until the last of a connection's packets have passed: none did for ten delays."""
    seen = None
    while (now := world.statistics()) != seen:
        seen = now
        await asyncio.sleep(0.2)


async def transfer(world: World, size: int, *, address: str = "") -> float:
    """Seconds for a connection and so many bytes to the near side."""
    loop = asyncio.get_running_loop()
    began, got = loop.time(), 0
    async with connected(world, address=address) as (near, far):
        sending = asyncio.ensure_future(loop.sock_sendall(far, bytes(size)))
        while got < size:
            got += len(await loop.sock_recv(near, 65_536))
        await sending
        return loop.time() - began
