"""Pictures as multipart responses: for whom, how many, what each part announces, how they end."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from local_proxy.export_drivers.browser.driver import BrowserExport
from local_proxy.http.model import Request, Response
from local_proxy.link.components import ComponentFailed
from tests.local_proxy.export_world import (
    DATA,
    IMAGE,
    PREFIXES,
    URL,
    World,
    advance,
    component,
    run,
    stream,
    text_of,
)
from wire.fields import header
from wire.skeleton import Level


def test_multipart_announces_the_next_part_with_each() -> None:
    async def main() -> None:
        world = World(multipart=True)
        one = component(*PREFIXES, received=3)
        response = await world.export.picture(one, Request("GET", URL, IMAGE))
        kind = header(response.headers, "content-type")
        assert kind == "multipart/x-mixed-replace; boundary=sluice-level"
        assert not isinstance(response.body, bytes)
        head = b"--sluice-level\r\nContent-Type: image/jpeg\r\n\r\n"
        assert await anext(response.body) == head
        assert await anext(response.body) == b"abc!\r\n" + head
        advance(one, 5)
        assert await anext(response.body) == b"abcde!\r\n" + head
        advance(one, 9)
        assert await text_of(response) == DATA + b"\r\n--sluice-level--\r\n"

    run(main())


CHROMIUM = "Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0 Safari/537.36"
FIREFOX = "Mozilla/5.0 (X11; rv:153.0) Gecko/20100101 Firefox/153.0"


@pytest.mark.parametrize(
    ("agent", "url", "multiplexed", "way"),
    [
        (CHROMIUM, "https://a.test/p.jpg", True, "multipart"),
        (CHROMIUM, "https://a.test/p.jpg", False, "swapped"),
        (CHROMIUM, "http://a.test/p.jpg", True, "swapped"),
        (FIREFOX, "https://a.test/p.jpg", True, "swapped"),
    ],
)
def test_multipart_is_chosen_where_it_does_better(
    agent: str, url: str, multiplexed: bool, way: str
) -> None:
    async def main() -> None:
        world = World(multipart=None)
        await world.page()
        one = component(*PREFIXES, received=3)
        request = Request("GET", url, [*IMAGE, ("user-agent", agent)], multiplexed=multiplexed)
        await world.export.picture(one, request)
        assert getattr(world.export.statistics(), way) == 1

    run(main())


def test_multiparts_leave_streams_for_others() -> None:
    async def main() -> None:
        world = World(multipart=None)
        await world.page()
        headers = [*IMAGE, ("user-agent", CHROMIUM)]
        request = Request("GET", "https://a.test/p.jpg", headers, multiplexed=True)
        open_ones = [
            await world.export.picture(component(*PREFIXES, received=3), request)
            for _ in range(129)
        ]
        statistics = world.export.statistics()
        assert (statistics.multipart, statistics.swapped) == (128, 1)
        for callback in open_ones[0].on_done:
            callback(False)
        await world.export.picture(component(*PREFIXES, received=3), request)
        assert world.export.statistics().multipart == 129

    run(main())


def test_a_multipart_whose_component_fails_ends_with_the_whole_or_with_what_it_had() -> None:
    async def main(again: Response, last: bytes) -> None:
        world = World(multipart=True)
        one = component(*PREFIXES, received=3)

        async def fetch(request: Request) -> Response:
            assert header(request.headers, "sec-fetch-dest") == "empty"
            return again

        world.export = BrowserExport(
            now=lambda: 0.0, tracker=world.tracker, fetch=fetch, multipart=True
        )
        response = await world.export.picture(one, Request("GET", URL, IMAGE))
        one.failure = ComponentFailed(504, "the link was lost")
        one.notify()
        body = await text_of(response)
        assert body.endswith(b"\r\n\r\n" + last + b"\r\n--sluice-level--\r\n")

    async def broken() -> AsyncIterator[bytes]:
        yield b"some"
        raise ComponentFailed(502, "again")

    run(main(Response(200, [], b"whole"), b"whole"))
    run(main(Response(200, [], stream(b"who", b"le")), b"whole"))
    run(main(Response(504, [], b"no"), b"abc!"))
    run(main(Response(200, [], broken()), b"abc!"))


def test_multipart_skips_what_is_overtaken_but_not_an_announced_type() -> None:
    async def main() -> None:
        world = World(multipart=True)
        three = (*PREFIXES[:2], Level("original", 5, 9, "image/png"))
        one = component(*three, received=3)
        response = await world.export.picture(one, Request("GET", URL, IMAGE))
        advance(one, 9)
        body = await text_of(response)
        assert body.count(b"--sluice-level\r\n") == 3
        assert b"abcde!" in body  # the part of the type that was announced
        assert body.endswith(b"image/png\r\n\r\nfghi\r\n--sluice-level--\r\n")

    run(main())
