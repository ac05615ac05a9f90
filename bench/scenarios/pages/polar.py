"""A page over a link that jitters, loses and breaks: it must come whole, and nothing twice.

Both proxies with TLS between them, kernel TCP through a relay that behaves as the profile says,
and a scripted client. Counted are the origin's requests, the link's connections and sessions, and
the bytes that were sent once more.

Knows both ends of the link and the origin; no browser takes part.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from bench.origins import scripted
from bench.origins.endpoint import PageAccess
from bench.origins.site import Address, SiteServer
from bench.reports.report import Check
from bench.scenarios.pages.page_load import SITE
from configuration import LocalSettings, RemoteSettings
from emulation.lines.profiles import Profile, profile
from emulation.memory.secured import paired
from emulation.relay.relay import Relay
from local_proxy.dialling.which_remote import Remote
from local_proxy.main import LocalProxy
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from remote_proxy.origin.client import Origin
from remote_proxy.reach.guard import Guard
from remote_proxy.server import RemoteServer
from transcoders.make.registry import Transcoders

LINK: Final = "polar-storm"
CONNECTIONS_PER_OUTAGE: Final = 3
"""A rival, another where the outage's end resets that one, one more for bad luck."""
LIMIT: Final = 1800.0
"""Seconds for a page: such a link carries a third of what its rate says."""
_LOOK_EVERY: Final = 0.25
_QUANTUM: Final = 1024
_MEMORY: Final = 64 << 20


@dataclass
class LinkWatch:
    """The link while a page loads."""

    local: LocalProxy
    server: RemoteServer
    relay: Relay
    sessions: set[int] = field(default_factory=set)
    events: list[dict[str, float]] = field(default_factory=list)
    """The counts whenever one has changed."""

    async def run(self) -> None:
        """Look until cancelled."""
        began = asyncio.get_running_loop().time()
        while True:
            counts = self.look()
            if not self.events or self.events[-1] | counts != self.events[-1]:
                now = asyncio.get_running_loop().time()
                self.events.append({"at": round(now - began, 1), **counts})
            await asyncio.sleep(_LOOK_EVERY)

    def look(self) -> dict[str, float]:
        """Counts since the start."""
        link = self.relay.statistics()
        session = self.local.uplink.session
        if session is not None:
            self.sessions.add(id(session))
        replayed_up = session.link.statistics().replayed if session is not None else 0
        down = [one.link.statistics().replayed for one in self.server.sessions]
        return {
            "outages": link.outages,
            "resets": link.resets,
            "connections": link.connections,
            "replayed_up": replayed_up,
            "replayed_down": max(down, default=0),
        }


async def run(
    *, page: Path | None = None, profile_name: str = LINK, seed: int = 1, runs: int = 1
) -> dict[str, Any]:
    """The scenario: so many loads, each over a link with chances of its own."""
    folder = page or SITE / "news"
    rows = [await load(folder, profile(profile_name), seed=seed + n) for n in range(runs)]
    return {"runs": rows, "checks": _checks(rows)}


async def load(page: Path, link: Profile, *, seed: int) -> dict[str, Any]:
    """One load: its figures."""
    asked: Counter[str] = Counter()
    async with _origin(page.parent, asked) as origin, _pair(origin, link, seed) as (watch, through):
        watching = asyncio.create_task(watch.run())
        try:
            arrivals = await scripted.fetch_page(through, f"{page.name}/index.html", limit=LIMIT)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        counts = watch.look()
        row = {
            "page": page.name,
            "seed": seed,
            "load_s": round(max(one.done for one in arrivals), 1),
            "responses": len(arrivals),
            "wrong": [one.resource.url for one in arrivals if not _right(one, page.parent)],
            "asked_twice": [path for path, times in asked.items() if times > 1],
            "sessions": len(watch.sessions),
            "events": watch.events,
            **counts,
        }
    print({name: value for name, value in row.items() if name != "events"})
    for event in watch.events:
        print("  ", event)
    return row


def _right(arrival: scripted.LoadedResource, root: Path) -> bool:
    """Whether it is what the file holds: its bytes, or of a picture all its pixels."""
    original = (root / arrival.resource.url.split("/", 3)[3]).read_bytes()
    if arrival.resource.kind == "image":
        return scripted.same_picture(arrival.body, original)
    return hashlib.sha256(arrival.body).digest() == hashlib.sha256(original).digest()


def _checks(rows: list[dict[str, Any]]) -> dict[str, Check]:
    wrong = sum(len(row["wrong"]) for row in rows)
    twice = sum(len(row["asked_twice"]) for row in rows)
    sessions = max(row["sessions"] for row in rows)
    spare = max(
        row["connections"] - 1 - CONNECTIONS_PER_OUTAGE * row["outages"] - row["load_s"] / 60
        for row in rows
    )
    return {
        "responses that are not the origin's": Check(wrong, "", "0", wrong == 0),
        "components fetched twice": Check(twice, "", "0", twice == 0),
        "sessions a load": Check(sessions, "", "1", sessions == 1),
        "connections beyond three an outage and one a minute": Check(
            round(max(spare, 0.0), 1), "", "0", spare <= 0
        ),
    }


@asynccontextmanager
async def _origin(root: Path, asked: Counter[str]) -> AsyncIterator[Address]:
    """The pages, and how often each part of them was asked for."""
    site = SiteServer(root, packed=True, max_age=3600, delay=0.0)

    async def answer(request: web.Request) -> web.StreamResponse:
        asked[request.path] += 1
        return await site.answer(request)

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield host, port
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _pair(
    origin: Address, link: Profile, seed: int
) -> AsyncIterator[tuple[LinkWatch, PageAccess]]:
    """Both proxies, connected over the link, with the patience that they have by themselves."""
    security, ours = paired()
    async with contextlib.AsyncExitStack() as stack:
        to_origin = await stack.enter_async_context(Origin(guard=Guard(["127.0.0.0/8"])))
        transcoders = Transcoders(workers=1)
        stack.push_async_callback(transcoders.close)
        server = RemoteServer(
            Services(to_origin, transcoders),
            quantum=_QUANTUM,
            memory=_MEMORY,
            congestion="cubic",
            patience=RemoteSettings().patience,
        )
        stack.push_async_callback(server.close)
        listener = await stack.enter_async_context(
            await server.listen("127.0.0.1", 0, security=security)
        )
        relay = Relay(
            target=listener.address,
            rate_up=link.rate_up,
            rate_down=link.rate_down,
            delay=link.delay,
            queue=link.queue,
            process=True,
            impairments=link.impairments(seed=seed),
        )
        await stack.enter_async_context(relay)
        host, port = relay.address
        settings = LocalSettings(listen="127.0.0.1:0", device="bench", security="none")
        local = LocalProxy(settings, [Default()], remote=Remote(f"{host}:{port}", ours))
        near = await local.listen()
        running = asyncio.create_task(local.run())
        stack.push_async_callback(_ended, running)
        if await local.uplink.wait_session(settings.patience) is None:
            raise OSError(f"the proxies did not meet: {local.uplink.state().reason}")
        yield (
            LinkWatch(local, server, relay),
            PageAccess(
                base=f"http://{origin[0]}:{origin[1]}/",
                statistics=relay.statistics,
                proxy=f"http://{near[0]}:{near[1]}",
            ),
        )


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
