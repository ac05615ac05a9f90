"""Tests of the choice in which way a request for a picture is answered."""

from __future__ import annotations

import asyncio

import pytest

from emulation.memory.virtual_time import run
from local_proxy.export_drivers.browser.choice import LevelChoice
from local_proxy.export_drivers.browser.level_files import LevelFiles
from local_proxy.export_drivers.browser.page import BrowserPage
from local_proxy.export_drivers.browser.pages import Pages
from local_proxy.export_drivers.browser.refetch import Refetch
from local_proxy.export_drivers.markup.script_powers import ScriptPowers
from local_proxy.http.model import Request, Response
from local_proxy.link.components import Component, ComponentFailed
from tests.local_proxy.export_world import (
    DATA,
    IMAGE,
    JPEG,
    PREFIXES,
    URL,
    advance,
    component,
    text_of,
)
from wire.abilities import Takes
from wire.fields import header
from wire.skeleton import Kind, Level, Use

CHROME = ("user-agent", "Mozilla/5.0 Chrome/150.0 Safari/537.36")
SKETCHED = (Level("low", 0, 3, JPEG, width=40, height=30), *PREFIXES[1:])


class Chosen:
    """A choice among all ways, a page, and what was fetched anew."""

    def __init__(self, *, multipart: bool | None = False, driver: bool = True) -> None:
        self.pages = Pages(now=lambda: 0.0, secret=b"s")
        self.powers = ScriptPowers()
        self.fetched: list[Request] = []
        self.grows: list[int] = []
        self.choice = LevelChoice(
            pages=self.pages,
            files=LevelFiles(None),
            refetch=Refetch(self.fetch),
            powers=self.powers,
            multipart=multipart,
            growing=self.grows.append,
        )
        self.pages.open(1, "http://a.test/")
        page = self.pages.of_document(1)
        assert page is not None
        self.page: BrowserPage = page
        page.injected = True
        if driver:
            page.alive.set()

    async def fetch(self, request: Request) -> Response:
        self.fetched.append(request)
        return Response(200, [], b"again")

    async def ask(self, one: Component, *fields: tuple[str, str], https: bool = False) -> Response:
        url = URL.replace("http:", "https:") if https else URL
        request = Request("GET", url, [*fields, *IMAGE], multiplexed=https)
        return await self.choice.picture(one, request)

    @property
    def ways(self) -> tuple[int, int, int, int]:
        choice = self.choice
        return choice.swapped, choice.multipart, choice.streamed, choice.whole


def test_a_page_with_a_driver_is_shown_what_is_here_and_told_of_more() -> None:
    async def main() -> None:
        chosen, one = Chosen(), component(*PREFIXES, received=3)
        answer = await chosen.ask(one)
        assert (answer.body, chosen.ways) == (b"abc!", (1, 0, 0, 0))
        assert header(answer.headers, "cache-control") == "no-store"
        assert chosen.page.pictures[7].component is one

    run(main())


def test_a_request_waits_for_the_head_and_the_first_level() -> None:
    async def main() -> None:
        chosen, one = Chosen(), component(*PREFIXES)
        head, one.head = one.head, None
        asking = asyncio.ensure_future(chosen.ask(one))
        await asyncio.sleep(1.0)
        one.head = head
        one.notify()
        await asyncio.sleep(1.0)
        assert not asking.done()
        advance(one, 3)
        assert (await asking).body == b"abc!"

    run(main())


def test_what_is_whole_already_is_the_origins_own() -> None:
    async def main() -> None:
        chosen = Chosen()
        answer = await chosen.ask(component(*PREFIXES, received=9))
        assert (answer.body, chosen.ways) == (DATA, (0, 0, 0, 1))
        assert header(answer.headers, "etag") == '"x"'
        assert (await chosen.ask(component(received=9))).body == DATA

    run(main())


def test_who_wants_the_file_gets_one_response_that_grows() -> None:
    async def main() -> None:
        chosen = Chosen()
        for fields in ([("sec-fetch-dest", "empty")], [("range", "bytes=0-")]):
            one = component(*PREFIXES, received=3)
            answer = await chosen.ask(one, *fields)
            reading = asyncio.ensure_future(text_of(answer))
            advance(one, 9)
            assert await reading == DATA
        background = component(*PREFIXES, received=3, use=Use.BACKGROUND)
        assert header((await chosen.ask(background)).headers, "etag") == '"x"'
        assert chosen.ways == (0, 0, 3, 0)

    run(main())


def test_a_picture_that_grew_to_less_than_there_is_of_it_can_become_finer_in_its_page() -> None:
    """A saver's picture has one level; a click may want more, however it came to the page."""

    async def main() -> None:
        high = Level("high", 0, 9, JPEG)
        for use, known in ((Use.ELEMENT, True), (Use.BACKGROUND, False)):
            chosen, one = Chosen(), component(high, received=3, use=use)
            one.identical = False
            answer = await chosen.ask(one)
            reading = asyncio.ensure_future(text_of(answer))
            advance(one, 9)
            await reading
            for done in answer.on_done:
                done(True)
            one.complete = True
            one.notify()
            assert chosen.ways == (0, 0, 1, 0)
            assert (one.id in chosen.page.pictures) is known
            told: dict[int, int] = {}
            assert chosen.page.steps(told) == []
            one.levels, one.complete = (high, Level("original", 9, 12, JPEG)), False
            one.data += b"all"
            one.notify()
            assert [step.level for step in chosen.page.steps(told)] == ["original"] * known

    run(main())


def test_a_driver_that_does_not_come_is_waited_for_once() -> None:
    async def main() -> None:
        chosen = Chosen(driver=False)
        clock = asyncio.get_running_loop().time
        for waited in (0.3, 0.0):
            began = clock()
            await chosen.ask(component(*PREFIXES, received=3))
            assert round(clock() - began, 6) == waited
        assert chosen.page.given_up
        assert chosen.ways == (0, 0, 2, 0)

    run(main())


def test_scripts_that_may_read_pixels_are_waited_for_a_second_in_all() -> None:
    async def main() -> None:
        chosen = Chosen()
        chosen.page.known.clear()
        clock = asyncio.get_running_loop().time
        first = asyncio.ensure_future(chosen.ask(component(*PREFIXES, received=3)))
        await asyncio.sleep(0.75)
        began = clock()
        await chosen.ask(component(*PREFIXES, received=3))
        assert clock() - began == 0.25
        await first
        assert chosen.ways == (0, 0, 2, 0)
        chosen.page.known.set()
        await chosen.ask(component(*PREFIXES, received=3))
        assert chosen.ways == (1, 0, 2, 0)

    run(main())


def test_that_nothing_takes_a_sketchs_place_is_told_once_a_page() -> None:
    async def main() -> None:
        chosen = Chosen(driver=False)
        chosen.page.given_up = True
        await chosen.ask(component(*PREFIXES, received=3))
        assert chosen.grows == []
        for _ in range(2):
            await chosen.ask(component(*SKETCHED, received=3))
        assert chosen.grows == [1]

    run(main())


def test_chromium_gets_parts_over_http2_inside_tls_and_no_more_than_it_can_hold() -> None:
    async def main() -> None:
        chosen = Chosen(multipart=None)
        await chosen.ask(component(*PREFIXES, received=3), CHROME)
        await chosen.ask(component(*PREFIXES, received=3), https=True)
        assert chosen.ways == (2, 0, 0, 0)
        answers = [
            await chosen.ask(component(*PREFIXES, received=3), CHROME, https=True)
            for _ in range(130)
        ]
        assert chosen.ways == (4, 128, 0, 0)
        for done in answers[0].on_done:
            done(True)
        await chosen.ask(component(*PREFIXES, received=3), CHROME, https=True)
        assert chosen.ways == (4, 129, 0, 0)

    run(main())


def test_a_picture_that_failed_is_a_page_that_says_why() -> None:
    async def main() -> None:
        chosen, one = Chosen(), component(*PREFIXES)
        one.fail(ComponentFailed(503, "<too many>", retry=7))
        answer = await chosen.ask(one)
        assert answer.status == 503
        assert header(answer.headers, "retry-after") == "7"
        assert isinstance(answer.body, bytes)
        assert b"&lt;too many&gt;" in answer.body

    run(main())


def test_a_picture_that_can_not_be_decoded_is_fetched_anew() -> None:
    async def main() -> None:
        chosen, one = Chosen(), component(*PREFIXES, received=9)
        one.coding, one.identical = "test", False
        assert await text_of(await chosen.ask(one)) == b"again"
        assert [request.url for request in chosen.fetched] == [URL]

    run(main())


def test_of_a_picture_that_a_script_makes_it_is_waited_for_word_of_an_img() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        chosen, request = Chosen(), Request("GET", URL, list(IMAGE))
        asking = asyncio.ensure_future(chosen.choice.takes(request, 1))
        await asyncio.sleep(0.005)
        chosen.page.standing.say([URL + "?other"], now=loop.time())
        await asyncio.sleep(0.1)
        chosen.page.standing.say([URL], now=loop.time())
        assert await asking is Takes.STANDS
        before = loop.time()
        assert await chosen.choice.takes(request, 1) is Takes.STANDS
        assert loop.time() == before

    run(main())


def test_what_waits_in_vain_teaches_to_wait_less_and_what_comes_late_more() -> None:
    async def main() -> None:
        loop, chosen = asyncio.get_running_loop(), Chosen()
        took = []
        for number in range(20):
            before = loop.time()
            request = Request("GET", f"{URL}?{number}", list(IMAGE))
            assert await chosen.choice.takes(request, 1) is Takes.NOTHING
            took.append(loop.time() - before)
        assert took == sorted(took, reverse=True)
        assert took[0] == pytest.approx(0.5)
        assert took[-1] == pytest.approx(0.02)
        await asyncio.sleep(0.03)
        chosen.page.standing.say([f"{URL}?19"], now=loop.time())
        assert chosen.page.standing.word.seconds == pytest.approx(0.15)

    run(main())


def test_it_is_not_where_nobody_says_so_or_scripts_read_pixels() -> None:
    async def main() -> None:
        request = Request("GET", URL, list(IMAGE))
        without, reading, shut, unsure = (Chosen(driver=one > 0) for one in range(4))
        shut.page.shut = True
        unsure.page.known.clear()
        script = component(received=0)
        script.kind, script.data = Kind.SCRIPT, bytearray(b"canvas.drawImage(one)")
        reading.powers.look(script, reading.page.origin)
        for chosen in (without, reading, shut, unsure):
            chosen.page.standing.say([URL], now=0.0)
            assert await chosen.choice.takes(request, 1) is Takes.NOTHING
        assert await Chosen().choice.takes(request, 9) is Takes.NOTHING
        fetched = Request("GET", URL, [("sec-fetch-dest", "empty"), ("accept", "*/*")])
        assert await Chosen().choice.takes(fetched, 1) is Takes.NOTHING
        assert asyncio.get_running_loop().time() == 0

    run(main())


def reads_pixels(chosen: Chosen) -> None:
    script = component(received=0)
    script.kind, script.data = Kind.SCRIPT, bytearray(b"canvas.drawImage(one)")
    chosen.powers.look(script, chosen.page.origin)


def as_webp() -> Component:
    """Two coarse levels, and then the origin's bytes."""
    kind = "image/webp"
    levels = (Level("low", 0, 3, kind), Level("medium", 3, 5, kind), Level("original", 5, 9, kind))
    return component(*levels, received=3)


def test_where_scripts_read_pixels_coarse_levels_stand_in_for_a_picture_that_is_coming() -> None:
    async def main() -> None:
        chosen, one, told = Chosen(), as_webp(), dict[int, int]()
        reads_pixels(chosen)
        answer = await chosen.ask(one, https=True)
        assert not isinstance(answer.body, bytes)  # to scripts it has not loaded before its end
        assert (chosen.ways, chosen.grows) == ((0, 0, 1, 0), [])
        (step,) = chosen.page.steps(told)
        assert (step.level, step.beside) == ("low", True)
        assert chosen.page.pending()
        advance(one, 5)
        assert [step.level for step in chosen.page.steps(told)] == ["medium"]
        advance(one, 9)
        assert chosen.page.steps(told) == []
        assert not chosen.page.pending()
        assert (await text_of(answer))[-4:] == DATA[5:9]
        for done in answer.on_done:
            done(True)
        assert chosen.page.pictures[7].served_at is not None  # its driver may be asking still

    run(main())


@pytest.mark.parametrize("why", ["six connections", "no driver", "a JPEG", "a background"])
def test_where_nothing_can_stand_in_for_it_a_picture_comes_as_one_response(why: str) -> None:
    async def main() -> None:
        chosen = Chosen(driver=why != "no driver")
        one = component(*PREFIXES, received=3) if why == "a JPEG" else as_webp()
        one.use = Use.BACKGROUND if why == "a background" else one.use
        reads_pixels(chosen)
        answer = await chosen.ask(one, https=why != "six connections")
        assert not isinstance(answer.body, bytes)
        assert chosen.page.pictures == {}

    run(main())


def test_a_script_made_picture_may_be_coarse_beside_itself_where_scripts_read_pixels() -> None:
    async def main() -> None:
        chosen = Chosen()
        reads_pixels(chosen)
        chosen.page.standing.say([URL], now=0.0)
        request = Request("GET", URL, list(IMAGE), multiplexed=True)
        assert await chosen.choice.takes(request, 1) is Takes.STANDS

    run(main())
