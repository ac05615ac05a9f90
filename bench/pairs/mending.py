"""Both proxies over a modelled link that can be cut, and comes again when the device dials.

As `memory_pair` (pair.py), for virtual time, but that one session is not all there is: after a cut
the local proxy dials until the line is there, opens another session, and goes on with what it had.
Knows rates and cuts; not what is loaded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from bench.pairs.pair import MEMORY, QUANTUM, OnTheLoop, Witness
from configuration import LocalSettings
from emulation.memory.memory import LinkModel, MemoryLink, memory_links
from local_proxy.main import LocalProxy
from policies.api import Policy
from remote_proxy.jobs.services import Services
from remote_proxy.server import RemoteServer
from transport.link.interface import Link, LinkError

_PATIENCE: Final = 30.0
"""Seconds for the proxies to find each other."""


class MendingLine:
    """A line whose rate changes, and over which links are made anew after a cut."""

    def __init__(self, model: LinkModel, server: RemoteServer) -> None:
        self._model = model
        self._server = server
        self._ends: tuple[MemoryLink, MemoryLink] | None = None
        self._away_until = 0.0
        self.links = 0
        """Made until now."""

    def set_rate(self, rate: float) -> None:
        """Bytes/second towards the device from now on; 0: nothing moves."""
        self._model = replace(self._model, rate_down=rate)
        if self._ends is not None:
            self._ends[1].outgoing.set_rate(rate)

    def cut(self, *, away: float) -> None:
        """What was on the line is gone, and nobody can dial for `away` seconds."""
        self._away_until = asyncio.get_running_loop().time() + away
        ends, self._ends = self._ends, None
        for end in ends or ():
            end.close(LinkError("the line was cut"))

    async def dial(self) -> Link:
        """The device's end of a new link. Raises LinkError."""
        if asyncio.get_running_loop().time() < self._away_until:
            raise LinkError("there is no line")
        near, far = memory_links(self._model)
        self._ends = near, far
        self.links += 1
        self._server.accept(far)
        return near


@dataclass(frozen=True, slots=True)
class MendingPair:
    """Two proxies, and the line between them."""

    local: LocalProxy
    line: MendingLine
    witness: Witness


@asynccontextmanager
async def mending_pair(
    model: LinkModel, services: Services, policies: Sequence[Policy]
) -> AsyncIterator[MendingPair]:
    """Connected to each other. Raises LinkError."""
    server = RemoteServer(services, quantum=QUANTUM, memory=MEMORY, congestion="cubic", patience=0)
    line, witness = MendingLine(model, server), Witness()
    local = LocalProxy(
        LocalSettings(device="bench", security="none"),
        [*policies, witness],
        connect=line.dial,
        worker=OnTheLoop,
        jpegtran=None,
    )
    running = asyncio.create_task(local.run())
    try:
        if await local.uplink.wait_session(_PATIENCE) is None:
            raise LinkError(f"the proxies did not find each other: {local.uplink.state().reason}")
        yield MendingPair(local, line, witness)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await server.close()
