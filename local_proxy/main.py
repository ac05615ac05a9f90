"""Composes the local proxy from its settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from local_proxy import paired
from local_proxy.bridge import Bridge, Components
from local_proxy.components import Component
from local_proxy.core import ProxyCore
from local_proxy.documents import Documents
from local_proxy.export_drivers.browser import BrowserExport
from local_proxy.http import Request, Response
from local_proxy.http1 import Http1Front
from local_proxy.overview import Overview
from local_proxy.paired import Remote
from local_proxy.policy_runtime import PolicyRuntime
from local_proxy.policy_worker import PolicyWorker, Worker
from local_proxy.promise_keeper import PromiseKeeper
from local_proxy.status.page import StatusPage
from local_proxy.tracking_drivers.browser import Tracker
from local_proxy.uplink import Connect, Uplink
from policies.api import Policy, SessionOpened
from policies.loader import load
from policies.plan import Decision, Subject, decide
from transport.handshakes import dial_secured
from transport.lasting import LastingLink
from transport.link import Link
from wire.messages import Raise

URGENT: Final = 2
"""Urgency of a component whose head a browser waits for: before all tiers."""


class Settings(Protocol):
    """What it reads of the configuration's [local] section."""

    @property
    def listen(self) -> str: ...
    @property
    def remote(self) -> str: ...
    @property
    def security(self) -> str: ...
    @property
    def pair(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def policy(self) -> list[str]: ...
    @property
    def device(self) -> str: ...
    @property
    def patience(self) -> float: ...
    @property
    def notice(self) -> float: ...
    @property
    def export(self) -> str: ...
    @property
    def congestion(self) -> str: ...


class LocalProxy:
    """One local proxy: everything between browsers and the link. Made in a running loop."""

    def __init__(
        self,
        settings: Settings,
        policies: list[Policy],
        *,
        remote: Remote | None = None,
        connect: Connect | None = None,
        worker: Callable[[], Worker] = PolicyWorker,
    ) -> None:
        """`remote`: as the settings say unless given (raises PairingError).

        `connect` makes the link, a lasting one over TCP to the remote unless given; `worker`
        makes what policies react in.
        """
        self._settings = settings
        self._remote = remote or paired.remote(settings)
        self._lasting: LastingLink | None = None
        loop = asyncio.get_running_loop()
        promises = PromiseKeeper(self._urge)
        self.components = Components()
        bridge = Bridge(self.components, promises, now=loop.time)
        self.tracker: Tracker = bridge
        """Told what users do, by whatever watches them."""
        self.uplink = Uplink(
            connect or self._connect,
            bridge,
            remote=self._remote.address,
            device=settings.device,
            patience=settings.patience,
        )
        self._runtime = PolicyRuntime(policies, send=bridge.command, worker=worker)
        self._overview = Overview(self.uplink, self._runtime)
        export = BrowserExport(
            now=loop.time,
            tracker=bridge,
            fetch=self._handle,
            multipart=settings.export == "multipart",
        )
        self.core = ProxyCore(
            uplink=self.uplink,
            export=export,
            promises=promises,
            documents=Documents(),
            observer=bridge,
            pages=StatusPage(self._overview.snapshot),
            plan=self._decide,
            patience=settings.patience,
            notice=settings.notice,
        )
        self._front = Http1Front(self.core)
        bridge.connect(
            uplink=self.uplink,
            runtime=self._runtime,
            overview=self._overview,
            close_document=self.core.close_document,
        )

    async def listen(self) -> tuple[str, int]:
        """Take browsers' connections; the address as bound. Raises OSError."""
        host, _, port = self._settings.listen.rpartition(":")
        return await self._front.listen(host.strip("[]"), int(port))

    async def run(self) -> None:
        """Keep the link up until cancelled, then end everything."""
        self._runtime.hear(SessionOpened())  # what policies set first stands before any request
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.uplink.run())
                tasks.create_task(self._overview.watch_bandwidth())
        finally:
            await self._front.close()
            self._runtime.close()

    def _decide(self, subject: Subject) -> Decision:
        return decide(self._runtime.rules, subject)

    def _urge(self, component: Component) -> None:
        session = self.uplink.session
        if session is not None:
            session.say(Raise(component.id, URGENT))

    async def _handle(self, request: Request) -> Response:
        return await self.core.handle(request)

    async def _connect(self) -> Link:
        host, _, port = self._remote.address.rpartition(":")
        self._lasting = LastingLink(
            lambda: dial_secured(host.strip("[]"), int(port), security=self._remote.security),
            congestion=self._settings.congestion,
            patience=self._settings.patience,
            on_change=self.uplink.link_changed,
        )
        return await self._lasting.open()


async def run(settings: Settings) -> None:
    """Listen and serve until cancelled. Prints one line when ready.

    Raises OSError, LoadError, PairingError.
    """
    proxy = LocalProxy(settings, [load(name) for name in settings.policy])
    host, port = await proxy.listen()
    print(f"listening on {host}:{port}", flush=True)
    await proxy.run()
