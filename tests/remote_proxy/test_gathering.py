"""A file from its origin into a spool: limits, lengths that nobody tells, what comes twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from office.errors import Unreadable
from remote_proxy.documents.fetch import MAX_RANGES, Gathering
from remote_proxy.documents.spool import Changed, Spool
from remote_proxy.origin.client import OriginResponse
from remote_proxy.reach.failures import Failure, OriginError
from tests.watched import run
from wire.fields import Headers

DATA = bytes(range(256)) * 40


def response(
    *pieces: bytes | OriginError, length: int | None = None, headers: Headers | None = None,
    status: int = 200,
) -> OriginResponse:  # fmt: skip
    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            await asyncio.sleep(0)
            if isinstance(piece, OriginError):
                raise piece
            yield piece

    return OriginResponse(status, "", headers or [], body(), length, lambda: None)


async def nothing(fields: Headers) -> OriginResponse:
    raise AssertionError(fields)


def test_a_length_that_nobody_told_is_known_at_the_end() -> None:
    async def main() -> None:
        with Spool() as spool:
            one = Gathering(response(DATA[:5000], DATA[5000:]), spool, limit=1 << 20, ask=nothing)
            running = asyncio.ensure_future(one.run())
            assert await one.begin(4) == DATA[:4]
            assert await one.tail(100) == DATA[-100:]
            assert one.length == len(DATA)
            await one.everything()
            await running

    run(main())


def test_what_is_too_long_is_not_kept_and_passes_on() -> None:
    async def main() -> None:
        pieces = [DATA] * 10
        with Spool() as spool:
            one = Gathering(response(*pieces), spool, limit=30_000, ask=nothing)
            running = asyncio.ensure_future(one.run())
            with pytest.raises(Unreadable, match="more than"):
                await one.tail(100)
            assert spool.there.size <= 30_000 + len(DATA)
            assert b"".join([piece async for piece in one.stream()]) == b"".join(pieces)
            await running

    run(main())


@pytest.mark.parametrize("length", [None, len(DATA)])
def test_what_stops_short_is_passed_on_as_far_as_it_came(length: int | None) -> None:
    async def main() -> None:
        short = OriginError(Failure.RESET, "the origin broke off")
        with Spool() as spool:
            one = Gathering(response(DATA[:100], short, length=length), spool, limit=1 << 20,
                            ask=nothing)  # fmt: skip
            running = asyncio.ensure_future(one.run())
            with pytest.raises(OriginError, match="broke off"):
                await one.tail(50)
            got = bytearray()
            with pytest.raises(OriginError, match="broke off"):
                async for piece in one.stream():
                    got += piece
            assert got == DATA[:100]
            await running

    run(main())


def test_an_origin_is_not_asked_for_ranges_without_end() -> None:
    async def main() -> None:
        asked: list[Headers] = []
        length = 100 << 20
        tags = [("etag", '"a"'), ("accept-ranges", "bytes")]

        async def ask(fields: Headers) -> OriginResponse:
            asked.append(fields)
            first, last = map(int, dict(fields)["range"].removeprefix("bytes=").split("-"))
            place = ("content-range", f"bytes {first}-{last}/{length}")
            part = bytes(last + 1 - first)
            return response(part, status=206, headers=[*tags, place])

        with Spool() as spool:
            one = Gathering(response(length=length, headers=tags), spool, limit=1 << 30, ask=ask)
            for at in range(1, 60):
                wanted = asyncio.ensure_future(one.need([(at << 20, (at << 20) + 10)]))
                await asyncio.sleep(0.001)
                wanted.cancel()
        assert len(asked) == MAX_RANGES
        assert all(("if-range", '"a"') in fields for fields in asked)

    run(main())


def test_bytes_that_come_twice_have_to_be_the_same() -> None:
    async def main() -> None:
        with Spool() as spool:
            spool.write(10, b"abcdef")
            spool.write(8, b"xxabcdefyy")
            assert spool.read(8, 18) == b"xxabcdefyy"
            with pytest.raises(Changed):
                spool.write(0, b"_" * 9)
            assert spool.read(8, 18) == b"xxabcdefyy"

    run(main())
