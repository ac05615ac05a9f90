"""Both ends of a connection over several emulated paths: the product's own edges, no socket.

    paths = MemoryPaths([profile("384k"), profile("lossy")])
    near, far = paths.links()
    far.write(data)
    await near.has(len(data))

Call it from within a loop in virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import inf
from typing import Final

from emulation.lines.profiles import Profile
from emulation.memory.memory_spp import SppEnds, memory_links
from transport.link.connection import Connection, DeliveryReport
from transport.link.interface import LinkError
from transport.link.records import ProvenPeer
from transport.multipath.device_end import DeviceEnd
from transport.multipath.device_path import DevicePath
from transport.multipath.remote_end import RemoteEnd
from transport.paths.terms import PathTerms
from transport.stream import preamble
from transport.stream.preamble import Preamble, What
from transport.udp.connection import DEVICE, REMOTE, congestion

GATE: Final = 40_000
"""Bytes under way of the device's link, which in the product a gate bounds."""
TOKEN: Final = b"t" * preamble.TOKEN


class ByteLink:
    """A link, as its connection knows it: sends what it is given, keeps what it hears. Implements
    transport.link.connection.Carried."""

    searching = False

    def __init__(self, connection: Connection, *, chunk: int = 2_000, most: float = inf) -> None:
        """`most`: bytes that may be under way, as a gate has it."""
        self._most = most
        self.sent = 0
        self.connection = connection
        self.to_send = bytearray()
        self.got = bytearray()
        """All that has come."""
        self.heard_at: list[float] = []
        """When something came."""
        self.delivered_bytes = 0
        self.losses: list[float] = []
        """When what is lost was sent."""
        self.error: Exception | None = None
        """Why nothing more crosses; None: it does."""
        self.over = asyncio.Event()
        self._chunk = chunk
        self._more = asyncio.Event()
        connection.start(self)

    def write(self, data: bytes) -> None:
        """It goes once the connection asks for it."""
        self.to_send += data
        self.connection.wake()

    async def has(self, size: int) -> None:
        """Until so many bytes have come, or nothing more does."""
        while len(self.got) < size and not self.over.is_set():
            self._more.clear()
            await self._more.wait()

    def next_bytes(self) -> bytes | None:
        if self.sent - self.delivered_bytes >= self._most:
            return None
        data = bytes(self.to_send[: self._chunk])
        del self.to_send[: self._chunk]
        self.sent += len(data)
        return data or None

    def next_time(self) -> float | None:
        return None

    def heard(self, data: bytes, *, age: float = 0.0) -> None:
        self.got += data
        self.heard_at.append(asyncio.get_running_loop().time())
        self._more.set()

    def delivered(self, news: DeliveryReport) -> None:
        self.delivered_bytes += news.size

    def lost(self, sent_at: float) -> None:
        self.losses.append(sent_at)

    def ended(self, error: LinkError | None) -> None:
        self.failed(error or LinkError("ended"))

    def failed(self, error: Exception) -> None:
        self.error = error
        self.over.set()
        self._more.set()


class MemoryPaths:
    """Two ends and the paths between them."""

    def __init__(self, profiles: Sequence[Profile], *, seed: int = 1) -> None:
        self._seed = seed
        self.device = DeviceEnd(Preamble(What.JOIN, TOKEN).encode())
        self.remote = RemoteEnd(ProvenPeer("", "00"))
        self.wires: list[SppEnds] = []
        self._profiles: list[Profile] = []
        self.paths: list[DevicePath] = []
        self._accepting: list[asyncio.Future[None]] = []
        for profile in profiles:
            self.open(profile)

    def open(self, profile: Profile, *, terms: PathTerms | None = None) -> int:
        """Another path, as after its handshake and preamble: its place. `terms`: of its interface;
        None: it is used as it can be."""
        wire = memory_links(
            profile,
            near=DEVICE,
            far=REMOTE,
            near_control=congestion(),
            far_control=congestion(),
            seed=self._seed + len(self.wires),
        )
        self.wires.append(wire)
        self._profiles.append(profile)
        terms = terms or PathTerms()
        path = self.device.join(
            wire.near,
            name=profile.name,
            round_trip=2 * profile.delay,
            congestion=terms.congestion(),
            meter=terms.meter(wire.near),
        )
        self.paths.append(path)
        self._accepting.append(asyncio.ensure_future(self._accept(wire)))
        return len(self.wires) - 1

    async def _accept(self, wire: SppEnds) -> None:
        early = b""
        while len(early) < preamble.SIZE:
            early += b"".join(await wire.far.receive())
        assert preamble.decode(early[: preamble.SIZE]).what is preamble.What.JOIN
        self.remote.join(wire.far, early[preamble.SIZE :])

    def cut(self, place: int, *, up: bool = True, down: bool = True) -> None:
        """The path swallows all from now on."""
        path = self.wires[place].path
        if up:
            path.up.set_mtu(0)
        if down:
            path.down.set_mtu(0)

    def mend(self, place: int) -> None:
        """It carries again."""
        path = self.wires[place].path
        path.up.set_mtu(1500)
        path.down.set_mtu(1500)

    def set_delay(self, place: int, delay: float) -> None:
        """It takes so many seconds each way from now on, as by another route."""
        path = self.wires[place].path
        path.up.set_delay(delay)
        path.down.set_delay(delay)

    def set_rate(self, place: int, times: float) -> None:
        """It carries so many times what its profile says from now on, both ways."""
        wire, profile = self.wires[place], self._profiles[place]
        now = asyncio.get_running_loop().time()
        wire.path.up.set_rate(times * profile.rate_up, now)
        wire.path.down.set_rate(times * profile.rate_down, now)

    def leave(self, place: int) -> None:
        """The interface is gone."""
        self.cut(place)
        self.device.leave(self.paths[place])

    def close(self) -> None:
        """Both ends."""
        self.device.close()
        self.remote.close()

    def links(self) -> tuple[ByteLink, ByteLink]:
        """A link at either end: the device's, the remote's."""
        return ByteLink(self.device, most=GATE), ByteLink(self.remote)
