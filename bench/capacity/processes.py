"""How many more pages two processes of a remote serve than one, each with a processor of its own.

What devices say is recorded beforehand (recorded.py), so that the load leaves the processors to the
remote. Each page is new to it, and all of its pictures are adapted.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.capacity.recorded import Recording, record, replayed
from bench.origins.site import Address, spawn
from bench.origins.visits import visits
from bench.pairs.peers import LOOPBACK
from bench.pairs.processes import named_command
from bench.pairs.processor_time import descendants, spent
from pairing.invitation import Invitation
from pairing.store import PairingStore

COUNTS: Final = (1, 2)
DEVICES: Final = 8
PAGES: Final = 3
"""Of each device."""
HOST: Final = "127.0.0.1"
EDGES: Final = (min, max)


@dataclass(frozen=True, slots=True)
class _Served:
    """The command's process, and where each of its processes listens."""

    process: int
    addresses: Sequence[Address]


@dataclass(frozen=True, slots=True)
class _Turn:
    """All devices once."""

    rate: float
    """Pages a second."""
    cost: float
    """Processor seconds a page, of the remote with all its processes."""
    stalls: int


@dataclass(frozen=True, slots=True)
class _Load:
    """What all devices say."""

    store: PairingStore
    devices: Sequence[Invitation]
    recordings: Sequence[Recording]
    warming: Recording

    async def turn(self, count: int) -> _Turn:
        """At a remote of so many processes, begun anew."""
        clock = asyncio.get_running_loop().time
        async with _serving(self.store, count) as served:
            await asyncio.gather(
                *(replayed(at, self.devices[0], self.warming) for at in served.addresses)
            )
            began, before = clock(), spent(served.process)
            stalls = await asyncio.gather(
                *(
                    replayed(served.addresses[number % count], device, recording)
                    for number, (device, recording) in enumerate(
                        zip(self.devices, self.recordings, strict=True)
                    )
                )
            )
            pages, took = sum(one.pages for one in self.recordings), clock() - began
            cost = (spent(served.process) - before).all
        return _Turn(pages / took, cost / pages, sum(stalls))


async def run(page: Path, *, runs: int) -> dict[str, Any]:
    """Pages a second, medians of so many turns of each."""
    turns: dict[int, list[_Turn]] = {count: [] for count in COUNTS}
    with (
        TemporaryDirectory(prefix="sluice-processes-") as folder,
        visits(page, DEVICES * PAGES + 1) as site,
    ):
        store = PairingStore(Path(folder))
        devices = [store.pair("", host=HOST, port=1) for _ in range(DEVICES)]
        async with spawn(site) as origin:
            recordings = await _recordings(store, devices, origin)
            load = _Load(store, devices, recordings[:-1], recordings[-1])
            for _ in range(runs):
                for count in COUNTS:
                    turns[count].append(await load.turn(count))
    one, two = (median(turn.rate for turn in turns[count]) for count in COUNTS)
    return {
        "part": "processes",
        "page": page.name,
        "devices": DEVICES,
        "pages": DEVICES * PAGES,
        "pages_s_one": round(one, 2),
        "pages_s_two": round(two, 2),
        "two_of_one": round(two / one, 3),
        **{
            f"spread_{count}": [
                round(edge(turn.rate for turn in turns[count]), 2) for edge in EDGES
            ]
            for count in COUNTS
        },
        **{
            f"remote_s_page_{count}": round(median(turn.cost for turn in turns[count]), 3)
            for count in COUNTS
        },
        "stalls": sum(turn.stalls for count in COUNTS for turn in turns[count]),
    }


async def _recordings(
    store: PairingStore, devices: Sequence[Invitation], origin: Address
) -> list[Recording]:
    """Each device's own pages, and one page that none of them loads."""
    last = len(devices) * PAGES
    own = [range(at, at + PAGES) for at in range(0, last, PAGES)]
    async with _serving(store, 1) as served:
        return [
            await record(served.addresses[0], device, origin, pages)
            for device, pages in zip([*devices, devices[0]], [*own, [last]], strict=True)
        ]


@asynccontextmanager
async def _serving(store: PairingStore, count: int) -> AsyncIterator[_Served]:
    """Each process keeps to a processor, with all that it starts. Raises OSError."""
    arguments = ("--listen=127.0.0.1:0", f"--state={store.folder}", f"--processes={count}")
    places = {"SLUICE_REMOTE_WORTH": "0"}
    async with named_command("remote", *arguments, *LOOPBACK, environment=places) as (_, process):
        processors = sorted(os.sched_getaffinity(0))
        members = [process] if count == 1 else sorted(_children(process))
        for number, member in enumerate(members):
            keep_to(processors[number % len(processors)], member)
        yield _Served(process, store.listened())


def keep_to(processor: int, process: int) -> None:
    """The process, its threads and those below it."""
    for one in (process, *descendants(process)):
        for task in Path(f"/proc/{one}/task").iterdir():
            os.sched_setaffinity(int(task.name), {processor})


def _children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(word) for word in found.split()]
