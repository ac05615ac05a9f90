"""Composes the remote proxy from its settings."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import shutil
import sys
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import structlog

from pairing.invitation import format_address
from pairing.store import PairingStore
from plugins.finding import LoadError
from remote_proxy.caching.answers import SharedAnswers
from remote_proxy.caching.records import AnswerRecords
from remote_proxy.devices import PairedDevices
from remote_proxy.jobs.device_texts import DeviceTexts
from remote_proxy.jobs.services import Services
from remote_proxy.origin.client import Origin, OriginConfig
from remote_proxy.plugged_in import load_plugins
from remote_proxy.processes.group import note_listening
from remote_proxy.processes.member import SAYS, with_parent
from remote_proxy.promises.plugged_drivers import PluggedDrivers
from remote_proxy.reach.certificates import NoRoots, client_context, has_roots
from remote_proxy.reach.guard import Guard
from remote_proxy.reach.limits import Devices, Limits
from remote_proxy.server import NotLoopback, RemoteServer
from remote_proxy.sharing.pairings import SharedPairings
from remote_proxy.sharing.texts import SharedTexts
from remote_proxy.sharing.usage import SharedUsage
from remote_proxy.statistics import ClusterWork, SharedWork
from remote_proxy.status.pages import status_pages
from remote_proxy.store.opening import MEMORY, open_store
from remote_proxy.store.store import Store
from remote_proxy.store.valkey import NoSuchStore, ValkeyStore
from service.notify import ready
from transcoders.cluster.at_worker import release
from transcoders.cluster.cluster import Cluster
from transcoders.cluster.cluster_makers import ClusterMakers
from transcoders.make.makers import Makers
from transcoders.make.registry import MAX_PIXELS, Transcoders
from transport.link.interface import LinkError
from transport.tcp.kept_window import ALLOW, KEEPS
from transport.tcp.sockets import USUAL, Listener, may_change
from version import VERSION

FILES: Final = 65_536
"""Files and sockets that this process may have open, if the system lets it: 64 devices with 256
connections, as many tunnels and as many that are kept for the next request."""
_log = structlog.get_logger("sluice.remote")


class ServerSettings(Protocol):
    """What it reads of the configuration's [remote] section."""

    @property
    def listen(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def memory(self) -> int: ...
    @property
    def devices(self) -> int: ...
    @property
    def workers(self) -> int: ...
    @property
    def texts(self) -> int: ...
    @property
    def shared(self) -> int: ...
    @property
    def store(self) -> str: ...
    @property
    def dask(self) -> str: ...
    @property
    def answers(self) -> int: ...
    @property
    def worth(self) -> float: ...
    @property
    def quantum(self) -> int: ...
    @property
    def congestion(self) -> str: ...
    @property
    def available(self) -> bool: ...
    @property
    def allow(self) -> Sequence[str]: ...
    @property
    def max_requests(self) -> int: ...
    @property
    def max_requests_per_minute(self) -> int: ...
    @property
    def max_connections(self) -> int: ...
    @property
    def max_connections_per_host(self) -> int: ...
    @property
    def max_bytes_per_day(self) -> int: ...
    @property
    def ca_file(self) -> str: ...
    @property
    def schedulers(self) -> Sequence[str]: ...
    @property
    def transcoders(self) -> Sequence[str]: ...
    @property
    def import_drivers(self) -> Sequence[str]: ...
    @property
    def patience(self) -> float: ...
    @property
    def security(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def udp(self) -> bool: ...


@asynccontextmanager
async def serving(
    settings: ServerSettings, *, beside: Sequence[int] | None = None
) -> AsyncIterator[str]:
    """Listen and serve while the block lasts; gives the address. Raises OSError, PairingError.

    OSError for plug-ins that can't be had, too. `beside`: where other processes of this remote
    proxy listen (processes/); None: it is the only one.
    """
    guard = _guard(settings.allow, beside or ())
    pairings = PairingStore(Path(settings.state))
    paired = PairedDevices(pairings) if settings.security == "tls" else None
    _may_open_files()
    async with AsyncExitStack() as ends:
        origin = await ends.enter_async_context(_origin(settings, guard))
        store, cluster = _open_store(settings, ends), _cluster(settings)
        texts = DeviceTexts(settings.texts, elsewhere=_shared_texts(pairings, paired, store))
        services = _services(settings, origin, store, cluster, texts)
        ends.push_async_callback(services.close)
        server = _server(settings, services)
        ends.push_async_callback(server.close)
        await _show_status(settings, server, services, cluster, ends)
        listening = await _listen(settings, server, paired)
        address = format_address(*listening.address)
        if paired is not None and beside is None:
            note_listening(pairings, address)
        work = [_watch(paired, server, alone=beside is None)]
        if paired is not None and isinstance(store, ValkeyStore):
            work.append(SharedPairings(pairings, store).run())
        if settings.max_bytes_per_day and isinstance(store, ValkeyStore):
            whose = pairings.identity().pin if paired is not None else b""
            work.append(SharedUsage(services.devices, store, whose=whose).run())
        async with _meanwhile(work), listening:
            yield address


@asynccontextmanager
async def _meanwhile(work: Sequence[Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Do it until the block is left."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _guard(allow: Sequence[str], beside: Sequence[int]) -> Guard:
    """Raises OSError."""
    try:
        guard = Guard(allow)
    except ValueError as error:
        raise OSError(f"remote.allow: {error}") from error
    for other in beside:
        guard.listens(other)
    return guard


def _limits(settings: ServerSettings) -> Limits:
    return Limits(
        requests=settings.max_requests,
        requests_per_minute=settings.max_requests_per_minute,
        connections=settings.max_connections,
        bytes_per_day=settings.max_bytes_per_day,
    )


def _origin(settings: ServerSettings, guard: Guard) -> Origin:
    """Raises OSError."""
    try:
        tls = client_context(settings.ca_file)
    except NoRoots as error:
        raise OSError(str(error)) from error
    if not has_roots():
        _log.warning("no root certificates here: https sites will fail; install ca-certificates")
    config = OriginConfig(
        per_host=settings.max_connections_per_host, total=settings.max_connections
    )
    return Origin(config, guard=guard, tls=tls)


def _services(
    settings: ServerSettings,
    origin: Origin,
    store: Store | None,
    cluster: Cluster | None,
    texts: DeviceTexts,
) -> Services:
    """Raises OSError for plug-ins that can't be had."""
    try:
        plugged = load_plugins(
            schedulers=settings.schedulers,
            transcoders=settings.transcoders,
            import_drivers=settings.import_drivers,
        )
    except LoadError as error:
        raise OSError(str(error)) from error
    return Services(
        origin,
        Transcoders(
            workers=settings.workers,
            shared=settings.shared,
            plugged=plugged.transcoders,
            store=store if settings.store != MEMORY else None,  # there they are already
            makers=_makers(settings, cluster),
        ),
        Devices(_limits(settings)),
        texts=texts,
        worth=settings.worth,
        schedulers=plugged.schedulers,
        drivers=PluggedDrivers(plugged.import_drivers),
        answers=_shared_answers(store, origin, settings.allow),
    )


def _server(settings: ServerSettings, services: Services) -> RemoteServer:
    return RemoteServer(
        services,
        quantum=settings.quantum,
        memory=settings.memory,
        congestion=settings.congestion,
        patience=settings.patience,
        devices=settings.devices,
        available=settings.available,
    )


async def _listen(
    settings: ServerSettings, server: RemoteServer, paired: PairedDevices | None
) -> Listener:
    """Over TCP, and over UDP if it may. Raises OSError."""
    host, _, port = settings.listen.rpartition(":")
    security = paired.security if paired is not None else None
    try:
        listening = await server.listen(host.strip("[]"), int(port), security=security)
    except (NotLoopback, LinkError) as error:
        raise OSError(str(error)) from error
    if not settings.congestion and not may_change(KEEPS, USUAL):
        _log.info("links that are long or lose packets would be used better with BBR", allow=ALLOW)
    if paired is not None and settings.udp:
        await _listen_udp(server, *listening.address, paired)
    return listening


def _open_store(settings: ServerSettings, ends: AsyncExitStack) -> Store | None:
    """The one that is set, until `ends`; None: none is. Raises OSError."""
    try:
        store = open_store(settings.store, memory=settings.answers)
    except NoSuchStore as error:
        raise OSError(str(error)) from error
    if store is not None:
        ends.push_async_callback(store.close)
    return store


def _cluster(settings: ServerSettings) -> Cluster | None:
    """The one that is set, looked for from now on; None: none is. Raises OSError."""
    if not settings.dask:
        return None
    if not settings.dask.startswith(("tcp://", "tls://")):
        raise OSError("remote.dask: say tcp://HOST:PORT or tls://HOST:PORT, of the scheduler")
    try:
        cluster = Cluster(settings.dask, release=release, ours=VERSION)
    except ImportError as error:
        raise OSError("remote.dask needs Dask: pip install 'sluice-proxy[dask]'") from error
    cluster.start()
    return cluster


def _makers(settings: ServerSettings, cluster: Cluster | None) -> Makers | None:
    """A cluster's; None: this process's own."""
    if cluster is None:
        return None
    return ClusterMakers(
        cluster,
        workers=settings.workers,
        jpegtran=shutil.which("jpegtran"),
        max_pixels=MAX_PIXELS,
    )


def _shared_answers(
    store: Store | None, origin: Origin, allow: Sequence[str]
) -> SharedAnswers | None:
    """None: devices share none."""
    if store is None:
        return None
    return SharedAnswers(origin, AnswerRecords(store, allowed=" ".join(sorted(allow))))


def _shared_texts(
    pairings: PairingStore, paired: PairedDevices | None, store: Store | None
) -> SharedTexts | None:
    """None: no device proves who it is, or no other remote could ask for them."""
    if paired is None or not isinstance(store, ValkeyStore):
        return None
    return SharedTexts(store, pairings.identity())


async def _show_status(
    settings: ServerSettings,
    server: RemoteServer,
    services: Services,
    cluster: Cluster | None,
    ends: AsyncExitStack,
) -> None:
    """Serve /health and /metrics until `ends`, if that is set. Raises OSError."""
    if not settings.status:
        return
    host, _, port = settings.status.rpartition(":")
    found = await ends.enter_async_context(
        status_pages(
            host.strip("[]"),
            int(port),
            server.open_now,
            devices=settings.devices,
            shared=lambda: _shared_work(services),
            cluster=lambda: (
                ClusterWork(cluster.there, cluster.done, cluster.lost) if cluster else None
            ),
        )
    )
    services.origin.reach.guard.listens(found[1])
    print(f"status at http://{format_address(*found)}/health and /metrics", file=sys.stderr)


def _shared_work(services: Services) -> SharedWork | None:
    """What devices have had of each other's; None: they share no answers."""
    if services.answers is None:
        return None
    store, counts = services.answers.store, services.answers.statistics
    return SharedWork(
        store.kind,
        store.answers,
        store.found,
        store.missed,
        store.failed,
        counts.given,
        counts.unchanged,
        counts.waited,
        counts.asked,
        counts.bytes_given,
        services.transcoders.statistics().spared,
    )


def _may_open_files() -> None:
    """The usual limit of 1024 is less than the connections that two devices may have, and it stops
    them all when it is met."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):  # a container's may be another
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _listen_udp(server: RemoteServer, host: str, port: int, paired: PairedDevices) -> None:
    """At the port of TCP; without it devices come over TCP."""
    try:
        await server.listen_udp(host, port, keys=paired.keys)
    except LinkError as error:
        _log.warning("devices can come over TCP only", why=str(error))


async def _watch(paired: PairedDevices | None, server: RemoteServer, *, alone: bool) -> None:
    """Let devices in as they are paired, end the sessions of revoked ones; until cancelled."""
    if paired is None:
        return
    if alone and not paired.security.devices:
        print("no device is paired yet: run sluice pair", file=sys.stderr)
    await paired.watch(lambda: server.end_unknown(paired.security))


async def run(settings: ServerSettings, *, beside: Sequence[int] | None = None) -> None:
    """Listen and serve until cancelled. Prints one line when ready.

    `beside`: as for `serving`; such a process ends with its parent. Raises OSError, PairingError.
    """
    async with serving(settings, beside=beside) as address:
        print(f"{SAYS}{address}", flush=True)
        ready(f"serves devices at {address}")
        await (asyncio.Event().wait() if beside is None else with_parent())
