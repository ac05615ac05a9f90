"""Composes the local proxy from its settings."""

from __future__ import annotations

import asyncio
from typing import Protocol

from local_proxy.bridge import Bridge, Components
from local_proxy.core import ProxyCore
from local_proxy.documents import Documents
from local_proxy.error_page import error_page
from local_proxy.export_drivers.browser import BrowserExport
from local_proxy.http import Request, Response
from local_proxy.http1 import Http1Front
from local_proxy.policy_runtime import PolicyRuntime
from local_proxy.promises import PromiseTable
from local_proxy.uplink import Uplink
from policies.events import SessionOpened
from policies.loader import load
from transport.link import Link
from transport.tcp import connect


class Settings(Protocol):
    """What it reads of the configuration's [local] section."""

    @property
    def listen(self) -> str: ...
    @property
    def remote(self) -> str: ...
    @property
    def policy(self) -> list[str]: ...
    @property
    def device(self) -> str: ...
    @property
    def patience(self) -> float: ...
    @property
    def export(self) -> str: ...
    @property
    def congestion(self) -> str: ...


class _NoPages:
    async def handle(self, request: Request) -> Response:
        return error_page(404, "no status page yet")


async def run(settings: Settings) -> None:
    """Listen and serve until cancelled. Prints one line when ready. Raises OSError."""
    loop = asyncio.get_running_loop()
    host, _, port = settings.listen.rpartition(":")
    remote_host, _, remote_port = settings.remote.rpartition(":")
    components = Components()
    documents = Documents()
    promises = PromiseTable()

    async def dial() -> Link:
        return await connect(
            remote_host.strip("[]"), int(remote_port), congestion=settings.congestion
        )

    bridge = Bridge(
        components,
        opened=lambda session: uplink.opened(),
        closed=lambda session: None,
        promised=lambda found, headers: promises.d.update({c.url: c for c in found}),
        carried=lambda document, amount: None,
        close_document=lambda document: core.close_document(document),
    )
    uplink = Uplink(dial, bridge, remote=settings.remote, device=settings.device)
    export = BrowserExport(
        now=loop.time, tracker=bridge, fetch=lambda request: core.handle(request)
    )
    core = ProxyCore(
        uplink=uplink,
        export=export,
        promises=promises,
        documents=documents,
        observer=bridge,
        pages=_NoPages(),
        patience=settings.patience,
    )
    runtime = PolicyRuntime([load(name) for name in settings.policy], send=bridge.command)
    bridge.runtime = runtime
    runtime.hear(SessionOpened())
    front = Http1Front(core)
    address = await front.listen(host.strip("[]"), int(port))
    print(f"listening on {address[0]}:{address[1]}", flush=True)
    try:
        await uplink.run()
    finally:
        await front.close()
        runtime.close()
