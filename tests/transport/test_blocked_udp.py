"""UDP that a network blocks in the middle of a session: TCP has the link within 3 s. In virtual
time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from itertools import count, pairwise
from typing import Any

import pytest

from emulation.lines.profiles import Profile
from emulation.memory.datagram_path import DatagramPath
from emulation.memory.memory_spp import memory_links
from emulation.memory.virtual_time import run
from tests.transport.ends import Arrivals, Queue
from tests.transport.spp_ends import link
from transport.link.interface import LinkError
from transport.paths.preferring_udp import FIRST_AGAIN, PreferringUdp
from transport.spp.edge.link import SppLink
from transport.stream.accepting_end import Reception
from transport.stream.dialling_end import LastingLink
from transport.stream.stream_link import StreamLink
from transport.udp.connection import DEVICE, REMOTE, UdpConnection, congestion
from wire.frames import Control, Data

MOST = 3.0
"""Seconds, as README.md promises."""
SLOW = {"rate_down": 48_000, "rate_up": 48_000, "delay": 0.05}
ROUND_TRIP = 0.1


def frames(many: int) -> list[Data | Control]:
    return [Data(1, number.to_bytes(4, "big") * 250, False) for number in range(many)]


class World:
    """A device's lasting link over UDP to a remote; its rival is `kind` tcp on a way of its own."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._names = count()
        self.paths: list[DatagramPath] = []
        self.ends: list[SppLink] = []
        self.dialled: list[str] = []
        self.expecting = False
        self.udp_passes = self.tcp_passes = True
        self.told: list[LinkError | None] = []
        self.to_near, self.at_near = Queue(1024), Arrivals()
        self.to_far, self.at_far = Queue(256), Arrivals()
        self.far: list[StreamLink] = []
        tokens: Iterator[bytes] = (bytes([number]) * 16 for number in count(1))
        self._reception = Reception(
            self._arrived, patience=600.0, congestion=None, new_token=lambda: next(tokens)
        )
        self.preferring = PreferringUdp(self._udp, self._tcp)
        self.lasting = LastingLink(
            self.preferring.dial,
            congestion=None,
            patience=600.0,
            on_change=self.told.append,
            better=self.preferring,
            expecting=lambda: self.expecting,
        )

    async def open(self) -> None:
        near = await self.lasting.open()
        near.start(self.to_far, self.at_near)

    @property
    def near(self) -> StreamLink:
        return self.lasting.link

    def block(self, on: bool, *, up: bool = True, down: bool = True) -> None:
        """No datagram of the first way arrives any more; or again."""
        for way, meant in ((self.paths[0].up, up), (self.paths[0].down, down)):
            if meant:
                way.set_mtu(0 if on else 1500)

    def datagrams(self) -> int:
        """Datagrams that the first connection's ends have sent so far."""
        return sum(end.statistics().sent for end in self.ends[:2])

    def close(self) -> None:
        self.near.close()
        self._reception.close()

    def _arrived(self, accepted: StreamLink) -> None:
        self.far.append(accepted)
        accepted.start(self.to_near, self.at_far)

    async def _udp(self) -> UdpConnection:
        await asyncio.sleep(ROUND_TRIP)
        if not self.udp_passes:
            raise LinkError("no UDP any more")
        return self._dial("udp")

    async def _tcp(self) -> UdpConnection:
        await asyncio.sleep(2 * ROUND_TRIP)  # TCP's handshake, then TLS's
        if not self.tcp_passes:
            raise LinkError("no TCP either")
        return self._dial("tcp")

    def _dial(self, kind: str) -> UdpConnection:
        self.dialled.append(kind)
        near, far, path = memory_links(
            self._profile,
            near=DEVICE,
            far=REMOTE,
            near_control=congestion(),
            far_control=congestion(),
            seed=len(self.dialled),
        )
        self.paths.append(path)
        self.ends += (near, far)
        self._reception.accept(UdpConnection(far, far.congestion, lingers=True))  # type: ignore[arg-type]
        connection = UdpConnection(near, near.congestion, lingers=False)  # type: ignore[arg-type]
        connection.kind = kind
        return connection


def in_world(
    main: Callable[[World], Coroutine[Any, Any, None]], profile: Profile | None = None
) -> None:
    async def go() -> None:
        world = World(profile or link(**SLOW))
        await world.open()
        try:
            await main(world)
        finally:
            world.close()

    run(go())


async def until_frames(arrivals: Arrivals, many: int) -> float:
    """When so many frames are there."""
    loop = asyncio.get_running_loop()
    while len(arrivals.frames) < many:
        await asyncio.sleep(0.01)
        assert loop.time() < 300.0
    return loop.time()


@pytest.mark.parametrize("after", [0.0, 0.13, 0.5, 0.77, 1.4])
@pytest.mark.parametrize("ways", [("up",), ("down",), ("up", "down")])
def test_a_download_goes_on_over_tcp_within_3_s_of_the_block(
    ways: tuple[str, ...], after: float
) -> None:
    async def main(world: World) -> None:
        sent = world.to_near.frames = frames(400)
        sent = list(sent)
        world.expecting = True
        world.far[0].wake()
        await asyncio.sleep(2.0 + after)
        world.block(True, up="up" in ways, down="down" in ways)
        blocked = asyncio.get_running_loop().time()
        await asyncio.sleep(8 * ROUND_TRIP)  # what was on its way, or may still go, has come
        here = len(world.at_near.frames)
        assert 50 < here < 350
        assert world.dialled == ["udp"]
        assert await until_frames(world.at_near, here + 1) - blocked < MOST
        await until_frames(world.at_near, 400)
        assert world.at_near.frames == sent
        assert world.dialled == ["udp", "tcp"]
        assert "UDP" in world.preferring.why_not

    in_world(main)


@pytest.mark.parametrize("after", [0.0, 0.4, 0.9])
def test_a_request_that_is_sent_into_the_block_crosses_within_3_s(after: float) -> None:
    async def main(world: World) -> None:
        await asyncio.sleep(20.0 + after)  # at rest
        world.block(True)
        await asyncio.sleep(30.0)
        asked = asyncio.get_running_loop().time()
        world.to_far.frames = frames(1)
        world.near.wake()
        assert await until_frames(world.at_far, 1) - asked < MOST
        assert world.near.statistics().transport == "tcp"

    in_world(main)


@pytest.mark.parametrize("after", [0.0, 0.4, 0.9])
def test_an_answer_that_is_lost_to_the_block_comes_within_3_s(after: float) -> None:
    """Nothing of the device's own is under way: it has to ask."""

    async def main(world: World) -> None:
        await asyncio.sleep(20.0 + after)
        world.expecting = True
        world.to_far.frames = frames(1)
        world.near.wake()
        await until_frames(world.at_far, 1)
        await asyncio.sleep(2 * ROUND_TRIP)
        world.block(True)
        blocked = asyncio.get_running_loop().time()
        world.to_near.frames = frames(1)
        world.far[0].wake()
        assert await until_frames(world.at_near, 1) - blocked < MOST

    in_world(main)


def test_an_idle_link_is_not_probed_and_stays() -> None:
    async def main(world: World) -> None:
        world.to_far.frames, world.to_near.frames = frames(3), frames(3)
        world.near.wake()
        world.far[0].wake()
        await asyncio.sleep(5.0)
        world.block(True)
        before = world.datagrams()
        await asyncio.sleep(120.0)
        assert world.datagrams() - before <= 120.0 / 25.0  # what keeps NATs from forgetting
        assert world.dialled == ["udp"]
        world.block(False)
        world.to_far.frames = frames(2)
        world.near.wake()
        await until_frames(world.at_far, 5)
        assert world.dialled == ["udp"]

    in_world(main)


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize("expecting", [False, True])
def test_who_keeps_an_idle_link_sleeps(transport: str, expecting: bool) -> None:
    """An hour on the way that it should have, or on the other one; with an event stream or not."""

    async def main(world: World) -> None:
        world.to_far.frames = frames(3)
        if transport == "tcp":
            world.udp_passes = False
            world.block(True)
        world.near.wake()
        await until_frames(world.at_far, 3)
        world.expecting = expecting
        await asyncio.sleep(60.0)
        assert world.near.statistics().transport == transport
        loop = asyncio.get_running_loop()
        looks = 0
        call_at = loop.call_at

        def counting(*arguments: Any, **named: Any) -> asyncio.TimerHandle:
            nonlocal looks
            task = asyncio.current_task()
            looks += task is not None and task.get_name() == "lasting link"
            return call_at(*arguments, **named)

        loop.call_at = counting  # type: ignore[method-assign]
        await asyncio.sleep(3600.0)
        assert looks <= 3600 / 25  # what keeps NATs from forgetting is news

    in_world(main)


def test_an_answer_that_takes_minutes_is_asked_after_for_half_a_minute() -> None:
    async def main(world: World) -> None:
        world.expecting = True
        await asyncio.sleep(60.0)
        before = world.datagrams()
        await asyncio.sleep(60.0)
        assert world.datagrams() - before <= 60.0 / 25.0 + 1
        assert world.dialled == ["udp"]
        assert world.told == []

    in_world(main)


@pytest.mark.parametrize(
    "changes",
    [
        {"rate_down": 5_600.0, "rate_up": 4_000.0, "delay": 0.1, "queue": 30_000},
        {"delay": 0.3},
        {"loss": 0.1},
        {"jitter": 0.2},
    ],
)
def test_a_link_that_is_only_slow_or_lossy_stays_on_udp(changes: dict[str, float]) -> None:
    async def main(world: World) -> None:
        world.expecting = True
        world.to_near.frames, world.to_far.frames = frames(150), frames(60)
        world.far[0].wake()
        world.near.wake()
        await until_frames(world.at_near, 150)
        await until_frames(world.at_far, 60)
        assert world.dialled.count("tcp") <= 1
        assert world.near.statistics().transport == "udp"
        assert world.told == []

    in_world(main, link(**(SLOW | changes)))


def test_a_hush_that_ends_by_itself_keeps_udp_and_makes_the_next_look_more_patient() -> None:
    async def main(world: World) -> None:
        world.expecting = True
        world.to_near.frames = frames(4000)
        world.far[0].wake()
        for hush in range(3):
            await asyncio.sleep(5.0)
            world.tcp_passes = hush > 0
            world.block(True)
            await asyncio.sleep(1.8)
            world.block(False)
        await asyncio.sleep(5.0)
        assert world.near.statistics().transport == "udp"

    in_world(main)


def test_udp_that_is_blocked_again_and_again_is_tried_ever_more_rarely() -> None:
    async def main(world: World) -> None:
        loop = asyncio.get_running_loop()
        tries = []
        for _ in range(4):
            await until_transport(world, "udp")
            tries.append(loop.time())
            world.to_far.frames = frames(1)
            for path in world.paths:
                path.up.set_mtu(0)
            world.near.wake()
            await until_transport(world, "tcp")
            for path in world.paths[:-1]:
                path.up.set_mtu(1500)
        waits = [b - a for a, b in pairwise(tries)]
        assert waits[0] >= FIRST_AGAIN
        assert waits[1] > 1.8 * waits[0]
        assert waits[2] > 1.8 * waits[1]

    in_world(main)


async def until_transport(world: World, kind: str) -> None:
    loop = asyncio.get_running_loop()
    while world.near.statistics().transport != kind:
        await asyncio.sleep(0.1)
        assert loop.time() < 3600.0
