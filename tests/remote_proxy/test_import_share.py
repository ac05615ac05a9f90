"""Reading a page leaves the event loop to others, and a page that takes long leaves most of it. In
virtual time, in which a piece takes as long as it says."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from bench.virtual_time import VirtualTimeLoop, run
from remote_proxy.delivery import PIECE
from remote_proxy.import_share import FREE, READ, SHARE, ImportShare


class Slow:
    """Takes so many seconds for a piece; notes what it got, when, and others' turns before."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.turns = 0
        self.fed: list[tuple[float, bytes, int]] = []
        self._seconds = seconds

    def feed(self, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        self.fed.append((loop.time(), data, self.turns))
        assert isinstance(loop, VirtualTimeLoop)
        loop.work(self._seconds)

    def spent(self) -> float:
        return len(self.fed) * self._seconds


def share() -> ImportShare:
    """By virtual time, in which nothing but work that says so takes any."""
    return ImportShare(asyncio.get_running_loop().time)


def test_others_have_their_turn_between_small_pieces() -> None:
    async def go() -> Slow:
        reader = Slow()

        async def others() -> None:
            while True:
                reader.turns += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(others())
        await share().of(reader).read(bytes(PIECE))
        beside.cancel()
        return reader

    reader = run(go())
    assert b"".join(data for _, data, _ in reader.fed) == bytes(PIECE)
    assert max(len(data) for _, data, _ in reader.fed) == READ
    assert all(one < other for (_, _, one), (_, _, other) in pairwise(reader.fed))


@pytest.mark.parametrize("readers", [1, 5])
def test_readers_that_take_long_get_a_fifth_together(readers: int) -> None:
    async def go() -> tuple[float, float]:
        every, slow = share(), [Slow(0.01) for _ in range(readers)]
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*(every.of(one).read(bytes(100 * READ)) for one in slow))
        return asyncio.get_running_loop().time() - began, sum(one.spent() for one in slow)

    took, spent = run(go())
    assert spent == pytest.approx(readers * 1.0)
    assert took == pytest.approx(readers * FREE + (spent - readers * FREE) / SHARE, rel=0.02)


def test_who_is_through_soon_waits_for_nobody() -> None:
    async def go() -> float:
        every, slow = share(), Slow(0.01)
        reading = asyncio.ensure_future(every.of(slow).read(bytes(1000 * READ)))
        await asyncio.sleep(5.0)
        began = asyncio.get_running_loop().time()
        await every.of(Slow(0.001)).read(bytes(20 * READ))
        took = asyncio.get_running_loop().time() - began
        reading.cancel()
        return took

    assert run(go()) < 2 * 0.02


def test_what_others_take_of_the_processors_counts_for_nobody() -> None:
    async def go() -> float:
        slow, processor_time = Slow(0.05), 0.0
        reading = ImportShare(lambda: processor_time).of(slow)
        await reading.read(bytes(50 * READ))
        return asyncio.get_running_loop().time() - slow.spent()

    assert run(go()) == pytest.approx(0.0)
