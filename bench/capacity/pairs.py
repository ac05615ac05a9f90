"""A remote and devices as processes whose cost is known. Knows commands, processes, addresses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.origins.endpoint import PageAccess, no_link
from bench.origins.site import Address
from bench.pairs.peers import LOOPBACK
from bench.pairs.processes import named_command, text
from bench.pairs.processor_time import Spent, spent
from emulation.worlds.cables import World
from emulation.worlds.hosts import HERE, EmulatedHost
from pairing.invitation import Invitation
from pairing.kept import keep
from pairing.store import PairingStore


@dataclass(frozen=True, slots=True)
class Process:
    """A proxy that runs in a process of its own."""

    address: Address
    """Of a device: its port for browsers."""
    id: int
    host: EmulatedHost = HERE

    def spent(self) -> Spent:
        """Processor seconds that it has taken until now."""
        return spent(self.id)


@dataclass(frozen=True, slots=True)
class ServedRemote:
    """A remote with devices that are paired and may be started."""

    process: Process
    invitations: Sequence[Invitation]


@asynccontextmanager
async def remote(
    devices: int, *, store: str = "", host: EmulatedHost = HERE
) -> AsyncIterator[ServedRemote]:
    """A remote that knows so many devices and serves all at once. `store`: its setting, where
    devices share answers. Raises OSError."""
    with TemporaryDirectory(prefix="sluice-capacity-") as folder:
        pairings = PairingStore(Path(folder))
        known = [pairings.pair(f"d{n}", host="127.0.0.1", port=1) for n in range(devices)]
        listen = (f"--listen={host.address}:0", f"--state={folder}", *LOOPBACK)
        allowed = ("--allow", host.address)
        places = {"SLUICE_REMOTE_DEVICES": str(devices), "SLUICE_REMOTE_STORE": store}
        async with named_command("remote", *listen, *allowed, environment=places, host=host) as (
            address,
            process,
        ):
            yield ServedRemote(Process(address, process, host), known)


@asynccontextmanager
async def device(
    far: ServedRemote, number: int, *, world: World | None = None, transport: str = "tcp"
) -> AsyncIterator[Process]:
    """One of its devices, at the near end of the world whose far end has the remote, or over
    loopback. Raises OSError."""
    with TemporaryDirectory(prefix="sluice-capacity-") as name:
        folder = Path(name)
        keep(folder, far.invitations[number])
        host: EmulatedHost = HERE
        at = far.process.address
        if world is not None:
            host, at = world.near, await world.reach(at)
        listen = ("--listen=127.0.0.1:0", f"--state={folder}")
        dial = (f"--remote={text(at)}", f"--transport={transport}")
        async with named_command("local", *listen, *dial, host=host) as (address, process):
            yield Process(address, process, host)


def through(process: Process, origin: Address) -> PageAccess:
    """For who loads a page through that device."""
    return PageAccess(
        base=f"http://{text(origin)}/",
        statistics=no_link,
        proxy=f"http://{text(process.address)}",
        host=process.host,
    )
