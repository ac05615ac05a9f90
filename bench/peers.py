"""What is compared: ways for a browser to get at an origin over one emulated link.

A peer starts whatever it needs around a relay and gives an Endpoint; everything is gone when its
block is left. Peers know addresses, processes and the relay; not pages, not measures.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

from bench.links.relay import Relay
from bench.origin import Address, listening
from bench.page_load import Endpoint
from bench.profiles import Profile
from local_proxy.authority import PUBLIC
from pairing.kept import keep
from pairing.store import Store

ROOT: Final = Path(__file__).resolve().parent.parent
LOOPBACK: Final = ("--allow", "127.0.0.0/8")
"""Lets a remote proxy reach this machine's own origin, which it would refuse."""
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

    def start(self, origin: Address, profile: Profile) -> AbstractAsyncContextManager[Endpoint]:
        """Bring it up. Raises OSError when a part does not start."""


def relay(target: Address, profile: Profile) -> Relay:
    """The profile's link in front of `target`, in a process of its own."""
    return Relay(
        target=target,
        rate_up=profile.rate_up,
        rate_down=profile.rate_down,
        delay=profile.delay,
        queue=profile.queue,
        impairments=profile.impairments(),
        process=True,
    )


class DirectPeer:
    """The browser by itself: HTTP/1.1 over the link."""

    name = "direct"
    policy = ""

    @asynccontextmanager
    async def start(self, origin: Address, profile: Profile) -> AsyncIterator[Endpoint]:
        async with relay(origin, profile) as link:
            host, port = link.address
            yield Endpoint(
                base=f"http://{SITE}/",
                statistics=link.statistics,
                resolve={SITE: f"{host}:{port}"},
            )


class SluicePeer:
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
    ) -> None:
        """`remote`, `local`: further arguments of each command. `policy`: empty for the built-in.

        `scheme` is how the browser speaks to the local proxy: "http", or "https" for HTTP/2.
        `security` is the link's: "tls" between paired proxies, or "none". `ca_file`: authorities
        that the remote trusts for https pages besides the system's.
        """
        self.name = name
        self.policy = policy or "default"
        self._remote = list(remote)
        self._local = [*local, *(("--policy", policy) if policy else ())]
        self._scheme = scheme
        self._security = security
        self._environment = {"SLUICE_REMOTE_CA_FILE": str(ca_file)} if ca_file else {}

    @asynccontextmanager
    async def start(self, origin: Address, profile: Profile) -> AsyncIterator[Endpoint]:
        async with (
            security(self._security) as (server, client, state),
            command(
                "remote",
                "--listen",
                "127.0.0.1:0",
                *LOOPBACK,
                *server,
                *self._remote,
                environment=self._environment,
            ) as remote,
            relay(remote, profile) as link,
            command(
                "local",
                "--listen",
                "127.0.0.1:0",
                "--remote",
                f"{link.address[0]}:{link.address[1]}",
                *client,
                *self._local,
            ) as local,
        ):
            secure = self._scheme == "https"
            yield Endpoint(
                base=f"http://{origin[0]}:{origin[1]}/",
                statistics=link.statistics,
                proxy=f"{self._scheme}://{local[0]}:{local[1]}",
                # The certificate is the proxy's own; trust in it is not what is measured.
                browser_flags=("--ignore-certificate-errors",) if secure else (),
                authority=(state / PUBLIC).read_bytes(),
            )


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
            keep(local, Store(remote).pair("bench", host="127.0.0.1", port=1))
        yield ["--state", str(remote), *more], ["--state", str(local), *more], local


@asynccontextmanager
async def command(
    *arguments: str, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Address]:
    """`python sluice.py ...` as a process; gives where it listens. Raises OSError with its words.

    Its standard error goes where ours goes only if it fails to start: logs would bury the tables.
    """
    # Whoever runs a bench may have settings of their own; they are not what is measured.
    own = {key: value for key, value in os.environ.items() if not key.startswith("SLUICE_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(ROOT / "sluice.py"),
        *arguments,
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
    try:
        async with asyncio.timeout(_END_AFTER):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def peers(names: Sequence[str], *, ca_file: Path | None = None) -> list[Peer]:
    """Peers by name; `ca_file` as SluicePeer has it. Raises ValueError naming those there are."""
    known: dict[str, Peer] = {
        "direct": DirectPeer(),
        "sluice": SluicePeer(ca_file=ca_file),
        "sluice-plain": SluicePeer(name="sluice-plain", security="none", ca_file=ca_file),
    }
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"no peer {unknown[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in names]
