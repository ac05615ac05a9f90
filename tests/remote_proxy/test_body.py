"""Tests of a response's body as it comes: half of one never passes for the whole."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from remote_proxy.origin.response import CHUNK, WatchedResponse, body_of
from remote_proxy.reach.failures import Failure, OriginError
from tests.remote_proxy.raw_origin import Serve, saying, server
from tests.watched import run

HEAD = b"HTTP/1.1 200 OK\r\n"
LENGTH = HEAD + b"Content-Length: 9\r\n\r\n"


def bodies(
    serve: Serve, *, until_close: bool = False, idle: float = 5.0
) -> tuple[list[bytes], int, OriginError | None]:
    """The pieces that came, how many bytes were counted, and what ended them."""

    async def main() -> tuple[list[bytes], int, OriginError | None]:
        pieces: list[bytes] = []
        counted: list[int] = []
        async with (
            server(serve) as base,
            aiohttp.ClientSession(
                response_class=WatchedResponse, auto_decompress=False, read_bufsize=CHUNK
            ) as session,
        ):
            response = await session.get(base)
            body = body_of(response, "a.test", idle, counted.append, until_close=until_close)
            try:
                async for piece in body:
                    pieces.append(piece)
            except OriginError as error:
                return pieces, sum(counted), error
        return pieces, sum(counted), None

    return run(main())


def test_a_whole_body_comes_and_every_byte_is_counted() -> None:
    pieces, counted, error = bodies(saying(LENGTH + b"all", b" of it"))
    assert (b"".join(pieces), counted, error) == (b"all of it", 9, None)


def test_a_long_body_comes_in_pieces() -> None:
    long = bytes(5 * CHUNK)
    head = HEAD + b"Content-Length: %d\r\n\r\n" % len(long)
    pieces, counted, error = bodies(saying(head, long))
    assert b"".join(pieces) == long and counted == len(long) and error is None
    assert max(map(len, pieces)) <= CHUNK


def test_a_body_that_breaks_off_comes_as_far_as_it_came_and_fails() -> None:
    pieces, counted, error = bodies(saying(LENGTH + b"half"))
    assert (b"".join(pieces), counted) == (b"half", 4)
    assert error is not None and error.kind is Failure.PROTOCOL


def test_a_body_without_length_ends_where_its_connection_closes_and_not_where_it_is_reset() -> None:
    head = HEAD + b"Connection: close\r\n\r\nsome"
    assert bodies(saying(head), until_close=True)[2] is None
    _, _, error = bodies(saying(head, pause=0.05, reset=True), until_close=True)
    assert error is not None and error.kind is Failure.RESET
    assert str(error) == "a.test broke the connection off"


def test_a_reset_under_a_body_with_a_length_is_called_one() -> None:
    _, _, error = bodies(saying(LENGTH + b"half", pause=0.05, reset=True))
    assert error is not None and error.kind is Failure.RESET


def test_a_body_that_says_nothing_for_long_fails() -> None:
    pieces, _, error = bodies(saying(LENGTH + b"half", stay=True), idle=0.1)
    assert pieces == [b"half"]
    assert error is not None and error.kind is Failure.TIMEOUT


def test_who_counts_may_end_it() -> None:
    refusal = OriginError(Failure.LIMIT, "enough for today")

    def count(amount: int) -> None:
        raise refusal

    async def main() -> None:
        async with (
            server(saying(LENGTH + b"all of it", stay=True)) as base,
            aiohttp.ClientSession(response_class=WatchedResponse) as session,
        ):
            response = await session.get(base)
            with pytest.raises(OriginError) as raised:
                async for _ in body_of(response, "a.test", 5.0, count, until_close=False):
                    pytest.fail("bytes passed that were refused")
            assert raised.value is refusal
            assert response.closed
            await asyncio.sleep(0)

    run(main())


def test_who_leaves_early_closes_the_connection() -> None:
    async def main() -> None:
        async with (
            server(saying(LENGTH + b"half", stay=True)) as base,
            aiohttp.ClientSession(response_class=WatchedResponse) as session,
        ):
            response = await session.get(base)
            body = body_of(response, "a.test", 5.0, lambda amount: None, until_close=False)
            assert await anext(body) == b"half"
            assert not response.closed
            await body.aclose()  # type: ignore[attr-defined]  # it is a generator
            assert response.closed

    run(main())
