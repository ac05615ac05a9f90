"""The base of all link backends: cables between hosts, and the world they make.

Knows no backend; who chooses one: world.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import Final, Protocol

from emulation.lines.profiles import Profile
from emulation.relay.relay_settings import Address
from emulation.worlds.hosts import EmulatedHost

NEAR: Final = "near"
FAR: Final = "far"


class NoBackend(OSError):
    """It can't be had here; the message says why."""


@dataclass(frozen=True, slots=True)
class Cable:
    """A path between two hosts; "up" is from near to far."""

    near: str
    far: str
    profile: Profile


@dataclass(frozen=True, slots=True)
class WorldStatistics:
    """An immutable snapshot, of one path or of all. Bytes are those of IP packets, behind a relay
    those of payload.
    """

    bytes_up: int = 0
    bytes_down: int = 0
    connections: int = 0
    """TCP connections that were opened."""
    dropped_up: int = 0
    """Packets dropped because the queue was full."""
    dropped_down: int = 0
    lost_up: int = 0
    """Packets lost in flight, as the profile says."""
    lost_down: int = 0
    queued_up: int = 0
    """Bytes that wait now."""
    queued_down: int = 0
    peak_queued_up: int = 0
    peak_queued_down: int = 0
    lateness: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Seconds by which deliveries were late: median, 99th percentile, most. Of several emulators
    the worst."""


def total(parts: Iterable[WorldStatistics]) -> WorldStatistics:
    """All paths together."""
    whole = WorldStatistics()
    for part in parts:
        counts = {
            name: add(getattr(whole, name), getattr(part, name))
            for name in WorldStatistics.__slots__
            if name != "lateness"
        }
        late = max(whole.lateness, part.lateness, key=lambda one: one[1])
        whole = WorldStatistics(**counts, lateness=late)
    return whole


class World(Protocol):
    """An emulated network that is up."""

    @property
    def backend(self) -> str:
        """The name of what emulates it."""

    @property
    def cables(self) -> Sequence[Cable]: ...

    @property
    def hosts(self) -> Mapping[str, EmulatedHost]: ...

    @property
    def near(self) -> EmulatedHost: ...

    @property
    def far(self) -> EmulatedHost: ...

    async def reach(self, address: Address) -> Address:
        """Where the near side connects to what listens at `address` on the far side."""

    def set_rate(
        self, *, up: float | None = None, down: float | None = None, path: int = 0
    ) -> None:
        """Change a path's rate, bytes/second, from the next byte on; None leaves it."""

    def rewind(self) -> None:
        """Rates that change over time begin anew: now is when their traces start."""

    def statistics(self, path: int | None = None) -> WorldStatistics:
        """The statistics of one path, or of all together."""
