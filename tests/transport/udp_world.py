"""Two links over SPP with an emulated path between them: no socket, no real clock."""

from __future__ import annotations

import asyncio

from bench.links.datagram_path import DatagramPath, Way
from bench.profiles import Profile
from tests.transport.ends import Arrivals, Queue
from tests.transport.spp_ends import FAR, HOME, NEAR, far_seal, near_seal
from transport.records import Peer
from transport.spp.congestion.interface import Congestion
from transport.spp.core import SppConnection
from transport.spp.handshake import Established
from transport.spp.link import SppLink
from transport.spp.paths import Address
from transport.spp.settings import Settings
from transport.stream_link import StreamLink
from transport.udp_connection import DEVICE, REMOTE, UdpConnection, congestion


class _Port:
    """As transport/spp/port.py, at an end of a path."""

    blocked = False
    queued = 0

    def __init__(self, out: Way) -> None:
        self.links: dict[bytes, SppLink] = {}
        self.peer: _Port
        self._out = out
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

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


class UdpWorld:
    """`near` and `far`, joined by a profile's path; what each end sends and gets."""

    def __init__(self, profile: Profile, *, control: Congestion | None = None) -> None:
        """`control`: the far end's congestion control, in place of the gate's."""
        self.path = DatagramPath(profile)
        up, down = _Port(self.path.up), _Port(self.path.down)
        up.peer, down.peer = down, up
        self.near_spp = _spp(up, DEVICE, NEAR, near=True)
        self.far_spp = _spp(down, REMOTE, FAR, near=False, control=control)
        self.near = StreamLink(UdpConnection(self.near_spp, congestion(), lingers=False))
        own = self.far_spp.congestion
        pace = congestion() if control is not None else own
        self.far = StreamLink(UdpConnection(self.far_spp, pace, lingers=True))  # type: ignore[arg-type]
        self.to_near, self.at_near = Queue(1024), Arrivals()
        self.to_far, self.at_far = Queue(256), Arrivals()
        self.near.start(self.to_far, self.at_near)
        self.far.start(self.to_near, self.at_far)

    def black_hole(self, on: bool) -> None:
        """Nothing that is sent arrives."""
        for way in (self.path.up, self.path.down):
            way.set_mtu(0 if on else 1500)


def _spp(
    port: _Port, settings: Settings, own: bytes, *, near: bool, control: Congestion | None = None
) -> SppLink:
    seal = near_seal() if near else far_seal()
    connection = SppConnection(
        now=asyncio.get_running_loop().time(),
        seal=seal,
        settings=settings,
        congestion=control or congestion(),
        round_trip=0.1,
        address=None if near else HOME,
    )
    established = Established(seal, own, b"", Peer("", "00"))
    link = SppLink(port, established, connection, HOME)  # type: ignore[arg-type]
    port.links[own] = link
    return link
