"""The export driver's choices with real components that the test fills; no browser."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.components import Component, ComponentFailed, Head
from local_proxy.export_drivers.browser import BrowserExport
from local_proxy.http import Request, Response, header
from local_proxy.tracking_drivers.browser import parse_beacon
from tests.local_proxy.site import Quiet
from wire.skeleton import Kind, Level, Use

URL = "http://a.test/p.jpg"
IMAGE = [("accept", "image/avif,image/*,*/*;q=0.8")]
JPEG = "image/jpeg"
PREFIXES = (
    Level("low", 0, 3, JPEG, b"!"),
    Level("medium", 0, 5, JPEG, b"!"),
    Level("original", 0, 9, JPEG),
)
VERSIONS = (Level("low", 0, 3, JPEG), Level("original", 3, 9, "image/png"))
DATA = b"abcdefghi"


def run(work: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 10))


async def text_of(response: Response | None) -> bytes:
    assert response is not None
    if isinstance(response.body, bytes):
        return response.body
    return b"".join([chunk async for chunk in response.body])


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


@dataclass
class World:
    """An export driver with a clock that the test moves, and one open page."""

    now: float = 0.0
    tracker: Quiet = field(default_factory=Quiet)
    fetched: list[Request] = field(default_factory=list)
    multipart: bool | None = False
    swap: bool = True

    def __post_init__(self) -> None:
        self.export = BrowserExport(
            now=lambda: self.now,
            tracker=self.tracker,
            fetch=self.fetch,
            secret=b"s",
            multipart=self.multipart,
            swap=self.swap,
        )

    async def fetch(self, request: Request) -> Response:
        self.fetched.append(request)
        return Response(200, [], b"again")

    async def get(self, url: str) -> Response | None:
        return await self.export.own(Request("GET", url, []))

    def ticket(self, document: int = 1, url: str = "http://a.test/") -> str:
        """Open a page and read the driver's address off its tag."""
        self.export.open_document(document, url)
        page = Response(200, [("content-type", "text/html")], b"<html><head>")
        body = self.export.document_response(document, page).body
        assert isinstance(body, bytes)
        found = re.search(rb'src="([^"]+)"', body)
        assert found is not None
        return "/".join(url.split("/", 3)[:3]) + found[1].decode()

    async def page(self, document: int = 1, url: str = "http://a.test/") -> str:
        """Open a page whose driver runs; its key."""
        script = await text_of(await self.get(self.ticket(document, url)))
        found = re.search(rb'KEY = "([^"]+)"', script)
        assert found is not None
        return found[1].decode()


def component(*levels: Level, received: int = 0, use: Use = Use.ELEMENT) -> Component:
    fields = [
        *(("content-type", JPEG), ("etag", '"x"'), ("cache-control", "max-age=9")),
        *(("x-content-type-options", "nosniff"), ("access-control-allow-origin", "*")),
    ]
    one = Component(7, 1, URL, Kind.IMAGE, use, head=Head(200, fields, 9), levels=levels)
    advance(one, received)
    return one


def advance(one: Component, size: int) -> None:
    one.data += DATA[one.received : size]
    one.complete = size == len(DATA)
    one.notify()


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def events(channel: AsyncIterator[bytes]) -> list[dict[str, object]]:
    """What the next piece of an event stream says."""
    lines = (await anext(channel)).decode().split("\n\n")
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def test_swap_answers_low_and_tells_of_each_better_level_once() -> None:
    async def main() -> None:
        world = World()
        key = await world.page()
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
        channel = await world.get(f"http://a.test/.well-known/sluice/events?d={key}")
        assert channel is not None
        assert not isinstance(channel.body, bytes)
        assert await anext(channel.body) == b"retry: 400\n\n"
        advance(one, 5)
        assert await events(channel.body) == [{"u": URL, "c": 7, "l": "medium"}]
        level = await world.get(f"{URL}?sluice-level={key}.7.medium")
        assert await text_of(level) == b"abcde!"
        assert level is not None
        assert header(level.headers, "cross-origin-resource-policy") == "cross-origin"
        advance(one, 9)
        assert await events(channel.body) == [{"u": URL, "c": 7, "l": "original"}]
        assert await text_of(await world.get(f"{URL}?sluice-level={key}.7.original")) == DATA
        assert world.export.statistics().coarse == 0
        world.export.close_document(1)

    run(main())


def test_a_new_channel_hears_the_state_and_ends_the_old_one() -> None:
    async def main() -> None:
        world = World()
        key = await world.page()
        one = component(*PREFIXES, received=3)
        await world.export.picture(one, Request("GET", URL, IMAGE))
        address = f"http://a.test/.well-known/sluice/events?d={key}"
        advance(one, 9)
        for _ in range(2):  # away and back again: told again what may have been missed
            channel = await world.get(address)
            assert channel is not None
            assert not isinstance(channel.body, bytes)
            await anext(channel.body)
            assert await events(channel.body) == [{"u": URL, "c": 7, "l": "original"}]

    run(main())


def test_channels_beyond_the_limit_are_polls() -> None:
    async def main() -> None:
        world = World()
        held = []
        for document in (1, 2, 3):
            key = await world.page(document, f"http://a.test/{document}")
            channel = await world.get(f"http://a.test/.well-known/sluice/events?d={key}")
            assert channel is not None
            assert not isinstance(channel.body, bytes)
            assert await anext(channel.body)
            if document < 3:
                held.append(asyncio.ensure_future(anext(channel.body)))
                await turns()
                assert not held[-1].done()
            else:
                assert b"event: done" in await text_of(channel)
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


def test_failures_before_and_after_the_coarse_answer() -> None:
    async def main() -> None:
        world = World()
        key = await world.page()
        broken = component(*PREFIXES)
        broken.failure = ComponentFailed(504, "late")
        response = await world.export.picture(broken, Request("GET", URL, IMAGE))
        assert response.status == 504
        one = component(*PREFIXES, received=3)
        await world.export.picture(one, Request("GET", URL, IMAGE))
        channel = await world.get(f"http://a.test/.well-known/sluice/events?d={key}")
        assert channel is not None
        assert not isinstance(channel.body, bytes)
        await anext(channel.body)
        one.failure = ComponentFailed(504, "late")
        one.notify()
        assert await events(channel.body) == [{"u": URL, "c": 7, "l": "again"}]
        assert await text_of(await world.get(f"{URL}?sluice-level={key}.7.again")) == b"again"
        assert world.fetched[0].url == URL
        assert header(world.fetched[0].headers, "sec-fetch-dest") == "empty"

    run(main())


@pytest.mark.parametrize(
    "url",
    [
        "{url}?sluice-level=wrong.7.low",
        "{url}?sluice-level={key}.8.low",
        "{url}?sluice-level={key}.7.huge",
        "{url}?sluice-level={key}.7.original",
        "http://b.test/p.jpg?sluice-level={key}.7.low",
        "http://a.test/other.jpg?sluice-level={key}.7.low",
    ],
)
def test_a_level_is_served_at_its_picture_only(url: str) -> None:
    async def main() -> None:
        world = World()
        key = await world.page()
        await world.export.picture(component(*PREFIXES, received=3), Request("GET", URL, IMAGE))
        asked = url.format(url=URL, key=key)
        assert await text_of(await world.get(asked)) == b"again"
        assert world.fetched[0].url == asked.partition("?")[0]

    run(main())


def test_keys_belong_to_one_page_and_origin() -> None:
    async def main() -> None:
        world = World()
        key = await world.page()
        other = await world.page(2)
        assert key != other  # two windows of one address are told apart
        path = "/.well-known/sluice/events?d="
        for url in (f"http://b.test{path}{key}", f"http://a.test{path}x", f"http://a.test{path}"):
            response = await world.get(url)
            assert response is not None
            assert response.status == 404
        stranger = world.ticket(3).replace("a.test", "b.test")
        assert b"KEY" not in await text_of(await world.get(stranger))
        assert await world.get("http://a.test/page?d=1") is None

    run(main())


def test_a_cached_page_finds_its_driver() -> None:
    async def main() -> None:
        world = World()
        ticket = world.ticket()
        world.export.close_document(1)
        world.export.open_document(2, "http://a.test/")  # the browser asks whether it has changed
        csp = ("content-security-policy", "default-src 'none'")
        answer = world.export.document_response(2, Response(304, [("etag", '"1"'), csp]))
        assert "sluice" in header(answer.headers, "content-security-policy")
        assert header(answer.headers, "etag") == 'W/"1"'
        assert b"KEY" in await text_of(await world.get(ticket))
        one = component(*PREFIXES, received=3)
        one.document = 2
        response = await world.export.picture(one, Request("GET", URL, IMAGE))
        assert response.body == b"abc!"

    run(main())


def test_left_pages_are_forgotten_in_time_and_number() -> None:
    async def main() -> None:
        world = World()
        one = component(*PREFIXES, received=3)
        await world.page()
        await world.export.picture(one, Request("GET", URL, IMAGE))
        for document in range(2, 100):
            world.export.open_document(document, "http://a.test/")
            world.export.close_document(document)
        assert world.export.statistics().pages == 65
        world.export.close_document(1)
        world.now = 601
        world.export.close_document(0)
        assert world.export.statistics().pages == 0
        assert not one._watchers

    run(main())


def test_a_document_is_passed_on_unless_it_is_html() -> None:
    async def main() -> None:
        world = World()
        world.export.open_document(1, "http://a.test/")
        for response in (
            Response(200, [("content-type", "application/xhtml+xml")], b"<html><head>"),
            Response(200, [("content-type", "text/html"), ("content-encoding", "gzip")], b"x"),
            Response(206, [("content-type", "text/html")], b"<html><head>"),
            Response(200, [("content-type", "text/html; charset=utf-16")], b"<html><head>"),
        ):
            assert world.export.document_response(1, response) is response
        fields = [("content-type", "text/html"), ("content-length", "12"), ("etag", '"x"')]
        body = stream(b"<html><he", b"ad><title>")
        answer = world.export.document_response(1, Response(200, fields, body, 19))
        assert answer.length is None
        assert answer.headers == [("content-type", "text/html"), ("etag", 'W/"x"')]
        text = await text_of(answer)
        assert re.fullmatch(
            rb'<html><head><script src="/.well-known/sluice/driver.js\?d=\w+"></script><title>',
            text,
        )

    run(main())


def test_beacons() -> None:
    async def main() -> None:
        world = World()
        key = await world.page()
        url = f"http://a.test/.well-known/sluice/beacon?d={key}"

        async def send(*chunks: bytes) -> int:
            response = await world.export.own(Request("POST", url, [], stream(*chunks)))
            assert response is not None
            return response.status

        assert await send(b'{"v":true,"f":fal', b'se,"p":"http://a/x"}') == 204
        assert await send(b'{"p":"","i":["u"],"l":{"u":[3,4]},"c":true}') == 204
        assert await send(b"x" * 70000) == 400
        assert world.tracker.heard == [
            ("visible", 1, True),
            ("focus", 1, False),
            ("pointer", 1, "http://a/x"),
            ("pointer", 1, None),
            ("layout", 1, {"u": (3, 4)}),
            ("in_view", 1, ("u",)),
            ("closed", 1),
        ]
        assert world.export.statistics().bad_beacons == 1

    run(main())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"x":1}',
        b'{"v":1}',
        b'{"p":5}',
        b'{"i":[1]}',
        b'{"l":{"u":[-1,2]}}',
        b'{"l":{"u":[70000,2]}}',
        b'{"l":{"u":[1]}}',
        b'{"p":"\xff"}',
        b'{"p":"' + b"u" * 9000 + b'"}',
        b'{"i":[' + b",".join([b'"u"'] * 257) + b"]}",
        b"[" * 60000,
    ],
)
def test_hostile_beacons(body: bytes) -> None:
    assert parse_beacon(body) is None


@given(st.binary(max_size=300))
def test_any_bytes_are_a_beacon_or_none(body: bytes) -> None:
    beacon = parse_beacon(body)
    assert beacon is None or beacon.i is None or len(beacon.i) <= 256
