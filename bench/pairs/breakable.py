"""A proxy pair in a world that breaks: cut, silence, a killed remote proxy, a device that moves.

Where a network namespace can be made, remote proxy and origins are in one, with the breaking way
in front of them: the device's connections cross a real cable, whose address at this end can change.
Elsewhere all are on loopback, and nothing moves. Knows processes, addresses and ways; not what is
loaded, nor what is measured.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench.origins.site import Address, listening
from bench.pairs.bound import bound
from bench.pairs.peers import LOOPBACK, ROOT, command, security
from emulation.relay.breaking_way import BreakingWay
from emulation.worlds.namespaces import Namespace, NoNamespaces, namespace

PATIENCE: Final = 600
"""Seconds of the local proxy's; what a page may wait for its link."""


@dataclass(frozen=True, slots=True)
class FarSide:
    """Where the far side is."""

    host: str = "127.0.0.1"
    """As the device reaches it."""
    inside: Callable[..., Sequence[str]] = lambda *words: words
    """Makes of a command one that runs there."""
    new_socket: Callable[[], socket.socket] = socket.socket
    space: Namespace | None = None
    why_not: str = ""
    """Why it is here and not in a namespace."""


@contextlib.contextmanager
def far_side() -> Iterator[FarSide]:
    """In a namespace if that can be."""
    with contextlib.ExitStack() as stack:
        try:
            space = stack.enter_context(namespace())
            place = FarSide(space.far, space.command, space.new_socket, space)
        except NoNamespaces as error:
            place = FarSide(why_not=str(error))
        yield place


class RemoteProcess:
    """`sluice remote` on a port of its own, killed and started at will."""

    def __init__(self, place: FarSide, *options: str) -> None:
        with place.new_socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address: Address = free.getsockname()
        self._command = place.inside(
            *(sys.executable, str(ROOT / "sluice.py"), "remote", *LOOPBACK, *options),
            *(f"--listen=127.0.0.1:{self.address[1]}", f"--config={os.devnull}"),
        )
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Returns when it listens. Raises OSError."""
        self._process = await asyncio.create_subprocess_exec(
            *bound(*self._command),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await listening(self._process)

    async def kill(self) -> None:
        """At once, as a crash does."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        await self._process.communicate()


@dataclass(frozen=True, slots=True)
class BreakableWorld:
    """What faults happen to."""

    place: FarSide
    way: BreakingWay
    remote: RemoteProcess
    local: Address
    """The proxy for clients."""

    async def restart(self) -> None:
        """The remote proxy is killed and started again."""
        await self.remote.kill()
        await self.remote.start()

    async def silence(self, seconds: float) -> None:
        """Connections stand, and nothing crosses them."""
        self.way.hush(True)
        await asyncio.sleep(seconds)
        self.way.hush(False)

    def move(self) -> None:
        """The device has another address. Raises OSError."""
        assert self.place.space is not None
        self.place.space.change_address()


@contextlib.asynccontextmanager
async def world(place: FarSide, *, rate: float) -> AsyncIterator[BreakableWorld]:
    """Both proxies, paired, and the way between them, of `rate` bytes/second. Raises OSError."""
    async with security("tls") as (server, client, _):
        remote = RemoteProcess(place, *server)
        await remote.start()
        try:
            async with BreakingWay(
                remote.address, rate=rate, host=place.host, new_socket=place.new_socket
            ) as way:
                host, port = way.address
                options = (f"--remote={host}:{port}", f"--patience={PATIENCE}", *client)
                async with command("local", "--listen=127.0.0.1:0", *options) as local:
                    yield BreakableWorld(place, way, remote, local)
        finally:
            await remote.kill()
