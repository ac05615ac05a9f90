"""Measures what idle devices cost: wake-ups, processor time and memory, of both ends."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final

from bench.capacity.crowd import devices_of
from bench.capacity.pairs import device, remote
from bench.pairs.processes import resident

SETTLING: Final = 20.0
"""Seconds until what a session's beginning has set off is over."""
WATCHED: Final = 60.0


async def run(
    *, devices: int, seconds: float = WATCHED, settling: float = SETTLING
) -> dict[str, Any]:
    """So many idle devices at a remote, then one device as a process of its own."""
    async with contextlib.AsyncExitStack() as stack:
        far = await stack.enter_async_context(remote(devices + 1))
        near = await stack.enter_async_context(device(far, devices))
        await asyncio.sleep(settling / 2)
        empty = resident(far.process.id)
        addresses = [far.process.address] * devices
        await stack.enter_async_context(devices_of(far, addresses))
        await asyncio.sleep(settling)
        before, full = (far.process.spent(), near.spent()), resident(far.process.id)
        await asyncio.sleep(seconds)
        there, here = far.process.spent() - before[0], near.spent() - before[1]
    return {
        "part": "idle",
        "devices": devices,
        "remote_wake_ups_s": round(there.wake_ups / seconds, 2),
        "remote_ms_s": round(there.all / seconds * 1e3, 2),
        "kb_a_device": round((full - empty) / devices / 1e3),
        "local_wake_ups_s": round(here.wake_ups / seconds, 2),
        "local_ms_s": round(here.all / seconds * 1e3, 2),
    }
