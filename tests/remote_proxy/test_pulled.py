"""A body is taken as fast as it comes, kept whole, and read meanwhile; what is too large is not
taken faster than it is read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from emulation.memory.virtual_time import run
from remote_proxy.caching.pulled import MAX_BODY, PulledBody, PullingRoom

PIECE = 1 << 20


class Source:
    """A body of so many pieces, which breaks off after `breaks` of them."""

    def __init__(self, pieces: int, *, breaks: int | None = None, pause: float = 0.0) -> None:
        self.gone = 0
        self._pieces = pieces
        self._breaks = breaks
        self._pause = pause

    async def body(self) -> AsyncIterator[bytes]:
        for number in range(self._pieces):
            if number == self._breaks:
                raise ConnectionError("broke off")
            await asyncio.sleep(self._pause)
            self.gone += 1
            yield bytes([number]) * PIECE


class Pull:
    """One that is under way."""

    def __init__(
        self, source: Source, *, room: PullingRoom | None = None, wanted: bool = False
    ) -> None:
        self.kept: list[bytes | None] = []
        self.body = PulledBody(
            source.body(),
            room or PullingRoom(),
            settled=self.kept.append,
            wanted=lambda: wanted,
        )
        self.task = asyncio.get_running_loop().create_task(self.body.run())


async def read(pull: Pull) -> bytes:
    return b"".join([chunk async for chunk in pull.body.read()])


def test_all_of_it_is_read_and_kept() -> None:
    async def go() -> None:
        pull = Pull(Source(3, pause=1.0))
        data = await read(pull)
        assert data == bytes([0]) * PIECE + bytes([1]) * PIECE + bytes([2]) * PIECE
        await pull.task
        assert pull.kept == [data]

    run(go())


def test_it_comes_though_its_reader_is_slow() -> None:
    async def go() -> None:
        source = Source(5)
        pull = Pull(source)
        reading = pull.body.read()
        await anext(reading)
        await asyncio.sleep(1.0)
        assert source.gone == 5
        assert len(pull.kept) == 1
        await reading.aclose()

    run(go())


def test_what_is_too_large_is_read_whole_and_no_faster_than_it_is_read() -> None:
    async def go() -> None:
        pieces = 2 * MAX_BODY // PIECE
        source = Source(pieces)
        pull = Pull(source)
        reading = pull.body.read()
        size = len(await anext(reading))
        await asyncio.sleep(1.0)
        assert source.gone == MAX_BODY // PIECE + 1
        assert pull.kept == [None]
        async for chunk in reading:
            assert set(chunk) == {size // PIECE}
            size += len(chunk)
        assert size == pieces * PIECE
        await pull.task
        assert pull.kept == [None]

    run(go())


def test_what_breaks_off_is_not_kept_and_its_reader_hears_of_it() -> None:
    async def go() -> None:
        pull = Pull(Source(3, breaks=2))
        got = 0
        with pytest.raises(ConnectionError):
            async for chunk in pull.body.read():
                got += len(chunk)
        assert got == 2 * PIECE
        await pull.task
        assert pull.kept == [None]

    run(go())


@pytest.mark.parametrize("wanted", [False, True])
def test_whoever_leaves_ends_it_unless_others_wait(wanted: bool) -> None:
    async def go() -> None:
        source = Source(5, pause=1.0)
        pull = Pull(source, wanted=wanted)
        reading = pull.body.read()
        await anext(reading)
        pull.body.close()
        await pull.task
        assert source.gone == (5 if wanted else 2)
        assert [one is not None for one in pull.kept] == [wanted]

    run(go())


def test_together_they_have_bounded_room() -> None:
    async def go() -> None:
        room = PullingRoom(4 * PIECE)
        pulls = [Pull(Source(3, pause=1.0), room=room) for _ in range(3)]
        data = await asyncio.gather(*map(read, pulls))
        assert [len(one) for one in data] == [3 * PIECE] * 3
        await asyncio.gather(*(one.task for one in pulls))
        assert [one.kept for one in pulls].count([None]) == 2
        after = Pull(Source(4), room=room)  # all was given back
        await read(after)
        await after.task
        assert after.kept != [None]

    run(go())
