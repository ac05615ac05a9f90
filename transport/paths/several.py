"""Keeps a connection supplied with a path over each of this machine's interfaces.

An interface without a path is dialled, again after a while where that fails, and at once when the
network has changed; the connection lives as long as one path does. Its first path decides whether
there is a connection at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from transport.link.interface import LinkError, NotTrusted
from transport.multipath.device_end import DeviceEnd
from transport.multipath.duty import Duty
from transport.paths.preferring_udp import ANSWER
from transport.paths.terms import AllTerms
from transport.spp.edge.udp import connect
from transport.spp.handshake.keys import ClientKeys
from transport.stream.preamble import TOKEN, Preamble, What
from transport.udp.connection import congestion

BACKOFF: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds between two tries of an interface; the last one repeats."""
LOOK: Final = 60.0
"""Seconds between two looks whether another month has begun."""
_log = structlog.get_logger("sluice.link")

Interfaces = Callable[[], Sequence[str]]
"""Names of the interfaces that there are to be used now."""


async def dial_paths(
    host: str,
    port: int,
    *,
    keys: ClientKeys,
    interfaces: Interfaces,
    terms: AllTerms | None = None,
    timeout: float = ANSWER,
) -> DeviceEnd:
    """A connection to the remote of `keys` over all these interfaces, once one of them has a path.

    Raises LinkError, NotTrusted.
    """
    keeper = PathKeeper(host, port, keys=keys, interfaces=interfaces, terms=terms, timeout=timeout)
    return await keeper.open()


class PathKeeper:
    """One connection's, from its first path to its end."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        keys: ClientKeys,
        interfaces: Interfaces,
        terms: AllTerms | None = None,
        timeout: float = ANSWER,
    ) -> None:
        self._host, self._port = host, port
        self._keys = keys
        self._interfaces = interfaces
        self._terms = terms or AllTerms()
        self._timeout = timeout
        self.end = DeviceEnd(Preamble(What.JOIN, secrets.token_bytes(TOKEN)).encode())
        """The connection."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._hurry = asyncio.Event()
        self._first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._failed: dict[str, LinkError] = {}
        """Interfaces that were tried in vain, of those that there were at first."""

    async def open(self) -> DeviceEnd:
        """The connection, once it has a path. Raises LinkError, NotTrusted."""
        self.end.on_network_change = self._network_changed
        self.end.on_close = self._stop
        self._look()
        if not self._tasks:
            raise LinkError("none of the interfaces that paths names is there")
        try:
            await self._first
        except BaseException:
            self.end.close()
            raise
        return self.end

    def _network_changed(self) -> None:
        self._look()
        self._hurry.set()

    def _look(self) -> None:
        """A task for each interface; those that are gone take their paths with them."""
        names = self._interfaces()
        for name in names:
            if name not in self._tasks:
                self._tasks[name] = asyncio.create_task(self._keep(name), name=f"path over {name}")
        for path in self.end.paths:
            if path.name not in names:
                self.end.leave(path)
        for name in [name for name in self._tasks if name not in names]:
            self._tasks.pop(name).cancel()

    def _stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    async def _keep(self, name: str) -> None:
        """A path over that interface, one after the other."""
        attempts, terms = 0, self._terms.of(name)
        while True:
            if terms.spent:
                self._tried(name, LinkError(f"{name} has carried all that it may this month"))
                await asyncio.sleep(LOOK)
                continue
            try:
                link = await connect(
                    self._host,
                    self._port,
                    keys=self._keys,
                    settings=terms.settings,
                    congestion=congestion(),
                    timeout=self._timeout,
                    interface=name,
                    crossed=terms.count,
                )
            except LinkError as error:
                self._tried(name, error)
                if isinstance(error, NotTrusted):
                    return
                await self._pause(BACKOFF[min(attempts, len(BACKOFF) - 1)])
                attempts += 1
                continue
            since = asyncio.get_running_loop().time()
            self.end.join(
                link,
                name=name,
                round_trip=link.round_trip,
                congestion=terms.congestion(),
                meter=(meter := terms.meter(link)),
            )
            _log.info("a path has joined", interface=name)
            if not self._first.done():
                self._first.set_result(None)
            await link.closed()
            spent = meter.duty(0) is Duty.NONE  # and its last bytes are counted
            reason = "its budget of this month is spent" if spent else str(link.error or "")
            _log.info("a path is gone", interface=name, reason=reason)
            if isinstance(link.error, NotTrusted):
                return
            if asyncio.get_running_loop().time() - since > BACKOFF[-1]:
                attempts = 0
            await self._pause(BACKOFF[min(attempts, len(BACKOFF) - 1)])
            attempts += 1

    def _tried(self, name: str, error: LinkError) -> None:
        """Without a first path there is no connection: all have failed, or the remote refuses."""
        if self._first.done():
            return
        self._failed[name] = error
        if isinstance(error, NotTrusted) or self._failed.keys() >= self._tasks.keys():
            self._first.set_exception(error)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not longer than until the network changes."""
        self._hurry.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
