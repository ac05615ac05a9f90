"""Large transfers whose reader rests: neither proxy may hold them.

A download of SIZE, whose client stops reading half way for a while; uploads of half that size, by
length and in chunks, whose server does. Both proxies are processes of their own, without a link
between them that would limit anything; their memory is looked at all the time. Pages beside such
transfers: bench/scenarios/pages/beside.py.

Knows processes and clients; knows nothing of what a proxy does with the bytes.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from bench.origins import bulk_origin
from bench.origins.bulk_client import Download, upload
from bench.origins.bulk_origin import digest
from bench.origins.site import Address
from bench.pairs.peers import LOOPBACK
from bench.pairs.processes import proxy, text, watched
from bench.reports.report import Check

SIZE: Final = 1_000_000_000
REST: Final = 60.0
"""Seconds for which a reader of SIZE bytes stops; less in proportion, LEAST_REST at least."""
LEAST_REST: Final = 2.0
MOST_GROWTH: Final = 32.0
"""MiB by which a proxy may grow."""


async def run(*, size: int = SIZE) -> dict[str, Any]:
    """The scenario: memory of three transfers."""
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
