"""A component's readers: in any number, at any pace, and what they let go of."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.link.components import CHUNK, Component, ComponentFailed, OriginHead
from wire.skeleton import Level


def run(work: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


def component(data: bytes = b"", *, complete: bool = False) -> Component:
    return Component(1, 1, "http://a/", data=bytearray(data), complete=complete)


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_two_readers_and_credit_once() -> None:
    async def main() -> None:
        one, credit = component(b"ab"), list[int]()
        one.on_consumed = credit.append
        got: list[list[bytes]] = [[], []]

        async def read(into: list[bytes], start: int) -> None:
            async for chunk in one.read(start=start):
                into.append(chunk)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(read(got[0], 0))
            tasks.create_task(read(got[1], 1))
            await turns()
            one.data += b"cd"
            one.notify()
            await turns()
            one.complete = True
            one.notify()
        assert got == [[b"ab", b"cd"], [b"b", b"cd"]]
        assert sum(credit) == 4

    run(main())


def test_a_reader_that_leaves_does_not_disturb_the_other() -> None:
    async def main() -> None:
        one = component(b"ab")
        leaver = one.read()
        stayer = one.read()
        assert await anext(leaver) == b"ab"
        assert await anext(stayer) == b"ab"
        waiting = asyncio.ensure_future(anext(leaver))
        await turns()
        waiting.cancel()
        await turns()
        one.data += b"c"
        one.complete = True
        one.notify()
        assert await anext(stayer) == b"c"
        with pytest.raises(StopAsyncIteration):
            await anext(stayer)

    run(main())


def test_trim_keeps_what_the_slowest_reader_lacks() -> None:
    async def main() -> None:
        one = component(bytes(CHUNK) + b"x" * CHUNK)
        fast, slow = one.read(), one.read()
        for _ in range(2):
            await anext(fast)
        await anext(slow)
        assert one.trim() == 0  # the slow one may still be writing its first chunk
        assert (await anext(slow))[:1] == b"x"
        assert one.trim() == CHUNK
        assert one.received == 2 * CHUNK
        with pytest.raises(ComponentFailed):
            await anext(one.read())
        one.levels = (Level("low", 0, 1, "image/jpeg"),)
        assert one.trim() == 0

    run(main())


def test_failure_reaches_those_who_lack_something_only() -> None:
    async def main() -> None:
        one = component(b"abc")
        one.levels = (Level("low", 0, 2, "image/jpeg", b"!"), Level("original", 0, 9, "image/jpeg"))
        one.failure = ComponentFailed(504, "late")
        low = await one.wait_level("low")
        assert one.file(low) == b"ab!"
        with pytest.raises(ComponentFailed) as failed:
            await one.wait_level("original")
        assert failed.value.status == 504
        with pytest.raises(ComponentFailed):
            await one.wait_head()

    run(main())


def test_levels_of_a_complete_component() -> None:
    async def main() -> None:
        one = component(b"abc", complete=True)
        one.head = OriginHead(200, [("content-type", "image/png")], 3)
        assert await one.wait_level("low") == Level("original", 0, 3, "image/png")
        one.levels = (Level("medium", 0, 2, "image/jpeg"),)
        assert (await one.wait_level("low")).name == "medium"

    run(main())


def test_watchers_are_called_until_they_leave() -> None:
    one, calls = component(), list[int]()
    unwatch = one.watch(lambda: calls.append(one.received))
    one.data += b"a"
    one.notify()
    unwatch()
    unwatch()
    one.notify()
    assert calls == [1]


@given(st.lists(st.integers(0, 3 * CHUNK), max_size=6))
def test_whatever_the_pace_nothing_is_lost(sizes: list[int]) -> None:
    whole = bytes(range(256)) * (sum(sizes) // 256 + 1)
    whole = whole[: sum(sizes)]

    async def main() -> None:
        one = component()
        reader = asyncio.ensure_future(collect(one))
        at = 0
        for size in sizes:
            one.data += whole[at : at + size]
            at += size
            one.notify()
            await turns(3)
            one.trim()
        one.complete = True
        one.notify()
        assert await reader == whole

    run(main())


async def collect(one: Component) -> bytes:
    return b"".join([chunk async for chunk in one.read()])
