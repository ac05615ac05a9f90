"""The two commands as processes whose memory can be watched. Knows processes, sockets and /proc."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.origins.site import Address
from bench.pairs.peers import command
from emulation.worlds.hosts import HERE, EmulatedHost

LOOK_EVERY: Final = 0.2
"""Seconds between two looks at a process's memory."""


@contextlib.asynccontextmanager
async def proxy(name: str, *more: str) -> AsyncIterator[tuple[Address, int]]:
    """One of the two commands on a free port: its address and its process id."""
    arguments = ("--listen=127.0.0.1:0", "--security=none", *more)
    async with named_command(name, *arguments) as (address, process):
        yield address, process


@contextlib.asynccontextmanager
async def named_command(
    name: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    host: EmulatedHost = HERE,
) -> AsyncIterator[tuple[Address, int]]:
    """One of the two commands with these arguments: where it listens, and its process id."""
    before = set(_children())
    async with command(name, *arguments, environment=environment, host=host) as address:
        (process,) = set(_children()) - before
        yield address, process


def text(address: Address) -> str:
    """As command lines and URLs have it."""
    return f"{address[0]}:{address[1]}"


def resident(process: int) -> int:
    """Bytes of memory a process occupies. Raises FileNotFoundError when it is gone."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise FileNotFoundError(f"process {process} occupies nothing")


@dataclass
class Growth:
    """What processes occupied at first, and at most since."""

    before: dict[str, int]
    most: dict[str, int] = field(default_factory=dict)

    def look(self, processes: Mapping[str, int]) -> None:
        for name, process in processes.items():
            self.most[name] = max(self.most.get(name, 0), resident(process))

    def mib(self, name: str) -> float:
        """MiB by which it grew at most."""
        return (self.most[name] - self.before[name]) / 2**20


@contextlib.asynccontextmanager
async def watched(processes: Mapping[str, int]) -> AsyncIterator[Growth]:
    """Watch the memory of processes, by name, from here on."""
    growth = Growth({name: resident(process) for name, process in processes.items()})
    growth.look(processes)
    watching = asyncio.create_task(_every(LOOK_EVERY, lambda: growth.look(processes)))
    try:
        yield growth
        growth.look(processes)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def _every(seconds: float, do: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(seconds)
        do()


def _children() -> list[int]:
    main = int(Path("/proc/self").resolve().name)
    words = Path("/proc/self/task").joinpath(str(main), "children").read_text().split()
    return [int(word) for word in words]
