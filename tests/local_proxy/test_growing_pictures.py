"""Pages without a driver: a coded photo shows its first scans although a sketch is in front."""

from __future__ import annotations

import asyncio
import io
import shutil
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from local_proxy.export_drivers.browser.driver import BrowserExport
from local_proxy.http.model import Request, Response
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from tests.local_proxy.ends import run, turns
from tests.local_proxy.site import Quiet
from transcoders.formats.scans import END
from transcoders.make.jpeg import SNAP
from transcoders.make.registry import Transcoders
from transcoders.picture import Picture, PictureOptions, up_to
from transcoders.undo.arithmetic import LEAST, ArithmeticDecoder, first_step
from wire.skeleton import Kind, Use

JPEGTRAN = shutil.which("jpegtran")
pytestmark = pytest.mark.skipif(JPEGTRAN is None, reason="jpegtran is not installed")
NEWS = Path(__file__).parents[2] / "demo" / "site" / "news" / "img"
PHOTO = NEWS / "03-space.jpg"
URL = "http://a.test/p.jpg"
IMAGE = [("accept", "image/avif,image/webp,image/*,*/*;q=0.8")]


@cache
def coded(path: Path = PHOTO) -> Picture:
    data = path.read_bytes()

    async def make() -> Picture | None:
        transcoders = Transcoders(jpegtran=JPEGTRAN, timeout=120.0)
        try:
            options = PictureOptions(arithmetic=True, sketch=True)
            return await transcoders.picture(data, "image/jpeg", options)
        finally:
            await transcoders.close()

    made = asyncio.run(make())
    assert made is not None
    assert made.coding
    assert made.levels[0].sketch
    return made


async def as_it_is(data: bytes) -> bytes:
    """A coding that is undone by nothing, so that bytes can be told."""
    return data


@pytest.fixture(autouse=True)
def _made_before_any_loop_runs() -> None:
    coded()


class World:
    """A page of one picture; no driver comes."""

    def __init__(self, picture: Picture, *, multipart: bool = False, decode: object = as_it_is):
        self.told: list[int] = []
        self.picture = picture
        self.export = BrowserExport(
            now=lambda: 0.0,
            tracker=Quiet(),
            fetch=self.fetch,
            multipart=multipart,
            decode=decode,  # type: ignore[arg-type]
            enlarge=self.enlarge,
            growing=self.told.append,
        )
        head = OriginHead(200, [("content-type", "image/jpeg")], None)
        self.one = Component(7, 1, URL, Kind.IMAGE, Use.ELEMENT, head=head, promised=True)
        self.one.levels, self.one.coding = picture.levels, picture.coding
        self.pieces: list[bytes] = []
        self.begun = asyncio.Event()

    async def fetch(self, request: Request) -> Response:
        return Response(502, [], b"")

    async def enlarge(self, sketch: bytes, width: int, height: int, *, small: bool) -> bytes:
        return b"large"

    def open(self) -> None:
        self.export.open_document(1, "http://a.test/")
        page = Response(200, [("content-type", "text/html")], b"<html><head>")
        self.export.document_response(1, page)

    def come(self, size: int) -> None:
        self.one.data += self.picture.data[self.one.received : size]
        self.one.complete = size == len(self.picture.data)
        self.one.notify()

    async def ask(self) -> Response:
        return await self.export.picture(self.one, Request("GET", URL, IMAGE))

    async def read(self, body: AsyncIterator[bytes]) -> None:
        async for piece in body:
            self.pieces.append(piece)
            self.begun.set()

    async def reading(self) -> asyncio.Task[None]:
        """The answer, once the sketch is here and no driver came."""
        self.come(self.picture.levels[0].end)
        answer = await self.ask()
        assert not isinstance(answer.body, bytes)
        return asyncio.ensure_future(self.read(answer.body))


@pytest.mark.parametrize("injected", [True, False], ids=["driver did not come", "no driver"])
@pytest.mark.parametrize("step", [37, 1000, 10**9])
def test_it_shows_at_its_first_scans_and_goes_on_from_there(step: int, injected: bool) -> None:
    async def main() -> None:
        picture = coded()
        world = World(picture)
        if injected:
            world.open()
        reading = await world.reading()
        start, medium = picture.levels[-1].start, picture.levels[1].end
        shown_at = 0
        marks = {picture.first_step, *(level.end for level in picture.levels)}
        size = world.one.received
        while not world.one.complete:
            size = min(size + step, *(mark for mark in marks if mark > size))
            world.come(size)
            await turns()
            if world.pieces and not shown_at:
                shown_at = size
        await reading
        assert b"".join(world.pieces) == picture.data[start:]
        assert shown_at <= picture.first_step < medium
        first = len(world.pieces[0])
        whole = len(picture.data) - start
        assert LEAST * whole <= first < picture.first_step - start <= 0.2 * whole
        assert world.told == ([1] if injected else [])

    run(main())


def test_decoded_its_first_scans_are_the_beginning_of_the_picture_itself() -> None:
    async def main() -> None:
        decoder = ArithmeticDecoder(JPEGTRAN)
        world = World(coded(), decode=decoder.huffman)
        world.open()
        reading = await world.reading()
        world.come(world.picture.first_step)
        await world.begun.wait()
        early = Image.open(io.BytesIO(world.pieces[0] + END)).convert("RGB")
        world.come(len(world.picture.data))
        await reading
        await decoder.close()
        final = Image.open(io.BytesIO(b"".join(world.pieces))).convert("RGB")
        want = Image.open(PHOTO).convert("RGB")
        assert ImageChops.difference(final, want).getbbox() is None
        assert early.size == want.size
        gone = ImageChops.difference(early, want).convert("L").resize((1, 1), Image.Resampling.BOX)
        assert gone.getpixel((0, 0)) < 16  # type: ignore[operator]

    run(main())


def test_scans_that_can_t_be_decoded_give_way_to_the_next_level() -> None:
    async def main() -> None:
        picture = coded()
        start = picture.levels[-1].start

        async def decode(data: bytes) -> bytes:
            if len(data) < picture.first_step - start + len(END):
                raise ValueError("refused")
            return data

        world = World(picture, decode=decode)
        world.open()
        reading = await world.reading()
        world.come(picture.first_step)
        await turns()
        assert world.pieces == []
        world.come(picture.levels[1].end)
        await turns()
        assert world.pieces == [picture.data[start : picture.levels[1].end]]
        world.come(len(picture.data))
        await reading

    run(main())


def test_a_picture_that_breaks_off_before_them_fails() -> None:
    async def main() -> None:
        world = World(coded())
        world.open()
        reading = await world.reading()
        world.come(world.picture.first_step - 20)
        await turns()
        world.one.fail(ComponentFailed(502, "gone"))
        with pytest.raises(ComponentFailed):
            await reading
        assert world.pieces == []

    run(main())


def test_nobody_is_told_of_a_page_whose_pictures_replace_each_other() -> None:
    async def main() -> None:
        world = World(coded(), multipart=True)
        world.open()
        world.come(world.picture.levels[0].end)
        answer = await world.ask()
        assert dict(answer.headers)["content-type"].startswith("multipart/")
        assert world.told == []

    run(main())


@pytest.mark.parametrize("name", ["01", "04", "09"])
def test_the_first_step_is_a_tenth_in_any_photo(name: str) -> None:
    (path,) = NEWS.glob(f"{name}*.jpg")
    picture = coded(path)
    own = picture.data[picture.levels[0].end :]
    step = first_step(own, len(own))
    assert step is not None
    assert picture.first_step == picture.levels[0].end + step.known
    assert SNAP[0] <= step.end / len(own) <= 1.5 * SNAP[1]
    assert first_step(own[: step.known], len(own)) == step
    assert first_step(own[: step.known - 1], len(own)) is None


def test_a_picture_that_ends_at_its_sketch_has_no_first_step() -> None:
    picture = coded()
    assert up_to(picture, "low").first_step == 0
    assert up_to(picture, "medium").first_step == picture.first_step


@pytest.mark.parametrize("data", [b"", b"\xff\xd8", b"\xff\xd8\xff\xda", bytes(99), END * 9])
def test_what_is_no_picture_has_no_first_step(data: bytes) -> None:
    assert first_step(data, 1000) is None
