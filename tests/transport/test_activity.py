"""Tests of whether anything has happened on a link: who looks rests with it, and wakes with it."""

from __future__ import annotations

import asyncio

import pytest

from emulation.memory.virtual_time import VirtualTimeLoop, run
from transport.link.activity import Activity


def test_the_first_look_is_at_once_and_the_next_one_when_there_is_news() -> None:
    async def main() -> list[float]:
        loop, activity, looks = asyncio.get_running_loop(), Activity(), []
        watch = activity.watch()
        loop.call_later(1000.0, activity.happened)
        for _ in range(2):
            await watch.news(pause=0.25)
            looks.append(loop.time())
        return looks

    assert run(main()) == [pytest.approx(0.25), pytest.approx(1000.25)]


def test_what_happens_within_a_pause_is_one_piece_of_news() -> None:
    async def main() -> int:
        loop, activity, looks = asyncio.get_running_loop(), Activity(), 0
        watch = activity.watch()
        for number in range(100):
            loop.call_later(5.0 + number / 1000, activity.happened)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60.0):
                while True:
                    await watch.news(pause=0.25)
                    looks += 1
        return looks

    assert run(main()) == 2  # the first look, and one at all hundred


def test_what_happens_while_nobody_waits_is_news_all_the_same() -> None:
    async def main() -> float:
        activity = Activity()
        watch = activity.watch()
        await watch.news(pause=1.0)
        await asyncio.sleep(10.0)
        activity.happened()
        await asyncio.sleep(10.0)
        await watch.news(pause=1.0)
        return asyncio.get_running_loop().time()

    assert run(main()) == pytest.approx(22.0)


def test_all_who_look_are_told_and_one_who_has_left_is_no_trouble() -> None:
    async def main() -> list[float]:
        loop, activity = asyncio.get_running_loop(), Activity()
        watches = [activity.watch() for _ in range(3)]
        await asyncio.gather(*(watch.news(pause=0.0) for watch in watches))
        waiting = [asyncio.create_task(watch.news(pause=0.1)) for watch in watches]
        await asyncio.sleep(1.0)
        waiting[0].cancel()
        activity.happened()
        await asyncio.sleep(1.0)
        assert [one.done() for one in waiting] == [True] * 3
        assert waiting[0].cancelled()
        return [one.result() for one in waiting[1:]] + [loop.time()]

    assert run(main()) == pytest.approx([0.0, 0.0, 2.0])


def test_a_loop_that_was_held_up_is_known_by_its_lateness() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop.call_later(0.1, loop.work, 1.0)
        return await Activity().watch().news(pause=0.5)

    assert run(main()) == pytest.approx(0.6)
