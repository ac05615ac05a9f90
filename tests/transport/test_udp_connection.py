"""A link over SPP in virtual time: goodput under loss, silence of two minutes, no hidden queue."""

from __future__ import annotations

import asyncio

import pytest

from emulation.memory.virtual_time import run
from tests.transport.spp_ends import link
from tests.transport.udp_world import UdpWorld
from transport.link.interface import PeerFault
from wire.frames import Control, Data


def frames(count: int, size: int = 1000) -> list[Data | Control]:
    return [Data(1, number.to_bytes(4, "big") * (size // 4), False) for number in range(count)]


@pytest.mark.parametrize(
    ("rate", "loss", "least"),
    [(48_000.0, 0.0, 0.90), (48_000.0, 0.01, 0.87), (625_000.0, 0.01, 0.88)],
)
def test_losses_cost_what_is_lost_and_little_more(rate: float, loss: float, least: float) -> None:
    async def main() -> None:
        queue = int(rate / 4)
        world = UdpWorld(link(rate_down=rate, rate_up=rate, delay=0.05, queue=queue, loss=loss))
        seconds = 20.0 if rate < 100_000 else 6.0
        world.to_near.frames = frames(int(rate * seconds / 1000) + 10)
        sent = list(world.to_near.frames)
        world.far.wake()
        await asyncio.sleep(seconds)
        got = world.at_near.frames
        assert got == sent[: len(got)]
        assert len(got) * 1000 / seconds / rate > least
        statistics = world.far.statistics()
        assert statistics.outgoing is not None
        assert statistics.outgoing.rate == pytest.approx(rate, rel=0.15)

    run(main())


def test_little_is_under_way_that_could_not_be_ordered_anew() -> None:
    async def main() -> None:
        world = UdpWorld(link(rate_down=48_000, rate_up=48_000, delay=0.05, queue=100_000))
        world.to_near.frames = frames(1000)
        world.far.wake()
        worst = 0.0
        for _ in range(100):
            await asyncio.sleep(0.1)
            if asyncio.get_running_loop().time() > 2.0:
                under_way = world.far.statistics().under_way + world.far_spp.backlog()
                worst = max(worst, under_way / 48_000)
        assert worst < 0.1 + 0.15  # the round trip; chunk, margin and what acknowledgements wait

    run(main())


def test_two_minutes_of_silence_lose_nothing_and_repeat_nothing() -> None:
    async def main() -> None:
        world = UdpWorld(link(rate_down=48_000, rate_up=48_000, delay=0.05))
        sent = world.to_near.frames = frames(400)
        sent = list(sent)
        world.far.wake()
        await asyncio.sleep(2.0)
        world.black_hole(True)
        await asyncio.sleep(60.0)
        before = len(world.at_near.frames)
        assert 0 < before < 400
        assert world.far.silent() > 55.0
        assert world.far.statistics().under_way < 20_000  # nothing has piled up
        await asyncio.sleep(60.0)
        world.black_hole(False)
        await asyncio.sleep(10.0 + 320_000 / 48_000 + 1.0)  # the longest wait for a probe, the rest
        assert world.at_near.frames == sent
        assert world.far.silent() == 0.0
        assert world.near.connected

    run(main())


def test_an_end_that_closes_says_so_and_the_rest_is_no_fault() -> None:
    async def main() -> None:
        world = UdpWorld(link())
        world.to_near.frames = frames(10)
        world.far.wake()
        await world.at_near.count(10)
        world.far.close()
        assert await world.at_near.end() is None
        assert world.at_far.closed == [None]

    run(main())


def test_a_peer_that_breaks_the_protocol_loses_its_link() -> None:
    async def main() -> None:
        world = UdpWorld(link())
        world.near_spp.send(b"\xff" * 40)
        assert isinstance(await world.at_far.end(), PeerFault)

    run(main())


def test_on_a_fast_link_what_gate_and_pace_let_go_does_not_pile_up() -> None:
    async def main() -> None:
        world = UdpWorld(link(rate_down=2e7, rate_up=2e7, delay=0.02, queue=4_000_000))
        sent = frames(400, size=16_000)
        world.to_near.quantum, world.to_near.frames = 16_000, list(sent)
        world.far.wake()
        worst = 0
        while len(world.at_near.frames) < len(sent):
            await asyncio.sleep(0.01)
            worst = max(worst, world.far_spp.waiting)
        assert world.at_near.frames == sent
        assert worst < 65_536

    run(main())


def test_a_path_that_is_never_full_is_not_held_to_the_pace_of_the_search() -> None:
    async def main() -> None:
        rate = 60e6
        world = UdpWorld(link(rate_down=rate, rate_up=rate, delay=0.001, queue=1_000_000))
        world.to_near.quantum = 16_384
        sent = world.to_near.frames = frames(2000, 16_000)
        sent = list(sent)
        world.far.wake()
        await asyncio.sleep(1.0)
        assert len(world.at_near.frames) * 16_000 > 25e6  # of 32; at 12.5 MB/s no more than these
        assert world.at_near.frames == sent[: len(world.at_near.frames)]

    run(main())
