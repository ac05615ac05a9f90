"""Both proxies and an origin in one event loop, over real loopback sockets."""

from __future__ import annotations

import asyncio
import shutil
import ssl
from collections.abc import (
    AsyncIterator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp.abc import AbstractResolver

from bench.pairs.ports import free_port
from configuration import LocalSettings, RemoteSettings
from emulation.memory.secured import paired_twice
from emulation.relay.relay import Relay
from local_proxy.dialling.which_remote import Remote as PairedRemote
from local_proxy.front.tls.authority import Authority
from local_proxy.kept.store import LocalStore
from local_proxy.link.components import Component
from local_proxy.main import LocalProxy
from policies.host.loader import load
from remote_proxy.caching.answers import SharedAnswers
from remote_proxy.caching.records import AnswerRecords
from remote_proxy.jobs.device_texts import DeviceTexts
from remote_proxy.jobs.services import Services
from remote_proxy.origin.client import Origin, OriginConfig
from remote_proxy.plugged_in import PluggedIn, load_plugins
from remote_proxy.promises.plugged_drivers import PluggedDrivers
from remote_proxy.reach.guard import Guard
from remote_proxy.reach.limits import Devices, Limits
from remote_proxy.server import RemoteServer
from remote_proxy.session import RemoteSession
from remote_proxy.store.memory import MemoryStore
from tests.end_to_end.client import PLAIN, Address, Answer, Broken, Browser, Client
from tests.end_to_end.origin import Asked, FakeOrigin, Handler
from tests.watched import run, until
from transcoders.make.registry import Transcoders
from transport.spp.handshake.keys import ServerKeys
from transport.tcp.security import ServerSecurity

__all__ = (
    "LOOPBACK",
    "PLAIN",
    "Address",
    "Answer",
    "Asked",
    "Broken",
    "Browser",
    "Client",
    "FakeOrigin",
    "Handler",
    "Pair",
    "Remote",
    "all_three",
    "pair",
    "run",
    "slow_three",
    "until",
)
"""All that an end-to-end test needs, from one place."""

LOOPBACK = ("127.0.0.0/8", "127.0.0.1:1")
"""Where tests have their origins, and a port where nobody listens; a remote proxy reaches only the
public internet by itself."""
MEETING = 40.0
"""Seconds within which two proxies meet; one that was restarted while the other shook hands with it
is found out within twenty (local_proxy/link/uplink.py, OPENING)."""


class Remote:
    """A remote proxy that can be stopped and started again on the same port."""

    def __init__(
        self, config: OriginConfig | None = None, *, memory: int = 64 << 20,
        patience: float = 60.0, limits: Limits | None = None, allow: Sequence[str] = LOOPBACK,
        resolver: AbstractResolver | None = None, tls: ssl.SSLContext | None = None,
        security: ServerSecurity | None = None, keys: ServerKeys | None = None,
        serves: int = 64, worth: float = 0.0, plugged: PluggedIn | None = None,
        texts: int = RemoteSettings().texts, shares: bool = False,
    ) -> None:  # fmt: skip
        self._plugged = plugged or load_plugins()
        self._texts = texts
        self._shares = shares
        self.port = free_port()
        self.security = security
        self.keys = keys
        self._tls = tls
        self._serves = serves
        self._worth = worth
        self._patience = patience
        self._config = config
        self._memory = memory
        self._allow = allow
        self._devices = Devices(limits)
        self._resolver = resolver
        self.server: RemoteServer | None = None
        self._ending = AsyncExitStack()

    @property
    def sessions(self) -> list[RemoteSession]:
        return self.server.sessions if self.server is not None else []

    async def start(self) -> None:
        async with AsyncExitStack() as ending:
            guard = Guard(self._allow)
            origin = Origin(self._config, guard=guard, resolver=self._resolver, tls=self._tls)
            await ending.enter_async_context(origin)
            plugged = self._plugged
            self.transcoders = Transcoders(workers=2, timeout=120.0, plugged=plugged.transcoders)
            records = AnswerRecords(MemoryStore(64 << 20), allowed="")
            services = self.services = Services(
                origin, self.transcoders, self._devices, worth=self._worth,
                schedulers=plugged.schedulers, drivers=PluggedDrivers(plugged.import_drivers),
                texts=DeviceTexts(self._texts),
                answers=SharedAnswers(origin, records) if self._shares else None,
            )  # fmt: skip
            ending.push_async_callback(services.close)
            self.server = RemoteServer(
                services,
                quantum=1024, memory=self._memory, congestion="cubic", patience=self._patience,
                devices=self._serves,
            )  # fmt: skip
            ending.push_async_callback(self.server.close)
            await self._listen(self.server, ending)
            self._ending = ending.pop_all()

    async def _listen(self, server: RemoteServer, ending: AsyncExitStack) -> None:
        listener = await server.listen("127.0.0.1", self.port, security=self.security)
        ending.callback(listener.close)
        if self.keys is not None:
            await server.listen_udp("127.0.0.1", self.port, keys=self.keys)

    async def stop(self) -> None:
        await self._ending.aclose()
        self.server = None


@dataclass
class Pair:
    """Both proxies, connected."""

    remote: Remote
    local: LocalProxy
    address: Address
    """Where browsers reach the local proxy."""

    @property
    def browser(self) -> Browser:
        return Browser(self.address)

    @property
    def client(self) -> Client:
        return Client(self.address)

    @property
    def session(self) -> RemoteSession:
        """The remote's one session."""
        (session,) = self.remote.sessions
        return session

    @property
    def held(self) -> int:
        """Bytes of components that the local proxy holds, whoever keeps them."""
        session = self.local.uplink.session
        assert session is not None
        return session.held

    async def serves(self, origin: FakeOrigin) -> None:
        """Fails unless a page comes through."""
        origin.serve("/well", b"well", "text/plain")
        assert (await self.client.get(origin.base + "/well")).body == b"well"

    def known(self, url: str) -> Component:
        """The newest component with that URL, of any document: a browser that is late may ask for
        a page twice."""
        for document in range(99, 0, -1):
            if found := self.local.components.find(document, url):
                return found
        raise AssertionError(f"{url} was not asked for")

    async def arrived(self, url: str) -> Component:
        """The same, once it is here: what the remote sends by itself is known when it comes."""
        await until(lambda: any(self.local.components.find(n, url) for n in range(1, 100)))
        await until(lambda: self.known(url).complete)
        return self.known(url)

    async def connected(self) -> None:
        """Until the proxies have said hello, and the policies have had their say."""
        assert await self.local.uplink.wait_session(MEETING) is not None


@asynccontextmanager
async def pair(
    *, policy: Iterable[str] = ("default",), patience: float = 2.0, export: str = "auto",
    config: OriginConfig | None = None, memory: int = 64 << 20, start_remote: bool = True,
    remote_port: int | None = None, remote_patience: float = 60.0,
    tls: ssl.SSLContext | None = None, allow: Sequence[str] = LOOPBACK,
    limits: Limits | None = None,
    resolver: AbstractResolver | None = None, authority: Authority | None = None,
    tunnel: Iterable[str] = (), jpegtran: str | None = shutil.which("jpegtran"),
    secure: bool = False, udp: bool = False, segments: bool = False,
    sites: Mapping[str, Any] | None = None, store: LocalStore | None = None,
    worth: float = 0.0, plugged: PluggedIn | None = None, day_budget: str = "",
    remote_texts: int = RemoteSettings().texts, shares: bool = False, remotes: str = "",
) -> AsyncIterator[Pair]:  # fmt: skip
    """Start both, end both. `secure`: TLS between them, `udp`: UDP, `segments`: of one size. Raises
    what the local proxy raised.

    `tls`: whom the remote trusts. `authority`: the local proxy takes TLS off, but to `tunnel`.
    `jpegtran`: the device's. `sites`, `store`: the local proxy's. `worth`: from how many seconds of
    waiting on pictures are adapted; else they are, though loopback is the fastest of all links.
    `plugged`: the remote's plug-ins. `day_budget`: the local proxy's.
    `remote_texts`: bytes of them that the remote keeps. `shares`: it keeps answers for all.
    `remotes`: where others are that run already.
    """
    ends, keys = paired_twice("test")
    server, client = ends if secure or udp else (None, None)
    server_keys, client_keys = keys if udp else (None, None)
    remote = Remote(
        config, memory=memory, patience=remote_patience, allow=allow, limits=limits,
        resolver=resolver, tls=tls, security=server, keys=server_keys, worth=worth,
        plugged=plugged, texts=remote_texts, shares=shares,
    )  # fmt: skip
    remote.port = remote_port or remote.port
    if start_remote:
        await remote.start()
    settings = LocalSettings(
        listen="127.0.0.1:0",
        remote=remotes or f"127.0.0.1:{remote.port if start_remote or remote_port else 0}",
        policy=list(policy),
        device="test",
        security="none",
        transport="atp-tcp" if segments else "tcp",
        patience=patience,
        notice=patience,
        export=export,
        tunnel=list(tunnel),
        sites=dict(sites or {}),
        day_budget=day_budget,
    )
    local = LocalProxy(
        settings,
        [load(name) for name in settings.policy],
        remote=PairedRemote(settings.remote, client, client_keys),
        authority=authority,
        jpegtran=jpegtran,
        store=store,
    )
    address = await local.listen()
    running = asyncio.ensure_future(local.run())
    both = Pair(remote, local, address)
    try:
        if start_remote:
            await both.connected()
        yield both
    finally:
        running.cancel()
        (ended,) = await asyncio.gather(running, return_exceptions=True)
        await remote.stop()
        if not isinstance(ended, asyncio.CancelledError):
            raise RuntimeError("the local proxy ended by itself") from ended


@asynccontextmanager
async def all_three(**settings: Any) -> AsyncIterator[tuple[FakeOrigin, Pair]]:
    """An origin and the pair."""
    async with FakeOrigin().running() as origin, pair(**settings) as both:
        yield origin, both


@asynccontextmanager
async def slow_three(
    *, rate: int = 40_000, **settings: Any
) -> AsyncIterator[tuple[FakeOrigin, Remote, Pair]]:
    """An origin, the remote proxy and the pair, between whose ends is a link of 10 ms.

    `rate`: bytes/second of the link. The remote is the one that runs; the pair's own one does not.
    """
    worth = settings.pop("worth", 0.0)
    async with FakeOrigin().running() as origin, pair(start_remote=False, worth=worth) as idle:
        await idle.remote.start()
        target = ("127.0.0.1", idle.remote.port)
        async with (
            Relay(target=target, rate_up=rate, rate_down=rate, delay=0.01) as link,
            pair(start_remote=False, remote_port=link.address[1], **settings) as both,
        ):
            await both.connected()
            yield origin, idle.remote, both
