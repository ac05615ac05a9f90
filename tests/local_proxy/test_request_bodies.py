"""Bodies go up the link coded where they are texts, and as they are where they are not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from emulation.memory.virtual_time import run
from local_proxy.link.request_bodies import LEAST, SMALL, RequestBodies, is_worth_coding
from tests.local_proxy.scripted_remote import linked, moment
from transcoders.text import TextDecoder
from wire import messages as m
from wire.abilities import MAX_CODED
from wire.fields import Headers

JSON = b'{"query": "query Feed($first: Int) { feed(first: $first) { id title author { name } } }"}'
TEXT = JSON * 40


def fields(kind: str, length: int | None, *more: tuple[str, str]) -> Headers:
    size = [("content-length", str(length))] if length is not None else []
    return [("content-type", kind), *size, *more]


@pytest.mark.parametrize(
    ("headers", "worth"),
    [
        (fields("application/json", 5_000), True),
        (fields("application/json; charset=utf-8", None), False),
        (fields("application/x-www-form-urlencoded", LEAST), True),
        (fields("text/plain;charset=UTF-8", MAX_CODED), True),
        (fields("application/soap+xml", 900, ("content-encoding", "identity")), True),
        (fields("multipart/form-data; boundary=x", SMALL), True),
        (fields("multipart/form-data; boundary=x", SMALL + 1), False),
        (fields("multipart/form-data; boundary=x", None), False),
        (fields("application/json", LEAST - 1), False),
        (fields("application/json", MAX_CODED + 1), False),
        (fields("application/json", 5_000, ("content-encoding", "gzip")), False),
        (fields("image/jpeg", 5_000), False),
        (fields("application/octet-stream", 5_000), False),
        (fields("", 5_000), False),
        ([("content-length", "5000")], False),
    ],
)
def test_texts_are_worth_it(headers: Headers, worth: bool) -> None:
    assert is_worth_coding(headers) is worth


async def pieces(*chunks: bytes, error: Exception | None = None) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
        await moment()
    if error is not None:
        raise error


async def sent(
    *chunks: bytes, coded: bool, error: Exception | None = None
) -> tuple[bytes, bool, list[m.Reset]]:
    """What is at the remote, whether it has ended, and what was said of it otherwise."""
    async with linked() as to:
        bodies = RequestBodies()
        headers = fields("application/json", sum(map(len, chunks)))
        bodies.send(pieces(*chunks, error=error), to.session, 1, headers=headers, coded=coded)
        while len(bodies):
            await moment()
        await asyncio.sleep(1.0)
        return to.remote.uploaded[1], 1 in to.remote.ended, to.remote.of(m.Reset)


def decoded(data: bytes) -> tuple[bytes, bool]:
    decoder = TextDecoder(max_bytes=1 << 20)
    return decoder.decode(data), decoder.finished


def test_one_that_is_coded_takes_less() -> None:
    async def main() -> None:
        raw, ended, _ = await sent(TEXT, coded=False)
        assert (raw, ended) == (TEXT, True)
        coded, ended, _ = await sent(TEXT, coded=True)
        assert ended
        assert decoded(coded) == (TEXT, True)
        assert len(coded) < len(TEXT) / 10

    run(main())


def test_all_of_a_chunk_is_there_before_the_next_one() -> None:
    async def main() -> None:
        async with linked() as to:
            bodies, said = RequestBodies(), TextDecoder(max_bytes=1 << 20)
            got = b""

            async def body() -> AsyncIterator[bytes]:
                nonlocal got
                for number in range(5):
                    yield b"%d " % number
                    await moment()
                    at = len(got)
                    got = to.remote.uploaded[1]
                    assert said.decode(got[at:]) == b"%d " % number

            headers = fields("application/json", None)
            bodies.send(body(), to.session, 1, headers=headers, coded=True)
            while len(bodies):
                await moment()

    run(main())


def test_one_that_breaks_off_is_cut() -> None:
    async def main() -> None:
        data, ended, resets = await sent(JSON, coded=True, error=ValueError("bad chunk"))
        assert not ended
        assert resets == [m.Reset(1, "bad chunk")]
        assert not decoded(data)[1]

    run(main())


def test_an_empty_one_has_an_end() -> None:
    async def main() -> None:
        data, ended, _ = await sent(coded=True)
        assert ended
        assert decoded(data) == (b"", True)

    run(main())
