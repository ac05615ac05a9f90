"""The two proxies over several paths at once, in virtual time.

    async with paths_pair([profile("384k"), profile("satellite")], services, policies) as pair:
        document = await pair.load("http://origin/")

R2CP, SPP, the links and both proxies are the product's; the lines are emulation/memory/.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from bench.pairs.pair import OnTheLoop, Pair, connected, server_of
from emulation.lines.profiles import Profile
from emulation.memory.memory_paths import MemoryPaths
from policies.api import Policy
from remote_proxy.jobs.services import Services
from transport.link.interface import Link
from transport.stream.stream_link import StreamLink


@asynccontextmanager
async def paths_pair(
    profiles: Sequence[Profile],
    services: Services,
    policies: Sequence[Policy],
    *,
    seed: int = 1,
) -> AsyncIterator[tuple[Pair, MemoryPaths]]:
    """Joined by one path of each profile; for emulation.memory.virtual_time."""
    server = server_of(services)
    paths = MemoryPaths(profiles, seed=seed)

    async def dial() -> Link:
        server.accept(StreamLink(paths.remote))
        return StreamLink(paths.device)

    async with connected(server, dial, policies, OnTheLoop, jpegtran=None) as pair:
        yield pair, paths
