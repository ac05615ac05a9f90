"""A remote and devices as processes whose cost is known. Knows commands, processes, addresses."""

from __future__ import annotations

import contextlib
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
from emulation.lines.profiles import Profile
from emulation.relay.relay import Relay
from pairing.invitation import Invitation
from pairing.kept import keep
from pairing.store import PairingStore


@dataclass(frozen=True, slots=True)
class Process:
    """A proxy that runs in a process of its own."""

    address: Address
    """Of a device: its port for browsers."""
    id: int

    def spent(self) -> Spent:
        """Processor seconds that it has taken until now."""
        return spent(self.id)


@dataclass(frozen=True, slots=True)
class ServedRemote:
    """A remote with devices that are paired and may be started."""

    process: Process
    invitations: Sequence[Invitation]


@asynccontextmanager
async def remote(devices: int, *, store: str = "") -> AsyncIterator[ServedRemote]:
    """A remote that knows so many devices and serves all at once. `store`: its setting, where
    devices share answers. Raises OSError."""
    with TemporaryDirectory(prefix="sluice-capacity-") as folder:
        pairings = PairingStore(Path(folder))
        known = [pairings.pair(f"d{n}", host="127.0.0.1", port=1) for n in range(devices)]
        listen = ("--listen=127.0.0.1:0", f"--state={folder}", *LOOPBACK)
        places = {"SLUICE_REMOTE_DEVICES": str(devices), "SLUICE_REMOTE_STORE": store}
        async with named_command("remote", *listen, environment=places) as (address, process):
            yield ServedRemote(Process(address, process), known)


@asynccontextmanager
async def device(
    far: ServedRemote, number: int, *, link: Profile | None = None, transport: str = "tcp"
) -> AsyncIterator[tuple[Process, Relay | None]]:
    """One of its devices, over a link or over loopback. Raises OSError."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="sluice-capacity-")))
        keep(folder, far.invitations[number])
        between = None
        if link is not None:
            between = Relay(
                target=far.process.address,
                rate_up=link.rate_up,
                rate_down=link.rate_down,
                delay=link.delay,
                queue=link.queue,
                process=True,
            )
            await stack.enter_async_context(between)
        at = text(between.address if between is not None else far.process.address)
        listen = ("--listen=127.0.0.1:0", f"--state={folder}")
        dial = (f"--remote={at}", f"--transport={transport}")
        address, process = await stack.enter_async_context(named_command("local", *listen, *dial))
        yield Process(address, process), between


def through(process: Process, origin: Address) -> PageAccess:
    """For who loads a page through that device."""
    return PageAccess(
        base=f"http://{text(origin)}/",
        statistics=no_link,
        proxy=f"http://{text(process.address)}",
    )
