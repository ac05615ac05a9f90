"""How one text is coded: by itself, against its last version, or against a neighbour's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding.delta import DeltaDecoder
from coding.dictionary import Dictionary
from remote_proxy.jobs.device_texts import DeviceTexts, SessionTexts
from remote_proxy.jobs.job import Job
from remote_proxy.jobs.text_work import TextWork, carried, decoded
from remote_proxy.origin.client import OriginResponse
from remote_proxy.reach.failures import Failure, OriginError
from transcoders.text import DENSE, FAST, STEP, TextDecoder, TextEncoder
from transcoders.work.workers import Workers
from transport.sending.incoming import Incoming
from wire.abilities import MAX_CODED, Takes
from wire.fields import Headers
from wire.origin_request import OriginRequest

BASE = "https://a.example"
HTML = "text/html"
BOILERPLATE = "".join(f"<li><a href=/section/{n}>section {n * n}</a>" for n in range(400))


class World:
    """A session's texts; each visit is coded, and decoded as a device would."""

    def __init__(self) -> None:
        self.kept = DeviceTexts(1 << 22)
        self.texts = SessionTexts(self.kept, lambda: "phone", wanted=lambda: True)
        self.last: Dictionary | None = None

    async def visit(
        self, path: str, body: bytes, *, quality: int = FAST, status: int = 200,
        headers: Headers | None = None, cut: bool = False,
    ) -> tuple[str, int]:  # fmt: skip
        """The coding, and bytes of it."""
        job = Job(component=1, document=1, request=OriginRequest("GET", BASE + path, []))
        known = [text.name for text in self.kept.of("phone")]
        self.texts.named(1, b"".join(known))
        response = OriginResponse(status, "", headers or [], _chunks(body), None, lambda: None)
        coding = Workers(workers=1, waiting=None, name="texts")
        try:
            work = TextWork(
                *(job, HTML), texts=self.texts, coding=coding, quality=quality, whose="phone"
            )  # fmt: skip
            coded = bytearray()
            async for chunk in await work.begin(response, response.headers, response.body):
                work.pass_by(chunk)
                coded += await work.encode(chunk)
            if cut:
                return work.name, len(coded)
            coded += work.finish()
        finally:
            await coding.close()
        text = None if work.dictionary is None else work.dictionary.text()
        decoder = (
            TextDecoder(max_bytes=1 << 24)
            if text is None
            else DeltaDecoder(text, max_bytes=1 << 24)
        )
        assert decoder.decode(bytes(coded)) == body
        assert decoder.finished
        return work.name, len(coded)


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), 3000):
        yield body[at : at + 3000]


def page(title: str) -> bytes:
    return f"<title>{title}</title>{BOILERPLATE}<p>{title}</p>".encode()


def test_a_first_visit_a_second_one_and_a_neighbour() -> None:
    async def go() -> None:
        for quality in (FAST, DENSE):
            world = World()
            alone, first = await world.visit("/a", page("one"), quality=quality)
            assert alone == "br"
            again, second = await world.visit("/a", page("two"), quality=quality)
            assert again == "zstd"
            assert second < 0.1 * first
            near, third = await world.visit("/b", page("three"), quality=quality)
            assert near == "zstd"
            assert third < 0.2 * first

    asyncio.run(go())


def test_a_neighbour_of_no_use_is_not_used() -> None:
    async def go() -> None:
        world = World()
        await world.visit("/a", page("one"))
        other = " ".join(f"{n * 7919 % 10007:x}" for n in range(2000)).encode()
        assert (await world.visit("/b", other))[0] == "br"

    asyncio.run(go())


def test_of_two_kinds_of_pages_each_is_coded_against_its_own() -> None:
    """Where addresses say nothing, and the latest is of the other kind."""
    other = "".join(f"<tr><td>{n * 7919}<td class=c{n % 7}>cell" for n in range(400))

    async def go() -> None:
        world = World()
        _, first = await world.visit("/1/", page("one"))
        _, table = await world.visit("/2/", other.encode())
        for number in range(3, 9, 2):
            coding, size = await world.visit(f"/{number}/", page(f"article {number}"))
            assert coding == "zstd"
            assert size < 0.2 * first
            coding, size = await world.visit(f"/{number + 1}/", f"{other}{number}".encode())
            assert coding == "zstd"
            assert size < 0.2 * table

    asyncio.run(go())


def test_errors_and_what_breaks_off_are_not_kept() -> None:
    async def go() -> None:
        world = World()
        await world.visit("/a", page("not here"), status=404)
        await world.visit("/a", page("half"), cut=True)
        await world.visit("/a", page("secret"), headers=[("cache-control", "no-store")])
        assert (await world.visit("/a", page("one")))[0] == "br"
        assert (await world.visit("/a", page("gone"), status=404))[0] == "br"
        assert (await world.visit("/a", page("one")))[0] == "zstd"

    asyncio.run(go())


def test_an_empty_text_is_one() -> None:
    async def go() -> None:
        world = World()
        await world.visit("/a", page("one"))
        assert (await world.visit("/b", b""))[0] == "br"
        assert (await world.visit("/a", b""))[0] == "zstd"

    asyncio.run(go())


def plain(*chunks: bytes, length: int = MAX_CODED) -> list[bytes]:
    """What becomes of these, which have crossed the link coded, for so many bytes."""

    async def coded() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def main() -> list[bytes]:
        return [piece async for piece in decoded(coded(), length)]

    return asyncio.run(main())


@given(
    pieces=st.lists(st.binary(max_size=300) | st.text(max_size=300).map(str.encode), max_size=8),
    every=st.integers(1, 50),
)
def test_what_was_coded_is_the_client_s_however_it_is_cut(pieces: list[bytes], every: int) -> None:
    encoder = TextEncoder()
    whole = b"".join(map(encoder.encode, pieces)) + encoder.finish()
    cut = [whole[at : at + every] for at in range(0, len(whole), every)]
    assert b"".join(plain(*cut)) == b"".join(pieces)


def test_a_few_bytes_that_stand_for_many_are_never_many_at_a_time() -> None:
    encoder = TextEncoder()
    whole = encoder.encode(bytes(MAX_CODED)) + encoder.finish()
    assert len(whole) < 1_000
    pieces = plain(whole)
    assert sum(map(len, pieces)) == MAX_CODED
    assert max(map(len, pieces)) <= 2 * STEP
    with pytest.raises(OriginError):
        plain(whole, length=MAX_CODED - 1)


@pytest.mark.parametrize("length", [None, "x", "-1", str(MAX_CODED + 1)])
def test_one_that_says_no_length_is_not_undone(length: str | None) -> None:
    headers = [("content-length", length)] if length is not None else []
    request = OriginRequest("POST", BASE + "/", headers, has_body=True, takes=Takes.CODED)
    upload = Incoming(lambda more: None)
    with pytest.raises(OriginError):
        carried(Job(component=1, document=1, request=request, upload=upload))


@pytest.mark.parametrize("harm", ["cut", "changed", "more", "none"])
def test_one_that_is_damaged_is_the_device_s_fault(harm: str) -> None:
    encoder = TextEncoder()
    whole = bytearray(encoder.encode(b"some words " * 500) + encoder.finish())
    if harm == "cut":
        del whole[-5:]
    elif harm == "changed":
        whole[3] ^= 0xFF
    elif harm == "more":
        whole += b"x"
    else:
        whole.clear()
    with pytest.raises(OriginError) as raised:
        plain(bytes(whole))
    assert raised.value.kind is Failure.PROTOCOL
