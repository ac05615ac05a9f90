"""Measures which part of a fast link a large download gets through the pair.

In network namespaces, so that UDP crosses the link as well. Knows peers and curl.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

from bench.origins.endpoint import PageAccess
from bench.pairs.peers import DirectPeer, Peer, SluicePeer, in_world
from emulation.lines.profiles import Profile
from emulation.worlds.cables import NoBackend

SIZE: Final = 60_000_000
WARM: Final = 2_000_000
"""Bytes of another file before, so that nothing is measured of how a link begins."""
LIMIT: Final = 120.0
"""Seconds for one; whatever takes longer has failed."""


async def run(link: Profile, *, runs: int, size: int = SIZE) -> dict[str, Any]:
    """Megabits a second of each way, medians of so many downloads in turns, and what part of the
    direct ones'. Raises NoBackend where there are no namespaces, or no curl."""
    if shutil.which("curl") is None:
        raise NoBackend("curl is missing: apt-get install curl")
    peers: list[Peer] = [
        DirectPeer(),
        SluicePeer(name="tcp"),
        SluicePeer(name="atp-udp", transport="atp-udp"),
    ]
    rates: dict[str, list[float]] = {one.name: [] for one in peers}
    with TemporaryDirectory(prefix="sluice-download-") as name:
        site = Path(name)
        for file, count in (("warm.bin", WARM), ("large.bin", size)):
            (site / file).write_bytes(random.Random(count).randbytes(count))
        for _ in range(runs):
            for one in peers:
                async with in_world(one, site, link, backend="tun") as there:
                    await _download(there, "warm.bin")
                    rates[one.name].append(await _download(there, "large.bin"))
    found = {name: median(values) for name, values in rates.items()}
    row: dict[str, Any] = {"part": "download", "link": link.name, "bytes": size}
    for name, rate in found.items():
        row[f"{name}_mbit_s"] = round(rate * 8 / 1e6, 1)
        if name != "direct":
            row[f"{name}_of_direct"] = round(rate / found["direct"], 3)
    return row


async def _download(there: PageAccess, name: str) -> float:
    """Bytes a second. Raises OSError."""
    url = there.base + name
    way = ["--proxy", there.proxy] if there.proxy else ["--noproxy", "*"]
    host = urlsplit(url).hostname or ""
    way += ["--connect-to", f"{host}:80:{there.resolve[host]}"] if host in there.resolve else []
    process = await asyncio.create_subprocess_exec(
        *there.host.command("curl", "-sS", "-m", str(LIMIT), "-o", os.devnull, *way),
        *("--write-out", "%{http_code} %{speed_download}", url),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    status, _, rate = said.decode().partition(" ")
    if process.returncode or status != "200":
        raise OSError(f"curl ended with {process.returncode}, status {status}: {url}")
    return float(rate)
