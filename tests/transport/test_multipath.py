"""A connection over several paths, in virtual time, on the edges that run on sockets."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from emulation.lines.profiles import Profile
from emulation.memory import virtual_time
from emulation.memory.memory_paths import MemoryPaths
from emulation.memory.tcp_beside import TcpBeside
from tests.transport.spp_ends import link

QUICK = link(name="quick", rate_down=500_000, rate_up=500_000, delay=0.015, queue=30_000)
SLOW = link(name="slow", rate_down=250_000, rate_up=250_000, delay=0.1, queue=60_000)


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await scenario()

    virtual_time.run(main())


def noise(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def test_both_directions_to_the_byte() -> None:
    async def scenario() -> None:
        world = MemoryPaths([QUICK, SLOW])
        near, far = world.links()
        up, down = noise(20_000, 1), noise(300_000, 2)
        near.write(up)
        far.write(down)
        await near.has(len(down))
        await far.has(len(up))
        assert near.got == down
        assert far.got == up
        world.close()

    run(scenario)


def test_two_paths_bring_a_file_in_the_time_of_their_sum() -> None:
    async def taken(*profiles: Profile) -> float:
        world = MemoryPaths(profiles)
        near, far = world.links()
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        far.write(noise(3_000_000))
        await near.has(3_000_000)
        took = asyncio.get_running_loop().time() - began
        world.close()
        return took

    async def scenario() -> None:
        alone = await taken(QUICK)
        both = await taken(QUICK, SLOW)
        assert both < 0.72 * alone, "the rates alone give .67"

    run(scenario)


def test_what_begins_after_a_rest_comes_without_being_asked_for() -> None:
    """Standing pulls: a small answer takes what it takes to push it."""

    async def scenario() -> None:
        world = MemoryPaths([QUICK, SLOW])
        near, far = world.links()
        await asyncio.sleep(1)
        for size in (500, 3_000, 500, 500, 8_000, 100):
            before = len(near.got)
            began = asyncio.get_running_loop().time()
            far.write(bytes(size))
            await near.has(before + size)
            took = asyncio.get_running_loop().time() - began
            assert took < QUICK.delay + 1.3 * size / QUICK.rate_down + 0.002
            await asyncio.sleep(1)
        world.close()

    run(scenario)


def test_what_goes_up_and_is_lost_is_heard_of() -> None:
    async def scenario() -> None:
        world = MemoryPaths([QUICK])
        near, far = world.links()
        await asyncio.sleep(1)
        assert near.losses == []
        sent_at = asyncio.get_running_loop().time()
        world.cut(0, down=False)
        near.write(noise(4_000))
        await asyncio.sleep(0.01)
        world.mend(0)
        near.write(noise(8_000))
        await far.has(12_000)
        assert near.losses == [pytest.approx(sent_at, abs=0.005)] * len(near.losses)
        assert near.losses
        world.close()

    run(scenario)


def test_beside_somebody_elses_download_a_path_has_its_share_and_the_others_all_of_theirs() -> None:
    """The one over the quick path; its window is that of one more TCP while that lasts."""

    async def scenario() -> None:
        world = MemoryPaths([QUICK, SLOW])
        _, far = world.links()
        far.write(bytes(30_000_000))
        await asyncio.sleep(3)
        other = TcpBeside(world.wires[0].path.down, delay=QUICK.delay)
        other.start()
        quick, slow = (path.carried for path in world.device.statistics())
        await asyncio.sleep(30)
        both = [path.carried for path in world.device.statistics()]
        assert both[0] - quick >= 0.3 * 30 * QUICK.rate_down
        assert other.delivered >= 0.3 * 30 * QUICK.rate_down
        assert both[1] - slow >= 0.85 * 30 * SLOW.rate_down
        other.stop()
        await asyncio.sleep(5)
        queues = []
        for _ in range(500):
            await asyncio.sleep(0.01)
            queues.append(world.wires[0].path.down.statistics().backlog / QUICK.rate_down)
        assert sorted(queues)[250] <= 0.02
        world.close()

    run(scenario)


@pytest.mark.parametrize("silent", [7.0, 10.0, 20.0])
def test_pages_over_a_path_beside_a_download_that_began_while_nothing_was_sent(
    silent: float,
) -> None:
    """In HIGH a page ends, and nothing comes for a while: that says nothing of the window."""

    async def scenario() -> None:
        line = link(name="dsl", rate_down=200_000, rate_up=50_000, delay=0.075, queue=60_000)
        world = MemoryPaths([line])
        _, far = world.links()
        far.write(bytes(600_000))
        await asyncio.sleep(8)
        TcpBeside(world.wires[0].path.down, delay=line.delay).start()
        await asyncio.sleep(silent)
        for _ in range(4):
            far.write(bytes(200_000))
            await asyncio.sleep(6)
        before = world.device.statistics()[0].carried
        far.write(bytes(2_400_000))
        await asyncio.sleep(12)
        assert world.device.statistics()[0].carried - before >= 0.35 * 12 * line.rate_down
        world.close()

    run(scenario)


class Talk:
    """Both directions written bit by bit, as pages and their requests are."""

    def __init__(self, world: MemoryPaths, seed: int) -> None:
        self.chance = random.Random(seed)
        self.near, self.far = world.links()
        self.up, self.down = bytearray(), bytearray()

    async def go_on(self, seconds: float) -> None:
        """Writes now and then, for so long."""
        loop, chance = asyncio.get_running_loop(), self.chance
        until = loop.time() + seconds
        while loop.time() < until:
            if chance.random() < 0.7:
                piece = chance.randbytes(chance.choice((60, 400, 3_000, 60_000)))
                self.down += piece
                self.far.write(piece)
            else:
                piece = chance.randbytes(chance.choice((60, 400, 3_000)))
                self.up += piece
                self.near.write(piece)
            await asyncio.sleep(chance.choice((0.0, 0.01, 0.05, 0.5)))

    async def all_is_there(self) -> None:
        """Every byte once and in order, both ways."""
        async with asyncio.timeout(120):
            await self.near.has(len(self.down))
            await self.far.has(len(self.up))
        assert self.near.got == self.down
        assert self.far.got == self.up
        assert self.near.error is None
        assert self.far.error is None


@pytest.mark.parametrize("seed", range(20))
def test_paths_that_lose_are_cut_and_come_back_bring_every_byte_once(seed: int) -> None:
    async def scenario() -> None:
        chance = random.Random(seed)

        def path() -> Profile:
            return link(
                name="any",
                rate_down=chance.uniform(30_000, 600_000),
                rate_up=chance.uniform(10_000, 100_000),
                delay=chance.uniform(0.005, 0.3),
                queue=chance.choice((15_000, 60_000)),
                loss=chance.choice((0.0, 0.01, 0.05)),
            )

        world = MemoryPaths([path(), path()], seed=seed)
        talk, alive, cut = Talk(world, seed), {0, 1}, set[int]()
        for _ in range(8):
            await talk.go_on(chance.uniform(0.1, 2.0))
            what = chance.random()
            if what < 0.3:
                victim = chance.choice(sorted(alive))
                world.cut(victim, up=chance.random() < 0.7, down=chance.random() < 0.7)
                cut.add(victim)
            elif what < 0.5 and len(alive - cut) > 1:
                victim = chance.choice(sorted(alive))
                world.leave(victim)
                alive.discard(victim)
                cut.discard(victim)
            elif what < 0.7:
                alive.add(world.open(path()))
            for mended in [one for one in cut if chance.random() < 0.5]:
                world.mend(mended)
                cut.discard(mended)
        for one in cut:
            world.mend(one)
        await talk.all_is_there()
        world.close()

    run(scenario)


@pytest.mark.parametrize("victim", [0, 1])
@pytest.mark.parametrize("seed", range(10))
def test_a_path_that_swallows_all_stalls_nothing_for_long(seed: int, victim: int) -> None:
    async def scenario() -> None:
        chance = random.Random(seed)
        world = MemoryPaths([QUICK, SLOW], seed=seed)
        near, far = world.links()
        await asyncio.sleep(1)
        far.write(noise(1_500_000, seed))
        await asyncio.sleep(chance.uniform(0.2, 1.5))
        world.cut(victim)
        await near.has(1_500_000)
        assert near.got == noise(1_500_000, seed)
        gaps = [late - soon for soon, late in zip(near.heard_at, near.heard_at[1:], strict=False)]
        assert max(gaps) < 1.0
        world.close()

    run(scenario)


@pytest.mark.parametrize("seed", range(10))
def test_what_goes_up_over_a_path_that_has_died_goes_over_the_other(seed: int) -> None:
    async def scenario() -> None:
        world = MemoryPaths([QUICK, SLOW], seed=seed)
        near, far = world.links()
        await asyncio.sleep(random.Random(seed).uniform(0.5, 3.0))
        world.cut(0)
        began = asyncio.get_running_loop().time()
        near.write(noise(700))
        await far.has(700)
        assert asyncio.get_running_loop().time() - began < 0.5
        far.write(noise(5_000))
        await near.has(5_000)
        assert near.got == noise(5_000)
        assert asyncio.get_running_loop().time() - began < 1.2
        world.close()

    run(scenario)


def test_an_upload_that_its_path_swallows_goes_whole_over_the_other() -> None:
    async def scenario() -> None:
        world = MemoryPaths([QUICK, SLOW])
        near, far = world.links()
        await asyncio.sleep(0.5)
        near.write(noise(1_000_000))
        await asyncio.sleep(0.3)
        world.cut(0)
        await far.has(1_000_000)
        assert far.got == noise(1_000_000)
        world.close()

    run(scenario)


def test_small_words_come_whole_though_the_path_that_had_them_has_died() -> None:
    async def scenario() -> None:
        world = MemoryPaths([QUICK, SLOW])
        near, far = world.links()
        await asyncio.sleep(1)
        world.cut(0)
        for number in range(2_000):
            far.write(b"token")
            if number % 50 == 0:
                await asyncio.sleep(0.3)
        await near.has(10_000)
        assert near.got == b"token" * 2_000
        assert near.error is None
        assert far.error is None
        world.close()

    run(scenario)


def test_a_path_that_joins_after_the_only_one_has_died_takes_over_at_once() -> None:
    """As LTE does once Wi-Fi is out of reach, while nothing is under way."""

    async def scenario() -> None:
        loop, world = asyncio.get_running_loop(), MemoryPaths([QUICK])
        near, far = world.links()
        await asyncio.sleep(1)
        world.cut(0)
        near.write(noise(100))  # nobody answers: the path is in doubt
        await asyncio.sleep(2)
        world.open(SLOW)
        await asyncio.sleep(2)
        assert far.got == noise(100)
        began = loop.time()
        far.write(noise(3_000))
        await near.has(3_000)
        assert loop.time() - began < SLOW.delay + 0.05
        world.close()

    run(scenario)
