"""Seeded faults while pages load and a large file comes: all must arrive, whole, without an error.

Both proxies are processes. Between them the connection is cut, or falls silent; the remote proxy is
killed and started again. A client that knows nothing of this loads pages and a file of random
bytes; each body must have its SHA-256, none may take longer than the faults explain, and a fault
may cost GOAL_TWICE bytes sent once more.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import random
import signal
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import aiohttp

from bench.links.breaking import BreakingWay
from bench.origin import Address, listening, serve
from bench.peers import LOOPBACK, ROOT, command
from bench.report import Check
from bench.scenarios.page_load import SITE

GOAL_TWICE: Final = 64 * 1024
"""Bytes sent twice per fault."""
RATE: Final = 1_500_000.0
"""Bytes/second of the way: the file takes half a minute without faults."""
SIZE: Final = 50_000_000
"""Bytes of the file."""
HUNG: Final = 90.0
"""Seconds that a body may take beyond its time and the silences: then it hangs."""
PATIENCE: Final = 600
_KINDS: Final = ("cut", "cut", "cut", "kill", "silence")
_SILENCE: Final = (0.5, 12.0)
"""Seconds; on both sides of the patience after which another connection is tried."""
LONG_SILENCE: Final = 120.0


class RemoteProcess:
    """`sluice remote` on a port of its own, killed and started at will."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address: Address = free.getsockname()
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Returns when it listens. Raises OSError."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(ROOT / "sluice.py"), "remote", *LOOPBACK, "--security=none"),
            *(f"--listen=127.0.0.1:{self.address[1]}", f"--config={os.devnull}"),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await listening(self._process)

    async def kill(self) -> None:
        """At once, as a crash does."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        await self._process.communicate()


@dataclass(frozen=True, slots=True)
class World:
    """What faults happen to."""

    way: BreakingWay
    remote: RemoteProcess
    local: Address
    chance: random.Random


class Client:
    """Loads pages and files through the local proxy, and checks each byte."""

    def __init__(self, proxy: Address, base: str) -> None:
        self._proxy = f"http://{proxy[0]}:{proxy[1]}"
        self._base = base
        self.counts: Counter[str] = Counter()
        self.slowest = 0.0
        self.problems: list[str] = []

    async def get(self, session: aiohttp.ClientSession, path: str, digest: str) -> None:
        """One body; what is wrong with it goes into `problems`."""
        loop = asyncio.get_running_loop()
        began, found = loop.time(), hashlib.sha256()
        try:
            async with session.get(self._base + path, proxy=self._proxy) as answer:
                async for chunk in answer.content.iter_any():
                    found.update(chunk)
                if answer.status != 200 or found.hexdigest() != digest:
                    self.problems.append(f"{path}: status {answer.status}, or wrong bytes")
        except (aiohttp.ClientError, TimeoutError) as error:
            self.problems.append(f"{path}: {type(error).__name__} {error}")
        self.counts["bodies"] += 1
        self.slowest = max(self.slowest, loop.time() - began)


async def run(*, runs: int = 200, seed: int = 1) -> dict[str, Any]:
    """The scenario with `runs` faults: half under a download, half under page loads."""
    chance = random.Random(seed)
    with TemporaryDirectory(prefix="sluice-faults-") as folder:
        digest = _file(Path(folder) / "file.bin", seed)
        async with serve(Path(folder)) as files, serve(SITE) as pages, _world(chance) as world:
            download = await _download(world, files, digest, faults=runs // 2)
            loads = await _pages(world, pages, faults=runs - runs // 2)
    rows = [download, loads]
    for row in rows:
        print(", ".join(f"{key} {value}" for key, value in row.items() if key != "problems"))
        for problem in row["problems"][:10]:
            print("  " + problem)
    return {"runs": rows, "checks": _checks(rows)}


def _checks(rows: list[dict[str, Any]]) -> dict[str, Check]:
    faults = sum(row["faults"] for row in rows)
    wrong = sum(len(row["problems"]) for row in rows)
    bodies = sum(row["bodies"] for row in rows)
    twice = rows[0]["twice_per_fault"]
    late = max(row["slowest_s"] - row["silent_s"] for row in rows)
    return {
        f"bodies wrong or failed under {faults} faults": Check(
            value=wrong, unit=f"of {bodies}", goal="0", ok=wrong == 0 and bodies > 0
        ),
        "bytes sent twice per fault": Check(
            value=twice, unit="bytes", goal=f"at most {GOAL_TWICE}", ok=twice <= GOAL_TWICE
        ),
        "slowest body": Check(
            value=round(late, 1), unit="s but for silences", goal=f"below {HUNG:g}", ok=late < HUNG
        ),
    }


def _file(path: Path, seed: int) -> str:
    """A file of random bytes: its SHA-256."""
    digest, chance = hashlib.sha256(), random.Random(seed)
    with path.open("wb") as file:
        for _ in range(SIZE // 1_000_000):
            piece = chance.randbytes(1_000_000)
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


@contextlib.asynccontextmanager
async def _world(chance: random.Random) -> AsyncIterator[World]:
    remote = RemoteProcess()
    await remote.start()
    try:
        async with BreakingWay(remote.address, rate=RATE) as way:
            host, port = way.address
            options = (f"--remote={host}:{port}", f"--patience={PATIENCE}", "--security=none")
            async with command("local", "--listen=127.0.0.1:0", *options) as local:
                yield World(way, remote, local, chance)
    finally:
        await remote.kill()


async def _download(world: World, origin: Address, digest: str, *, faults: int) -> dict[str, Any]:
    """The file, again and again until all faults have been; what crossed the way meanwhile."""
    client = Client(world.local, f"http://{origin[0]}:{origin[1]}")
    done, before = asyncio.Event(), world.way.down

    async def load() -> None:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout()) as session:
            while not done.is_set():
                await client.get(session, "/file.bin", digest)

    loading = asyncio.create_task(load())
    told = await _faults(world, faults)
    done.set()
    await loading
    carried = world.way.down - before
    # Frames, heads and reports count as sent twice: they are little beside the file.
    twice = (carried - client.counts["bodies"] * SIZE) / faults
    return _row("download", client, told, faults, world.way) | {"twice_per_fault": round(twice)}


async def _pages(world: World, origin: Address, *, faults: int) -> dict[str, Any]:
    """Pages with all their files, six at a time as browsers do, until all faults have been."""
    client = Client(world.local, f"http://{origin[0]}:{origin[1]}")
    files = [path for path in sorted(SITE.rglob("*")) if path.is_file()]
    digests = {
        "/" + str(path.relative_to(SITE)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    done = asyncio.Event()

    async def load() -> None:
        limit = asyncio.Semaphore(6)
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout()) as session:

            async def one(path: str, digest: str) -> None:
                async with limit:
                    await client.get(session, path, digest)

            while not done.is_set():
                await asyncio.gather(*(one(*item) for item in digests.items()))

    loading = asyncio.create_task(load())
    told = await _faults(world, faults)
    done.set()
    await loading
    return _row("pages", client, told, faults, world.way)


async def _faults(world: World, count: int) -> Counter[str]:
    """That many, one after the other; seconds of silence among what it tells."""
    way, chance = world.way, world.chance
    told: Counter[str] = Counter()
    for number in range(count):
        await asyncio.sleep(chance.uniform(0.1, 1.0))
        kind = "long silence" if number == count // 2 else chance.choice(_KINDS)
        told[kind] += 1
        if kind == "cut":
            way.cut()
        elif kind == "kill":
            await world.remote.kill()
            await world.remote.start()
        else:
            seconds = LONG_SILENCE if kind == "long silence" else chance.uniform(*_SILENCE)
            told["silent_s"] += round(seconds)
            way.hush(True)
            await asyncio.sleep(seconds)
            way.hush(False)
    return told


def _row(
    name: str, client: Client, told: Counter[str], faults: int, way: BreakingWay
) -> dict[str, Any]:
    silent = told.pop("silent_s", 0)
    return {
        "under": name,
        "faults": faults,
        **{kind.replace(" ", "_"): count for kind, count in told.items()},
        "silent_s": silent,
        "bodies": client.counts["bodies"],
        "slowest_s": round(client.slowest, 1),
        "connections": way.connections,
        "problems": client.problems,
    }
