"""Large transfers whose reader rests: neither proxy may hold them, and pages must not suffer.

A download of SIZE, whose client stops reading half way for a while; uploads of half that size, by
length and in chunks, whose server does. Both proxies are processes of their own, without a link
between them that would limit anything; their memory is looked at all the time. Then a page over a
5 Mbit/s link: alone, beside a download that rests, beside one that runs, beside an upload.

Knows processes and clients; knows nothing of what a proxy does with the bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from bench import bulk_origin, scripted
from bench.bulk_client import Download, upload
from bench.bulk_origin import digest
from bench.origin import Address, spawn
from bench.page_load import Endpoint
from bench.peers import LOOPBACK, relay
from bench.processes import proxy, text, watched
from bench.profiles import profile
from bench.report import Check
from bench.scenarios.page_load import SITE

SIZE: Final = 1_000_000_000
REST: Final = 60.0
"""Seconds for which a reader of SIZE bytes stops; less in proportion, LEAST_REST at least."""
LEAST_REST: Final = 2.0
MOST_GROWTH: Final = 32.0
"""MiB by which a proxy may grow."""
MOST_SLOWER: Final = 5.0
"""Per cent by which a page may be later beside a transfer."""
LINK: Final = "5M"
BESIDE: Final = ("resting download", "running download", "upload")
_ENOUGH: Final = 1 << 29
"""Bytes of a transfer that is still running when the last page has loaded."""
_SETTLED: Final = 8.0
"""Seconds for a transfer to get going, or for one that rests to fill what credit and sockets hold
(2.6 MB), before a page is asked for."""


async def run(
    *, size: int = SIZE, runs: int = 9, page: Path | None = None, profile_name: str = LINK
) -> dict[str, Any]:
    """The scenario: memory of three transfers, then pages beside transfers."""
    rows, checks = [], {}
    for kind in ("download", "upload", "chunked upload"):
        row = await transfer(kind, size if kind == "download" else size // 2)
        rows.append(row)
        for name in ("local", "remote"):
            grown = row[f"{name}_growth_mib"]
            checks[f"growth of the {name} proxy in a {kind}"] = Check(
                value=grown, unit="MiB", goal=f"at most {MOST_GROWTH:g}", ok=grown <= MOST_GROWTH
            )
        checks[f"{kind}: every byte right"] = Check(
            value=row["right"], unit="", goal="True", ok=row["right"]
        )
    times = await _pages(page or SITE / "news", profile_name, runs)
    rows.append({"kind": "page", "link": profile_name} | times)
    for kind in BESIDE:
        later = round(100 * (times[kind] / times["alone"] - 1), 1)
        checks[f"a page beside a {kind}: later by"] = Check(
            value=later, unit="%", goal=f"at most {MOST_SLOWER:g}", ok=later <= MOST_SLOWER
        )
    return {"runs": rows, "checks": checks}


async def transfer(kind: str, size: int) -> dict[str, Any]:
    """One transfer through proxies that have just been started."""
    rest = max(LEAST_REST, REST * size / SIZE)
    async with (
        bulk_origin.spawn() as origin,
        proxy("remote", *LOOPBACK) as (remote, remote_id),
        proxy("local", f"--remote={text(remote)}") as (local, local_id),
        watched({"local": local_id, "remote": remote_id}) as growth,
    ):
        began = time.monotonic()
        if kind == "download":
            got = await _downloaded(local, origin, size, rest)
        else:
            url = f"http://{text(origin)}/sink?pause={rest}&after={size // 2}"
            got = await upload(local, url, size, chunked=kind != "upload")
        took = time.monotonic() - began
    expected = await asyncio.to_thread(digest, size)
    row = {
        "kind": kind,
        "bytes": size,
        "rest_s": rest,
        "mb_s": round(size / 1e6 / (took - rest), 1),
        "local_growth_mib": round(growth.mib("local"), 1),
        "remote_growth_mib": round(growth.mib("remote"), 1),
        "right": got == expected,
    }
    print(
        f"{kind} of {size / 1e6:g} MB: {row['mb_s']} MB/s but for a rest of {rest:g} s; the local "
        f"proxy grew by {row['local_growth_mib']} MiB, the remote by {row['remote_growth_mib']}"
    )
    return row


async def _downloaded(local: Address, origin: Address, size: int, rest: float) -> str:
    download = Download(size, rest_at=size // 2)
    running = asyncio.create_task(download.run(local, f"http://{text(origin)}/bytes?size={size}"))
    await asyncio.wait(
        (running, resting := asyncio.ensure_future(download.resting.wait())),
        return_when=asyncio.FIRST_COMPLETED,
    )
    resting.cancel()
    await asyncio.sleep(rest)
    download.go_on.set()
    return await running


async def _pages(page: Path, profile_name: str, runs: int) -> dict[str, float]:
    """Median seconds of a page's load, alone and beside each kind of transfer."""
    link = profile(profile_name)
    async with (
        spawn(page.parent) as site,
        bulk_origin.spawn() as origin,
        proxy("remote", *LOOPBACK) as (remote, _),
        relay(remote, link) as between,
        proxy("local", f"--remote={text(between.address)}") as (local, _),
    ):
        through = Endpoint(
            base=f"http://{text(site)}/",
            statistics=between.statistics,
            proxy=f"http://{text(local)}",
        )
        await _load(through, page.name)  # what a first load alone costs is not compared
        times = {}
        for kind in ("alone", *BESIDE):
            async with _beside(kind, local, origin):
                seconds = [await _load(through, page.name) for _ in range(runs)]
            times[kind] = round(statistics.median(seconds), 3)
            print(f"a page, {kind}: {times[kind]} s", [round(one, 2) for one in seconds])
        return times


async def _load(through: Endpoint, page: str) -> float:
    """Seconds until text and a first level of every picture are there.

    A client that says it navigates is served as a browser; finer levels come after its responses.
    """
    arrivals = await scripted.fetch_page(through, f"{page}/index.html", navigates=True)
    return max(arrival.done for arrival in arrivals)


@contextlib.asynccontextmanager
async def _beside(kind: str, local: Address, origin: Address) -> AsyncIterator[None]:
    """The transfer under way for as long as the block lasts."""
    if kind == "alone":
        yield
        return
    if kind == "upload":
        url = f"http://{text(origin)}/sink"
        task = asyncio.create_task(upload(local, url, _ENOUGH, chunked=False))
    else:
        rest_at = 1 if kind == "resting download" else _ENOUGH
        url = f"http://{text(origin)}/bytes?size={_ENOUGH}"
        task = asyncio.create_task(Download(_ENOUGH, rest_at).run(local, url))
    try:
        await asyncio.sleep(_SETTLED)
        if task.done():  # it has failed, and says why
            await task
        yield
        if task.done():
            await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
