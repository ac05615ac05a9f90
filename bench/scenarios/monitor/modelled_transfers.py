"""Sends over emulated paths by the kernel's TCP Reno and watches it through TCP_INFO.

Knows sockets, worlds and the sensor; not which model judges what it has seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from bench.scenarios.monitor.random_paths import RandomPath
from emulation.worlds.cables import World
from emulation.worlds.world import emulate
from monitor.facts import ConnectionFacts
from monitor.sensors.connection import ConnectionSensor
from monitor.tcp_view import TcpInfo
from transport.tcp import tcp_info

EVERY: Final = 0.05
"""Seconds between two views of a connection."""
RENO: Final = b"reno"
_PIECE: Final = bytes(1 << 16)


@dataclass(slots=True)
class WatchedTransfer:
    """One connection and what was seen of it."""

    path: RandomPath
    views: list[tuple[float, TcpInfo]] = field(default_factory=list)
    facts: ConnectionFacts | None = None
    """At its end."""

    def gaps(self) -> list[float]:
        """Seconds from one view to the next."""
        return [after - before for (before, _), (after, _) in pairwise(self.views)]

    @property
    def rate(self) -> float:
        """Bytes/second that were acknowledged, first view to last."""
        facts = self.facts
        return facts.bytes_acked / facts.duration if facts is not None else 0.0


async def side_by_side(
    paths: Sequence[RandomPath],
    *,
    seconds: float,
    events: float,
    seed: int,
    every: float = EVERY,
) -> tuple[list[WatchedTransfer], tuple[float, float, float]]:
    """A transfer over each, until so many loss events or seconds; how late deliveries were.

    Raises OSError: NoBackend without root, or where there is no TCP Reno.
    """
    profiles = [path.profile for path in paths]
    async with emulate(*profiles, backend="tun", seed=seed) as world:
        made = (
            _transfer(world, number, path, seconds=seconds, events=events, every=every)
            for number, path in enumerate(paths)
        )
        transfers = await asyncio.gather(*made)
        return list(transfers), world.statistics().lateness


async def _transfer(
    world: World,
    number: int,
    path: RandomPath,
    *,
    seconds: float,
    events: float,
    every: float,
) -> WatchedTransfer:
    loop, transfer, sensor = asyncio.get_running_loop(), WatchedTransfer(path), ConnectionSensor()
    async with contextlib.AsyncExitStack() as stack:
        near, far = await _connect(world, number, path, stack)
        tasks = [
            asyncio.create_task(_send(near)),
            asyncio.create_task(_take(far, quick=not path.delays_acks)),
        ]
        start = loop.time()
        while (now := loop.time()) < start + seconds:
            view = tcp_info.read(near)
            if view is not None:
                transfer.views.append((now, view))
                sensor.add(now, view)
            transfer.facts = sensor.facts()
            if transfer.facts is not None and transfer.facts.loss_events >= events:
                break
            passed = round((now - start) / every) + 1
            await asyncio.sleep(start + passed * every - now)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return transfer


async def _connect(
    world: World, number: int, path: RandomPath, stack: contextlib.AsyncExitStack
) -> tuple[socket.socket, socket.socket]:
    loop = asyncio.get_running_loop()
    listener = stack.enter_context(world.far.new_socket())
    if path.receive_buffer is not None:
        # The kernel doubles it, and half of that is the window (socket(7), tcp(7)).
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, path.receive_buffer)
    listener.bind((world.far.addresses[number], 0))
    listener.listen()
    listener.setblocking(False)
    near = stack.enter_context(world.near.new_socket())
    near.setblocking(False)
    await loop.sock_connect(near, listener.getsockname())
    # Not sooner: connecting, the kernel takes the route's (emulation/worlds/hosts.py).
    try:
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, RENO)
    except OSError as error:
        raise OSError(f"this kernel has no TCP Reno, of which the models are: {error}") from error
    far = stack.enter_context((await loop.sock_accept(listener))[0])
    far.setblocking(False)
    return near, far


async def _send(near: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while True:
        await loop.sock_sendall(near, _PIECE)


async def _take(far: socket.socket, *, quick: bool) -> None:
    """Read at once. `quick`: acknowledgements are not delayed, which the kernel soon forgets."""
    loop = asyncio.get_running_loop()
    while await loop.sock_recv(far, 1 << 16):
        if quick:
            far.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
