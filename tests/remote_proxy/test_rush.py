"""Texts go before pictures where the loop is late; where it is in time nobody waits. In virtual
time, in which work takes as long as it says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from emulation.memory.virtual_time import VirtualTimeLoop, run
from remote_proxy.jobs.rush import AT_ONCE, LATE, LOOK, MOST, Rush


def loop() -> VirtualTimeLoop:
    running = asyncio.get_running_loop()
    assert isinstance(running, VirtualTimeLoop)
    return running


async def busy(seconds: float, *, step: float) -> None:
    """Takes the loop for so long, in steps."""
    for _ in range(round(seconds / step)):
        loop().work(step)
        await asyncio.sleep(0)


@contextmanager
def text(rush: Rush) -> Iterator[None]:
    """One is under way."""
    ends = rush.begins()
    yield
    ends()


async def waits(rush: Rush, whose: str = "device") -> float:
    began = loop().time()
    await rush.over(whose)
    return loop().time() - began


def test_nobody_waits_while_the_loop_is_in_time() -> None:
    async def go() -> None:
        rush = Rush()
        with text(rush):
            working = asyncio.ensure_future(busy(1.0, step=LATE / 4))
            await asyncio.sleep(0)
            assert await waits(rush) < LATE
            await working
            assert not rush.waited

    run(go())


def test_a_hundred_that_come_at_once_leave_the_loop_to_the_text() -> None:
    """None of them makes it late, and all together do."""
    each = 0.0006

    async def go() -> None:
        rush = Rush()

        async def picture() -> None:
            await rush.over("device")
            loop().work(each)

        with text(rush):
            pictures = [asyncio.ensure_future(picture()) for _ in range(120)]
            began = loop().time()
            for _ in range(5):
                await asyncio.sleep(0)
            assert each <= loop().time() - began <= AT_ONCE * each
            await asyncio.gather(*pictures)
            assert loop().time() - began < 0.2

    run(go())


def test_nobody_waits_where_no_text_is_under_way() -> None:
    async def go() -> None:
        rush = Rush()
        working = asyncio.ensure_future(busy(1.0, step=2 * LATE))
        await asyncio.sleep(0)
        assert await waits(rush) == 0
        await working

    run(go())


def test_on_a_late_loop_pictures_wait_until_the_texts_are_through() -> None:
    async def go() -> None:
        rush = Rush()

        async def reads() -> None:
            with text(rush):
                await busy(1.0, step=2 * LATE)

        reading = asyncio.ensure_future(reads())
        await asyncio.sleep(0)
        times = await asyncio.gather(*(waits(rush) for _ in range(20)))
        assert reading.done()
        assert min(times) >= 1.0 - 4 * LATE
        assert max(times) < 1.0 + 6 * LOOK
        assert rush.waited == 20

    run(go())


def test_they_go_on_when_the_loop_is_in_time_again() -> None:
    async def go() -> None:
        rush = Rush()
        with text(rush):
            working = asyncio.ensure_future(busy(0.5, step=2 * LATE))
            await asyncio.sleep(0)
            assert await waits(rush) < 0.5 + 4 * LOOK + 2 * LATE
            await working

    run(go())


def test_nobody_waits_for_ever() -> None:
    async def go() -> None:
        rush = Rush()
        with text(rush):
            working = asyncio.ensure_future(busy(3 * MOST, step=2 * LATE))
            await asyncio.sleep(0)
            assert await waits(rush) == pytest.approx(MOST, abs=8 * LATE)
            working.cancel()

    run(go())


def test_who_is_called_off_while_he_waits_takes_nobodys_turn() -> None:
    async def go() -> None:
        rush = Rush()
        with text(rush):
            working = asyncio.ensure_future(busy(1.0, step=2 * LATE))
            await asyncio.sleep(0)
            tasks = [asyncio.ensure_future(waits(rush)) for _ in range(30)]
            await asyncio.sleep(0.3)
            for task in tasks[:25]:
                task.cancel()
            await working
            began = loop().time()
            await asyncio.gather(*tasks[25:])
            assert loop().time() - began <= 3 * LOOK
        await rush.close()

    run(go())


def test_when_it_closes_whoever_waits_goes_on() -> None:
    async def go() -> None:
        rush = Rush()
        with text(rush):
            working = asyncio.ensure_future(busy(1.0, step=2 * LATE))
            await asyncio.sleep(0)
            waiting = asyncio.ensure_future(rush.over("device"))
            await asyncio.sleep(0.1)
            assert not waiting.done()
            await rush.close()
            await waiting
            working.cancel()

    run(go())


def test_devices_take_turns_however_much_each_has() -> None:
    async def go() -> None:
        rush = Rush()
        with text(rush):
            working = asyncio.ensure_future(busy(0.5, step=2 * LATE))
            await asyncio.sleep(0)
            many = [asyncio.ensure_future(waits(rush, "greedy")) for _ in range(400)]
            await asyncio.sleep(0)
            few = await asyncio.gather(*(waits(rush, "other") for _ in range(4)))
            assert max(few) < 0.5 + 8 * LOOK
            assert sum(one.done() for one in many) < 40
            await asyncio.gather(*many)
            await working

    run(go())
