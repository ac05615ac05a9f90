"""The export driver's choices with real components that the test fills; no browser."""

from __future__ import annotations

import asyncio

import pytest

from local_proxy.http.model import Request, Response
from local_proxy.link.components import ComponentFailed
from tests.local_proxy.export_world import (
    DATA,
    IMAGE,
    PREFIXES,
    URL,
    VERSIONS,
    World,
    advance,
    component,
    events,
    run,
    text_of,
    turns,
)
from wire.fields import header
from wire.skeleton import Use

KEEP = {"accept": IMAGE[0][1], "cors": False}


def test_swap_answers_low_and_tells_of_each_better_level_once() -> None:
    async def main() -> None:
        world = World()
        driver = await world.page()
        one = component(*PREFIXES)
        asked = asyncio.ensure_future(world.export.picture(one, Request("GET", URL, IMAGE)))
        advance(one, 2)
        await turns()
        assert not asked.done()
        advance(one, 4)
        response = await asked
        assert await text_of(response) == b"abc!"
        assert header(response.headers, "cache-control") == "no-store"
        assert header(response.headers, "etag") == ""
        assert header(response.headers, "x-content-type-options") == "nosniff"
        channel = await world.channel(driver.key)
        advance(one, 5)
        assert await events(channel) == [{"u": URL, "c": 7, "l": "medium"}]
        level = await world.level(driver, "medium")
        assert await text_of(level) == b"abcde!"
        advance(one, 9)
        assert await events(channel) == [{"u": URL, "c": 7, "l": "original", "k": KEEP}]
        assert await text_of(await world.level(driver, "original")) == DATA
        assert world.export.statistics().coarse == 0
        world.export.close_document(1)

    run(main())


def test_a_new_channel_hears_the_state_and_ends_the_old_one() -> None:
    async def main() -> None:
        world = World()
        driver = await world.page()
        one = component(*PREFIXES, received=3)
        await world.export.picture(one, Request("GET", URL, IMAGE))
        advance(one, 9)
        for _ in range(2):  # away and back again: told again what may have been missed
            channel = await world.channel(driver.key)
            assert await events(channel) == [{"u": URL, "c": 7, "l": "original", "k": KEEP}]

    run(main())


def test_channels_beyond_the_limit_are_polls() -> None:
    async def main() -> None:
        world = World()
        held = []
        for document in (1, 2, 3):
            driver = await world.page(document, f"http://a.test/{document}")
            channel = await world.channel(driver.key)
            if document < 3:
                held.append(asyncio.ensure_future(anext(channel)))
                await turns()
                assert not held[-1].done()
            else:
                assert b"event: done" in b"".join([said async for said in channel])
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)

    run(main())


@pytest.mark.parametrize(
    ("use", "headers"),
    [
        (Use.BACKGROUND, IMAGE),
        (Use.OTHER, IMAGE),
        (Use.ELEMENT, [("accept", "*/*")]),
        (Use.ELEMENT, []),
        (Use.ELEMENT, [*IMAGE, ("sec-fetch-dest", "empty")]),
        (Use.ELEMENT, [*IMAGE, ("range", "bytes=0-1")]),
    ],
)
def test_all_others_get_the_whole_as_it_comes(use: Use, headers: list[tuple[str, str]]) -> None:
    async def main() -> None:
        world = World()
        await world.page()
        one = component(*PREFIXES, received=4, use=use)
        response = await world.export.picture(one, Request("GET", URL, headers))
        assert response.length == 9
        assert header(response.headers, "etag") == '"x"'
        assert not isinstance(response.body, bytes)
        assert await anext(response.body) == b"abcd"
        advance(one, 9)
        assert await text_of(response) == b"efghi"

    run(main())


def test_a_stream_of_versions_skips_the_coarse_one() -> None:
    async def main() -> None:
        world = World()
        one = component(*VERSIONS, received=5, use=Use.BACKGROUND)
        response = await world.export.picture(one, Request("GET", URL, IMAGE))
        assert header(response.headers, "content-type") == "image/png"
        assert response.length == 6
        advance(one, 9)
        assert await text_of(response) == b"defghi"
        late = await world.export.picture(one, Request("GET", URL, IMAGE))
        assert late.body == b"defghi"

    run(main())


def test_a_page_whose_driver_does_not_come_is_waited_for_once() -> None:
    async def main() -> None:
        world = World()
        world.ticket()
        loop = asyncio.get_running_loop()
        times = []
        for _ in range(2):
            one = component(*PREFIXES, received=3)
            start = loop.time()
            response = await world.export.picture(one, Request("GET", URL, IMAGE))
            times.append(loop.time() - start)
            assert response.length == 9
        assert times[0] > 0.25 > times[1]

    run(main())


def test_no_wait_where_no_driver_was_offered() -> None:
    async def main() -> None:
        world = World()
        world.export.open_document(1, "http://a.test/")
        csp = [("content-type", "text/html"), ("content-security-policy", "sandbox")]
        page = Response(200, csp, b"<html><head>")
        assert world.export.document_response(1, page) is page
        one = component(*PREFIXES)  # nothing has come: a swap would have to wait for it
        advance(one, 1)
        response = await world.export.picture(one, Request("GET", URL, IMAGE))
        assert response.length == 9

    run(main())


def test_failures_before_and_after_the_coarse_answer() -> None:
    async def main() -> None:
        world = World()
        driver = await world.page()
        broken = component(*PREFIXES)
        broken.failure = ComponentFailed(504, "late")
        response = await world.export.picture(broken, Request("GET", URL, IMAGE))
        assert response.status == 504
        one = component(*PREFIXES, received=3)
        await world.export.picture(one, Request("GET", URL, IMAGE))
        channel = await world.channel(driver.key)
        one.failure = ComponentFailed(504, "late")
        one.notify()
        assert await events(channel) == [{"u": URL, "c": 7, "l": "again"}]
        assert await text_of(await world.level(driver, "again")) == b"again"
        assert world.fetched[0].url == URL
        assert header(world.fetched[0].headers, "sec-fetch-dest") == "empty"

    run(main())


def test_without_swap_a_picture_is_one_response_whose_driver_runs_or_not() -> None:
    async def main(*, driver: bool) -> None:
        world = World(swap=False)
        if driver:
            await world.page()
        else:
            world.ticket()
        one = component(*PREFIXES, received=3)
        response = await world.export.picture(one, Request("GET", URL, IMAGE))
        assert world.export.statistics().streamed == 1
        reading = asyncio.ensure_future(text_of(response))
        await turns()
        assert not reading.done()
        advance(one, len(DATA))
        assert await reading == DATA
        assert world.export.statistics().swapped == 0

    run(main(driver=True))
    run(main(driver=False))
