"""One host, this machine, and slow addresses on it: a relay that terminates TCP. Needs no root.

All addresses that are reached share its line. Bytes are those of payload; packets are not seen, so
that losses show as delays (emulation/lines/impairments.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from emulation.lines.profiles import Profile
from emulation.relay.relay import Relay
from emulation.relay.relay_settings import Address, RelayStatistics
from emulation.worlds.cables import Cable, NoBackend, WorldStatistics
from emulation.worlds.hosts import HERE, EmulatedHost


def relay(target: Address, profile: Profile, *, seed: int = 1) -> Relay:
    """The profile's link in front of `target`, in a process of its own."""
    return Relay(
        target=target,
        rate_up=profile.rate_up,
        rate_down=profile.rate_down,
        delay=profile.delay,
        queue=profile.queue,
        impairments=profile.impairments(seed=seed),
        process=True,
        trace_up=profile.trace_up,
        trace_down=profile.trace_down,
    )


class RelayWorld:
    """Hosts behind relays; implements emulation.worlds.cables.World."""

    backend: Final = "relay"
    near: Final = HERE
    far: Final = HERE

    def __init__(self, cables: Sequence[Cable], stack: AsyncExitStack, *, seed: int) -> None:
        """`stack` ends the relay, which begins with the first address that is reached."""
        self.cables = cables
        self.hosts: Mapping[str, EmulatedHost] = {
            end: HERE for one in cables for end in (one.near, one.far)
        }
        self._stack = stack
        self._seed = seed
        self._rates: tuple[float | None, float | None] = (None, None)
        """Set before there was a relay: up and down."""
        self._relay: Relay | None = None
        self._reached: dict[Address, Address] = {}
        self._starting = asyncio.Lock()

    async def reach(self, address: Address) -> Address:
        async with self._starting:
            if self._relay is None:
                made = relay(address, self.cables[0].profile, seed=self._seed)
                self._relay = await self._stack.enter_async_context(made)
                self._reached[address] = self._relay.address
                self._relay.set_rate(up=self._rates[0], down=self._rates[1])
            elif address not in self._reached:
                self._reached[address] = self._relay.reach(address)
        return self._reached[address]

    def set_rate(
        self, *, up: float | None = None, down: float | None = None, path: int = 0
    ) -> None:
        if self._relay is not None:
            self._relay.set_rate(up=up, down=down)
        else:
            before_up, before_down = self._rates
            self._rates = before_up if up is None else up, before_down if down is None else down

    def rewind(self) -> None:
        if self._relay is not None:
            self._relay.rewind()

    def statistics(self, path: int | None = None) -> WorldStatistics:
        return _statistics(self._relay.statistics()) if self._relay else WorldStatistics()


@asynccontextmanager
async def opened(cables: Sequence[Cable], *, seed: int) -> AsyncIterator[RelayWorld]:
    """The backend. Raises NoBackend for more than one path."""
    if len(cables) > 1:
        raise NoBackend("a relay has one path: several need namespaces, and so root and iproute2")
    async with AsyncExitStack() as stack:
        yield RelayWorld(cables, stack, seed=seed)


def _statistics(of: RelayStatistics) -> WorldStatistics:
    return WorldStatistics(
        bytes_up=of.bytes_up,
        bytes_down=of.bytes_down,
        connections=of.connections,
        queued_up=of.queued_up,
        queued_down=of.queued_down,
        peak_queued_up=of.peak_queued_up,
        peak_queued_down=of.peak_queued_down,
        lateness=of.lateness,
    )
