"""Programs get what they want by a time, beside a page that loads: both proxies in virtual time."""

from __future__ import annotations

import asyncio
import io
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest
from PIL import Image

from bench.origins.synthetic import File, Shelf, SyntheticPage, page, prepared
from bench.pairs.pair import Pair, memory_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from local_proxy.http.model import WITHIN, Request, Response
from local_proxy.requests.asked_time import LEVEL
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from remote_proxy.origin.client import ForwardedRequest, OriginResponse
from transcoders.make.low import Low
from transcoders.make.registry import Transcoders
from transcoders.picture import Picture, PictureOptions
from wire.abilities import Takes
from wire.fields import header
from wire.messages import Expired, decode

RATE: Final = 40_000.0
"""Bytes/second towards the device."""
LINK: Final = LinkModel(rate_up=20_000, rate_down=RATE, delay=0.05)
PAGE: Final = page("http://page.test/", text=6_000, large=800_000)
BYTES: Final = random.Random(3).randbytes(60_000)
FILES: Final = SyntheticPage(
    "http://files.test/",
    {
        "http://files.test/": File("text/html", b"<!doctype html><title>t</title>"),
        "http://files.test/f": File("application/octet-stream", BYTES),
        "http://files.test/large": File("application/octet-stream", 5 * BYTES),
    },
)
MADE: Final = prepared([PAGE])
PHOTO: Final = "http://page.test/img/1.jpg"
SPREAD: Final = 0.3
"""Seconds within which what can be in time is."""


class Origins(Shelf):
    """Have files and a page; think as long as they are told before they answer."""

    def __init__(self) -> None:
        super().__init__([PAGE, FILES])
        self.thinks = 0.0
        self.asked: list[ForwardedRequest] = []

    async def fetch(self, forwarded: ForwardedRequest) -> OriginResponse:
        self.asked.append(forwarded)
        if forwarded.request.url.startswith(FILES.url):
            await asyncio.sleep(self.thinks)
        return await super().fetch(forwarded)


class AsPrefixes(Transcoders):
    """Makes levels that are no sketches: to enlarge one takes a thread."""

    def __init__(self) -> None:
        super().__init__(workers=1, jpegtran=None)

    async def low(self, *_: Any, **__: Any) -> Low | None:
        return None

    async def finish(
        self, data: bytes, content_type: str, options: PictureOptions, low: Low | None, **_: Any
    ) -> Picture | None:
        return await MADE.finish(data, content_type, replace(options, sketch=False), low)


@dataclass
class Program:
    """A client that is no browser."""

    pair: Pair
    origins: Origins

    async def get(
        self, url: str, within: str | None = None, *, method: str = "GET", trailers: bool = True
    ) -> Got:
        """The whole answer."""
        loop = asyncio.get_running_loop()
        fields = [("accept", "*/*"), ("user-agent", "program")]
        if within is not None:
            fields.append((WITHIN, within))
        takes = Takes.TRAILERS if trailers else Takes.NOTHING
        began = loop.time()
        response = await self.pair.local.core.handle(Request(method, url, fields, takes=takes))
        head = round(loop.time() - began, 9)
        body = await body_of(response)
        behind = response.trailers() if response.trailers is not None else []
        told = header([*response.headers, *behind], LEVEL)
        return Got(response, body, told, head, round(loop.time() - began, 9))


@dataclass
class Got:
    """An answer, and the seconds until its head and its last byte were there, to nine places."""

    response: Response
    body: bytes
    told: str
    head: float
    seconds: float

    @property
    def late(self) -> float:
        return float(self.told.partition("late=")[2])


async def body_of(response: Response) -> bytes:
    body = response.body
    body = body if isinstance(body, bytes) else b"".join([chunk async for chunk in body])
    for done in response.on_done:
        done(True)
    return body


def with_program(
    work: Callable[[Program], Awaitable[Got]], *, busy: bool = True, thinks: float = 0.0
) -> Got:
    """What a program got. `busy`: while a page loads, whose pictures take 20 s; `thinks`: seconds
    of its origin."""

    async def go() -> Got:
        origins = Origins()
        services = Services(origins, AsPrefixes())
        async with memory_pair(LINK, services, [Default()]) as pair:
            program = Program(pair, origins)
            await program.get(FILES.url + "f")  # the link is known
            if busy:
                await pair.load(PAGE.url)
                await asyncio.sleep(0.5)
            origins.thinks = thinks
            return await work(program)

    return run(go())


@pytest.mark.parametrize("thinks", [0.0, 1.2])
def test_a_file_is_there_by_its_time_before_what_a_page_would_have_first(thinks: float) -> None:
    url = FILES.url + "f"
    without = with_program(lambda program: program.get(url), thinks=thinks)
    timed = with_program(lambda program: program.get(url, "3.5"), thinks=thinks)
    assert without.body == timed.body == BYTES
    assert without.seconds > 3.5 + SPREAD, "else the time would be kept without being asked for"
    assert timed.seconds <= 3.5
    assert timed.told == "original; late=0"
    assert without.told == ""


def test_what_can_not_be_in_time_is_whole_all_the_same_and_says_how_late_it_is() -> None:
    got = with_program(lambda program: program.get(FILES.url + "large", "2"), busy=False)
    assert got.body == 5 * BYTES
    assert 7.0 < got.seconds < 9.0, "the link was not at rest when the time was over"
    assert abs(got.late - (got.seconds - 2)) < 0.02


def test_how_late_it_is_is_told_to_who_reads_trailers_alone() -> None:
    url = FILES.url + "large"
    got = with_program(lambda program: program.get(url, "2", trailers=False), busy=False)
    assert got.body == 5 * BYTES and got.told == ""


def test_an_answer_without_a_body_says_it_in_front() -> None:
    head = with_program(
        lambda program: program.get(FILES.url + "f", "1", method="HEAD"), thinks=1.7
    )
    assert head.response.status == 200 and head.body == b""
    assert 0.7 < head.late < 1.2
    assert header(head.response.headers, LEVEL) == head.told


def test_an_error_of_the_origin_comes_as_it_is() -> None:
    got = with_program(lambda program: program.get(FILES.url + "nowhere", "5"), busy=False)
    assert got.response.status == 404 and got.body == b"there is no such page\n"
    assert got.told == "original; late=0"


def test_a_page_beside_is_whole_in_the_end() -> None:
    async def work(program: Program) -> Got:
        got = await program.get(FILES.url + "f", "3")
        document = program.pair.witness.documents[PAGE.url]
        await program.pair.complete(document)
        return got

    assert with_program(work).late == 0


def test_a_picture_is_there_by_its_time_beside_a_page_that_loads() -> None:
    got = with_program(lambda program: program.get(PHOTO, "2"))
    assert got.late == 0
    assert got.seconds <= 2 + 0.05


def test_a_remote_that_lets_late_ones_go_on_says_nothing_of_them() -> None:
    async def work(program: Program) -> Got:
        got = await program.get(FILES.url + "large", "2")
        heard = [decode(payload) for payload in program.pair.tap.heard]
        assert not [one for one in heard if isinstance(one, Expired)]
        return got

    assert with_program(work).body == 5 * BYTES


def test_with_more_time_a_picture_is_finer_and_each_time_is_used_and_kept() -> None:
    size = len(PAGE.files[PHOTO].data)
    levels, sizes = [], []
    for share in (0.25, 0.6, 0.8):
        seconds = round(share * size / RATE + 0.2, 1)
        got = with_program(lambda program, s=seconds: program.get(PHOTO, str(s)), busy=False)
        assert seconds <= got.seconds <= seconds + 0.05, got.told
        assert got.late <= 0.05
        assert header(got.response.headers, "cache-control") == "no-store"
        assert header(got.response.headers, "last-modified") == ""
        levels.append(got.told.partition(";")[0])
        sizes.append(len(got.body))
    assert levels == ["low", "medium", "high"]
    assert sizes == sorted(sizes)


def pixels(data: bytes) -> bytes:
    with Image.open(io.BytesIO(data)) as picture:
        return picture.convert("RGB").tobytes()


def test_with_time_enough_all_of_a_picture_comes_and_nobody_waits_for_the_time() -> None:
    size = len(PAGE.files[PHOTO].data)
    got = with_program(lambda program: program.get(PHOTO, "60"), busy=False)
    assert pixels(got.body) == pixels(PAGE.files[PHOTO].data)
    assert got.late == 0
    assert size / RATE < got.seconds < size / RATE + 2


def test_where_no_level_is_there_by_the_time_the_first_comes_late() -> None:
    got = with_program(lambda program: program.get(PHOTO, "0.1"), busy=False)
    assert got.told.startswith("low; late=")
    assert got.late > 0
    assert abs(got.seconds - 0.1 - got.late) < 0.02


def test_the_rest_of_a_picture_does_not_cross_the_link() -> None:
    async def work(program: Program) -> Got:
        got = await program.get(PHOTO, "1")
        await asyncio.sleep(1.0)
        before = program.pair.tap.received
        await asyncio.sleep(10.0)
        assert program.pair.tap.received - before < 1_000
        assert len(program.pair.remote.deliveries) == 0
        assert len(program.pair.remote.obedience.deadlines) == 0
        return got

    with_program(work, busy=False)


def test_no_origin_sees_the_field() -> None:
    async def work(program: Program) -> Got:
        got = await program.get(PHOTO, "1")
        await program.get(FILES.url + "f", "1")
        assert len(program.origins.asked) >= 3
        for forwarded in program.origins.asked:
            assert WITHIN not in [name for name, _ in forwarded.request.headers]
        return got

    with_program(work, busy=False)


def test_a_time_that_is_none_is_answered_by_what_is_allowed_and_asks_nobody() -> None:
    async def work(program: Program) -> Got:
        before = len(program.origins.asked)
        got = await program.get(PHOTO, "soon")
        assert len(program.origins.asked) == before
        return got

    got = with_program(work, busy=False)
    assert got.response.status == 400
    assert b"0.1 to 3600" in got.body
