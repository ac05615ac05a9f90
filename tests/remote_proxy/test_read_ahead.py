"""Texts are read ahead of whoever codes them, within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from emulation.memory.virtual_time import run
from remote_proxy.promises.read_ahead import ReadAhead


async def body(*pieces: bytes, fails: bool = False) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)
    if fails:
        raise ConnectionError("cut")


def test_what_is_in_it_is_known_long_before_its_reader_is_there() -> None:
    async def go() -> None:
        seen: list[bytes] = []
        ahead = ReadAhead()
        async with aclosing(
            ahead.stream(body(b"ab", b"cd", b"ef"), seen.append, lambda: seen.append(b"."))
        ) as chunks:
            got = []
            async for chunk in chunks:
                await asyncio.sleep(1.0)
                assert seen == [b"ab", b"cd", b"ef", b"."]
                got.append(chunk)
        assert b"".join(got) == b"abcdef"
        assert ahead.held == 0

    run(go())


def test_all_together_hold_no_more_than_the_limit_and_one_piece_each() -> None:
    async def go() -> None:
        ahead, seen = ReadAhead(limit=100), []
        streams = [
            ahead.stream(body(*[b"x" * 30] * 40), seen.append, lambda: None) for _ in range(3)
        ]
        firsts = [await anext(stream) for stream in streams]
        await asyncio.sleep(1.0)
        assert ahead.held <= 100 + 3 * 30
        assert len(seen) < 12
        totals = [len(first) for first in firsts]
        for number, stream in enumerate(streams):
            async for chunk in stream:
                totals[number] += len(chunk)
        assert totals == [1200, 1200, 1200]
        assert ahead.held == 0

    run(go())


def test_an_error_of_its_origin_comes_behind_what_it_sent() -> None:
    async def go() -> None:
        over: list[bool] = []
        stream = ReadAhead().stream(
            body(b"a", b"b", fails=True), lambda _: None, lambda: over.append(True)
        )
        got = []
        with pytest.raises(ConnectionError):
            async for chunk in stream:
                got.append(chunk)
        assert got == [b"a", b"b"]
        assert not over

    run(go())


def test_who_stops_reading_leaves_nothing_behind() -> None:
    async def go() -> None:
        ahead, seen = ReadAhead(limit=100), []
        async with aclosing(
            ahead.stream(body(*[b"x" * 30] * 40), seen.append, lambda: None)
        ) as chunks:
            await anext(chunks)
            await asyncio.sleep(1.0)
        before = len(seen)
        await asyncio.sleep(1.0)
        assert (ahead.held, len(seen)) == (0, before)

    run(go())
