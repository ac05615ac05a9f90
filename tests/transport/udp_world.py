"""Two links over SPP with an emulated path between them: no socket, no real clock."""

from __future__ import annotations

from emulation.lines.profiles import Profile
from emulation.memory.memory_spp import memory_links
from tests.transport.ends import Arrivals, Queue
from transport.spp.congestion.interface import Congestion
from transport.stream.stream_link import StreamLink
from transport.udp.connection import DEVICE, REMOTE, UdpConnection, congestion


class UdpWorld:
    """`near` and `far`, joined by a profile's path; what each end sends and gets."""

    def __init__(self, profile: Profile, *, control: Congestion | None = None) -> None:
        """`control`: the far end's congestion control, in place of the gate's."""
        self.near_spp, self.far_spp, self.path = memory_links(
            profile,
            near=DEVICE,
            far=REMOTE,
            near_control=congestion(),
            far_control=control or congestion(),
        )
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
