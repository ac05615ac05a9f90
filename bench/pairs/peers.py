"""Peers to compare: ways for a browser to get at an origin over one emulated link.

A peer starts whatever it needs at both ends of a world and gives an Endpoint; everything is gone
when its block is left. Peers know addresses, processes and hosts; not what emulates the link, not
pages, not measures.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol, runtime_checkable

from bench.origins.endpoint import PageAccess
from bench.origins.site import Address, listening, spawn
from bench.pairs.bound import bound, giving_way
from emulation.lines.profiles import Profile
from emulation.relay.relay_world import relay
from emulation.worlds.cables import World
from emulation.worlds.hosts import HERE, EmulatedHost
from emulation.worlds.tun_world import TunWorld
from emulation.worlds.world import AUTO, emulate
from local_proxy.front.tls.authority import PUBLIC
from pairing.kept import keep
from pairing.store import PairingStore

__all__ = ("DirectPeer", "OverRelay", "Peer", "SluicePeer", "command", "in_world", "peers", "relay")

ROOT: Final = Path(__file__).resolve().parents[2]
LOOPBACK: Final = ("--allow", "127.0.0.0/8")
"""Lets a remote proxy reach this machine's own origin, which it would refuse."""
NAMES: Final = ("direct", "sluice", "sluice-plain", "sluice-udp", "sluice-saver")
"""Of the peers here; other people's are in bench/rivals."""
SITE: Final = "site.test"
"""Chromium maps this name to the relay, so that a direct load has an ordinary host name."""
_END_AFTER: Final = 5.0
"""Seconds a proxy's process is given to end."""

_LAST_WORDS: Final = 4
"""Lines of a process's standard error that an error message repeats."""


class Peer(Protocol):
    """One way to load a page."""

    @property
    def name(self) -> str:
        """As tables and report.json call it."""

    @property
    def policy(self) -> str:
        """The policy in force, or empty where there is none."""

    def start(self, origin: Address, profile: Profile) -> AbstractAsyncContextManager[PageAccess]:
        """Bring it up over a relay on this machine, where the origin is. Raises OSError when a
        part of it does not start.
        """


@runtime_checkable
class InAnyWorld(Peer, Protocol):
    """One that can live between other hosts than this machine."""

    def over(self, world: World, origin: Address) -> AbstractAsyncContextManager[PageAccess]:
        """Bring it up in a world whose far host reaches the origin. Raises OSError."""


@asynccontextmanager
async def in_world(
    peer: Peer, site: Path, profile: Profile, *, backend: str
) -> AsyncIterator[PageAccess]:
    """A world with the site at its far end, and the peer in it. Raises OSError, ValueError."""
    if not isinstance(peer, InAnyWorld):
        if backend not in ("relay", AUTO):
            raise ValueError(f"{peer.name} is only compared over --backend relay")
        async with spawn(site) as origin, peer.start(origin, profile) as endpoint:
            yield endpoint
        return
    async with (
        emulate(profile, backend=backend) as world,
        spawn(site, host=world.far) as origin,
        peer.over(world, origin) as endpoint,
    ):
        yield endpoint


class OverRelay(ABC):
    """A peer's `start`, made of its `over`."""

    @abstractmethod
    def over(self, world: World, origin: Address) -> AbstractAsyncContextManager[PageAccess]: ...

    @asynccontextmanager
    async def start(self, origin: Address, profile: Profile) -> AsyncIterator[PageAccess]:
        async with (
            emulate(profile, backend="relay") as world,
            self.over(world, origin) as endpoint,
        ):
            yield endpoint


class DirectPeer(OverRelay):
    """The browser by itself: HTTP/1.1 over the link."""

    name = "direct"
    policy = ""

    @asynccontextmanager
    async def over(self, world: World, origin: Address) -> AsyncIterator[PageAccess]:
        host, port = await world.reach(origin)
        yield PageAccess(
            base=f"http://{SITE}/",
            statistics=world.statistics,
            resolve={SITE: f"{host}:{port}"},
            host=world.near,
            backend=world.backend,
            rewind=world.rewind,
        )


class SluicePeer(OverRelay):
    """The proxy pair of this project, its two proxies as processes with the link between them."""

    def __init__(
        self,
        *,
        name: str = "sluice",
        policy: str = "",
        remote: Sequence[str] = (),
        local: Sequence[str] = (),
        scheme: str = "http",
        security: str = "tls",
        ca_file: Path | None = None,
        transport: str = "tcp",
        paths: Sequence[int] = (),
        sites: str = "",
        day_budget: str = "",
    ) -> None:
        """`remote`, `local`: further arguments of each command. `policy`: empty for the built-in.

        `scheme` is how the browser speaks to the local proxy: "http", or "https" for HTTP/2.
        `security` is the link's: "tls" between paired proxies, or "none". `ca_file`: authorities
        that the remote trusts for https pages besides the system's. `transport`: the link's, as
        [local] has it. `paths`: numbers of those of the world that carry the link together.
        `sites`, `day_budget`: the device's, as the environment has them.
        """
        self.name = name
        self.policy = policy or "default"
        self._remote = list(remote)
        self._local = [*local, *(("--policy", policy) if policy else ())]
        self._scheme = scheme
        self._transport = transport
        self._paths = tuple(paths)
        said = {"SLUICE_LOCAL_SITES": sites, "SLUICE_LOCAL_DAY_BUDGET": day_budget}
        self._saver = {name: value for name, value in said.items() if value}
        self._security = security
        self._environment = {"SLUICE_REMOTE_CA_FILE": str(ca_file)} if ca_file else {}

    @asynccontextmanager
    async def over(self, world: World, origin: Address) -> AsyncIterator[PageAccess]:
        if self._transport == "atp-udp" and world.backend == "relay":
            raise OSError("the relay carries TCP only: take --backend tun")
        async with contextlib.AsyncExitStack() as stack:
            server, client, state = await stack.enter_async_context(security(self._security))
            listen = ("--listen", f"{world.far.address}:0", *LOOPBACK, "--allow", origin[0])
            remote = await stack.enter_async_context(
                command(
                    "remote",
                    *listen,
                    *server,
                    *self._remote,
                    environment=self._environment,
                    host=world.far,
                )
            )
            host, port = await world.reach(remote)
            dial = ["--listen", "127.0.0.1:0", "--remote", f"{host}:{port}"]
            dial += ["--transport", self._transport]
            local = await stack.enter_async_context(
                command(
                    "local",
                    *dial,
                    *client,
                    *self._local,
                    environment={**self._lead(world), **self._saver},
                    host=world.near,
                )
            )
            secure = self._scheme == "https"
            yield PageAccess(
                base=f"http://{origin[0]}:{origin[1]}/",
                statistics=world.statistics,
                proxy=f"{self._scheme}://{local[0]}:{local[1]}",
                # The certificate is the proxy's own; trust in it is not what is measured.
                browser_flags=("--ignore-certificate-errors",) if secure else (),
                authority=(state / PUBLIC).read_bytes(),
                host=world.near,
                backend=world.backend,
                rewind=world.rewind,
            )

    def _lead(self, world: World) -> dict[str, str]:
        """Settings of the device, where several of its interfaces lead to the remote."""
        if not self._paths:
            return {}
        if not isinstance(world, TunWorld):
            raise OSError("several paths need the tun backend, which needs root")
        for path in self._paths:
            world.lead(path)
        return {"SLUICE_LOCAL_PATHS": ",".join(f"path{path}" for path in self._paths)}


@asynccontextmanager
async def security(kind: str) -> AsyncIterator[tuple[list[str], list[str], Path]]:
    """Arguments of the remote's and the local's command, and the local's state.

    The states are gone afterwards.
    """
    with TemporaryDirectory(prefix="pairing-") as folder:
        remote, local = Path(folder, "remote"), Path(folder, "local")
        more = ["--security", "none"] if kind == "none" else []
        if kind != "none":
            # The proxies meet at the relay, whatever the pairing says of the address.
            keep(local, PairingStore(remote).pair("bench", host="127.0.0.1", port=1))
        yield ["--state", str(remote), *more], ["--state", str(local), *more], local


@asynccontextmanager
async def command(
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    host: EmulatedHost = HERE,
    elsewhere: bool = False,
) -> AsyncIterator[Address]:
    """`python sluice.py ...` as a process on `host`; gives where it listens.

    `elsewhere`: it stands for a program on another machine, and takes no time from this one's.
    Raises OSError with its words. Its standard error goes where ours goes only if it fails to
    start: logs would bury the tables.
    """
    # Whoever runs a bench may have settings of their own; they are not what is measured.
    own = {key: value for key, value in os.environ.items() if not key.startswith("SLUICE_")}
    sluice = sys.executable, str(ROOT / "sluice.py"), *arguments
    started = giving_way(*sluice) if elsewhere else sluice
    process = await asyncio.create_subprocess_exec(
        *bound(*host.command(*started)),
        f"--config={os.devnull}",
        cwd=ROOT,
        env={**own, **(environment or {})},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    words = bytearray()
    drains = [asyncio.create_task(_drain(process.stderr, words))]
    try:
        try:
            address = await listening(process)
        except (OSError, TimeoutError) as error:
            await asyncio.sleep(0.1)  # Its last words may still be in the pipe.
            said = "\n".join(words.decode(errors="replace").strip().splitlines()[-_LAST_WORDS:])
            raise OSError(f"sluice {arguments[0]} did not start: {said or error}") from error
        drains.append(asyncio.create_task(_drain(process.stdout, bytearray())))
        yield address
    finally:
        await _end(process)
        for task in drains:
            task.cancel()


async def _drain(pipe: asyncio.StreamReader | None, words: bytearray) -> None:
    """Read to the end, keep the last 4 KB: a full pipe would stop its writer."""
    assert pipe is not None
    while chunk := await pipe.read(65536):
        words += chunk
        del words[:-4096]


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    ended = asyncio.ensure_future(process.wait())
    await asyncio.wait([ended], timeout=_END_AFTER)
    if not ended.done():
        process.kill()
    await ended


def peers(names: Sequence[str], *, ca_file: Path | None = None) -> list[Peer]:
    """Peers by name; `ca_file` as SluicePeer has it. Raises ValueError naming those there are."""
    known: dict[str, Peer] = {
        "direct": DirectPeer(),
        "sluice": SluicePeer(ca_file=ca_file),
        "sluice-plain": SluicePeer(name="sluice-plain", security="none", ca_file=ca_file),
        "sluice-udp": SluicePeer(name="sluice-udp", transport="atp-udp", ca_file=ca_file),
        "sluice-saver": SluicePeer(name="sluice-saver", sites="*=saver", ca_file=ca_file),
    }
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"no peer {unknown[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in names]
