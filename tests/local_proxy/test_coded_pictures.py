"""Coded pictures: clients get decoded files, and what can't be decoded is fetched anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from local_proxy.export_drivers.browser.driver import BrowserExport
from local_proxy.export_drivers.browser.level_files import AT_ONCE, HELD, LevelFiles, NoFile
from local_proxy.http.model import Request, Response
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from tests.local_proxy.ends import DATA, END, IMAGE, JPEG, LEVELS, URL, run, text_of, turns
from tests.local_proxy.export_world import Driver, driver_in
from tests.local_proxy.site import Quiet
from wire.fields import header
from wire.skeleton import Kind, Use


class Codec:
    """Makes letters upper case, except that it refuses files of some lengths."""

    def __init__(self, *refused: int) -> None:
        self.refused = refused
        self.asked: list[int] = []

    async def __call__(self, data: bytes) -> bytes:
        self.asked.append(len(data))
        await asyncio.sleep(0)
        if len(data) in self.refused:
            raise ValueError("refused")
        return data.upper()


LOW, MEDIUM, FINAL = 5, 7, 9
"""Lengths of the levels' files."""


class World:
    def __init__(self, codec: Codec, *, multipart: bool = False, status: int = 200) -> None:
        self.fetched: list[Request] = []
        self.status = status
        self.export = BrowserExport(
            now=lambda: 0.0, tracker=Quiet(), fetch=self.fetch, multipart=multipart, decode=codec
        )
        self.one = Component(
            *(7, 1, URL, Kind.IMAGE, Use.ELEMENT),
            head=OriginHead(200, [("content-type", JPEG), ("cache-control", "max-age=9")], None),
            levels=LEVELS,
            coding="test",
            promised=True,
        )

    async def fetch(self, request: Request) -> Response:
        assert header(request.headers, "sec-fetch-dest") == "empty", "asked with levels"
        self.fetched.append(request)

        async def body() -> AsyncIterator[bytes]:
            yield b"ano"
            yield b"ther"

        return Response(self.status, [("content-type", JPEG)], body())

    async def page(self) -> Driver:
        """A page whose driver runs; what it was given."""
        self.export.open_document(1, "http://a.test/")
        page = Response(200, [("content-type", "text/html")], b"<html><head>")
        body = self.export.document_response(1, page).body
        assert isinstance(body, bytes)
        tag = body.split(b'src="')[1].split(b'"')[0].decode()
        script = await self.export.own(Request("GET", "http://a.test" + tag, []))
        driver = driver_in(await text_of(script))
        assert driver is not None
        return driver

    async def level(self, driver: Driver, name: str) -> Response:
        address = f"{URL}?sluice-level={driver.name}.7.{name}"
        found = await self.export.own(Request("GET", address, IMAGE))
        assert found is not None
        return found

    def ask(self) -> asyncio.Task[Response]:
        return asyncio.ensure_future(self.export.picture(self.one, Request("GET", URL, IMAGE)))

    def advance(self, size: int) -> None:
        self.one.data += DATA[self.one.received : size]
        self.one.complete = size == len(DATA)
        self.one.notify()


def test_swap_hands_out_decoded_levels_and_decodes_each_once() -> None:
    async def main() -> None:
        codec = Codec()
        world = World(codec)
        driver = await world.page()
        asked = world.ask()
        world.advance(3)
        answer = await asked
        assert (answer.body, header(answer.headers, "cache-control")) == (b"ABC" + END, "no-store")
        world.advance(5)
        for _ in range(2):  # the driver, then the style rule
            assert (await world.level(driver, "medium")).body == b"ABCDE" + END
        world.advance(9)
        assert (await world.level(driver, "original")).body == DATA.upper()
        assert codec.asked == [LOW, MEDIUM, FINAL]
        assert world.fetched == []
        statistics = world.export.statistics()
        assert (statistics.decoded, statistics.undecoded) == (3, 0)

    run(main())


def test_a_low_level_that_can_t_be_decoded_gives_way_to_the_next() -> None:
    async def main() -> None:
        world = World(Codec(LOW))
        await world.page()
        asked = world.ask()
        world.advance(3)
        await turns()
        assert not asked.done()
        world.advance(5)
        assert (await asked).body == b"ABCDE" + END
        assert world.export.statistics().undecoded == 1

    run(main())


def test_a_finer_level_that_can_t_be_decoded_is_an_error_until_the_last_is_fetched_anew() -> None:
    async def main() -> None:
        world = World(Codec(MEDIUM, FINAL))
        driver = await world.page()
        asked = world.ask()
        world.advance(3)
        assert (await asked).body == b"ABC" + END
        world.advance(5)
        assert (await world.level(driver, "medium")).status == 503
        world.advance(9)
        assert await text_of(await world.level(driver, "original")) == b"another"
        assert [request.url for request in world.fetched] == [URL]

    run(main())


@pytest.mark.parametrize("at_once", [True, False])
def test_where_no_level_can_be_decoded_the_picture_is_fetched_anew(at_once: bool) -> None:
    async def main() -> None:
        world = World(Codec(LOW, MEDIUM, FINAL))
        await world.page()
        if at_once:
            world.advance(9)
        asked = world.ask()
        for size in () if at_once else (3, 5, 9):
            world.advance(size)
            await turns()
        assert await text_of(await asked) == b"another"

    run(main())


def test_a_finished_picture_in_other_bytes_than_the_origins_is_kept_by_nobody() -> None:
    async def main() -> None:
        world = World(Codec())
        assert world.one.head is not None
        fields = [("etag", '"x"'), ("accept-ranges", "bytes"), ("digest", "x"), ("set-cookie", "a")]
        world.one.head.headers.extend(fields)
        world.advance(9)
        answer = await world.ask()
        assert answer.body == DATA.upper()
        assert sorted(answer.headers) == [
            ("cache-control", "no-store"),
            ("content-type", JPEG),
            ("set-cookie", "a"),
        ]

    run(main())


async def streamed(world: World, *sizes: int) -> list[bytes]:
    """The pieces of one response; the page runs no driver."""
    answer = await world.ask()
    assert not isinstance(answer.body, bytes)
    assert answer.length is None
    pieces: list[bytes] = []

    async def read() -> None:
        assert not isinstance(answer.body, bytes)
        async for chunk in answer.body:
            pieces.append(chunk)

    reading = asyncio.ensure_future(read())
    for size in sizes:
        world.advance(size)
        await turns()
    await reading
    return pieces


def test_one_response_grows_level_by_level() -> None:
    async def main() -> None:
        pieces = await streamed(World(Codec()), 3, 5, 9)
        assert pieces == [b"ABC", b"DE", b"FG" + END]
        assert await streamed(World(Codec(LOW)), 3, 5, 9) == [b"ABCDE", b"FG" + END]

    run(main())


def test_one_response_that_can_t_go_on_breaks_off_and_one_not_begun_is_fetched_anew() -> None:
    async def main() -> None:
        begun = World(Codec(FINAL))
        with pytest.raises(ComponentFailed):
            await streamed(begun, 3, 5, 9)
        assert begun.fetched == []  # it could not go on as it began
        assert await streamed(World(Codec(LOW, MEDIUM, FINAL)), 3, 5, 9) == [b"another"]
        with pytest.raises(ComponentFailed):
            await streamed(World(Codec(LOW, MEDIUM, FINAL), status=502), 3, 5, 9)

    run(main())


@pytest.mark.parametrize(
    ("refused", "parts"),
    [
        ((), [b"ABC" + END, b"ABCDE" + END, DATA.upper()]),
        ((LOW,), [b"ABCDE" + END, DATA.upper()]),
        ((MEDIUM,), [b"ABC" + END, DATA.upper()]),
        ((FINAL,), [b"ABC" + END, b"ABCDE" + END, b"another"]),
    ],
)
def test_multipart_passes_over_what_can_t_be_decoded(
    refused: tuple[int, ...], parts: list[bytes]
) -> None:
    async def main() -> None:
        world = World(Codec(*refused), multipart=True)
        asked = world.ask()
        for size in (3, 5):
            world.advance(size)
            await turns()
            if asked.done():
                break
        body = asyncio.ensure_future(text_of(await asked))
        await turns()
        for size in (5, 9):
            if world.one.received < size:
                world.advance(size)
                await turns()
        pieces = (await body).split(b"\r\n\r\n")[1:]
        assert [piece.split(b"\r\n--")[0] for piece in pieces] == parts

    run(main())


def test_memory_for_decoded_files_is_bounded() -> None:
    async def main() -> None:
        size = HELD // 3

        async def decode(data: bytes) -> bytes:
            return data * (size // len(data))

        files = LevelFiles(decode)
        for number in range(8):
            one = Component(number, 1, URL, levels=LEVELS, coding="test")
            one.data += DATA
            await files.file(one, LEVELS[-1])
        assert files.size <= HELD
        assert files.decoded == 8

    run(main())


def test_a_coded_level_is_never_handed_out_without_a_decoder() -> None:
    async def main() -> None:
        one = Component(1, 1, URL, levels=LEVELS, coding="test")
        one.data += DATA
        with pytest.raises(NoFile):
            await LevelFiles(None).file(one, LEVELS[0])

    run(main())


def test_a_crowd_waits_its_turn() -> None:
    """A fast link brings a hundred pictures at once: none is refused, few are decoded at a time."""

    async def main() -> None:
        working = most = 0

        async def decode(data: bytes) -> bytes:
            nonlocal working, most
            working += 1
            most = max(most, working)
            await asyncio.sleep(0)
            working -= 1
            return data.upper()

        files = LevelFiles(decode)
        crowd = []
        for number in range(100):
            one = Component(number, 1, URL, levels=LEVELS, coding="test")
            one.data += DATA
            crowd.append(files.file(one, LEVELS[-1]))
        assert set(await asyncio.gather(*crowd)) == {DATA.upper()}
        assert most == AT_ONCE

    run(main())
