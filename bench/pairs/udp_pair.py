"""The two proxies over UDP in virtual time, and others on the same line.

    async with udp_pair(profile("384k"), services, policies, measures=True) as (pair, path):
        others = asyncio.create_task(steady(path.down, rate=20_000))

SPP, the links and both proxies are the product's; the line is emulation/memory/datagram_path.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from bench.pairs.pair import OnTheLoop, Pair, Tap, connected, server_of
from emulation.lines.profiles import Profile
from emulation.memory.datagram_path import HEADERS, DatagramPath, PathDirection
from emulation.memory.memory_spp import memory_links
from policies.api import Policy
from remote_proxy.jobs.services import Services
from transport.link.interface import Link
from transport.stream.stream_link import StreamLink
from transport.udp.connection import DEVICE, REMOTE, congestion, udp_connection


@asynccontextmanager
async def udp_pair(
    profile: Profile,
    services: Services,
    policies: Sequence[Policy],
    *,
    measures: bool = False,
    seed: int = 1,
    setting: str = "cubic",
) -> AsyncIterator[tuple[Pair, DatagramPath]]:
    """Joined by a path that only has datagrams; for emulation.memory.virtual_time. `measures`: the
    remote's end learns what others leave of it. `setting`: the device's, of congestion control."""
    server = server_of(services)
    near, far, path = memory_links(
        profile,
        near=DEVICE,
        far=REMOTE,
        near_control=congestion(),
        far_control=congestion(),
        seed=seed,
    )

    async def dial() -> Link:
        server.accept(StreamLink(udp_connection(far, lingers=True), measures=measures))
        return StreamLink(udp_connection(near, lingers=False))

    async with connected(
        server, dial, policies, OnTheLoop, tap=Tap, jpegtran=None, congestion=setting
    ) as pair:
        yield pair, path


async def steady(way: PathDirection, *, rate: float, packet: int = 1000) -> None:
    """Somebody else's datagrams on the line, `rate` bytes/second of `packet` bytes each; until
    cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        way.send(bytes(packet - HEADERS), loop.time())
        await asyncio.sleep(packet / rate)
