"""Composes the local proxy from its settings."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import structlog

from local_proxy.dialling import which_remote
from local_proxy.dialling.dialer import Dialer
from local_proxy.dialling.nearest import NearestRemote
from local_proxy.dialling.which_remote import Remote
from local_proxy.documents.packages import Packages
from local_proxy.documents.page import DocumentsPage
from local_proxy.documents.sparse_file import Folder
from local_proxy.export_drivers.browser.driver import BrowserExport
from local_proxy.export_drivers.preview import launch_page
from local_proxy.export_drivers.preview.previews import Previews
from local_proxy.front.clients import Clients
from local_proxy.front.listener import Front
from local_proxy.front.owner import Owner
from local_proxy.front.tls.authority import Authority
from local_proxy.front.tls.connects import Https
from local_proxy.http.model import Request, Response
from local_proxy.kept.savings import Savings
from local_proxy.kept.spending import Spending
from local_proxy.kept.sqlite_file import Unavailable
from local_proxy.kept.store import OTHERS, LocalStore, Sum
from local_proxy.kept.texts_file import KeptTexts, TextsFile
from local_proxy.kept.threads import STORE
from local_proxy.link.components import Component
from local_proxy.link.dictionaries import Dictionaries
from local_proxy.link.picture_decoding import PictureDecoding
from local_proxy.link.uplink import Connect, Uplink
from local_proxy.policy.bridge import Bridge, Components
from local_proxy.policy.runtime import PolicyRuntime
from local_proxy.policy.worker import PolicyWorker, Worker
from local_proxy.promises.browser_caches import BrowserCaches
from local_proxy.promises.keeper import PromiseKeeper
from local_proxy.requests.ask import Asking
from local_proxy.requests.core import ProxyCore
from local_proxy.requests.document_events import DocumentEvents
from local_proxy.requests.open_documents import Documents
from local_proxy.settings import ProxySettings
from local_proxy.sites.day_budget import DayBudget
from local_proxy.sites.rations import Rations
from local_proxy.sites.sites import Sites
from local_proxy.sites.switches import Switches
from local_proxy.status.budgets import shown_budgets, shown_day
from local_proxy.status.control import ControlPage
from local_proxy.status.overview import Overview
from local_proxy.status.page import StatusPage
from local_proxy.status.setup import HOST, Setup
from local_proxy.status.snapshot import ShownBudget, ShownTexts
from local_proxy.tracking_drivers.browser import Tracker
from policies.api import Policy, SessionOpened
from policies.api.plan import Decision, Subject, decide
from policies.host.loader import load
from transport.link.interface import LinkError
from transport.paths.budget import byte_size
from transport.paths.interfaces import Change, InterfaceWatch
from transport.paths.terms import BACKGROUND
from wire import abilities
from wire.messages import AskedFor, Hold, Raise

DAY: Final = "*"
"""The name under which the day's budget is kept, beside those of interfaces."""
URGENT: Final = 2
"""Urgency of a component whose head a browser waits for: before all tiers."""
_log = structlog.get_logger("sluice.local")


class LocalProxy:
    """One local proxy: everything between browsers and the link. Made in a running loop."""

    def __init__(
        self,
        settings: ProxySettings,
        policies: list[Policy],
        *,
        remote: Remote | None = None,
        connect: Connect | None = None,
        worker: Callable[[], Worker] = PolicyWorker,
        authority: Authority | None = None,
        jpegtran: str | None = shutil.which("jpegtran"),
        store: LocalStore | None = None,
    ) -> None:
        """`remote`: as the settings say unless given (raises PairingError). Raises ClientsError
        and PrivateError for settings that make no sense.

        `connect` makes the link, a lasting one over TCP to the remote unless given; `worker` makes
        what policies react in. `authority` vouches for https sites to browsers; without one their
        tunnels stay opaque. `jpegtran` undoes the arithmetic coding of pictures; None: they come
        without. `store`: where choices and savings are kept; None: nowhere, and files of documents
        among the system's temporary ones.
        """
        self._settings = settings
        self._store = store
        clients = Clients(settings.listen, settings.allow_clients)
        loop = asyncio.get_running_loop()
        self.promises = PromiseKeeper(
            self._urge,
            awaited=self._awaited,
            release=self._release,
            unwanted=self._unwanted,
            later=loop.call_later,
        )
        self.caches = BrowserCaches()
        self.components = Components()
        self.documents = Documents()
        self.events = DocumentEvents()
        self.sites = Sites(settings.sites, tunnel=settings.tunnel, within=settings.within)
        self.savings = Savings(store if settings.history else None)
        bridge = Bridge(self.components, self.promises, self.caches, self.events, now=loop.time)
        self.tracker: Tracker = bridge
        """Told what users do, by whatever watches them."""
        self._decoding = PictureDecoding(jpegtran, streams=settings.export == "stream")
        self.texts = self._new_texts()
        self.dictionaries = Dictionaries(self.texts.shelf)
        """Texts of earlier visits."""
        self._dialer = self._new_dialer(remote or which_remote.remote(settings))
        self.uplink = self._new_uplink(bridge, connect)
        self._nearest = NearestRemote(self._dialer, self.uplink)
        if settings.congestion == BACKGROUND:
            policies = [*policies, load("polite")]
        self.runtime = PolicyRuntime(policies, send=bridge.command, worker=worker)
        self.overview = Overview(
            self.uplink,
            self.runtime,
            saved=self._saved,
            why_not_udp=self._dialer.why_not_udp,
            budgets=self._shown_budgets,
            texts=self._shown_texts,
        )
        self.day_budget = self._new_day_budget()
        days = {} if self.day_budget is None else {DAY: self.day_budget}
        self.spending = Spending(store, {**self._dialer.terms.budgets, **days})
        self.packages = self._new_packages(bridge)
        self._setup = _setup(authority, settings)
        self.export = self._new_export(bridge)
        self.previews = self._new_previews()
        self.launching = launch_page.Launching(self.previews.address, self._open_document)
        self.asking = self._new_asking(bridge)
        self.core = self._new_core(self._new_pages(loop), sees_tls=authority is not None)
        self.https = self._new_https(authority) if authority is not None else None
        """Which https connections are adapted; None: none."""
        self.front = Front(self.core, https=self.https, admits=clients.admits)
        self._join(bridge)

    def _join(self, bridge: Bridge) -> None:
        """Parts that need each other learn of each other, and of documents that close."""
        rations = Rations(self.day_budget, self.export.look, refuse=self._refuse)
        bridge.connect(
            uplink=self.uplink,
            runtime=self.runtime,
            overview=self.overview,
            documents=self.documents,
            look=rations.look,
        )
        self.events.on_close(
            self.documents.close,
            self.caches.close,
            self.promises.close_document,
            self.export.close_document,
            bridge.document_closed,
            self.uplink.close_document,
            self.dictionaries.closed,
            rations.close_document,
        )

    def _new_uplink(self, bridge: Bridge, connect: Connect | None) -> Uplink:
        return Uplink(
            connect or self._dialer.dial,
            bridge,
            remote=lambda: self._dialer.address,
            device=self._settings.device,
            patience=self._settings.patience,
            accepts=self._decoding.accepts,
            dictionaries=self.dictionaries,
            turned_away=self._dialer.turned_away,
        )

    def _new_texts(self) -> KeptTexts:
        settings, store = self._settings, self._store
        file = TextsFile(store.folder) if store is not None and settings.history else None
        return KeptTexts(file, max_bytes=settings.texts if settings.history else 0)

    def _new_day_budget(self) -> DayBudget | None:
        size = self._settings.day_budget
        return DayBudget(byte_size(size), crossed=self.overview.crossed) if size else None

    def _shown_budgets(self) -> list[ShownBudget]:
        return [*shown_day(self.day_budget), *shown_budgets(self._dialer.terms)]

    def _shown_texts(self) -> ShownTexts:
        shelf = self.texts.shelf
        return ShownTexts(len(shelf), shelf.bytes, shelf.max_bytes, self.dictionaries.spared)

    def _new_previews(self) -> Previews:
        return Previews(
            self.packages,
            fetch=self._handle,
            close_document=self.events.close,
            launch=f"http://{HOST}{launch_page.PATH}",
        )

    def _new_asking(self, bridge: Bridge) -> Asking:
        return Asking(
            self.uplink,
            documents=self.documents,
            export=self.export,
            observer=bridge,
            caches=self.caches,
            events=self.events,
            dictionaries=self.dictionaries,
        )

    def _new_core(self, pages: StatusPage, *, sees_tls: bool) -> ProxyCore:
        switches = Switches(
            *(self.sites, self.documents),
            find=self.components.find,
            unwanted=self._unwanted,
            left_out=self.export.leave_out,
            budget=self.day_budget,
        )
        return ProxyCore(
            uplink=self.uplink,
            export=self.export,
            previews=self.previews,
            promises=self.promises,
            documents=self.documents,
            caches=self.caches,
            switches=switches,
            asking=self.asking,
            events=self.events,
            pages=pages,
            plan=self._decide,
            patience=self._settings.patience,
            notice=self._settings.notice,
            sees_tls=sees_tls,
        )

    def _new_dialer(self, remote: Remote) -> Dialer:
        settings = self._settings
        return Dialer(
            settings,
            remote,
            congestion=settings.congestion,
            patience=settings.patience,
            on_change=self._link_changed,
            expecting=lambda: self.uplink.expecting,
        )

    def _new_packages(self, bridge: Bridge) -> Packages:
        settings = self._settings
        kept = Path(settings.state) / "documents" if self._store is not None else None
        return Packages(
            self.uplink,
            Folder(kept),
            bridge,
            hear=self.runtime.hear,
            close=self.events.close,
            mode=self.sites.mode,
            patience=settings.patience,
            undo=self._decoding.undo,
        )

    def _new_pages(self, loop: asyncio.AbstractEventLoop) -> StatusPage:
        """The local proxy's own pages, and what they may change."""
        control = ControlPage(
            *(self.sites, self.savings),
            store=self._store,
            https=lambda: self.https,
            erase=self.texts.erase,
            now=loop.time,
        )
        return StatusPage(
            self.overview.snapshot,
            setup=self._setup,
            control=control,
            documents=DocumentsPage(self.packages, ours=control.is_ours).handle,
            launching=self.launching.handle,
            owner=Owner(Path(self._settings.state) if self._store is not None else None),
        )

    def _new_export(self, tracker: Tracker) -> BrowserExport:
        settings = self._settings
        return BrowserExport(
            now=asyncio.get_running_loop().time,
            tracker=tracker,
            fetch=self._handle,
            multipart=None if settings.export == "auto" else settings.export == "multipart",
            swap=settings.export != "stream",
            decode=self._decoding.decode,
            enlarge=self._decoding.enlarge,
            restore=self._decoding.restore,
            growing=self._growing,
            window=self.caches.windows.seen,
            host=HOST,
        )

    def _new_https(self, authority: Authority) -> Https:
        return Https(
            authority,
            now=asyncio.get_running_loop().time,
            tunnelled=self.sites.tunnelled,
            store=self._store if self._settings.history else None,  # it names hosts
        )

    async def listen(self) -> tuple[str, int]:
        """Take browsers' connections; the address as bound. Raises OSError."""
        host, _, port = self._settings.listen.rpartition(":")
        try:
            self._setup.address = await self.front.listen(host.strip("[]"), int(port))
        except socket.gaierror as error:
            raise OSError(f"local.listen: {self._settings.listen}: {error.strerror}") from error
        return self._setup.address

    async def run(self) -> None:
        """Keep the link up until cancelled, then end everything."""
        await self._recall()
        self.runtime.hear(SessionOpened())  # what policies set first stands before any request
        watch = InterfaceWatch(self._network_changed)
        try:
            await self._decoding.probe()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.uplink.run())
                tasks.create_task(self.uplink.keep_alive())
                tasks.create_task(self.overview.watch_bandwidth())
                if self._dialer.elsewhere:
                    tasks.create_task(self._nearest.run())
                tasks.create_task(self.savings.run())
                tasks.create_task(self.spending.run())
                tasks.create_task(self.texts.run())
                if self.https is not None:
                    tasks.create_task(self.https.lessons.run())
        finally:
            watch.close()
            self.previews.close()
            self.launching.close()
            self.packages.close_all()
            await self._decoding.close()
            await self.front.close()
            self.runtime.close()
            await self.savings.flush()
            await self.spending.flush()
            await self.texts.flush()
            if self.https is not None:
                await self.https.lessons.flush()

    async def _recall(self) -> None:
        """What people chose in earlier runs, and what was learnt of clients."""
        if self.https is not None:
            await self.https.lessons.recall()
        await self.spending.recall()
        await self.texts.recall()
        if self._store is None:
            return
        try:
            choices = await STORE.run(self._store.choices)
            times = await STORE.run(self._store.times)
        except Unavailable as error:
            _log.warning("choices for sites can't be read", why=str(error))
            return
        for why in self.sites.recall(choices, times):
            _log.warning("a choice for a site makes no sense", why=why)

    def _saved(self, component: Component, delivered: Sum) -> None:
        document = self.documents.get(component.document)
        url = component.url if "://" in component.url else f"//{component.url}"
        host = document.site if document is not None else urlsplit(url).hostname
        self.savings.add(host or OTHERS, delivered)

    def _network_changed(self, change: Change) -> None:
        self.uplink.hurry()
        self._dialer.network_changed(change)
        self._nearest.network_changed()

    def _link_changed(self, error: LinkError | None) -> None:
        self.uplink.link_changed(error)

    def _decide(self, subject: Subject) -> Decision:
        return decide(self.runtime.rules, subject)

    def _urge(self, component: Component) -> None:
        session = self.uplink.session
        if session is not None:
            session.say(Raise(component.id, URGENT))

    def _awaited(self, component: Component) -> None:
        session = self.uplink.session
        if session is not None and session.remote_accepts(abilities.ASKED_FOR):
            session.say(AskedFor(component.id))

    def _unwanted(self, component: Component) -> None:
        self.uplink.abandon(component)

    def _refuse(self, component: Component) -> None:
        session = self.uplink.session
        if session is not None:
            session.call_off(component.id, reason="Today's budget has no room for it.")

    def _growing(self, document: int) -> None:
        session = self.uplink.session
        if session is not None:
            session.grow(document)

    def _release(self, component: Component) -> None:
        session = self.uplink.session
        if session is not None:
            session.say(Hold(component.id, on=False))

    async def _open_document(self, url: str) -> asyncio.subprocess.Process:
        host, port = self._setup.address
        return await launch_page.open_document(url, proxy=f"{host}:{port}")

    async def _handle(self, request: Request) -> Response:
        return await self.core.handle(request)


def _setup(authority: Authority | None, settings: ProxySettings) -> Setup:
    trusted = authority.certificate_pem if authority is not None else None
    return Setup(trusted, secure=authority is not None, private=settings.private)
