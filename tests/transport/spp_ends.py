"""Two SPP cores with keys, and the path between them; no socket, no clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from emulation.lines.profiles import Profile
from emulation.memory.datagram_path import DatagramPath, PathRun
from emulation.memory.memory_spp import DOWN, FAR, HOME, NEAR, UP, far_seal, near_seal
from transport.spp.congestion.interface import Congestion
from transport.spp.core.connection import SppConnection
from transport.spp.core.settings import SppSettings

TESTS = Path(__file__).parent
__all__ = ["DOWN", "FAR", "HOME", "NEAR", "UP", "far_seal", "near_seal"]


def ends(
    *, now: float = 0.0, congestion: Congestion | None = None, **settings: Any
) -> tuple[SppConnection, SppConnection]:
    """A device and a remote that knows its address."""
    chosen = SppSettings(**settings)
    near = SppConnection(
        now=now, seal=near_seal(), settings=chosen, congestion=congestion, round_trip=0.05
    )
    far = SppConnection(
        now=now, seal=far_seal(), settings=chosen, round_trip=0.05, address=HOME, chance=bytes
    )
    return near, far


def link(**changes: Any) -> Profile:
    """1 MB/s, 40 ms of round trip, and what the test says."""
    profile = Profile(
        name="test",
        about="",
        rate_down=1e6,
        rate_up=1e6,
        delay=0.02,
        queue=100_000,
    )
    return msgspec.convert(msgspec.to_builtins(profile) | changes, Profile)


class Transfer:
    """Numbered payloads from near to far."""

    def __init__(
        self,
        near: SppConnection,
        far: SppConnection,
        path: DatagramPath,
        *,
        count: int,
        size: int,
    ) -> None:
        self.near = near
        self.far = far
        self.run = PathRun(near, far, path)
        self.count = count
        self.size = size
        self.sent = 0
        self.got: list[int] = []
        self.delivered: list[Any] = []

    def payload(self, number: int) -> bytes:
        return number.to_bytes(4, "big") + bytes([number % 251]) * (self.size - 4)

    def step(self, now: float) -> None:
        while self.sent < self.count and self.near.backlog(now) < 65_536 and self.near.open:
            self.near.send(self.payload(self.sent), now)
            self.sent += 1
        for payload in self.far.received():
            number = int.from_bytes(payload[:4], "big")
            assert payload == self.payload(number)
            self.got.append(number)
        self.delivered += self.near.acked()

    def through(self, *, limit: float) -> bool:
        """Until all is there, or an end has given up."""
        return self.run.until(lambda: len(self.got) >= self.count, step=self.step, limit=limit)

    @property
    def goodput(self) -> float:
        """Bytes of payloads a second so far."""
        return len(self.got) * self.size / self.run.now


def exchange(near: SppConnection, far: SppConnection, now: float) -> None:
    """Everything that either end has to say, at once and without loss."""
    while True:
        up, down = near.datagrams_to_send(now), far.datagrams_to_send(now)
        if not up and not down:
            return
        for datagram in up:
            far.datagram_received(datagram, now, address=HOME)
        for datagram in down:
            near.datagram_received(datagram, now)
