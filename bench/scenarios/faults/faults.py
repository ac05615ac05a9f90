"""Seeded faults while pages load and a large file comes: all must arrive, whole, without an error.

Both proxies are processes. Between them the connection is cut, or falls silent; the remote proxy is
killed and started again; the device's address changes, where root can make a network namespace. A
client that knows nothing of this loads pages and a file of random bytes; each body must have its
SHA-256, none may stand still for longer than faults explain, and a fault may cost GOAL_TWICE
bytes sent once more.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import aiohttp

from bench.origins.site import Address, spawn
from bench.pairs.breakable import BreakableWorld, far_side, world
from bench.reports.report import Check
from bench.scenarios.pages.page_load import SITE
from emulation.relay.breaking_way import BreakingWay

GOAL_TWICE: Final = 64 * 1024
"""Bytes sent twice per fault."""
RATE: Final = 1_500_000.0
"""Bytes/second of the way: the file takes half a minute without faults."""
SIZE: Final = 50_000_000
"""Bytes of the file."""
HUNG: Final = 30.0
"""Seconds without a byte of a body, silences aside: then it hangs. A fault follows upon the other
within a second, so a body may have to wait for several of them."""
KINDS: Final = ("cut", "cut", "kill", "silence", "address_change")
"""As often as they stand here. Without a namespace the last one is a cut."""
SILENCE: Final = (0.5, 12.0)
"""Seconds; on both sides of the patience after which another connection is tried."""
_BETWEEN: Final = (0.1, 1.0)
"""Seconds from one fault to the next."""
LONG_SILENCE: Final = 120.0
_TIMEOUT: Final = aiohttp.ClientTimeout(sock_read=LONG_SILENCE + HUNG)
"""Of a body without a byte: it hangs, and is told as a problem."""


class Client:
    """Loads pages and files through the local proxy, and checks each byte."""

    def __init__(self, world: BreakableWorld, origin: Address) -> None:
        self._proxy = f"http://{world.local[0]}:{world.local[1]}"
        self._base = f"http://{origin[0]}:{origin[1]}"
        self._way = world.way
        self.bodies = 0
        self.slowest = self.longest_pause = 0.0
        """Seconds a body took, and was without a byte; both without silences."""
        self.problems: list[str] = []

    async def get(self, session: aiohttp.ClientSession, path: str, digest: str) -> None:
        """One body; what is wrong with it goes into `problems`."""
        found = hashlib.sha256()
        began = heard = self._eventful()
        try:
            async with session.get(self._base + path, proxy=self._proxy) as answer:
                async for chunk in answer.content.iter_any():
                    found.update(chunk)
                    heard = self._heard(since=heard)
                if answer.status != 200 or found.hexdigest() != digest:
                    self.problems.append(f"{path}: status {answer.status}, or wrong bytes")
        except (aiohttp.ClientError, TimeoutError) as error:
            self.problems.append(f"{path}: {type(error).__name__} {error}")
        self.bodies += 1
        self.slowest = max(self.slowest, self._heard(since=heard) - began)

    def _heard(self, *, since: float) -> float:
        now = self._eventful()
        self.longest_pause = max(self.longest_pause, now - since)
        return now

    def _eventful(self) -> float:
        """A clock that stands still in silences; seconds."""
        return asyncio.get_running_loop().time() - self._way.silent


async def run(
    *, runs: int = 200, seed: int = 1, long_silence: float = LONG_SILENCE
) -> dict[str, Any]:
    """The scenario with `runs` faults: half under a download, half under page loads."""
    chance = random.Random(seed)
    with TemporaryDirectory(prefix="sluice-faults-") as folder, far_side() as place:
        if place.why_not:
            print(f"address changes are left out: {place.why_not}")
        digest = _file(Path(folder) / "file.bin", seed)
        async with (
            spawn(Path(folder), inside=place.inside) as files,
            spawn(SITE, inside=place.inside) as pages,
            world(place, rate=RATE) as broken,
        ):
            download = await _download(
                broken, chance, files, digest, faults=runs // 2, long=long_silence
            )
            loads = await _pages(broken, chance, pages, faults=runs - runs // 2, long=long_silence)
    rows = [download, loads]
    for row in rows:
        print(", ".join(f"{key} {value}" for key, value in row.items() if key != "problems"))
        for problem in row["problems"][:10]:
            print("  " + problem)
    notes = [f"address changes were left out: {place.why_not}"] if place.why_not else []
    return {"runs": rows, "checks": _checks(rows), "notes": notes}


def _checks(rows: list[dict[str, Any]]) -> dict[str, Check]:
    faults = sum(row["faults"] for row in rows)
    wrong = sum(len(row["problems"]) for row in rows)
    bodies = sum(row["bodies"] for row in rows)
    twice = rows[0]["twice_per_fault"]
    pause = max(row["longest_pause_s"] for row in rows)
    return {
        f"bodies wrong or failed under {faults} faults": Check(
            value=wrong, unit=f"of {bodies}", goal="0", ok=wrong == 0 and bodies > 0
        ),
        "bytes sent twice per fault": Check(
            value=twice, unit="bytes", goal=f"at most {GOAL_TWICE}", ok=twice <= GOAL_TWICE
        ),
        "longest time without a byte": Check(
            value=pause, unit="s, silences aside", goal=f"below {HUNG:g}", ok=pause < HUNG
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


async def _download(
    world: BreakableWorld,
    chance: random.Random,
    origin: Address,
    digest: str,
    *,
    faults: int,
    long: float,
) -> dict[str, Any]:
    """The file, again and again until all faults have been; what crossed the way meanwhile."""
    client = Client(world, origin)
    done, before = asyncio.Event(), world.way.down

    async def load() -> None:
        async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
            while not done.is_set():
                await client.get(session, "/file.bin", digest)

    loading = asyncio.create_task(load())
    told = await _faults(world, chance, faults, long)
    done.set()
    await loading
    carried = world.way.down - before
    # Frames, heads and reports count as sent twice: they are little beside the file.
    twice = (carried - client.bodies * SIZE) / faults
    return _row("download", client, told, faults, world.way) | {"twice_per_fault": round(twice)}


async def _pages(
    world: BreakableWorld, chance: random.Random, origin: Address, *, faults: int, long: float
) -> dict[str, Any]:
    """Pages with all their files, six at a time as browsers do, until all faults have been."""
    client = Client(world, origin)
    files = [path for path in sorted(SITE.rglob("*")) if path.is_file()]
    digests = {
        "/" + str(path.relative_to(SITE)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    done = asyncio.Event()

    async def load() -> None:
        limit = asyncio.Semaphore(6)
        async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:

            async def one(path: str, digest: str) -> None:
                async with limit:
                    await client.get(session, path, digest)

            while not done.is_set():
                await asyncio.gather(*(one(*item) for item in digests.items()))

    loading = asyncio.create_task(load())
    told = await _faults(world, chance, faults, long)
    done.set()
    await loading
    return _row("pages", client, told, faults, world.way)


async def _faults(
    world: BreakableWorld, chance: random.Random, count: int, long: float
) -> Counter[str]:
    """Tries that many faults, one after the other; seconds of silence among what it tells."""
    told: Counter[str] = Counter()
    for number in range(count):
        await asyncio.sleep(chance.uniform(*_BETWEEN))
        kind = "long_silence" if number == count // 2 else chance.choice(KINDS)
        if kind == "address_change" and world.place.space is None:
            kind = "cut"
        told[kind] += 1
        match kind:
            case "cut":
                world.way.cut()
            case "kill":
                await world.restart()
            case "address_change":
                world.move()
            case _:
                seconds = long if kind == "long_silence" else chance.uniform(*SILENCE)
                told["silent_s"] += round(seconds)
                await world.silence(seconds)
    return told


def _row(
    name: str, client: Client, told: Counter[str], faults: int, way: BreakingWay
) -> dict[str, Any]:
    silent = told.pop("silent_s", 0)
    return {
        "under": name,
        "faults": faults,
        **told,
        "silent_s": silent,
        "bodies": client.bodies,
        "slowest_s": round(client.slowest, 1),
        "longest_pause_s": round(client.longest_pause, 1),
        "connections": way.connections,
        "problems": client.problems,
    }
