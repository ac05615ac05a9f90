"""Random bytes at each port of both commands: nothing may come of it but logged errors.

The two proxies run as processes, as a user starts them. Strangers connect to the browser's port
and to the link's port, some of them with a true beginning, and talk noise until the time is over.
Then a page must load, and neither process may hold more memory than before, within GOAL.

The link has no security here: behind TLS strangers would never get as far as its protocol.

Knows processes, sockets and /proc; knows nothing of what a proxy does with the bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Sequence
from typing import Any, Final

import aiohttp

from bench.origins.site import Address, serve
from bench.pairs.peers import LOOPBACK
from bench.pairs.processes import proxy, resident, text
from bench.reports.report import Check
from bench.scenarios.pages.page_load import SITE

GOAL: Final = 10.0
"""Per cent that a process may have grown by, after WARM_UP has filled its pools."""
TALKERS: Final = 8
"""Strangers at a port at a time."""
WARM_UP: Final = 3.0
"""Seconds of noise before memory is looked at: interpreters grow to a working size at first."""
PATIENCE: Final = 0.05
"""Seconds that a stranger waits for an answer."""
_LARGEST: Final = 20_000
"""Bytes a stranger says at most."""
_HELLO: Final = b"\x40\x00\x08\x94\x01\x91\x01\xa1x\xa1y"
"""A true beginning at the link's port: the first message of wire/messages.py."""
_BEGINNINGS: Final = {
    "browser": (
        b"", b"GET ", b"GET http://site.test/ HTTP/1.1\r\n", b"CONNECT ",
        b"POST http://127.0.0.1:1/ HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n",
    ),
    "link": (b"", _HELLO, b"\x40\x00\x10", b"\x10", b"\xc0\x04\x00"),
}  # fmt: skip


async def run(*, seconds: float = 60.0, seed: int = 1) -> dict[str, Any]:
    """The scenario: noise for so long at each port at once."""
    async with (
        serve(SITE) as origin,
        proxy("remote", *LOOPBACK) as (remote, remote_id),
        proxy("local", f"--remote={text(remote)}", "--patience=5") as (local, local_id),
    ):
        page = f"http://{text(origin)}/news/index.html"
        await _page_size(local, page)
        await _noise(remote, local, seconds=min(WARM_UP, seconds), seed=seed)
        await _settled(local, page)
        before = {"local": resident(local_id), "remote": resident(remote_id)}
        said = await _noise(remote, local, seconds=seconds, seed=seed + 1)
        size = await _settled(local, page)
        after = {"local": resident(local_id), "remote": resident(remote_id)}
    growth = {name: 100 * (after[name] / before[name] - 1) for name in before}
    run = {"seconds": seconds, "strangers": said, "page_bytes": size} | {
        f"{name}_{when}_mib": round(values[name] / 2**20, 1)
        for when, values in (("before", before), ("after", after))
        for name in values
    }
    print(
        f"{said} strangers in {seconds:g} s; "
        + ", ".join(f"{name} grew by {value:.1f} %" for name, value in growth.items())
    )
    return {"runs": [run], "checks": _checks(growth, size=size)}


def _checks(growth: dict[str, float], *, size: int) -> dict[str, Check]:
    checks = {
        f"growth of the {name} proxy": Check(
            value=round(value, 1), unit="%", goal=f"at most {GOAL:g}", ok=value <= GOAL
        )
        for name, value in growth.items()
    }
    expected = (SITE / "news" / "index.html").stat().st_size
    checks["a page after it"] = Check(
        value=size, unit="bytes", goal=f"{expected}", ok=size == expected
    )
    return checks


async def _settled(local: Address, page: str) -> int:
    """The page once the noise is over: bytes of it, a few times, so that pools are in use."""
    sizes = [await _page_size(local, page) for _ in range(3)]
    await asyncio.sleep(1.0)
    return min(sizes)


async def _page_size(local: Address, page: str) -> int:
    timeout = aiohttp.ClientTimeout(total=20)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.get(page, proxy=f"http://{text(local)}") as answer,
    ):
        return len(await answer.read()) if answer.status == 200 else 0


async def _noise(remote: Address, local: Address, *, seconds: float, seed: int) -> int:
    """Strangers at both ports for so long; how many there were."""
    chance = random.Random(seed)
    end = asyncio.get_running_loop().time() + seconds
    talkers = [
        _talk(address, _BEGINNINGS[port], random.Random(chance.random()), end=end)
        for address, port in ((remote, "link"), (local, "browser"))
        for _ in range(TALKERS)
    ]
    return sum(await asyncio.gather(*talkers))


async def _talk(
    address: Address, beginnings: Sequence[bytes], chance: random.Random, *, end: float
) -> int:
    """One stranger after the other until `end`; how many."""
    said = 0
    while asyncio.get_running_loop().time() < end:
        noise = chance.choice(beginnings) + chance.randbytes(chance.randrange(_LARGEST))
        with contextlib.suppress(TimeoutError, ConnectionError):
            await _say(address, noise)
        said += 1
    return said


async def _say(address: Address, noise: bytes) -> None:
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(noise)
        async with asyncio.timeout(PATIENCE):
            while await reader.read(65536):
                pass
    finally:
        writer.transport.abort()
