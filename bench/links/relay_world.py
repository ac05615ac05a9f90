"""One host, this machine, and slow addresses on it: relays that terminate TCP. Needs no root.

Each address that is reached has a relay in front of it, and a line of its own. Bytes are those of
payload; packets are not seen, so that losses show as delays (impairments.py).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from bench.links.cables import Cable, NoBackend, WorldStatistics, total
from bench.links.hosts import HERE, Host
from bench.links.relay import Relay
from bench.links.relay_settings import Address, RelayStatistics
from bench.profiles import Profile


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
    """Implements bench.links.cables.World."""

    backend: Final = "relay"
    near: Final = HERE
    far: Final = HERE

    def __init__(self, cables: Sequence[Cable], stack: AsyncExitStack, *, seed: int) -> None:
        """`stack` ends the relays."""
        self.cables = cables
        self.hosts: Mapping[str, Host] = {
            end: HERE for one in cables for end in (one.near, one.far)
        }
        self._stack = stack
        self._seed = seed
        self._relays: dict[Address, Relay] = {}

    async def reach(self, address: Address) -> Address:
        if address not in self._relays:
            made = relay(address, self.cables[0].profile, seed=self._seed)
            self._relays[address] = await self._stack.enter_async_context(made)
        return self._relays[address].address

    def set_rate(
        self, *, up: float | None = None, down: float | None = None, path: int = 0
    ) -> None:
        for one in self._relays.values():
            one.set_rate(up=up, down=down)

    def rewind(self) -> None:
        for one in self._relays.values():
            one.rewind()

    def statistics(self, path: int | None = None) -> WorldStatistics:
        return total(_statistics(one.statistics()) for one in self._relays.values())


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
