"""A remote and devices as processes whose cost is known. Knows commands, processes, addresses."""

from __future__ import annotations

import contextlib
import shutil
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

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

_JPEG: Final = b"\xff\xd8"
_PNG_HEADER: Final = 33
"""Bytes of a signature and the first chunk, behind which others may stand (PNG, 5.6)."""


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
async def remote(devices: int) -> AsyncIterator[ServedRemote]:
    """A remote that knows so many devices and serves all at once. Raises OSError."""
    with TemporaryDirectory(prefix="sluice-capacity-") as folder:
        store = PairingStore(Path(folder))
        known = [store.pair(f"d{n}", host="127.0.0.1", port=1) for n in range(devices)]
        listen = ("--listen=127.0.0.1:0", f"--state={folder}", *LOOPBACK)
        places = {"SLUICE_REMOTE_DEVICES": str(devices)}
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


@contextlib.contextmanager
def visits(page: Path, count: int) -> Iterator[Path]:
    """A site with the page under so many addresses, each with pictures of its own bytes: nothing
    is answered from what another visit brought, or spared by what was made for it."""
    with TemporaryDirectory(prefix="sluice-capacity-") as name:
        folder = Path(name)
        for visit in range(count):
            shutil.copytree(page, folder / str(visit))
            for file in (folder / str(visit)).rglob("*.*"):
                if file.suffix in (".jpg", ".png"):
                    file.write_bytes(commented(file.read_bytes(), str(visit).encode()))
        yield folder


def commented(picture: bytes, comment: bytes) -> bytes:
    """A JPEG or PNG with a comment: other bytes, but neither other pixels nor another treatment.

    Bytes behind a JPEG's end would not do: such files are never re-arranged.
    """
    if picture.startswith(_JPEG):
        said = b"\xff\xfe" + (len(comment) + 2).to_bytes(2) + comment
        return _JPEG + said + picture[len(_JPEG) :]
    content = b"tEXt" + b"Comment\0" + comment
    chunk = (len(content) - 4).to_bytes(4) + content + zlib.crc32(content).to_bytes(4)
    return picture[:_PNG_HEADER] + chunk + picture[_PNG_HEADER:]
