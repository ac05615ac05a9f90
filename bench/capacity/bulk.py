"""Measures what a gigabyte costs: one download through a pair. Knows processes and a client."""

from __future__ import annotations

import time
from typing import Any, Final

from bench.capacity.pairs import device, remote
from bench.origins import bulk_origin
from bench.origins.bulk_client import Download
from bench.pairs.processes import text
from bench.pairs.processor_time import fixed_work

SIZE: Final = 200_000_000
WARM: Final = 2_000_000
"""Bytes before, so that nothing is measured of how a link begins."""


async def run(transport: str, *, size: int = SIZE) -> dict[str, Any]:
    """One download: megabytes a second, processor seconds a gigabyte, and what these are worth."""
    worth = [fixed_work()]
    async with (
        bulk_origin.spawn() as origin,
        remote(1) as far,
        device(far, 0, transport=transport) as near,
    ):
        url = f"http://{text(origin)}/bytes?size="
        await Download(WARM, rest_at=WARM + 1).run(near.address, f"{url}{WARM}")
        before, began = (far.process.spent(), near.spent()), time.monotonic()
        await Download(size, rest_at=size + 1).run(near.address, f"{url}{size}")
        took, after = time.monotonic() - began, (far.process.spent(), near.spent())
    worth.append(fixed_work())
    unit = sum(worth) / len(worth)
    row: dict[str, Any] = {
        "part": "bulk",
        "transport": transport,
        "bytes": size,
        "mb_s": round(size / 1e6 / took, 1),
        "fixed_work_s_gb": round(unit, 3),
    }
    for who, begin, end in zip(("remote", "local"), before, after, strict=True):
        cost = (end - begin).all / size * 1e9
        row[f"{who}_s_gb"] = round(cost, 2)
        row[f"{who}_fixed_works"] = round(cost / unit, 1)
    return row
