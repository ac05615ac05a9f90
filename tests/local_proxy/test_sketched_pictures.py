"""Sketches on the device: each client gets files, never a sketch; who said no gets none."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator

import pytest

from emulation.memory.memory import LinkModel, MemoryLink, memory_links
from emulation.memory.virtual_time import run as run_virtually
from local_proxy.export_drivers.browser.driver import BrowserExport
from local_proxy.export_drivers.browser.level_files import LevelFiles, NoFile
from local_proxy.http.model import Request, Response
from local_proxy.link.components import Component, OriginHead
from local_proxy.link.resumption import Memory
from local_proxy.link.session import LocalSession
from tests.local_proxy.ends import Ear, Remote, run, text_of, turns
from tests.local_proxy.export_world import Driver, driver_in
from tests.local_proxy.site import Quiet
from wire import abilities
from wire import messages as m
from wire.fields import header
from wire.frames import Control, Data
from wire.skeleton import Kind, Level, Part, Use

URL = "http://a.test/p.jpg"
IMAGE = [("accept", "image/avif,image/*,*/*;q=0.8")]
JPEG = "image/jpeg"
END = b"\xff\xd9"
LOW = Level("low", 0, 3, JPEG, b"", 640, 480)
LEVELS = (LOW, Level("medium", 3, 7, JPEG, END), Level("original", 3, 11, JPEG))
DATA = b"***abcdef" + END
LARGE = b"<*** 640x480>"
SMALL = b"(*** 640x480)"


class Enlarger:
    """Says what it was asked for, unless it refuses."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.refuses = refuses
        self.asked = 0

    async def __call__(
        self, sketch: bytes, width: int, height: int, *, small: bool = False
    ) -> bytes:
        self.asked += 1
        await asyncio.sleep(0)
        if self.refuses:
            raise ValueError("refused")
        return (b"(%s %dx%d)" if small else b"<%s %dx%d>") % (sketch, width, height)


async def upper(data: bytes) -> bytes:
    """Undoes a coding."""
    return data.upper()


class World:
    def __init__(
        self,
        enlarge: Enlarger | None = None,
        *,
        levels: tuple[Level, ...] = LEVELS,
        coded: bool = False,
        multipart: bool = False,
        use: Use = Use.ELEMENT,
    ) -> None:
        self.fetched = 0
        self.coded = coded
        self.enlarge = enlarge or Enlarger()
        self.export = BrowserExport(
            now=lambda: 0.0,
            tracker=Quiet(),
            fetch=self.fetch,
            multipart=multipart,
            decode=upper,
            enlarge=self.enlarge,
        )
        self.one = Component(
            *(7, 1, URL, Kind.IMAGE, use),
            head=OriginHead(200, [("content-type", JPEG), ("cache-control", "max-age=9")], None),
            levels=levels,
            coding="test" if coded else "",
            promised=True,
        )

    def file(self, text: bytes) -> bytes:
        return text.upper() if self.coded else text

    async def fetch(self, request: Request) -> Response:
        assert header(request.headers, "sec-fetch-dest") == "empty", "asked with levels"
        self.fetched += 1

        async def body() -> AsyncIterator[bytes]:
            yield b"another"

        return Response(200, [("content-type", JPEG)], body())

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
        self.one.complete = size == self.one.levels[-1].end
        self.one.notify()


coded_and_not = pytest.mark.parametrize("coded", [False, True], ids=["plain", "coded"])


@pytest.mark.parametrize("multipart", [False, True])
@pytest.mark.parametrize(
    ("agent", "shown"),
    [
        ("Mozilla/5.0 (X11) AppleWebKit/537.36 HeadlessChrome/156.0.0.0 Safari/537.36", SMALL),
        ("Mozilla/5.0 (X11; rv:140.0) Gecko/20100101 Firefox/140.0", SMALL),
        ("Mozilla/5.0 (X11) AppleWebKit/537.36 Chrome/99.0.0.0 Safari/537.36", LARGE),
        ("Mozilla/5.0 (X11) AppleWebKit/605.1.15 Version/17.0 Safari/605.1.15", LARGE),
        ("", LARGE),
    ],
)
def test_who_stretches_a_sketch_gets_a_small_file(
    agent: str, shown: bytes, multipart: bool
) -> None:
    async def main() -> None:
        world = World(multipart=multipart)
        driver = await world.page()
        fields = [*IMAGE, ("user-agent", agent)]
        world.advance(3)
        answer = await world.export.picture(world.one, Request("GET", URL, fields))
        if isinstance(answer.body, bytes):
            assert answer.body == shown or (answer.status == 307 and "Firefox" in agent)
        else:
            parts = aiter(answer.body)
            head, body = await anext(parts), await anext(parts)
            assert shown in head + body
        if not multipart:
            address = f"{URL}?sluice-level={driver.name}.7.low"
            found = await world.export.own(Request("GET", address, fields))
            assert found is not None
            assert found.body == shown

    asyncio.run(main())


@coded_and_not
def test_swap_shows_the_enlarged_sketch_first(coded: bool) -> None:
    async def main() -> None:
        world = World(coded=coded)
        driver = await world.page()
        asked = world.ask()
        world.advance(2)
        await turns()
        assert not asked.done()
        world.advance(3)
        answer = await asked
        assert answer.body == LARGE
        assert header(answer.headers, "content-type") == JPEG
        assert header(answer.headers, "cache-control") == "no-store"
        assert (await world.level(driver, "low")).body == LARGE
        world.advance(7)
        assert (await world.level(driver, "medium")).body == world.file(b"abcd") + END
        world.advance(11)
        assert (await world.level(driver, "original")).body == world.file(b"abcdef") + END
        assert world.enlarge.asked == 1  # and kept
        assert world.fetched == 0

    run(main())


@coded_and_not
def test_multipart_has_it_as_its_first_part(coded: bool) -> None:
    async def main() -> None:
        world = World(coded=coded, multipart=True)
        asked = world.ask()
        world.advance(3)
        body = asyncio.ensure_future(text_of(await asked))
        for size in (7, 11):
            await turns()
            world.advance(size)
        parts = [part.split(b"\r\n--")[0] for part in (await body).split(b"\r\n\r\n")[1:]]
        assert parts == [LARGE, world.file(b"abcd") + END, world.file(b"abcdef") + END]

    run(main())


@coded_and_not
@pytest.mark.parametrize("use", [Use.ELEMENT, Use.BACKGROUND])
def test_one_response_is_the_picture_without_it(coded: bool, use: Use) -> None:
    """No driver runs: what follows the sketch can't replace it, so it is left out."""

    async def main() -> None:
        world = World(coded=coded, use=use)
        asked = world.ask()
        world.advance(3)
        answer = await asked
        assert not isinstance(answer.body, bytes)
        body = asyncio.ensure_future(text_of(answer))
        for size in (7, 11):
            await turns()
            world.advance(size)
        assert await body == world.file(b"abcdef") + END
        assert answer.length in (None, 8)
        assert world.enlarge.asked == 0

    run(main())


@coded_and_not
def test_a_finished_picture_is_its_last_level(coded: bool) -> None:
    async def main() -> None:
        world = World(coded=coded)
        world.advance(11)
        answer = await world.ask()
        assert answer.body == world.file(b"abcdef") + END
        assert header(answer.headers, "cache-control") == "no-store"  # in bytes of ours
        assert world.enlarge.asked == 0

    run(main())


@pytest.mark.parametrize("multipart", [False, True])
@pytest.mark.parametrize("driver", [False, True])
def test_where_a_sketch_is_all_that_comes_it_is_the_file(multipart: bool, driver: bool) -> None:
    async def main() -> None:
        world = World(levels=(LOW,), multipart=multipart)
        if driver:
            await world.page()
        asked = world.ask()
        world.advance(2)
        await turns()
        assert not asked.done()
        world.advance(3)
        answer = await asked
        assert answer.body == LARGE
        assert header(answer.headers, "content-type") == JPEG

    run(main())


def test_where_the_only_sketch_can_t_be_enlarged_the_picture_is_fetched_anew() -> None:
    async def main() -> None:
        world = World(Enlarger(refuses=True), levels=(LOW,))
        world.advance(3)
        assert await text_of(await world.ask()) == b"another"
        assert world.fetched == 1

    run(main())


@pytest.mark.parametrize("multipart", [False, True])
def test_a_sketch_that_can_t_be_enlarged_gives_way_to_the_next_level(multipart: bool) -> None:
    async def main() -> None:
        world = World(Enlarger(refuses=True), multipart=multipart)
        driver = await world.page()
        asked = world.ask()
        world.advance(3)
        await turns()
        assert not asked.done()
        world.advance(7)
        answer = await asked
        if multipart:
            assert not isinstance(answer.body, bytes)
            await anext(answer.body)
            assert (await anext(answer.body)).startswith(b"abcd" + END)
            return
        assert answer.body == b"abcd" + END
        assert (await world.level(driver, "low")).status == 503
        assert world.fetched == 0

    run(main())


def test_a_sketch_is_never_handed_out_as_it_is() -> None:
    async def main() -> None:
        one = Component(1, 1, URL, levels=LEVELS)
        one.data += DATA
        with pytest.raises(NoFile):
            await LevelFiles(None).file(one, LOW)
        assert await LevelFiles(None).file(one, LEVELS[-1]) == b"abcdef" + END

    run(main())


@pytest.mark.parametrize(
    ("accepts", "levels", "complaint"),
    [
        ((abilities.SKETCH,), LEVELS, ""),
        ((abilities.ARITHMETIC,), LEVELS[1:], ""),
        ((), LEVELS, "nobody accepts a sketch"),
        ((abilities.ARITHMETIC,), LEVELS, "nobody accepts a sketch"),
        ((abilities.SKETCH,), (Level("low", 0, 99, JPEG, b"", 9, 9),), "do not fit its length"),
    ],
    ids=["said", "none", "not said", "another said", "too long"],
)
def test_only_who_accepts_sketches_gets_any(
    accepts: tuple[str, ...], levels: tuple[Level, ...], complaint: str
) -> None:
    async def go() -> None:
        near, far = memory_links(LinkModel(rate_up=1e5, rate_down=1e5, delay=0.01))
        part = Part(2, URL, Kind.IMAGE, Use.ELEMENT, 1)
        said = [m.Levels(2, list(levels), len(DATA)), m.Head(2, 200, b"")]
        Remote(far, [m.Hello([1], "test"), m.Skeleton(1, [part], True), *said])
        ear = Ear()
        session = LocalSession(near, ear, Memory(), device="test", accepts=accepts)
        session.start()
        if not complaint:
            await ear.heads.wait()
            assert [one.levels for one in ear.promised] == [levels]
            session.close()
        else:
            error = await session.closed
            assert error is not None
            assert complaint in str(error)

    run_virtually(go())


class Sender(Remote):
    """Sends data too, and tells what it was asked."""

    def __init__(self, link: MemoryLink, said: list[m.Message], data: Data) -> None:
        self.asked: asyncio.Future[m.Request] = asyncio.get_running_loop().create_future()
        super().__init__(link, said)
        self.frames.append(data)  # type: ignore[arg-type]  # as good as a Control to a link

    def frames_received(self, frames: object, *, now: float) -> None:
        assert isinstance(frames, list | tuple)
        for one in frames:
            message = m.decode(one.payload) if isinstance(one, Control) else None
            if isinstance(message, m.Request):
                self.asked.set_result(message)


def test_a_transfer_that_was_cut_inside_the_sketch_goes_on() -> None:
    async def go() -> None:
        part = Part(2, URL, Kind.IMAGE, Use.ELEMENT, 1)
        hello, skeleton = m.Hello([1], "test"), m.Skeleton(1, [part], True)
        picture: list[m.Message] = [m.Levels(2, list(LEVELS), len(DATA)), m.Head(2, 200, b"")]
        ear, memory = Ear(), Memory()

        near, far = memory_links(LinkModel(rate_up=1e5, rate_down=1e5, delay=0.01))
        Sender(far, [hello, skeleton, *picture], Data(2, DATA[:2]))
        first = LocalSession(near, ear, memory, device="test", accepts=(abilities.SKETCH,))
        first.start()
        await ear.heads.wait()
        (one,) = ear.promised
        await one.wait(lambda: one.received == 2)
        far.close()
        await first.closed

        near, far = memory_links(LinkModel(rate_up=1e5, rate_down=1e5, delay=0.01))
        sender = Sender(far, [hello, *picture], Data(2, DATA[2:], last=True))
        second = LocalSession(near, ear, memory, device="test", accepts=(abilities.SKETCH,))
        second.start()
        second.take_over()
        await one.wait(lambda: one.complete)
        asked = await sender.asked
        assert asked.resume is not None
        assert asked.resume.received == 2
        assert asked.resume.digest == hashlib.sha256(DATA[:2]).digest()
        files = LevelFiles(None, Enlarger())
        assert await files.file(one, LOW) == LARGE
        assert await files.file(one, LEVELS[-1]) == b"abcdef" + END
        second.close()

    run_virtually(go())
