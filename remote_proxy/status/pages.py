"""Serves /health and /metrics of a remote proxy, at an address of their own.

Not at the address where devices come: nobody there speaks HTTP. What is served names devices, so
the address is the operator's to choose; on loopback only this machine's users see it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from remote_proxy.statistics import ClusterWork, OpenSession, SharedWork
from remote_proxy.status.metrics import registry
from version import VERSION

_ENDS: Final = 1.0
"""Seconds that an answer under way is given at the end."""


@asynccontextmanager
async def status_pages(
    host: str,
    port: int,
    sessions: Callable[[], Iterable[OpenSession]],
    *,
    devices: int,
    shared: Callable[[], SharedWork | None] = lambda: None,
    cluster: Callable[[], ClusterWork | None] = lambda: None,
) -> AsyncIterator[tuple[str, int]]:
    """While the block lasts; gives the address. Raises OSError.

    `sessions`: those that are open now; `devices`: how many may have one; `shared`: what they
    share; `cluster`: what that has made. A store that does not answer, or a cluster, makes this
    remote no less healthy: it does without.
    """
    began = time.monotonic()
    figures = registry(sessions, devices=devices, shared=shared, cluster=cluster)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(figures), headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4}
        )

    async def health(_: web.Request) -> web.Response:
        open_now, work = list(sessions()), shared()
        store = {} if work is None else {"store": "answers" if work.answers else "does not answer"}
        return web.json_response(
            {
                "status": "ok",
                "version": VERSION,
                "uptime_seconds": round(time.monotonic() - began, 1),
                "devices": len({one.session.device for one in open_now}),
                "devices_max": devices,
                **store,
            },
            headers={"cache-control": "no-store"},
        )

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/health", health)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_ENDS)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        found = runner.addresses[0]
        yield found[0], found[1]
    finally:
        await runner.cleanup()
