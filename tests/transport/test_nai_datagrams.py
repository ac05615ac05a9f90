"""NAI over SPP: in virtual time over bad links, and over the kernel's UDP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bench.scenarios.atp import atp_datagrams
from emulation.lines.profiles import Profile
from emulation.memory.memory_spp import SppEnds, memory_links
from emulation.memory.secured import paired_twice
from emulation.memory.virtual_time import run
from tests.transport.spp_ends import link
from transport.link.interface import LinkError, NotTrusted
from transport.nai.carriers.datagrams import DEVICE, REMOTE, SppSegments, connect, listen, unpaced
from transport.nai.endpoint import NaiConnection, NewEstimator, improved, paper
from transport.nai.errors import CarrierError, SegmentFault
from transport.nai.messages.message import MessageState
from transport.nai.receiving.receiver import Received

BAD = {"loss": 0.1, "reorder": 0.02, "reorder_delay": 0.01, "duplicate": 0.02}


class World:
    """A connection each end; what has arrived at the far one."""

    def __init__(self, profile: Profile, estimator: NewEstimator) -> None:
        self.ends: SppEnds = memory_links(
            profile, near=DEVICE, far=REMOTE, near_control=unpaced(), far_control=unpaced()
        )
        near = SppSegments(self.ends.near, lingers=False)
        self.near = NaiConnection(near, estimator=estimator)
        self.far = NaiConnection(SppSegments(self.ends.far, lingers=True))
        self.arrived: list[tuple[float, Received]] = []
        self.error: Exception | None = None
        self.reading = asyncio.create_task(self.read())

    async def read(self) -> None:
        try:
            async for message in self.far.messages():
                self.arrived.append((self.far.now, message))
        except Exception as error:
            self.error = error

    def black_hole(self, on: bool) -> None:
        for way in (self.ends.path.up, self.ends.path.down):
            way.set_mtu(0 if on else 1500)


def in_world(
    scenario: Callable[[World], Awaitable[Any]],
    profile: Profile | None = None,
    *,
    estimator: NewEstimator = improved,
) -> World:
    async def main() -> World:
        world = World(profile or link(), estimator)
        await scenario(world)
        world.near.close()
        await world.reading
        world.far.close()
        return world

    return run(main())


@pytest.mark.long
def test_each_message_arrives_once_whole_and_in_order_within_its_queue() -> None:
    found = atp_datagrams.virtual(count=12_000)
    assert not found.faults
    assert found.goodput > 0.68 * atp_datagrams.RATE  # of .9, headers included


def test_the_kernels_udp_does_the_same() -> None:
    async def main() -> None:
        try:
            found = await atp_datagrams.real(count=2000)
        except OSError as error:
            pytest.skip(str(error))
        assert not found.faults

    asyncio.run(main())


@pytest.mark.long
@pytest.mark.parametrize(("rate", "least"), [(48_000.0, 0.78), (625_000.0, 0.76)])
@pytest.mark.parametrize("delay", [0.02, 0.15])
def test_a_tenth_lost_costs_little_more_than_a_tenth(
    rate: float, least: float, delay: float
) -> None:
    size, count = 4000, int(rate * 12 / 4000)
    least -= 0.15 * (rate > 100_000 and delay > 0.1)  # the start, and a queue of 60 KB for 190

    async def scenario(world: World) -> None:
        for one in [world.near.submit(bytes(size)) for _ in range(count)]:
            await one.done()

    lossy = link(rate_up=rate, rate_down=rate, delay=delay, queue=60_000, **BAD)
    world = in_world(scenario, lossy)
    assert len(world.arrived) == count
    assert count * size / world.arrived[-1][0] > least * rate


@pytest.mark.long
@pytest.mark.parametrize("loss", [0.0, 0.02])
def test_an_urgent_message_overtakes_bulk(loss: float) -> None:
    async def scenario(world: World) -> None:
        world.near.submit(bytes(4_000_000), queue="files")
        await asyncio.sleep(1.0)
        for number in range(20):
            world.near.submit(number.to_bytes(4), queue="files", priority=3)
            await asyncio.sleep(0.2)

    world = in_world(scenario, link(rate_up=200_000, rate_down=200_000, loss=loss))
    urgent = [(at, int.from_bytes(one.data)) for at, one in world.arrived if len(one.data) == 4]
    late = sorted(at - 1.0 - 0.2 * number for at, number in urgent)
    assert len(urgent) == 20
    assert late[len(late) // 2] < 0.02 + 0.05  # the way, and what the cap lets wait
    assert [number for _, number in urgent] == list(range(20))


@pytest.mark.long
@pytest.mark.parametrize("estimator", [improved, paper])
def test_two_minutes_of_silence_lose_nothing(estimator: NewEstimator) -> None:
    async def scenario(world: World) -> None:
        sent = [world.near.submit(bytes(10_000), queue=str(n % 3)) for n in range(100)]
        await asyncio.sleep(1.0)
        world.black_hole(True)
        await asyncio.sleep(120.0)
        timed = world.near.submit(bytes(10_000), timer=1.0)
        await asyncio.sleep(2.0)
        assert timed.state in (MessageState.REJECTED, MessageState.CANCELLED)
        world.black_hole(False)
        for one in sent:
            assert await one.done() is MessageState.DELIVERED
        await asyncio.sleep(5.0)

    world = in_world(scenario, link(rate_up=200_000, rate_down=200_000), estimator=estimator)
    assert [len(one.data) for _, one in world.arrived] == [10_000] * 100


def test_what_was_handed_over_arrives_though_the_connection_is_closed() -> None:
    async def scenario(world: World) -> None:
        for number in range(20):
            await world.near.send(bytes(1000 + number))

    world = in_world(scenario, link(**BAD))
    assert sorted(len(one.data) for _, one in world.arrived) == [1000 + n for n in range(20)]
    assert world.error is None


@pytest.mark.long
def test_who_does_not_read_stops_the_sender() -> None:
    async def main() -> None:
        ends = memory_links(
            link(rate_up=5e6, rate_down=5e6, queue=1 << 20),
            near=DEVICE,
            far=REMOTE,
            near_control=unpaced(),
            far_control=unpaced(),
        )
        near = NaiConnection(SppSegments(ends.near, lingers=False))
        far = NaiConnection(SppSegments(ends.far, lingers=True))
        for _ in range(30):
            near.submit(bytes(1 << 20))
        await asyncio.sleep(60.0)
        assert 16 << 20 <= far.unread < 18 << 20
        count = 0
        async for _ in far.messages():
            count += 1
            if count == 30:
                break
        near.close()
        far.close()

    run(main())


def test_who_breaks_the_protocol_loses_the_connection() -> None:
    async def scenario(world: World) -> None:
        await world.near.send(b"good")
        world.ends.near.send(b"\x99bad")
        await asyncio.sleep(1.0)
        with pytest.raises(CarrierError):
            world.near.submit(b"more")
        with pytest.raises(CarrierError, match="other end ended the connection"):
            await anext(world.near.messages())

    world = in_world(scenario)
    assert [one.data for _, one in world.arrived] == [b"good"]
    assert isinstance(world.error, SegmentFault)


def test_over_the_kernels_udp_both_ways() -> None:
    async def main() -> None:
        keys = paired_twice()[1]
        served: asyncio.Future[NaiConnection] = asyncio.get_running_loop().create_future()
        async with await listen("127.0.0.1", 0, served.set_result, keys=keys.server) as listener:
            near = await connect(*listener.address, keys=keys.client)
            async with near:
                near.submit(bytes(300_000), queue="files")
                await near.send(b"hello", priority=2, timer=5.0)
                far = await served
                got = [message async for message in _first(far, 2)]
                assert {(len(one.data), one.queue) for one in got} == {(300_000, "files"), (5, "")}
                await far.send(b"thanks")
                assert [one.data async for one in _first(near, 1)] == [b"thanks"]
                near.close()
                assert [one async for one in far.messages()] == []

    asyncio.run(main())


def test_a_device_that_is_not_paired_gets_nowhere() -> None:
    async def main() -> None:
        keys, others = paired_twice()[1], paired_twice()[1]
        refused = asyncio.get_running_loop().create_future()
        async with await listen("127.0.0.1", 0, refused.set_result, keys=keys.server) as listener:
            with pytest.raises((LinkError, NotTrusted)):
                await connect(*listener.address, keys=others.client, timeout=0.5)
        assert not refused.done()

    asyncio.run(main())


async def _first(connection: NaiConnection, count: int) -> Any:
    messages = connection.messages()
    for _ in range(count):
        yield await anext(messages)
