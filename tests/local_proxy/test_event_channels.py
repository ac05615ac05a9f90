"""Tests of the event channels by which drivers hear of finer levels."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from emulation.memory.virtual_time import run
from local_proxy.export_drivers.browser.asker import Asker
from local_proxy.export_drivers.browser.channels import Channels
from local_proxy.export_drivers.browser.page import BrowserPage
from local_proxy.link.components import Component
from tests.local_proxy.export_world import PREFIXES, URL, advance, component, events

DONE = b"event: done\ndata: 0\n\n"


def with_picture(document: int = 1, origin: str = "http://a.test") -> tuple[BrowserPage, Component]:
    """A page whose picture was shown at its low level."""
    page, one = BrowserPage(document, f"{origin}/", name="n", key="k"), component(*PREFIXES)
    advance(one, 3)
    page.remember(one, PREFIXES[0], asker=Asker(), keep=None)
    return page, one


async def begun(channels: Channels, page: BrowserPage) -> AsyncIterator[bytes]:
    """A channel behind its first line."""
    channel = channels.events(page)
    assert await anext(channel) == b"retry: 400\n\n"
    return channel


def step(level: str) -> dict[str, object]:
    return {"u": URL, "c": 7, "l": level}


def test_each_better_level_is_told_once_and_the_end_when_nothing_more_will_come() -> None:
    async def main() -> None:
        channels, (page, one) = Channels(), with_picture()
        channel = await begun(channels, page)
        coming = asyncio.ensure_future(events(channel))
        await asyncio.sleep(1.0)
        assert not coming.done()
        advance(one, 5)
        assert await coming == [step("medium")]
        advance(one, 9)
        assert await events(channel) == [step("original")]
        now = asyncio.get_running_loop().time()
        assert await anext(channel) == DONE
        assert asyncio.get_running_loop().time() - now == 2.0
        assert [piece async for piece in channel] == []
        assert len(channels) == 0

    run(main())


def test_a_channel_that_waits_says_now_and_then_that_it_is_there() -> None:
    async def main() -> None:
        channels, (page, _) = Channels(), with_picture()
        channel = await begun(channels, page)
        now = asyncio.get_running_loop().time()
        assert await anext(channel) == b":\n\n"
        assert asyncio.get_running_loop().time() - now == 25.0
        assert len(channels) == 1

    run(main())


def test_a_second_channel_of_a_page_takes_the_place_of_the_first() -> None:
    async def main() -> None:
        channels, (page, one) = Channels(), with_picture()
        first = await begun(channels, page)
        waiting = asyncio.ensure_future(anext(first, b"over"))
        await asyncio.sleep(0.1)
        second = await begun(channels, page)
        advance(one, 5)
        assert await waiting == b"over"
        assert await events(second) == [step("medium")]
        assert len(channels) == 1

    run(main())


def test_of_an_origin_two_channels_are_open_and_more_get_the_state_alone() -> None:
    async def main() -> None:
        channels = Channels()
        waiting = []
        for document in (1, 2):
            page, _ = with_picture(document)
            channel = await begun(channels, page)
            waiting.append(asyncio.ensure_future(anext(channel)))
            await asyncio.sleep(0)
        page, one = with_picture(3)
        advance(one, 5)
        third = await begun(channels, page)
        assert await events(third) == [step("medium")]
        assert [piece async for piece in third] == []
        advance(one, 9)
        again = await begun(channels, page)
        assert await events(again) == [step("original")]
        assert [piece async for piece in again] == [DONE]
        elsewhere, _ = with_picture(4, "http://b.test")
        waiting.append(asyncio.ensure_future(anext(await begun(channels, elsewhere))))
        await asyncio.sleep(0)
        assert len(channels) == 3
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert len(channels) == 0

    run(main())
