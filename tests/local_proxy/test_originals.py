"""Under the origin's validators go the origin's bytes, or nothing: without a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from msgspec import msgpack

from local_proxy.export_drivers.browser.driver import BrowserExport
from local_proxy.export_drivers.browser.level_files import (
    RESTORED_AT_ONCE,
    Decode,
    LevelFiles,
    NoFile,
)
from local_proxy.export_drivers.browser.page import BrowserPage, PictureRequest, PictureStep
from local_proxy.http.model import Request, Response
from local_proxy.link.announced_levels import Told
from local_proxy.link.components import Component, OriginHead
from tests.local_proxy.export_world import IMAGE, JPEG, URL, World, run, text_of, turns
from wire import abilities
from wire import messages as m
from wire.errors import PeerError
from wire.fields import header
from wire.skeleton import Kind, Level, Use

WEBP = "image/webp"
VERSIONS = (Level("low", 0, 3, WEBP), Level("original", 3, 9, WEBP))
PREFIXES = (Level("low", 0, 3, JPEG, b"!"), Level("original", 0, 9, JPEG))
SENT = b"abcdefghi<how>"
"""Nine bytes of levels and a recipe."""
ORIGINAL = b"the origin's"
FIELDS = [
    *(("content-type", "image/png"), ("etag", '"x"'), ("cache-control", "max-age=9")),
    *(("accept-ranges", "bytes"), ("digest", "sha-256=x"), ("last-modified", "then")),
]
TELLING = {name for name, _ in FIELDS} - {"cache-control", "content-type"}
"""Fields that tell of the origin's bytes."""
Restore = Callable[[bytes, bytes], Awaitable[bytes]]


async def restore(form: bytes, recipe: bytes) -> bytes:
    assert recipe == b"<how>"
    assert form in (b"defghi", b"abcdefghi")
    return ORIGINAL


async def refuse(form: bytes, recipe: bytes) -> bytes:
    raise ValueError("another zlib")


class Pair(World):
    """An export driver, one page, and a picture of it."""

    def __init__(
        self,
        *levels: Level,
        restore: Restore = restore,
        decode: Decode | None = None,
        use: Use = Use.ELEMENT,
        multipart: bool = False,
        sent: bytes = SENT,
    ) -> None:
        super().__init__()
        self.export = BrowserExport(
            now=lambda: self.now,
            tracker=self.tracker,
            fetch=self.fetch,
            multipart=multipart,
            decode=decode,
            restore=restore,
        )
        self.one = Component(7, 1, URL, Kind.IMAGE, use, head=OriginHead(200, list(FIELDS), None))
        self.one.levels = levels
        self.sent = sent

    def advance(self, size: int, *, last: bool = False) -> None:
        self.one.data += self.sent[self.one.received : size]
        self.one.complete = last or size == len(SENT)
        self.one.notify()

    async def ask(self) -> Response:
        return await self.export.picture(self.one, Request("GET", URL, IMAGE))

    async def to_keep(self, key: str) -> Response:
        mark = ("content-language", f"sluice.{key}.7")
        answer = await self.export.own(Request("GET", URL, [*IMAGE, mark]))
        assert answer is not None
        return answer

    def opened(self) -> BrowserPage:
        page = self.export.pages.of_document(1)
        assert page is not None
        return page


def silent(response: Response) -> bool:
    """Nothing in it tells of the origin's bytes, and nobody keeps it."""
    kept = header(response.headers, "cache-control")
    return kept == "no-store" and not TELLING & {name for name, _ in response.headers}


def ended(response: Response) -> None:
    for done in response.on_done:
        done(True)


def test_it_is_kept_once_its_recipe_is_here_and_not_before() -> None:
    async def main() -> None:
        world = Pair(*VERSIONS)
        driver = await world.page()
        world.advance(3)
        coarse = await world.ask()
        assert silent(coarse)
        world.advance(9)
        page, told = world.opened(), dict[int, int]()
        assert page.steps(told) == [PictureStep(URL, 7, "original")]
        assert page.pending()
        assert (await world.to_keep(driver.key)).status == 204
        world.advance(len(SENT))
        assert page.steps(told) == [
            PictureStep(URL, 7, "", PictureRequest(IMAGE[0][1], cors=False))
        ]
        assert page.steps(told) == []
        assert not page.pending()
        answer = await world.to_keep(driver.key)
        assert (answer.body, answer.headers) == (ORIGINAL, FIELDS)
        assert (await world.to_keep(driver.key)).status == 204
        assert world.export.statistics().kept == 1
        assert world.fetched == []

    run(main())


AGENT = "Mozilla/5.0 (X11; rv:153.0) Gecko/20100101 Firefox/153.0"


@pytest.mark.parametrize("multipart", [False, True])
@pytest.mark.parametrize("agent", ["", AGENT])
def test_the_first_answer_brings_the_origins_cookies_and_no_other(
    multipart: bool, agent: str
) -> None:
    async def main() -> None:
        world = Pair(*VERSIONS, multipart=multipart)
        assert world.one.head is not None
        world.one.head.headers.append(("set-cookie", "a=1"))
        driver = await world.page()
        world.advance(3)
        asked = Request("GET", URL, [*IMAGE, ("user-agent", agent)])
        first = await world.export.picture(world.one, asked)
        assert silent(first)
        assert header(first.headers, "set-cookie") == "a=1"
        world.advance(len(SENT))
        await text_of(first)
        ended(first)
        for name in ("low", "original"):
            level = await world.level(driver, name, ("user-agent", agent))
            assert level is not None
            assert header(level.headers, "set-cookie") == ""
        assert header((await world.to_keep(driver.key)).headers, "set-cookie") == ""

    run(main())


def test_a_driver_that_comes_late_hears_of_level_and_recipe_at_once() -> None:
    async def main() -> None:
        world = Pair(*VERSIONS)
        await world.page()
        world.advance(3)
        await world.ask()
        world.advance(len(SENT))
        assert world.opened().steps({}) == [
            PictureStep(URL, 7, "original", PictureRequest(IMAGE[0][1], cors=False))
        ]

    run(main())


def test_without_a_recipe_it_is_never_offered_and_the_driver_does_not_wait() -> None:
    async def main() -> None:
        world = Pair(*VERSIONS, sent=SENT[:9])
        driver = await world.page()
        world.advance(3)
        await world.ask()
        world.advance(9, last=True)
        assert world.opened().steps({}) == [PictureStep(URL, 7, "original")]
        assert not world.opened().pending()
        assert (await world.to_keep(driver.key)).status == 204

    run(main())


def test_a_recipe_that_fails_is_no_answer_and_asks_nobody() -> None:
    async def main() -> None:
        world = Pair(*VERSIONS, restore=refuse)
        driver = await world.page()
        world.advance(3)
        await world.ask()
        world.advance(len(SENT))
        answer = await world.to_keep(driver.key)
        assert (answer.status, header(answer.headers, "etag")) == (204, "")
        assert silent(await world.ask())  # the pixels are shown all the same
        assert world.fetched == []

    run(main())


@pytest.mark.parametrize("driver", [False, True])
def test_what_is_here_is_shown_at_once_by_a_driver_and_kept_right_away_without(
    driver: bool,
) -> None:
    async def main() -> None:
        world = Pair(*VERSIONS)
        given = await world.page() if driver else None
        world.advance(len(SENT))
        answer = await world.ask()
        if given is None:
            assert (answer.body, answer.headers) == (ORIGINAL, FIELDS)
            return
        assert answer.body == b"defghi"
        assert silent(answer)
        ended(answer)
        assert world.opened().steps({}) == [
            PictureStep(URL, 7, "", PictureRequest(IMAGE[0][1], cors=False))
        ]
        assert (await world.to_keep(given.key)).body == ORIGINAL

    run(main())


@pytest.mark.parametrize("driver", [False, True])
@pytest.mark.parametrize("coding", ["", "test"])
def test_a_response_that_grows_has_no_validators(coding: str, driver: bool) -> None:
    """It has begun before the end is known."""

    async def main() -> None:
        world = Pair(*PREFIXES, use=Use.BACKGROUND, decode=same)
        world.one.coding = coding
        if driver:
            await world.page()
        world.advance(3)
        answer = await world.ask()
        assert silent(answer)
        world.advance(len(SENT))
        assert await text_of(answer) == SENT[:9]
        ended(answer)
        if driver:
            assert world.opened().steps({}) == [
                PictureStep(URL, 7, "", PictureRequest(IMAGE[0][1], cors=False))
            ]

    run(main())


async def same(data: bytes) -> bytes:
    return data.removesuffix(b"!")


def test_the_parts_of_one_response_are_kept_when_recipe_and_response_are_over() -> None:
    async def main() -> None:
        world = Pair(*VERSIONS, multipart=True)
        driver = await world.page()
        world.advance(3)
        answer = await world.ask()
        assert silent(answer)
        world.advance(9)
        assert (await text_of(answer)).count(b"image/webp") == 2
        ended(answer)
        assert world.opened().steps({}) == []
        assert world.opened().pending()
        world.advance(len(SENT))
        assert world.opened().steps({}) == [
            PictureStep(URL, 7, "", PictureRequest(IMAGE[0][1], cors=False))
        ]
        assert (await world.to_keep(driver.key)).body == ORIGINAL

    run(main())


@pytest.mark.parametrize("use", [Use.ELEMENT, Use.BACKGROUND])
def test_the_origins_bytes_themselves_need_no_recipe(use: Use) -> None:
    async def main() -> None:
        world = Pair(*VERSIONS, use=use, sent=SENT[:9])
        world.one.identical = True
        for size in (3, 9):
            world.advance(size, last=size == 9)
            answer = await world.ask() if use is Use.BACKGROUND or size == 9 else None
            if answer is not None:
                assert answer.headers == FIELDS
                world.advance(9, last=True)
                assert await text_of(answer) == b"defghi"

    run(main())


def test_originals_are_made_a_few_at_a_time_and_held_for_the_next() -> None:
    async def main() -> None:
        busy, most, made = 0, 0, 0

        async def slow(form: bytes, recipe: bytes) -> bytes:
            nonlocal busy, most, made
            busy, made = busy + 1, made + 1
            most = max(most, busy)
            await turns()
            busy -= 1
            return form

        files = LevelFiles(None, None, slow)
        ones = [Component(n, 1, URL, levels=VERSIONS, complete=True) for n in range(6)]
        for one in ones:
            one.data += SENT
        await asyncio.gather(*map(files.original, ones))
        assert (most, made) == (RESTORED_AT_ONCE, 6)
        assert await files.original(ones[0]) == b"defghi"
        assert (made, files.restored, files.lost) == (6, 6, 0)

    run(main())


@pytest.mark.parametrize("received", [0, 9])
def test_what_is_not_here_is_not_waited_for(received: int) -> None:
    async def main() -> None:
        one = Component(7, 1, URL, levels=VERSIONS)
        one.data += SENT[:received]
        with pytest.raises(NoFile):
            await LevelFiles(None, None, restore).original(one)
        bare = Component(7, 1, URL)
        bare.data += SENT
        with pytest.raises(NoFile):
            await LevelFiles(None).original(bare)
        bare.complete = True
        assert await LevelFiles(None).original(bare) == SENT

    run(main())


@pytest.mark.parametrize(
    "message",
    [
        m.Levels(7, list(PREFIXES), 9, "arithmetic", identical=True),
        m.Levels(7, [Level("low", 0, 9, JPEG, width=9, height=9)], 9, identical=True),
        m.Levels(7, [], 9, identical=True),
    ],
)
def test_a_form_that_the_origins_bytes_have_not_is_not_believed_to_be_them(
    message: m.Levels,
) -> None:
    with pytest.raises(PeerError):
        Told.of(message, accepts=(abilities.ARITHMETIC, abilities.SKETCH))


def test_what_an_older_remote_says_nothing_of_is_not_the_origins() -> None:
    told = m.decode(msgpack.encode([33, 7, list(PREFIXES), 9, ""]))
    assert isinstance(told, m.Levels)
    assert not Told.of(told, accepts=()).identical
