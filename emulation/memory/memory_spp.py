"""Two SPP links with an emulated path between them: no socket, no real clock, keys known.

    near, far, path = memory_links(profile("lossy"), near=Settings(), far=Settings(), ...)

The path is the one of DatagramPath, so a figure measured here holds on a network device.
"""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from emulation.lines.profiles import Profile
from emulation.memory.datagram_path import DatagramPath, PathDirection
from transport.link.records import ProvenPeer
from transport.spp.congestion.interface import Congestion
from transport.spp.core.connection import SppConnection
from transport.spp.core.paths import Address
from transport.spp.core.settings import SppSettings
from transport.spp.edge.link import SppLink
from transport.spp.handshake.exchange import Established
from transport.spp.handshake.seal import Seal

NEAR: Final = b"near"
FAR: Final = b"far "
"""Names of the connection."""
HOME: Final[Address] = ("192.0.2.1", 1000)
"""Where the near end is."""
UP: Final = b"u" * 32
DOWN: Final = b"d" * 32


def near_seal() -> Seal:
    """The seal of the device's end."""
    return Seal(sending=UP, receiving=DOWN, own=NEAR, peer=FAR)


def far_seal() -> Seal:
    """The seal of the remote's end."""
    return Seal(sending=DOWN, receiving=UP, own=FAR, peer=NEAR)


class SppEnds(NamedTuple):
    """Both links and what is between them."""

    near: SppLink
    far: SppLink
    path: DatagramPath


def memory_links(
    profile: Profile,
    *,
    near: SppSettings,
    far: SppSettings,
    near_control: Congestion,
    far_control: Congestion,
    seed: int = 1,
) -> SppEnds:
    """Connected, as after a handshake. Call it from within a loop in virtual time."""
    path = DatagramPath(profile, seed=seed)
    up, down = _Port(path.up), _Port(path.down)
    up.peer, down.peer = down, up
    round_trip = 2 * profile.delay

    def connected(
        port: _Port, seal: Seal, settings: SppSettings, control: Congestion, address: Address | None
    ) -> SppLink:
        connection = SppConnection(
            now=asyncio.get_running_loop().time(),
            seal=seal,
            settings=settings,
            congestion=control,
            round_trip=round_trip,
            address=address,
        )
        return port.link(seal, connection)

    first = connected(up, near_seal(), near, near_control, None)
    return SppEnds(first, connected(down, far_seal(), far, far_control, HOME), path)


class _Port:
    """As transport/spp/edge/port.py, at an end of a path."""

    blocked = False
    queued = 0

    def __init__(self, out: PathDirection) -> None:
        self.links: dict[bytes, SppLink] = {}
        self.peer: _Port
        self._out = out
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        out.on_change = self._look

    def link(self, seal: Seal, connection: SppConnection) -> SppLink:
        established = Established(seal, b"own", b"", ProvenPeer("", "00"))
        link = SppLink(self, established, connection, HOME)  # type: ignore[arg-type]
        self.links[established.own] = link
        return link

    def send(self, datagrams: list[bytes], address: Address, link: object) -> None:
        for datagram in datagrams:
            self._out.send(datagram, self._loop.time())
        self._look()

    def forget(self, own: bytes) -> None:
        self.links.pop(own, None)

    def _look(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = self._out.next_time()
        now = self._loop.time()
        self._timer = None if due is None else self._loop.call_at(max(due, now), self._arrive)

    def _arrive(self) -> None:
        now = self._loop.time()
        arrived = self._out.arrived(now)
        for link in list(self.peer.links.values()):
            for datagram in arrived:
                link.take(datagram, HOME, age=0.0, now=now)
            if arrived:
                link.turn()
        self._look()
