"""Measures what a page costs the remote and a device, and the same page for the next device.

Scripted clients that navigate as browsers do, without a driver in the page: pictures end coarse for
the client and go on to the device, which is awaited. Each visit has an address of its own.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.capacity.pairs import Process, device, remote, through
from bench.origins import scripted
from bench.origins.site import Address, spawn
from bench.origins.visits import visits
from bench.pairs.processor_time import fixed_work
from bench.pairs.valkey_server import ValkeyServer, valkey
from emulation.lines.profiles import Profile
from emulation.worlds.cables import World
from emulation.worlds.world import AUTO, emulate

QUIET: Final = 1.0
"""Seconds without a byte on the link after which a page is over."""
TURNS: Final = 3
"""Times that each sort of store has its turn."""
WARM: Final = 1
"""Visits before, so that no start is measured."""


async def run(page: Path, link: Profile, *, runs: int, backend: str = AUTO) -> dict[str, Any]:
    """Processor seconds a page, medians of so many visits."""
    worth = fixed_work()
    with visits(page, runs + WARM) as folder:
        async with (
            emulate(link, backend=backend) as world,
            spawn(folder, host=world.far) as origin,
            remote(2, host=world.far) as far,
        ):
            rows = []
            for number in range(2):
                async with device(far, number, world=world) as near:
                    rows.append(await _loads(far.process, near, world, origin, runs))
    first, second = rows
    return {
        "part": "pages",
        "page": page.name,
        "link": link.name,
        "backend": world.backend,
        "fixed_work_s_gb": round(worth, 3),
        **{f"first_{name}": value for name, value in first.items()},
        **{f"second_{name}": value for name, value in second.items()},
    }


async def stores(page: Path, link: Profile, *, runs: int) -> dict[str, Any]:
    """Processor seconds a page of a remote that shares nothing, of one with a store in its memory,
    and of one with a Valkey, in turns; each page is new to all of them."""
    found: dict[str, list[float]] = {"none": [], "memory": [], "valkey": []}
    with TemporaryDirectory(prefix="sluice-stores-") as folder, visits(page, runs + WARM) as site:
        async with spawn(site) as origin, valkey(Path(folder)) as server:
            settings = {"none": "", "memory": "memory", "valkey": server.url}
            for _ in range(TURNS):
                for name, store in settings.items():
                    async with (
                        # A namespace would not reach the server of the store.
                        emulate(link, backend="relay") as world,
                        remote(1, store=store) as far,
                        device(far, 0, world=world) as near,
                    ):
                        loads = await _loads(far.process, near, world, origin, runs)
                        found[name].append(loads["remote"])
                await _forget(server)
    return {
        "part": "stores",
        "page": page.name,
        "link": link.name,
        **{f"remote_{name}": round(median(values), 3) for name, values in found.items()},
        **{f"spread_{name}": [min(values), max(values)] for name, values in found.items()},
    }


async def _forget(server: ValkeyServer) -> None:
    """The next turn's pages are to be new again."""
    await server.kill()
    await server.start()


async def _loads(
    far: Process, near: Process, world: World, origin: Address, runs: int
) -> dict[str, float]:
    costs: dict[str, list[float]] = {"remote_loop": [], "remote_children": [], "local": []}
    for visit in range(runs + WARM):
        before = far.spent(), near.spent()
        await scripted.fetch_page(through(near, origin), f"{visit}/index.html", navigates=True)
        await _quiet(world)
        there, here = far.spent() - before[0], near.spent() - before[1]
        if visit >= WARM:
            costs["remote_loop"].append(there.own)
            costs["remote_children"].append(there.children)
            costs["local"].append(here.all)
    found = {name: round(median(values), 3) for name, values in costs.items()}
    alls = [sum(pair) for pair in zip(costs["remote_loop"], costs["remote_children"], strict=True)]
    return found | {"remote": round(median(alls), 3)}


async def _quiet(world: World) -> None:
    loop = asyncio.get_running_loop()
    count, since = world.statistics().bytes_down, loop.time()
    while loop.time() - since < QUIET:
        await asyncio.sleep(0.1)
        if (now := world.statistics().bytes_down) != count:
            count, since = now, loop.time()
