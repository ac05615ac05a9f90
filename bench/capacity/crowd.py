"""Many devices at one remote: whether pages fail, how late their text is, who is served how well.

The remote is a process of its own, the links another; the devices and their readers share this one.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import aiohttp

from bench.capacity.lines import lines
from bench.capacity.pairs import ServedRemote, remote
from bench.origins import scripted
from bench.origins.endpoint import PageAccess, no_link
from bench.origins.site import Address, spawn
from bench.origins.visits import visits
from bench.pairs.processes import resident, text
from configuration import LocalSettings
from emulation.lines.profiles import Profile
from local_proxy.dialling.which_remote import Remote as Known
from local_proxy.main import LocalProxy
from pairing.identity import device_identity
from pairing.invitation import Invitation
from policies.builtin.default import Default
from transport.tcp.security import ClientSecurity

LIMIT: Final = 300.0
"""Seconds for a page; what takes longer has failed."""
MEETING: Final = 30.0
"""Seconds within which a device and its remote have met."""
_LOOK: Final = 0.02
ALONE: Final = 3
"""Pages of one device by itself, before the others."""


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """One page of one device. Seconds since it was asked for."""

    text_s: float
    whole_s: float
    failed: str = ""


async def run(
    page: Path, link: Profile, *, devices: int, spread: float, name: str
) -> dict[str, Any]:
    """`devices` load a page each, begun evenly over `spread` seconds; before, one does alone."""
    with visits(page, devices + ALONE) as folder:
        async with (
            spawn(folder) as origin,
            remote(devices) as far,
            lines(devices, far.process.address, link) as addresses,
            devices_of(far, addresses) as ports,
        ):
            idle = resident(far.process.id)
            alone = [await _load(ports[0], origin, devices + n) for n in range(ALONE)]
            before, own = far.process.spent(), time.process_time()
            async with _lateness() as late:
                outcomes = await asyncio.gather(
                    *(
                        _late(n * spread / devices, _load(ports[n], origin, n))
                        for n in range(devices)
                    )
                )
            cost, own = far.process.spent() - before, time.process_time() - own
            most = resident(far.process.id)
    served = [one for one in outcomes if not one.failed]
    unit = median(one.text_s for one in alone)
    texts = [one.text_s for one in served] or [float("inf")]
    return {
        "part": name,
        "devices": devices,
        "link": link.name,
        "failed": len(outcomes) - len(served),
        "why": sorted({one.failed for one in outcomes if one.failed})[:5],
        "alone_text_s": round(unit, 2),
        "text_p50_s": round(median(texts), 2),
        "text_p90_s": round(_p90(texts), 2),
        "whole_p50_s": round(median(one.whole_s for one in served), 2) if served else None,
        "whole_p90_s": round(_p90([one.whole_s for one in served]), 2) if served else None,
        "remote_s_page": round(cost.all / devices, 3),
        "devices_s_page": round(own / devices, 3),
        "devices_late_p90_s": round(_p90(late or [0.0]), 3),
        "remote_mib_idle": round(idle / 2**20),
        "remote_mib": round(most / 2**20),
    }


def _p90(values: Sequence[float]) -> float:
    return quantiles(values, n=10, method="inclusive")[-1] if len(values) > 1 else values[0]


@asynccontextmanager
async def _lateness() -> AsyncIterator[list[float]]:
    """How late this process's loop is, in seconds, at each look: real devices share none."""
    found: list[float] = []
    clock = asyncio.get_running_loop().time

    async def look() -> None:
        while True:
            began = clock()
            await asyncio.sleep(_LOOK)
            found.append(clock() - began - _LOOK)

    looking = asyncio.create_task(look())
    try:
        yield found
    finally:
        looking.cancel()


async def _late(seconds: float, load: Any) -> PageOutcome:
    await asyncio.sleep(seconds)
    found: PageOutcome = await load
    return found


async def _load(port: Address, origin: Address, visit: int) -> PageOutcome:
    endpoint = PageAccess(
        base=f"http://{text(origin)}/",
        statistics=no_link,
        proxy=f"http://{text(port)}",
    )
    try:
        arrivals = await scripted.fetch_page(
            endpoint, f"{visit}/index.html", navigates=True, limit=LIMIT
        )
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return PageOutcome(0.0, 0.0, f"{type(error).__name__} {error}"[:200])
    texts = [one.done for one in arrivals if one.resource.kind in ("document", "style")]
    return PageOutcome(max(texts), max(one.done for one in arrivals))


@asynccontextmanager
async def devices_of(
    far: ServedRemote, addresses: Sequence[Address]
) -> AsyncIterator[list[Address]]:
    """So many of the remote's devices, each with its session: where their readers ask."""
    async with contextlib.AsyncExitStack() as stack:
        ports = []
        for at, invitation in zip(addresses, far.invitations, strict=False):
            ports.append(await stack.enter_async_context(device_at(at, invitation)))
        yield ports


@asynccontextmanager
async def device_at(at: Address, invitation: Invitation) -> AsyncIterator[Address]:
    """A device whose remote is there, with its session: where its reader asks. Raises OSError."""
    settings = LocalSettings(listen="127.0.0.1:0", security="none")
    identity = device_identity(invitation.seed)
    known = Known(text(at), ClientSecurity(identity.pem, pin=invitation.pin))
    local = LocalProxy(settings, [Default()], remote=known)
    port = await local.listen()
    running = asyncio.create_task(local.run())
    try:
        if await local.uplink.wait_session(MEETING) is None:
            raise OSError(f"the proxies did not meet: {local.uplink.state().reason}")
        yield port
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
